"""Test lines with conditions on their translations: the format of everyday.toml and trust.toml.

A file has a table for each language pair, with an array of lines for each kind. The keys of a line are the attributes
of `Line`.

Sentences from many domains are drawn from held-out text with a fixed seed. The data folder is that of
`tools.cut_domains`: NAME.dev.en, NAME.dev.de, NAME.test.en and so on, none of which the shipped models were trained on.
Each draw takes the same number of pairs from every domain, and always the same ones, whatever the order of lines:
thresholds are tuned on `dev` and reported on `test`.
"""

import hashlib
import lzma
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from hark.errors import UserError
from hark.translate.translation import Translation

Draw = Literal["dev", "test"]
DRAWS: tuple[Draw, ...] = ("dev", "test")
DOMAINS = (
    "catalogues", "manuals", "descriptions", "examples", "docs", "strings", "games", "prose", "medical", "books",
)  # fmt: skip
SEED = "hark trust 2"
SHORTEST, LONGEST = 3, 60
"""Words on either side."""


@dataclass(frozen=True)
class Pair:
    domain: str
    english: str
    german: str

    def side(self, language: str) -> str:
        return {"en": self.english, "de": self.german}[language]


def draw(data: Path, which: Draw, sentences: int, domains: Sequence[str] = DOMAINS) -> list[Pair]:
    """Draw the same number of pairs from each domain, `sentences` in total."""
    seen, drawn = set[str](), list[Pair]()
    for number, domain in enumerate(domains, 1):
        # The first in the order of their hashes, except those seen before.
        for english, german in sorted(read_pairs(data / f"{domain}.{which}"), key=rank):
            keys = {shape(english), shape(german)}
            if len(drawn) < number * (sentences // len(domains)) and not keys & seen:
                seen |= keys
                drawn.append(Pair(domain, english, german))
    return drawn


def read_pairs(stem: Path) -> Iterator[tuple[str, str]]:
    """Read pairs of a suitable length whose sides differ; equal ones are names or untranslated."""
    sides = [Path(f"{stem}.{language}").read_text(encoding="utf-8").split("\n")[:-1] for language in ("en", "de")]
    for english, german in zip(*sides, strict=True):
        fits = all(SHORTEST <= len(side.split()) <= LONGEST for side in (english, german))
        if fits and bare(english) != bare(german):
            yield english, german


def rank(pair: tuple[str, str]) -> bytes:
    """The sort key of a pair in the draw."""
    return hashlib.blake2b("\t".join((SEED, *pair)).encode(), digest_size=16).digest()


def shape(text: str) -> str:
    """Normalise a text so that those that differ only in case, punctuation and numbers are equal."""
    return re.sub(r"\d+", "0", bare(text))


LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt")
"""In the order of the columns of our test sets."""
Warn = Literal["", "may", "must"]


@dataclass(frozen=True)
class Line:
    """An input, and the conditions on its translation."""

    text: str
    has: tuple[str, ...] = ()
    """Contains each of these as whole words, ignoring case; `a|b`: either; * allows the word to continue."""
    lacks: tuple[str, ...] = ()
    """Contains none of these; same syntax as `has`."""
    keeps: tuple[str, ...] = ()
    """Contains each of these verbatim, as often as in the text."""
    same: bool = False
    """Is equal to the text."""
    like: str = ""
    """Is the translation of this text, or one in `correct`, ignoring case, punctuation and line breaks."""
    correct: tuple[str, ...] = ()
    """Further correct translations: "Where's" is as good as "Where is", whichever the model chooses for `like`."""
    capitals: bool = False
    """Is in capitals."""
    lines: int = 0
    """Has this many lines."""
    paragraphs: int = 0
    """Has this many paragraphs, separated by empty lines."""
    starts: str = ""
    """Each line starts with this."""
    columns: int = 0
    """No line is longer than this, unless it is a single word."""
    words: tuple[int, ...] = ()
    """Has at least and at most this many words."""
    flagged: Warn = ""
    """Whether the result may or must carry a warning; otherwise a warning on a good translation is a false alarm."""
    good: str = ""
    """A translation that meets all conditions, to show that they can be met."""

    def __post_init__(self) -> None:
        if self.flagged not in get_args(Warn):
            raise ValueError(f"{self.text}: flagged must be may or must, not {self.flagged}")

    @classmethod
    def of(cls, tree: dict[str, Any]) -> "Line":
        values: dict[str, Any] = {key: tuple(each) if isinstance(each, list) else each for key, each in tree.items()}
        return cls(**values)

    def wrong(self, answer: str, of_like: str = "") -> str:
        """The first condition that an answer violates, or an empty string. `of_like` is the translation of `like`."""
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
        if self.like and bare(answer) not in map(bare, (of_like, *self.correct)):
            return f"differs from {of_like}"
        if self.capitals and answer != answer.upper():
            return "is not in capitals"
        return self.wrong_layout(answer)

    def wrong_layout(self, answer: str) -> str:
        """The first condition on layout or length that an answer violates, or an empty string."""
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
    """Whether a text contains one of several alternatives, separated by |."""
    return any(has_word(text, word) for word in words.split("|"))


def has_word(text: str, word: str) -> bool:
    """Whether a text contains whole words, ignoring case; * at either end allows them to continue."""
    start = "" if word.startswith("*") else r"(?<!\w)"
    end = "" if word.endswith("*") else r"(?!\w)"
    return re.search(f"{start}{re.escape(plain(word.strip('*')))}{end}", plain(text)) is not None


def plain(text: str) -> str:
    """Lower-case a text and normalise its spaces and apostrophes."""
    return re.sub(r"\s+", " ", text.casefold().replace("’", "'"))


def bare(text: str) -> str:
    """Reduce a text to its words, without case and punctuation."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def read_lines(file: Path, pair: str) -> dict[str, list[Line]]:
    """Read the lines of a language pair, by kind."""
    pairs = {key: value for key, value in read_tree(file).items() if isinstance(value, dict)}
    if pair not in pairs:
        raise UserError(f"{file.name}: no lines from {pair.replace('-', ' to ')}; choose from: {', '.join(pairs)}")
    return {kind: [Line.of(each) for each in lines] for kind, lines in pairs[pair].items()}


def read_tree(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


def read_xz(file: Path) -> list[str]:
    """The lines of a compressed text."""
    return lzma.decompress(file.read_bytes()).decode().removesuffix("\n").split("\n")


def has_warning(result: Translation) -> bool:
    """Whether a result carries a warning."""
    return bool(result.doubtful) or "untranslated" in result.flags
