"""The text that models are measured on, and lines that equal or nearly equal it: none of them is trained on."""

import math
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from hark.data.held_out import essence
from tools.tables import Row, read_pairs, read_table

RowT = TypeVar("RowT", bound=Row)
CAPTIONS = tuple(
    f"multi30k/{name}" for name in ("train", "val", "test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")
)
MEASURED = {
    "de": (
        "europarl-en-de/dev", "europarl-en-de/test", "europarl-seven/dev", "europarl-seven/test", "tatoeba-en-de/test",
        "news/newstest2013", "news/newstest2014", "alignment-de-en/test.uc", *CAPTIONS,
    ),
    "fr": (
        "europarl-en-fr/dev", "europarl-en-fr/test", "europarl-seven/dev", "europarl-seven/test", "tatoeba-en-fr/test",
        "news/newstest2014-fr", *CAPTIONS,
    ),
    **dict.fromkeys(("es", "it", "nl", "pt"), ("europarl-seven/dev", "europarl-seven/test")),
}  # fmt: skip
"""Of English and each other language; and the test set of tatoeba-seven."""
EVERYDAY = Path(__file__).parent.parent / "benchmarks" / "everyday.toml"
EVERYDAY_WORDS = 4
"""Everyday lines of fewer words, such as greetings, stay: a translator that never read "hello" serves nobody."""

NEAR, NEAR_WORDS = 0.8, 4
"""Sides are nearly equal that share this part of their different words (Jaccard); of fewer words only equal ones."""

DIGITS = b"0123456789"
WORD = re.compile(r"[^\W\d_]+")


def fold(text: str) -> bytes:
    """What is left of a text without case, digits, punctuation and spaces."""
    return essence(text).translate(None, DIGITS)


def words(text: str) -> set[str]:
    return set(WORD.findall(text.casefold()))


@dataclass
class HeldOutText:
    """The text of one language that must not be trained on: equal lines are found, and nearly equal ones."""

    folded: set[bytes] = field(default_factory=set)
    lines: list[set[str]] = field(default_factory=list)

    def add(self, text: str, nearly: bool = False) -> None:
        self.folded.add(fold(text))
        self.folded.discard(b"")
        if nearly and len(found := words(text)) >= NEAR_WORDS:
            self.lines.append(found)

    @cached_property
    def index(self) -> dict[str, list[int]]:
        """The lines by their rarest words: as many of each as a nearly equal line cannot lack all of."""
        frequency = Counter(word for line in self.lines for word in line)
        index = defaultdict(list)
        for number, line in enumerate(self.lines):
            rarest = sorted(line, key=lambda word: (frequency[word], word))
            for word in rarest[: len(line) - math.ceil(NEAR * len(line)) + 1]:
                index[word].append(number)
        return dict(index)

    def has(self, text: str) -> bool:
        return fold(text) in self.folded

    def has_nearly(self, text: str) -> bool:
        """Only when all lines have been added."""
        found = words(text)
        numbers = {number for word in found for number in self.index.get(word, ())}
        return any(
            len(found & self.lines[number]) >= NEAR * len(found | self.lines[number])
            for number in numbers
            if NEAR * len(found) <= len(self.lines[number]) <= len(found) / NEAR
        )


class Purge:
    """Passes on the rows that may be trained on, each once; `held_out` is the text of each column's language."""

    def __init__(self, *held_out: HeldOutText) -> None:
        self.held_out = held_out
        self.seen: set[int] = set()

    def __call__(self, rows: Iterable[RowT], counts: Counter[str], nearly: bool = False) -> Iterator[RowT]:
        """Count what becomes of the rows. `nearly`: drop also what nearly equals a line that is held out."""
        for row in rows:
            sides = list(zip(self.held_out, row, strict=True))
            key = hash(tuple(map(essence, row)))
            if any(side.has(text) for side, text in sides):
                counts["equal"] += 1
            elif key in self.seen:
                counts["repeated"] += 1
            elif nearly and any(side.has_nearly(text) for side, text in sides):
                counts["nearly equal"] += 1
            else:
                self.seen.add(key)
                counts["train"] += 1
                yield row


def read_everyday(language: str) -> Iterator[str]:
    """The lines of one language in everyday.toml that are sentences."""
    tree = tomllib.loads(EVERYDAY.read_text(encoding="utf-8"))
    for kind in tree["en-de" if language == "en" else "de-en"].values():
        for line in kind:
            yield from (line[key] for key in ("text", "like") if len(line.get(key, "").split()) >= EVERYDAY_WORDS)


def read_held_out(data: Path, language: str) -> tuple[HeldOutText, HeldOutText]:
    """The English text that models are measured on already, and that of the other language."""
    held_out = HeldOutText(), HeldOutText()
    table = ((row[0], row[1]) for row in read_table(data / f"tatoeba-seven/en-{language}.test.tsv.xz"))
    for pairs in (*(read_pairs(data / each, language) for each in MEASURED[language]), table):
        for pair in pairs:
            for side, text in zip(held_out, pair, strict=True):
                side.add(text)
    return held_out
