"""`hark look`: show how a model translates a sentence, reads a text or makes another of it, on an HTML page."""

import codecs
import gc
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hark.cli import options
from hark.cli.streams import STDOUT, check_new_file, write_text
from hark.errors import UserError, require

EXAMPLES = (
    'hark look -t de "The dog did not cross the street because it was too tired."',
    "hark look --preset anaphora --changes 0 -o anaphora.html --no-open",
    'hark look -m gpt2 "The cat sat on the mat because" --max-tokens 10',
    'hark look -m t5-small "The <extra_id_0> walks in the park." --beam 4',
)

if TYPE_CHECKING:
    from hark.config import Shape
    from hark.inspect.presets import PresetName
    from hark.inspect.reading import TextReading
    from hark.inspect.recording import Recording
    from hark.translate.load import Loaded

MOST_BYTES = 1 << 16
"""Of a text that is shown as a whole: more than a page can have."""


def look(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TEXT|FILE|-]", help="A sentence, or a file of text; - or nothing for stdin."),
    ] = None,
    model: options.Model = None,
    source: options.Source = None,
    target: options.Target = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="Write the page to this file (.html); - for stdout.")
    ] = Path("look.html"),
    preset: Annotated[
        Literal["long-distance", "anaphora", "structure"] | None,
        typer.Option(
            "--preset",
            metavar="NAME",
            help="A built-in sentence, with heads as in the paper's figures 3-5: long-distance, anaphora or structure.",
        ),
    ] = None,
    beam: Annotated[int | None, typer.Option("--beam", min=1, max=16, metavar="N", help="Beam size.")] = None,
    changes: Annotated[
        int | None,
        typer.Option(
            "--changes",
            min=0,
            metavar="N",
            help="Translate again without each of N heads and N words; default up to 6, by length; 0 measures nothing.",
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Measure nothing; same as --changes 0.")] = False,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            "--max-tokens",
            min=0,
            metavar="N",
            help="Of a decoder alone: continue the text by N tokens first. Of T5 or BART: generate at most N (256).",
        ),
    ] = None,
    output_text: Annotated[
        str | None,
        typer.Option(
            "--output-text", metavar="TEXT", help="Of T5 or BART: show this output, instead of what it generates."
        ),
    ] = None,
    errors: options.Errors = "strict",
    threads: options.Threads = None,
    show: Annotated[
        bool | None, typer.Option("--open/--no-open", help="Open the page in a browser; default on a desktop.")
    ] = None,
) -> None:
    """See inside a translation or a text, in your browser.

    Shows every attention head, every step of the beam search, and the words and heads that matter most, on one
    self-contained page. Uses the first sentence of the text. A model without languages reads the whole text: one of one
    stack (GPT, BERT) shows what it expects at each place instead of a search; T5 or BART makes another text of it.
    """
    require("torch", "train", "hark look")
    check_new_file(None if output == STDOUT else output, "HTML")
    if preset and words:
        raise UserError("--preset comes with its own sentence; omit the text")
    if quick and changes:
        raise UserError("--quick cannot be combined with --changes")
    folder, shape = without_languages(model)
    given = {
        "-s": source, "-t": target, "--preset": preset, "--beam": beam, "--changes": changes or None,
        "--max-tokens": max_tokens, "--output-text": output_text,
    }  # fmt: skip
    check_options(model, folder, shape, given)
    if folder is not None:
        text: str | None = read_whole(words or [], errors)
    else:
        text = None if preset else read_beginning(words or [], errors)
    search: dict[str, Any] = {} if beam is None else {"beam": beam}
    measured = 0 if quick else changes
    with shown_status() as show_status:
        show_status("loading the model")
        with no_collection():
            if folder is None:
                loaded, source, target = load_for(text, preset, model, source, target)
            import torch

            from hark.inspect import look as pages
            from hark.inspect.reading import TextModel
            from hark.inspect.text_to_text import TextToText
        if threads is not None:
            torch.set_num_threads(threads)
        recording: Recording | TextReading
        if folder is None:
            page, recording = pages.look_inside(loaded, text, preset, measured, show_status, source, target, **search)
        elif shape == "encoder-decoder":
            page, recording = pages.look_at_output(
                TextToText.open(folder), text or "", output_text, measured, max_tokens, show_status, **search
            )
        else:
            page, recording = pages.look_at_text(
                TextModel.open(folder), text or "", max_tokens or 0, measured == 0, show_status
            )
    for note in recording.notes:
        sys.stderr.write(f"{note}\n")
    write_text(output, page.html)
    if output == STDOUT:
        return
    sys.stdout.write(f"{output}\n")
    sys.stdout.flush()
    if on_a_desktop() if show is None else show:
        import webbrowser

        webbrowser.open(output.resolve().as_uri())


def without_languages(model: str | None) -> "tuple[Path | None, Shape]":
    """The folder of the named model if it does not translate, else None; and its shape."""
    from hark.models import named_folder, shape_of, translates

    if model is None:
        return None, "encoder-decoder"
    folder = named_folder(model)
    shape = shape_of(folder)
    return None if shape == "encoder-decoder" and translates(folder) else folder, shape


