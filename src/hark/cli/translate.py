"""`hark translate`: text in another language."""

import os
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer

from hark.cli import options
from hark.errors import UserError

if TYPE_CHECKING:
    from hark.decode.load import Loaded

STDIN = "-"
LOOK = 1000
"""Characters by which the language of a text is told, if nobody tells it."""
LIKE_A_FILE = re.compile(
    r"\S+\.(?:txt|md|rst|tex|html?|xml|csv|tsv|jsonl?|ya?ml|po|srt|vtt|docx?|odt|rtf|pdf|xliff?|log)", re.IGNORECASE
)
LINE = re.compile(r"[^\n]*\n|[^\n]+")


def translate(
    words: Annotated[
        list[str] | None,
        typer.Argument(help="Text, or a file of text; - or nothing: stdin.", metavar="[TEXT | FILE | -]"),
    ] = None,
    model: options.Model = None,
    source: options.Source = None,
    target: options.Target = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to a file.")] = None,
    beam: Annotated[
        int | None, typer.Option("--beam", min=1, metavar="N", help="Width of the search; 1 is fastest.")
    ] = None,
    nbest: Annotated[
        int,
        typer.Option("--nbest", min=1, metavar="N", help="Several a line: its number, score and text in columns."),
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON object for each line, with score and flags.")] = False,
    align: Annotated[bool, typer.Option("--align", help="With --json: which words stand for which.")] = False,
    search: options.Search = None,
    split: Annotated[
        bool, typer.Option("--split/--no-split", help="Split lines into sentences; or take each line for one.")
    ] = True,
    protect: options.Protect = True,
    errors: options.Errors = "strict",
    engine: options.Engine = "auto",
    device: options.Device = "auto",
    precision: options.Precision = "auto",
    threads: options.Threads = None,
) -> None:
    """Translate text, a file, or what comes from stdin.

    Lines, blank lines, indentation and list marks stay as they are, and order is kept. A line is printed as soon as it
    is ready. What may be wrong is told on stderr, and with --json beside each line.
    """
    from hark.cli.printing import write
    from hark.cli.streams import shown_progress, writer
    from hark.decode.load import Loaded

    if align and not as_json:
        raise UserError("--align requires --json")
    given = what(words or [])
    if isinstance(given, Path) and output is not None and output.exists() and output.samefile(given):
        raise UserError(f"{output}: is the text to translate; name another file for the translation")
    folder, source, lines = which_model(model, source, target, lines_of(given, errors))
    loaded = Loaded(folder, engine, device, precision, threads)
    source, target = own_codes(loaded, source, target)
    changes = search_changes(search or [], beam, nbest)
    try:
        with writer(output) as out, shown_progress(given, output) as advance:
            results = loaded.translate(
                lines, source=source, target=target, split=split, align=align, protect=protect, **changes
            )
            write(results, out, advance, nbest, as_json, align, at_once=given is None)
    except KeyboardInterrupt as interrupt:
        leave_at_once(interrupt)


def leave_at_once(interrupt: KeyboardInterrupt) -> NoReturn:
    """After Ctrl-C or its like: CTranslate2's workers cannot be stopped within a batch, and Python would wait for
    them."""
    from hark.cli.interrupts import describe_interrupt

    line, status = describe_interrupt(getattr(interrupt, "number", 0))
    with suppress(OSError):  # the terminal, or who reads, may be gone
        sys.stdout.flush()
    with suppress(OSError):
        sys.stderr.write(f"hark: {line}\n")
        sys.stderr.flush()
    os._exit(status)


def lines_of(given: Path | str | None, errors: Literal["strict", "replace"]) -> Iterable[str]:
    """The lines of what was given, with their ends."""
    from hark.cli.streams import ArrivingLines, file_lines

    if isinstance(given, Path):
        sys.stderr.write(f"{given}: a file; its text is translated\n")
        return file_lines(given, errors)
    if given is not None:
        return LINE.findall(given if given.endswith("\n") else given + "\n")
    if sys.stdin is None or sys.stdin.closed:
        raise UserError("nothing to translate: stdin is closed; give a text or a file")
    if sys.stdin.isatty():
        sys.stderr.write("type text; Ctrl-D ends it\n")
    return ArrivingLines(sys.stdin.fileno(), errors)


def what(words: list[str]) -> Path | str | None:
    """What the words of the command line mean: a file, text, or (nothing) stdin."""
    if not words or words == [STDIN]:
        return None
    try:
        for word in words:
            word.encode()
    except UnicodeEncodeError:
        raise UserError("the text is not UTF-8; put it in a file, and use --errors replace") from None
    files = [word for word in words if len(word) < 4096 and "\0" not in word and os.path.exists(word)]
    if len(words) == 1 and files:
        return Path(words[0])
    if len(words) > 1 and len(files) == len(words):
        raise UserError(f"{', '.join(words)}: one file at a time, please")
    if len(words) == 1 and LIKE_A_FILE.fullmatch(words[0]):
        raise UserError(f"{words[0]}: no such file; to translate these very words, pipe them in")
    return " ".join(words)


def which_model(
    model: str | None, source: str | None, target: str | None, lines: Iterable[str]
) -> tuple[Path, str | None, Iterable[str]]:
    """The bundle that was named, or the one for the pair; the source language, which is told from the text if several
    are possible; and the text."""
    from hark import models

    if model is not None:
        return models.named_folder(model), source, lines
    fitting = models.choose(source, target, models.list_models())
    sources = {pair[0] for each in fitting for pair in each.pairs}
    if len(sources) > 1:
        source, lines = told_from_text(sources, lines)
        fitting = models.choose(source, target, fitting)
    targets = dict.fromkeys(pair[1] for each in fitting for pair in each.pairs)
    if len(targets) > 1:
        spoken = fitting[0].pairs[0][0]
        raise UserError(f"models from {spoken} translate to {', '.join(targets)}; choose with -t")
    return fitting[0].folder, source, lines


def told_from_text(candidates: set[str], lines: Iterable[str]) -> tuple[str, Iterable[str]]:
    """The language of a text by its beginning, and the text again."""
    from hark.cli.streams import ArrivingLines
    from hark.text.detector import guess_language

    rest = iter(lines)
    seen: list[str] = []
    for line in rest:
        seen.append(line)
        enough = sum(map(len, seen)) > LOOK
        if enough or (isinstance(rest, ArrivingLines) and "".join(seen).strip() and not rest.ready()):
            break
    guess = guess_language("".join(seen)[: 2 * LOOK], sorted(candidates))  # the last line may be of any length
    if guess is None:
        raise UserError(f"cannot tell whether this is {' or '.join(sorted(candidates))}; say so with -s")
    if isinstance(rest, ArrivingLines):
        rest.put_back(seen)
        return guess, rest
    return guess, chain(seen, rest)


def own_codes(loaded: "Loaded", source: str | None, target: str | None) -> tuple[str | None, str | None]:
    """The model's own codes of languages that were named: `pt` for `pt-BR`. It must translate from one to the other."""
    from hark.card import describe_pairs
    from hark.models import fits

    pairs = loaded.facts.pairs
    fitting = [pair for pair in pairs if fits(source, target, pair)]
    if not fitting:
        raise UserError(
            f"{loaded.bundle.folder}: translates {describe_pairs(pairs)}, "
            f"not {source or pairs[0][0]} to {target or pairs[0][1]}; choose another model"
        )
    exact = [pair for pair in fitting if source in (None, pair[0]) and target in (None, pair[1])] or fitting
    return source and exact[0][0], target and exact[0][1]


def search_changes(settings: list[str], beam: int | None, nbest: int) -> dict[str, Any]:
    """What the command line changes in the model's own settings of the search."""
    from hark import configfile

    tree: dict[str, Any] = {}
    for each in settings:
        configfile.apply_override(tree, f"decode.{each}")
    changes = dict(tree.get("decode", {}))
    if beam is not None:
        changes["beam"] = beam
    if nbest > 1:
        changes["nbest"] = nbest
    return changes
