"""What both sides of a pair share because a translation copies it, names and numbers, and others in their place.

Training text has few names and has them often (a quarter of Tatoeba is about Tom), so that a model takes the next best
word for a name that it does not know, above all out of German, where every noun has a capital; and it has the years of
its time. Pairs with other names, half of them made up, and with other numbers teach it to copy.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable
from difflib import SequenceMatcher

import numpy as np

WORD = re.compile(r"\w(?:[\w.'’&-]*\w)?")
NUMBER = re.compile(r"(?<![\w.,:])(\d+)(st|nd|rd|th)?(?![\w:]|[.,]\d)")
"""Digits by themselves: no part of a word, of 12.5 or of 7:45, which languages write in ways of their own.

But English counts days as "July 12th", and Tatoeba mostly does: what German calls "12. Juli" has the same number.
"""
DIGIT = re.compile(r"\d")
MADE_UP = 0.5
"""Of the names that are put in place of others; the rest are those of other pairs."""


def shared_name(source: str, target: str) -> str:
    """The longest run of words with capitals that both sides have, mostly a name; empty if there is none."""
    ours, theirs = WORD.findall(source), WORD.findall(target)
    # A word without a capital becomes its place, counted so that none of one side is equal to any of the other.
    matcher = SequenceMatcher(
        None,
        [word if word[0].isupper() else at for at, word in enumerate(ours)],
        [word if word[0].isupper() else -1 - at for at, word in enumerate(theirs)],
        autojunk=False,
    )
    run = matcher.find_longest_match()
    # One word at the beginning may have its capital from there ("Was" is a word of English and another of German).
    if run.size == 1 and 0 in (run.a, run.b):
        return ""
    return " ".join(ours[run.a : run.a + run.size])


def find_names(pairs: Iterable[tuple[str, str]]) -> Counter[str]:
    """The names that pairs share, and how often; neither "A5-0006" nor words that a comma parts."""
    found = ((shared_name(source, target), source, target) for source, target in pairs)
    return Counter(
        name for name, source, target in found if name and name in source and name in target and not DIGIT.search(name)
    )


def rename(source: str, target: str, other: str, known: Collection[str]) -> tuple[str, str] | None:
    """A pair with another name for its own; none where it has none that is known, or that very one."""
    name = name_in(source, target, known)
    if not name:
        return None
    whole = re.compile(rf"(?<![\w'’&-]){re.escape(name)}(?![\w'’&-])")
    times = len(whole.findall(source))
    if not times or times != len(whole.findall(target)) or other == name:  # one side may say "he"
        return None
    return whole.sub(lambda _: other, source), whole.sub(lambda _: other, target)


def name_in(source: str, target: str, known: Collection[str]) -> str:
    name = shared_name(source, target)
    if name in known:
        return name
    # What is a name within other sentences is one at the beginning, too.
    first, other = WORD.match(source), WORD.match(target)
    if first is None or other is None or first.group() != other.group() or first.group() not in known:
        return ""
    return str(first.group())


class Renamer:
    """Puts other names into pairs: those that are known, and mixtures of two.

    A capitalised word of those besides may be a part of a mixture: Lindenstraße and Recklinghausen are names, too.
    """

    def __init__(self, names: Iterable[str], rng: np.random.Generator, besides: Iterable[str] = ()) -> None:
        self.rng = rng
        self.known = frozenset(names)
        self.names = sorted(self.known)
        words = {word for name in self.names for word in name.split()} | {word for word in besides if word[0].isupper()}
        self.parts: list[str] = sorted(word for word in words if word.isalpha() and len(word) > 3)

    def __call__(self, source: str, target: str) -> tuple[str, str] | None:
        return rename(source, target, self.draw(), self.known) if self.names else None

    def draw(self) -> str:
        if len(self.parts) < 2 or self.rng.random() >= MADE_UP:
            return self.names[int(self.rng.integers(len(self.names)))]
        head, tail = (self.parts[i] for i in self.rng.integers(len(self.parts), size=2).tolist())
        cut, begin = int(self.rng.integers(2, len(head))), int(self.rng.integers(1, len(tail) - 1))
        return f"{head[:cut]}{tail[begin:].lower()}"


def renumbered(source: str, target: str, rng: np.random.Generator) -> tuple[str, str] | None:
    """A pair with other numbers of as many digits; none where its sides do not have the same ones."""
    ours, theirs = (Counter(found[1] for found in NUMBER.finditer(side)) for side in (source, target))
    if not ours or ours != theirs:  # one side may say "three"
        return None
    others = {number: draw_number(len(number), rng) for number in ours}

    def other(found: re.Match[str]) -> str:
        number = others[found[1]]
        return number + ordinal_ending(number) if found[2] else number

    made = tuple(NUMBER.sub(other, side) for side in (source, target))
    return None if made[0] == source else (made[0], made[1])


def draw_number(digits: int, rng: np.random.Generator) -> str:
    first = str(rng.integers(1, 10))
    return first + "".join(map(str, rng.integers(0, 10, size=digits - 1)))


def ordinal_ending(number: str) -> str:
    """1st, 2nd, 3rd, 4th, but 11th."""
    if number[-2:-1] == "1":
        return "th"
    return {"1": "st", "2": "nd", "3": "rd"}.get(number[-1], "th")
