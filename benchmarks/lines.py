"""Lines that people type, and what must hold of their translations: the format of everyday.toml and trust.toml.

A file has a table for each pair of languages, with an array of lines for each kind. The keys of a line are the
attributes of `Line`, and so are the conditions.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from hark.decode.translation import Translation
from hark.errors import UserError

Warn = Literal["", "may", "must"]


@dataclass(frozen=True)
class Line:
    """Something that people type, and what must hold of its translation."""

    text: str
    has: tuple[str, ...] = ()
    """Each of these is in it, as whole words, in either case; `a|b`: one of them; with * a word may go on there."""
    lacks: tuple[str, ...] = ()
    """None of these is in it; written like those of `has`."""
    keeps: tuple[str, ...] = ()
    """Each of these is in it, character by character, as often as in the text."""
    same: bool = False
    """It is the text itself."""
    like: str = ""
    """It is the translation of this, apart from case, punctuation and line breaks."""
    capitals: bool = False
    """It is in capitals."""
    lines: int = 0
    """It has this many lines."""
    paragraphs: int = 0
    """It has this many blocks of lines with empty lines between them."""
    starts: str = ""
    """Each of its lines starts with this."""
    columns: int = 0
    """None of its lines is longer than this, unless it is a single word."""
    words: tuple[int, ...] = ()
    """It has at least and at most this many words."""
    flagged: Warn = ""
    """Whether the result may or must carry a warning; otherwise a warning on a good translation is a false alarm."""
    good: str = ""
    """A translation of which all of this holds; it shows that the conditions can be met."""

    def __post_init__(self) -> None:
        if self.flagged not in get_args(Warn):
            raise ValueError(f"{self.text}: flagged is may or must, not {self.flagged}")

    @classmethod
    def of(cls, tree: dict[str, Any]) -> "Line":
        made: dict[str, Any] = {key: tuple(each) if isinstance(each, list) else each for key, each in tree.items()}
        return cls(**made)

    def wrong(self, answer: str, of_like: str = "") -> str:
        """What does not hold of an answer; nothing where it is good. `of_like` is the translation of `like`."""
        for words in self.has:
            if not has_one(answer, words):
                return f"has none of {words}"
        for words in self.lacks:
            if has_one(answer, words):
                return f"has {words}"
        for kept in self.keeps:
            if answer.count(kept) < self.text.count(kept):
                return f"lost {kept}"
        if self.same and answer != self.text:
            return "has changed"
        if self.like and bare(answer) != bare(of_like):
            return f"otherwise it is {of_like}"
        if self.capitals and answer != answer.upper():
            return "is not in capitals"
        return self.wrong_layout(answer)

    def wrong_layout(self, answer: str) -> str:
        """What does not hold of the lines of an answer, or of its length."""
        lines = answer.split("\n")
        if self.lines and len(lines) != self.lines:
            return f"has {len(lines)} lines, not {self.lines}"
        paragraphs = len(re.split(r"\n(?:[ \t]*\n)+", answer.strip()))
        if self.paragraphs and paragraphs != self.paragraphs:
            return f"has {paragraphs} paragraphs, not {self.paragraphs}"
        if not all(line.startswith(self.starts) for line in lines):
            return f"has a line without {self.starts}"
        broad = [len(line) for line in lines if len(line.removeprefix(self.starts).split()) > 1]
        if self.columns and max(broad, default=0) > self.columns:
            return f"has a line of {max(broad)} columns"
        if self.words and not self.words[0] <= (count := len(answer.split())) <= self.words[1]:
            return f"has {count} words"
        return ""


def has_one(text: str, words: str) -> bool:
    """Whether one of several alternatives, separated by |, is in a text."""
    return any(has_word(text, word) for word in words.split("|"))


def has_word(text: str, word: str) -> bool:
    """Whether words are in a text, as whole words, in either case; with * at an end they may go on there."""
    start = "" if word.startswith("*") else r"(?<!\w)"
    end = "" if word.endswith("*") else r"(?!\w)"
    return re.search(f"{start}{re.escape(plain(word.strip('*')))}{end}", plain(text)) is not None


def plain(text: str) -> str:
    """In small letters, with one kind of space and of apostrophe."""
    return re.sub(r"\s+", " ", text.casefold().replace("’", "'"))


def bare(text: str) -> str:
    """Words only: neither case nor punctuation."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def read_lines(file: Path, pair: str) -> dict[str, list[Line]]:
    """The lines of a pair of languages by kind."""
    pairs = {key: value for key, value in read_tree(file).items() if isinstance(value, dict)}
    if pair not in pairs:
        raise UserError(f"{file.name} has no lines from {pair.replace('-', ' to ')}; it has {', '.join(pairs)}")
    return {kind: [Line.of(each) for each in lines] for kind, lines in pairs[pair].items()}


def read_tree(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


def has_warning(result: Translation) -> bool:
    """Whether a result tells the user not to trust it."""
    return bool(result.doubtful) or "untranslated" in result.flags
