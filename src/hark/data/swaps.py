"""Replacement of names and numbers that both sides of a pair share, so that a model learns to copy them.

Training text repeats a few names (a quarter of Tatoeba is about Tom), so a model replaces an unknown name with the next
best word, especially from German, where every noun is capitalised. Its years are also limited to those of the corpus.
Pairs with other names, half of them invented, and with other numbers teach the model to copy.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable
from difflib import SequenceMatcher

import numpy as np

WORD = re.compile(r"\w(?:[\w.'’&-]*\w)?")
NUMBER = re.compile(r"(?<![\w.,:])(\d+)(st|nd|rd|th)?(?![\w:]|[.,]\d)")
"""Digits on their own: not part of a word, of 12.5 or of 7:45, whose notation depends on the language.

An English ordinal ending is allowed: "July 12th", as Tatoeba mostly writes it, has the same number as "12. Juli".
"""
DIGIT = re.compile(r"\d")
MADE_UP = 0.5
"""Share of replacement names that are invented; the rest come from other pairs."""


def shared_name(source: str, target: str) -> str:
    """Return the longest run of capitalised words that both sides share, usually a name; empty if there is none."""
    source_words, target_words = WORD.findall(source), WORD.findall(target)
    # Replace lowercase words by their position, negative on the target side, so that they never match.
    matcher = SequenceMatcher(
        None,
        [word if word[0].isupper() else at for at, word in enumerate(source_words)],
        [word if word[0].isupper() else -1 - at for at, word in enumerate(target_words)],
        autojunk=False,
    )
    run = matcher.find_longest_match()
    # A single word at the start may be capitalised only because of its position ("Was" is a word in both languages).
    if run.size == 1 and 0 in (run.a, run.b):
        return ""
    return " ".join(source_words[run.a : run.a + run.size])


def find_names(pairs: Iterable[tuple[str, str]]) -> Counter[str]:
    """Count the names that pairs share, except those with digits (A5-0006) or with punctuation between words."""
    candidates = ((shared_name(source, target), source, target) for source, target in pairs)
    return Counter(
        name
        for name, source, target in candidates
        if name and name in source and name in target and not DIGIT.search(name)
    )


def rename(source: str, target: str, other: str, known: Collection[str]) -> tuple[str, str] | None:
    """Replace the name of a pair; return None if it has no known name, or the name is already `other`."""
    name = name_in(source, target, known)
    if not name:
        return None
    whole = re.compile(rf"(?<![\w'’&-]){re.escape(name)}(?![\w'’&-])")
    times = len(whole.findall(source))
    if not times or times != len(whole.findall(target)) or other == name:  # one side may use a pronoun
        return None
    return whole.sub(lambda _: other, source), whole.sub(lambda _: other, target)


def name_in(source: str, target: str, known: Collection[str]) -> str:
    name = shared_name(source, target)
    if name in known:
        return name
    # A known name is also one at the start of a sentence.
    first, other = WORD.match(source), WORD.match(target)
    if first is None or other is None or first.group() != other.group() or first.group() not in known:
        return ""
    return str(first.group())


class Renamer:
    """Replaces names in pairs by other known names, or by invented ones blended from two words.

    Capitalised words among `other_words` may also be part of a blend: Lindenstraße and Recklinghausen are names too.
    """

    def __init__(self, names: Iterable[str], rng: np.random.Generator, other_words: Iterable[str] = ()) -> None:
        self.rng = rng
        self.known = frozenset(names)
        self.names = sorted(self.known)
        words = {word for name in self.names for word in name.split()}
        words |= {word for word in other_words if word[0].isupper()}
        self.parts: list[str] = sorted(word for word in words if word.isalpha() and len(word) > 3)

    def __call__(self, source: str, target: str) -> tuple[str, str] | None:
        return rename(source, target, self.draw(), self.known) if self.names else None

    def draw(self) -> str:
        if len(self.parts) < 2 or self.rng.random() >= MADE_UP:
            return self.names[int(self.rng.integers(len(self.names)))]
        head, tail = (self.parts[i] for i in self.rng.integers(len(self.parts), size=2).tolist())
        cut, begin = int(self.rng.integers(2, len(head))), int(self.rng.integers(1, len(tail) - 1))
        return f"{head[:cut]}{tail[begin:].lower()}"


def renumber(source: str, target: str, rng: np.random.Generator) -> tuple[str, str] | None:
    """Replace the numbers of a pair by others of equal length; return None unless both sides have the same numbers."""
    source_numbers, target_numbers = (Counter(match[1] for match in NUMBER.finditer(side)) for side in (source, target))
    if not source_numbers or source_numbers != target_numbers:  # one side may spell a number out
        return None
    others = {number: draw_number(len(number), rng) for number in source_numbers}

    def replace(match: re.Match[str]) -> str:
        number = others[match[1]]
        return number + ordinal_ending(number) if match[2] else number

    new_source, new_target = (NUMBER.sub(replace, side) for side in (source, target))
    return None if new_source == source else (new_source, new_target)


def draw_number(digits: int, rng: np.random.Generator) -> str:
    first = str(rng.integers(1, 10))
    return first + "".join(map(str, rng.integers(0, 10, size=digits - 1)))


def ordinal_ending(number: str) -> str:
    """Return the English ordinal ending: 1st, 2nd, 3rd, 4th, but 11th."""
    if number[-2:-1] == "1":
        return "th"
    return {"1": "st", "2": "nd", "3": "rd"}.get(number[-1], "th")
