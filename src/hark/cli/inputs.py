"""The input of a verb: text on the command line, a file, or stdin."""

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from hark.errors import UserError

STDIN = "-"
STDIN_FILE = Path("/dev/stdin")
"""What is read as a document comes from a file."""
LIKE_A_FILE = re.compile(
    r"\S+\.(?:txt|md|rst|tex|x?html?|xml|csv|tsv|jsonl?|ya?ml|toml|pot?|srt|vtt|ass|docx?|pptx?|xlsx?|f?od[tps]|epub"
    r"|rtf|pdf|xliff?|xlf|tmx|properties|strings|stringsdict|ts|svg|log)",
    re.IGNORECASE,
)
TEXTS = frozenset((".log", ".src", ".trg", ".tgt", ".ref", ".hyp", ".out", ".in"))
"""Suffixes of text without markup that are no format of documents."""
LIKE_A_SUFFIX = re.compile(r"\.[a-z][\w+-]{0,11}", re.IGNORECASE)
LIKE_A_LANGUAGE = re.compile(r"\.[a-z]{2,3}(?:[-_][a-z]{2,4})?", re.IGNORECASE)
PROGRAMS = frozenset((".cs", ".ml", ".pl", ".ps", ".sh"))
"""Suffixes that are languages, but more often those of programs."""
LINE = re.compile(r"[^\n]*\n|[^\n]+")


def find_input(words: list[str], verb: str = "translate") -> Path | str | None:
    """Return the input that the arguments name: a file, text, or None for stdin. Messages use the verb."""
    if not words or words == [STDIN]:
        return None
    try:
        for word in words:
            word.encode()
    except UnicodeEncodeError:
        raise UserError("the text is not UTF-8; put it in a file and use --errors replace") from None
    files = [word for word in words if len(word) < 4096 and "\0" not in word and os.path.exists(word)]
    if len(words) == 1 and files:
        return Path(words[0])
    if len(words) > 1 and len(files) == len(words):
        raise UserError(f"{', '.join(words)}: only one file at a time")
    if len(words) == 1 and LIKE_A_FILE.fullmatch(words[0]):
        raise UserError(f"{words[0]}: no such file; to {verb} this as text, pipe it in")
    return " ".join(words)


def find_format(path: Path, source: str | None) -> str:
    """The suffix of the format of a file. One that is neither a document nor text is refused: it would break."""
    from hark.documents.formats import find_suffix, find_way_out

    if known := find_suffix(path.name):
        return known
    suffix = path.suffix.lower()
    if suffix in TEXTS or not LIKE_A_SUFFIX.fullmatch(suffix) or suffix == f".{source}":
        return ".txt"
    if LIKE_A_LANGUAGE.fullmatch(suffix) and suffix not in PROGRAMS:  # test.en
        from hark.text.detector import base_language, known_languages

        if base_language(suffix[1:].replace("_", "-")) in known_languages():
            return ".txt"
    way_out = find_way_out(path.name) or "if it is plain text, use --as txt"
    raise UserError(f"{path}: files of type {suffix} cannot be translated; {way_out}")


def read_lines(
    source: Path | str | None, errors: Literal["strict", "replace"], verb: str = "translate"
) -> Iterable[str]:
    """The lines of an input, with their line endings."""
    from hark.cli.streams import ArrivingLines, file_lines, print_note

    if isinstance(source, Path):
        print_note(f"{verb.removesuffix('e')}ing the file {source}")
        return file_lines(source, errors)
    if source is not None:
        return LINE.findall(source if source.endswith("\n") else source + "\n")
    if sys.stdin is None or sys.stdin.closed:
        raise UserError(f"nothing to {verb}: stdin is closed; pass text or a file")
    if sys.stdin.isatty() and sys.stderr.isatty():
        sys.stderr.write("type text; end with Ctrl-D\n")
    return ArrivingLines(sys.stdin.fileno(), errors)


def group_lines(lines: Iterable[str], join: bool) -> Iterable[str]:
    """Group lines into translation units: single lines, hard-wrapped paragraphs or blocks of code.

    A line from a pipe that may continue a paragraph waits a moment for the next one. A line from a terminal does not.
    """
    from hark.cli.streams import ArrivingLines, ArrivingUnits
    from hark.text.paragraphs import group

    if isinstance(lines, ArrivingLines):
        return ArrivingUnits(lines) if join and not os.isatty(lines.descriptor) else lines
    return (unit.text for unit in group(lines)) if join else lines
