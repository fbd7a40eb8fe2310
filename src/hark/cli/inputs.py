"""What the words on the command line mean, and the lines of text that they give."""

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from hark.errors import UserError

STDIN = "-"
LIKE_A_FILE = re.compile(
    r"\S+\.(?:txt|md|rst|tex|html?|xml|csv|tsv|jsonl?|ya?ml|po|srt|vtt|docx?|odt|rtf|pdf|xliff?|log)", re.IGNORECASE
)
LINE = re.compile(r"[^\n]*\n|[^\n]+")


def find_input(words: list[str]) -> Path | str | None:
    """A file, text, or None for stdin."""
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


def read_lines(given: Path | str | None, errors: Literal["strict", "replace"]) -> Iterable[str]:
    """The lines of an input, with their line ends."""
    from hark.cli.streams import ArrivingLines, file_lines, say

    if isinstance(given, Path):
        say(f"{given}: a file; its text is translated")
        return file_lines(given, errors)
    if given is not None:
        return LINE.findall(given if given.endswith("\n") else given + "\n")
    if sys.stdin is None or sys.stdin.closed:
        raise UserError("nothing to translate: stdin is closed; give a text or a file")
    if sys.stdin.isatty() and sys.stderr.isatty():
        sys.stderr.write("type text; Ctrl-D ends it\n")
    return ArrivingLines(sys.stdin.fileno(), errors)


def group_lines(lines: Iterable[str], join: bool) -> Iterable[str]:
    """What is translated at a time: a line, or the lines of a hard-wrapped paragraph or a block of code.

    Of a pipe, a line that may go on waits a moment for the next; at a terminal none does.
    """
    from hark.cli.streams import ArrivingLines, ArrivingUnits
    from hark.text.paragraphs import group

    if isinstance(lines, ArrivingLines):
        return ArrivingUnits(lines) if join and not os.isatty(lines.descriptor) else lines
    return (unit.text for unit in group(lines)) if join else lines
