"""Words that the sentences of two texts have in common, rare ones counting more."""

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

STEM = 5
"""Letters of a word that are compared: endings differ."""
COMMON = 200
"""Maximum sentences of a text in which a word may occur to be compared; in short texts, none is so common."""
ANCHOR, CLEAR = 0.4, 2.0
"""Minimum share of words in sentences that are surely translations, and how many times more it is than in others."""
LEAST, FULL = 1.0, 60.0
"""Least weight of a sentence, and the weight from which it counts fully: a fragment of a few words says little."""
FEW = 200
"""Sentences of a text in which it is possible to tell rare words from common ones."""
_WORD = re.compile(r"\w+")


class SharedWords:
    """How much of the words of sentences is also in sentences of another text, by weight."""

    def __init__(self, source: Sequence[str], target: Sequence[str]) -> None:
        """Both texts in one language, as sentences."""
        bags = [_stems(text) for text in source], [_stems(text) for text in target]
        occurrences = Counter(word for bag in (*bags[0], *bags[1]) for word in bag)
        total = max(FEW, len(source) + len(target))
        weights = {word: math.log(total / count) ** 2 for word, count in occurrences.items()}
        self._weights = tuple(
            [max(LEAST, sum(weights[word] * times for word, times in bag.items())) for bag in side] for side in bags
        )
        places: dict[str, list[int]] = {}
        for number, bag in enumerate(bags[1]):
            for word in bag:
                places.setdefault(word, []).append(number)
        self._shared: list[dict[int, float]] = []
        for bag in bags[0]:
            row: dict[int, float] = {}
            for word, times in bag.items():
                found = places.get(word, ())
                if len(found) <= COMMON:
                    for number in found:
                        row[number] = row.get(number, 0.0) + weights[word] * min(times, bags[1][number][word])
            self._shared.append(row)

    def coverage(self, start: int, end: int, target_start: int, target_end: int) -> list[tuple[float, float]]:
        """For each sentence of two ranges, the share of its words that is in the other range, and the weight of its
        words; both from 0 to 1."""
        rows = [0.0] * (end - start)
        columns = [0.0] * (target_end - target_start)
        for row in range(end - start):
            shared = self._shared[start + row]
            for column in range(target_end - target_start):
                weight = shared.get(target_start + column, 0.0)
                rows[row] += weight
                columns[column] += weight
        sides = (rows, self._weights[0], start), (columns, self._weights[1], target_start)
        return [
            (min(1.0, each / weights[first + place]), min(1.0, weights[first + place] / FULL))
            for shared_weights, weights, first in sides
            for place, each in enumerate(shared_weights)
        ]

    def anchors(self) -> list[tuple[int, int]]:
        """Pairs of sentences that are surely translations, in the order of both texts."""
        best = [self._best(row) for row in range(len(self._shared))]
        of_column: dict[int, list[tuple[float, int]]] = {}
        for row, found in enumerate(best):
            if found is not None:
                of_column.setdefault(found[1], []).append((found[0], row))
        pairs = sorted((max(rows)[1], column) for column, rows in of_column.items())
        return list(_longest_rising(pairs))

    def _best(self, row: int) -> tuple[float, int] | None:
        found = (
            (min(share for share, _ in self.coverage(row, row + 1, column, column + 1)), column)
            for column in self._shared[row]
        )
        ranked = sorted(found, reverse=True)[:2]
        if not ranked or ranked[0][0] < ANCHOR or (len(ranked) > 1 and ranked[0][0] < CLEAR * ranked[1][0]):
            return None
        return ranked[0]


def _stems(text: str) -> Counter[str]:
    return Counter(word[:STEM] if word.isalpha() else word for word in _WORD.findall(text.casefold()))


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The longest subsequence of pairs, sorted by the first number, in which the second one rises too."""
    ends: list[int] = []
    last: list[int] = []
    before = [-1] * len(pairs)
    for place, (_, column) in enumerate(pairs):
        length = bisect_left(ends, column)
        before[place] = last[length - 1] if length else -1
        if length == len(ends):
            ends.append(column)
            last.append(place)
        else:
            ends[length], last[length] = column, place
    chain: list[tuple[int, int]] = []
    place = last[-1] if last else -1
    while place >= 0:
        chain.append(pairs[place])
        place = before[place]
    return reversed(chain)
