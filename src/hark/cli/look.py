"""`hark look`: see inside a translation."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from hark.cli import options
from hark.cli.streams import STDOUT, writer
from hark.errors import UserError, require

EXAMPLES = (
    'hark look "The dog did not cross the street because it was too tired."',
    'hark look -m runs/mine "I have seen it." -o seen.html --no-open',
    "hark look --preset anaphora --changes 0",
)


def look(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TEXT|FILE|-]", help="A sentence, or a file of text; - or nothing: stdin."),
    ] = None,
    model: options.Model = None,
    source: options.Source = None,
    target: options.Target = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The page (.html); - for stdout.")
    ] = Path("look.html"),
    preset: Annotated[
        Literal["long-distance", "anaphora", "structure"] | None,
        typer.Option(
            "--preset",
            metavar="NAME",
            help="A sentence of ours, and heads as in the paper's figures 3-5: long-distance, anaphora or structure.",
        ),
    ] = None,
    beam: Annotated[int | None, typer.Option("--beam", min=1, max=16, metavar="N", help="Width of the search.")] = None,
    changes: Annotated[
        int | None,
        typer.Option(
            "--changes",
            min=0,
            metavar="N",
            help="Translate again without each of N heads and N words: up to 6, fewer if it is long; 0: no measuring.",
        ),
    ] = None,
    errors: options.Errors = "strict",
    threads: options.Threads = None,
    show: Annotated[
        bool | None, typer.Option("--open/--no-open", help="Open it in the browser; by default on a desktop.")
    ] = None,
) -> None:
    """See inside a translation, in your browser.

    Shows every head, every step of the search, and what makes a difference, on one page that needs no network. Of a
    text the first sentence is shown.
    """
    require("torch", "train", "hark look")
    check_output(output)
    import torch

    from hark.cli.translate import own_codes, which_model
    from hark.decode.load import Loaded
    from hark.inspect.look import look_inside
    from hark.inspect.presets import LANGUAGE

    if preset and words:
        raise UserError("--preset has a sentence of its own; leave the text out")
    if threads is not None:
        torch.set_num_threads(threads)
    spoken = source or (LANGUAGE if preset else None)
    folder, _, lines = which_model(model, spoken, target, [] if preset else given_lines(words or [], errors))
    loaded = Loaded(folder)
    own_codes(loaded, source, target)
    text = None if preset else first_lines(lines)
    search: dict[str, Any] = {} if beam is None else {"beam": beam}
    with shown_progress() as progress:
        page, recording = look_inside(loaded, text, preset, changes, progress, **search)
    for note in recording.notes:
        sys.stderr.write(f"{note}\n")
    with writer(output) as file:
        file.write(page.html.encode("utf-8", "replace"))
    if output == STDOUT:
        return
    sys.stdout.write(f"{output}\n")
    sys.stdout.flush()
    if on_a_desktop() if show is None else show:
        import webbrowser

        webbrowser.open(output.resolve().as_uri())


def check_output(output: Path) -> None:
    """Refuse before the work is done."""
    if output == STDOUT:
        return
    if output.suffix.lower() not in (".html", ".htm"):
        raise UserError(f"{output}: the page is HTML; name it .html")
    if output.is_dir():
        raise UserError(f"{output}: is a folder; name a file")
    if not output.parent.is_dir():
        raise UserError(f"{output}: cannot be written: there is no folder {output.parent}")


def given_lines(words: list[str], errors: Literal["strict", "replace"]) -> Iterable[str]:
    from hark.cli.translate import lines_of, what

    return lines_of(what(words), errors)


def first_lines(lines: Iterable[str]) -> str:
    """The first line that has text, and the next one, so that it can be told that there is more."""
    return "".join(islice((line for line in lines if line and line.strip()), 2))


def on_a_desktop() -> bool:
    """Whether somebody sits in front of a screen here, rather than a script or the other end of ssh."""
    if not sys.stdout.isatty() or "SSH_CONNECTION" in os.environ:
        return False
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


@contextmanager
def shown_progress() -> Iterator[Callable[[int], Callable[[], object]]]:
    """To be told how many measurements there will be, and of each; shown on stderr if a person looks at it."""
    if not sys.stderr.isatty():
        yield lambda _: lambda: None
        return
    from rich import progress
    from rich.console import Console

    said = progress.TextColumn("measuring {task.completed} of {task.total}")
    columns = (progress.BarColumn(), said, progress.TimeElapsedColumn())
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bars:

        def begin(total: int) -> Callable[[], object]:
            bar = bars.add_task("", total=total)
            return lambda: bars.advance(bar)

        yield begin