def check_options(model: str | None, folder: Path | None, shape: "Shape", given: Mapping[str, object]) -> None:
    """Refuse options that do not apply to a model."""
    if folder is None:
        for option, does in (("--max-tokens", "generates text"), ("--output-text", "makes text from text")):
            if given[option] is not None:
                raise UserError(f"{option} requires -m with a model that {does}, such as t5-small")
        return
    why, refused = "has no languages, so it does not translate", ["-s", "-t", "--preset"]
    if shape != "encoder-decoder":
        why, refused = "has one stack, so it does not translate", [*refused, "--beam", "--changes", "--output-text"]
    for option in refused:
        if given[option] is not None:
            raise UserError(f"{model}: {why}; leave out {option}")
    if given["--output-text"] is not None:
        for option in ("--beam", "--changes", "--max-tokens"):
            if given[option] is not None:
                raise UserError(f"--output-text gives the output, so nothing is generated; leave out {option}")


def read_whole(words: list[str], errors: Literal["strict", "replace"]) -> str:
    """Read the whole text, without a line end after it, or more than a page can have."""
    from hark.cli.streams import decode_line, find_input, open_file

    given = find_input(words)
    if isinstance(given, str):
        return given
    if given is None and (sys.stdin is None or sys.stdin.closed):
        raise UserError("nothing to look at: stdin is closed; pass a text or a file")
    if given is None and sys.stdin.isatty():
        sys.stderr.write("type a text; end with Ctrl-D\n")
    with open_file(given) if given else nullcontext(sys.stdin.buffer) as file:
        raw = file.read(MOST_BYTES)
    lines = raw.removesuffix(b"\n").split(b"\n")
    return "\n".join(
        decode_line(line, number, str(given or "stdin"), errors).removesuffix("\r")
        for number, line in enumerate(lines, start=1)
    )


def load_for(
    text: str | None, preset: "PresetName | None", model: str | None, source: str | None, target: str | None
) -> "tuple[Loaded, str | None, str | None]":
    """Load the model for a text or a preset; return it and its codes of the languages, if it has several pairs.

    Invalid input fails here, before the slow import of torch."""
    from hark.cli.model_choice import choose_model, model_codes
    from hark.inspect.beginning import first_sentence
    from hark.translate.load import Loaded
    from hark.translate.translator import UNKNOWN

    wanted = source
    if preset:
        from hark.inspect.presets import LANGUAGE, TARGET, sentence_of

        wanted = source or LANGUAGE
        target = target or (TARGET if model is None else None)
    folder, wanted, target, *_ = choose_model(model, wanted, target, [] if text is None else [text])
    loaded = Loaded(folder)
    model_codes(loaded, source, target)
    language = loaded.config.data.source
    if loaded.languages.several:
        # For a text too short to tell, the model need not know the source language.
        language, target = loaded.languages.pair(text or "", wanted, target)
        source = None if language == UNKNOWN else language
    if preset:
        sentence_of(preset, language)
    else:
        first_sentence(text or "", language)
    return loaded, source, target


def read_beginning(words: list[str], errors: Literal["strict", "replace"]) -> str:
    """Read the first non-blank line, and the next one, which shows that there is more text. Cut a huge line."""
    from hark.cli.streams import decode_line, find_input, open_file
    from hark.inspect.beginning import BEGINNING

    given = find_input(words)
    if isinstance(given, str):
        return given[:BEGINNING]
    if given is None and (sys.stdin is None or sys.stdin.closed):
        raise UserError("nothing to look at: stdin is closed; pass a sentence or a file")
    if given is None and sys.stdin.isatty():
        sys.stderr.write("type a sentence; end with Ctrl-D\n")
    lines: list[str] = []
    limit = 4 * BEGINNING  # bytes: a character has at most four
    with open_file(given) if given else nullcontext(sys.stdin.buffer) as file:
        for number, raw in enumerate(iter(lambda: file.readline(limit), b""), start=1):
            if len(raw) == limit:  # the line was cut, perhaps within a character
                raw = raw[: codecs.utf_8_decode(raw, "replace", False)[1]]
            line = decode_line(raw, number, str(given or "stdin"), errors).lstrip()
            lines += [line] if line else []
            if len(lines) > 1 or len(line) >= BEGINNING:
                break
    return "".join(lines)[:BEGINNING]


def on_a_desktop() -> bool:
    """Whether this is a terminal on a local desktop, not a script or an ssh session."""
    if not sys.stdout.isatty() or "SSH_CONNECTION" in os.environ:
        return False
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


@contextmanager
def shown_status() -> Iterator[Callable[[str], object]]:
    """Yield a function that shows the current activity in a transient line on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    width = 0

    def show_status(message: str) -> None:
        nonlocal width
        sys.stderr.write(f"\r{message:<{width}}")  # padded to cover a longer previous message
        sys.stderr.flush()
        width = len(message)

    try:
        yield show_status
    finally:
        show_status("")
        sys.stderr.write("\r")
        sys.stderr.flush()


@contextmanager
def no_collection() -> Iterator[None]:
    """Disable garbage collection during imports and exclude what they allocate from later collections, which saves
    half a second."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
