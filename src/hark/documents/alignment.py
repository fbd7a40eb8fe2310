"""Pairs of sentences from a document and its translation.

Sentences are aligned by length (Gale and Church 1993) and by the words that they share, rare ones counting more. The
words of a sentence are compared with those of the model's translation of the other one, as Bleualign does (Sennrich
and Volk 2010). Without translations, names and numbers that are the same in both languages still help.
"""

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

from hark.documents.formats import Document
from hark.documents.tmx import TranslationUnit
from hark.text.segments import split_sentences

STEM_LETTERS = 5
"""Letters of a word that are compared: endings differ."""
MAX_OCCURRENCES = 200
"""Maximum sentences of a text in which a word may occur to be compared; in short texts, none is so common."""
MIN_ANCHOR_SHARE, MIN_ANCHOR_LEAD = 0.4, 2.0
"""Minimum share of words in sentences that are surely translations, and how many times more it is than in others."""
MIN_WEIGHT, FULL_WEIGHT = 1.0, 60.0
"""Least weight of a sentence, and the weight from which it counts fully: a fragment of a few words says little."""
MIN_TOTAL = 200
"""Sentences of a text in which it is possible to tell rare words from common ones."""
_WORD = re.compile(r"\w+")


class SharedWords:
    """How much of the words of sentences is also in sentences of another text, by weight."""

    def __init__(self, source: Sequence[str], target: Sequence[str]) -> None:
        """Both texts in one language, as sentences."""
        bags = [_stems(text) for text in source], [_stems(text) for text in target]
        occurrences = Counter(word for bag in (*bags[0], *bags[1]) for word in bag)
        total = max(MIN_TOTAL, len(source) + len(target))
        weights = {word: math.log(total / count) ** 2 for word, count in occurrences.items()}
        self._weights = tuple(
            [max(MIN_WEIGHT, sum(weights[word] * times for word, times in bag.items())) for bag in side]
            for side in bags
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
                if len(found) <= MAX_OCCURRENCES:
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
            (min(1.0, each / weights[first + place]), min(1.0, weights[first + place] / FULL_WEIGHT))
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
        if (
            not ranked
            or ranked[0][0] < MIN_ANCHOR_SHARE
            or (len(ranked) > 1 and ranked[0][0] < MIN_ANCHOR_LEAD * ranked[1][0])
        ):
            return None
        return ranked[0]


def _stems(text: str) -> Counter[str]:
    return Counter(word[:STEM_LETTERS] if word.isalpha() else word for word in _WORD.findall(text.casefold()))


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


PRIORS = {
    (1, 1): 0.89, (1, 0): 0.005, (0, 1): 0.005, (2, 1): 0.04, (1, 2): 0.04, (2, 2): 0.005, (3, 1): 0.0075,
    (1, 3): 0.0075,
}  # fmt: skip
"""How often so many sentences of one text correspond to so many of the other: Gale and Church's figures, and a little
for three."""
VARIANCE = 6.8
"""Variance of the number of characters of a translation per character of its source (Gale and Church)."""
SMOOTHING_CHARS = 1_000
"""Characters added to both texts: short ones do not tell how much longer translations are."""
WORDS_WEIGHT, NEUTRAL_SHARE, NEUTRAL_SHARE_UNTRANSLATED = 12.0, 0.3, 0.1
"""How much shared words count, and the share of words that speaks neither for nor against a pair: of translations, and
of words that are the same in both languages. Tuned on newstest2013."""
MIN_SHARE = 0.1
"""The share of translated words that a pair has at least, nearly always."""
PARAGRAPH_COST = 3.0
"""Cost of a paragraph that ends in only one of the texts, or inside a pair."""
MAX_SHIFT = 60
"""Sentences around the expected place of a translation that are considered."""
LOW_SCORE = 0.8
"""Score below which a pair is marked as low. Tuned on newstest2013."""
MAX_DETOUR = 3
"""Sentences around the best alignment in which others compete with it."""
_Shape = tuple[int, int, int, int]
"""The row and column where a bead ends, and how many of each it takes."""
_COSTS = {shape: -math.log(prior) for shape, prior in PRIORS.items()}


@dataclass(frozen=True)
class TextSentence:
    text: str
    ends_paragraph: bool = False


@dataclass(frozen=True)
class Bead:
    """Sentences that are translations of each other: ranges of both texts; one of them may be empty."""

    source: range
    target: range
    score: float
    """How sure it is, from 0 to 1: its probability among other alignments, or less if it hardly looks like a
    translation."""

    @property
    def low(self) -> bool:
        return self.score < LOW_SCORE


class Aligner:
    """Aligns two texts. Each text may also come as translated sentence by sentence into the language of the other."""

    def __init__(
        self,
        source: Sequence[TextSentence],
        target: Sequence[TextSentence],
        translations: Sequence[str] | None = None,
        lexical: bool = True,
    ) -> None:
        """`translations` are those of the source sentences; `lexical=False` aligns by length alone."""
        self._source, self._target = source, target
        self._lengths = _sums(len(each.text) for each in source), _sums(len(each.text) for each in target)
        self._ends = _sums(each.ends_paragraph for each in source), _sums(each.ends_paragraph for each in target)
        self._ratio = (self._lengths[1][-1] + SMOOTHING_CHARS) / (self._lengths[0][-1] + SMOOTHING_CHARS)
        self._translated = translations is not None
        self._neutral = NEUTRAL_SHARE if self._translated else NEUTRAL_SHARE_UNTRANSLATED
        words = [each.text for each in source] if translations is None else translations
        self._words = SharedWords(words, [each.text for each in target]) if lexical else None

    def align(self) -> list[Bead]:
        """Find the cheapest way to divide both texts into beads, within a band around likely translations."""
        rows, columns = len(self._source), len(self._target)
        best: list[dict[int, float]] = [{} for _ in range(rows + 1)]
        steps: list[dict[int, tuple[int, int]]] = [{} for _ in range(rows + 1)]
        for row in range(rows + 1):
            here = best[row]
            for column in self._columns(row):
                if row == column == 0:
                    here[0] = 0.0
                    continue
                found, shape = math.inf, (0, 0)
                for down, right in _COSTS:
                    before = best[row - down].get(column - right) if down <= row else None
                    if before is not None:
                        cost = before + self._cost(row, column, down, right)
                        if cost < found:
                            found, shape = cost, (down, right)
                if found < math.inf:
                    here[column], steps[row][column] = found, shape
        path = list(self._trace(steps, rows, columns))[::-1]
        return [
            Bead(range(row - down, row), range(column - right, column), self._score(row, column, down, right, share))
            for (row, column, down, right), share in zip(path, self._probabilities(path), strict=True)
        ]

    def _trace(self, steps: list[dict[int, tuple[int, int]]], row: int, column: int) -> Iterator[_Shape]:
        while row or column:
            down, right = steps[row][column]
            yield row, column, down, right
            row, column = row - down, column - right

    def _probabilities(self, path: Sequence[_Shape]) -> list[float]:
        """The probability of each bead of the best alignment among all alignments near it (forward-backward)."""
        near = [[len(self._target), 0] for _ in range(len(self._source) + 1)]
        for row, column, down, right in [(0, 0, 0, 0), *path]:
            for place in range(row - down, row + 1):
                near[place] = [min(near[place][0], column - right), max(near[place][1], column)]
        edges = {
            (row, column): [
                ((row - down, column - right), self._cost(row, column, down, right))
                for down, right in _COSTS
                if down <= row and right <= column
            ]
            for row, (low, high) in enumerate(near)
            for column in range(max(0, low - MAX_DETOUR), min(len(self._target), high + MAX_DETOUR) + 1)
        }
        forward, backward = {(0, 0): 0.0}, {(len(self._source), len(self._target)): 0.0}
        for cell, incoming in edges.items():
            costs = [forward[before] - cost for before, cost in incoming if before in forward]
            if costs:
                forward[cell] = _log_sum(costs)
        for cell in reversed(edges):
            for before, cost in edges[cell]:
                if cell in backward and before in edges:
                    so_far = [backward[before]] if before in backward else []
                    backward[before] = _log_sum([*so_far, backward[cell] - cost])
        total = backward[0, 0]
        found: list[float] = []
        for row, column, down, right in path:
            before = row - down, column - right
            cost = next(cost for place, cost in edges[row, column] if place == before)
            found.append(math.exp(min(0.0, forward[before] - cost + backward[row, column] - total)))
        return found

    def _columns(self, row: int) -> range:
        """The columns that are considered in a row: around the line between anchors."""
        following = self._expected[min(row + 1, len(self._source))]  # so that the bands of two rows overlap
        low = max(0, self._expected[row] - MAX_SHIFT)
        return range(low, min(len(self._target), following + MAX_SHIFT) + 1)

    @cached_property
    def _expected(self) -> list[int]:
        """The expected column of each row: interpolated between sentences that are surely translations."""
        rows, columns = len(self._source), len(self._target)
        anchors = [(0, 0), *(self._words.anchors() if self._words is not None else ()), (rows, columns)]
        expected = [0] * (rows + 1)
        for (start, place), (end, other) in pairwise(anchors):
            for row in range(start, end + 1):
                expected[row] = place + (row - start) * (other - place) // max(1, end - start)
        return expected

    def _cost(self, row: int, column: int, down: int, right: int) -> float:
        cost = _COSTS[down, right]
        cost += PARAGRAPH_COST * self._broken_paragraphs(row, column, down, right)
        if not down or not right:
            return cost
        cost += self._length_cost(row, column, down, right)
        if self._words is not None:
            coverage = self._coverage(row, column, down, right)
            cost -= WORDS_WEIGHT * sum((share - self._neutral) * weight for share, weight in coverage)
        return cost

    def _coverage(self, row: int, column: int, down: int, right: int) -> list[tuple[float, float]]:
        assert self._words is not None
        if (down, right) == (2, 2):  # two sentences that changed places; otherwise they are two pairs
            crossed = self._words.coverage(row - 2, row - 1, column - 1, column)
            return crossed + self._words.coverage(row - 1, row, column - 2, column - 1)
        return self._words.coverage(row - down, row, column - right, column)

    def _broken_paragraphs(self, row: int, column: int, down: int, right: int) -> int:
        source, target = self._ends
        inside = (source[row - 1] - source[row - down]) if down else 0
        inside += (target[column - 1] - target[column - right]) if right else 0
        if not down or not right:
            return inside
        return inside + (self._source[row - 1].ends_paragraph != self._target[column - 1].ends_paragraph)

    def _length_cost(self, row: int, column: int, down: int, right: int) -> float:
        """-log of the probability that a translation is at least so much longer or shorter than expected."""
        one = self._lengths[0][row] - self._lengths[0][row - down]
        other = self._lengths[1][column] - self._lengths[1][column - right]
        mean = max(1.0, (one * self._ratio + other) / 2)
        deviation = (other - one * self._ratio) / math.sqrt(mean * VARIANCE)
        return -math.log(max(1e-12, math.erfc(abs(deviation) / math.sqrt(2))))

    def _score(self, row: int, column: int, down: int, right: int, probability: float) -> float:
        if not down or not right:
            return 0.0
        evidence = 3.4 - self._length_cost(row, column, down, right)
        if self._words is not None:
            coverage = self._coverage(row, column, down, right)
            mean = sum(share for share, _ in coverage) / len(coverage)
            evidence += 2 * WORDS_WEIGHT * (mean - (MIN_SHARE if self._translated else 0.0))
        return round(min(probability, 1 / (1 + math.exp(-max(-30.0, min(30.0, evidence))))), 3)


def _log_sum(numbers: Sequence[float]) -> float:
    """The logarithm of the sum of numbers that are given by their logarithms."""
    most = max(numbers)
    return most + math.log(sum(math.exp(each - most) for each in numbers))


def _sums(numbers: Iterable[int]) -> list[int]:
    """The sum of the first n numbers, for every n."""
    return list(accumulate(numbers, initial=0))


@dataclass(frozen=True)
class Evidence:
    """What tells which sentences correspond, besides their lengths."""

    translate: Callable[[list[str]], list[str]] | None = None
    """Translates sentences; None: only words that are the same in both languages are compared."""
    reverse: bool = False
    """Whether it translates the second document instead of the first."""


@dataclass(frozen=True)
class PairedDocuments:
    """The pairs of two documents, and the number of sentences of each that have no partner."""

    units: tuple[TranslationUnit, ...]
    alone: tuple[int, int]


def pair_documents(
    source: Document, target: Document, languages: tuple[str, str], evidence: Evidence
) -> PairedDocuments:
    sides = [read_sentences(each, language) for each, language in zip((source, target), languages, strict=True)]
    beads = align_sentences(sides[0], sides[1], evidence)
    units = [
        TranslationUnit(_join(sides[0], each.source), _join(sides[1], each.target), each.score, each.low)
        for each in beads
        if each.source and each.target
    ]
    alone = sum(not each.target for each in beads), sum(not each.source for each in beads)
    return PairedDocuments(tuple(units), alone)


def align_sentences(source: Sequence[TextSentence], target: Sequence[TextSentence], evidence: Evidence) -> list[Bead]:
    """Align two texts; a model of the opposite direction serves as well."""
    if evidence.translate is None or not evidence.reverse:
        translated = evidence.translate([each.text for each in source]) if evidence.translate else None
        return Aligner(source, target, translated).align()
    beads = Aligner(target, source, evidence.translate([each.text for each in target])).align()
    return [Bead(each.target, each.source, each.score) for each in beads]


def read_sentences(document: Document, language: str) -> list[TextSentence]:
    """The sentences of a document; each segment is a paragraph."""
    return [each for segment in document.segments for each in _sentences(segment.text, language)]


def _sentences(text: str, language: str) -> Iterator[TextSentence]:
    parts = [" ".join(each.split()) for each in split_sentences(text, language)]
    parts = [each for each in parts if each]
    for number, each in enumerate(parts, start=1):
        yield TextSentence(each, number == len(parts))


def _join(sentences: Sequence[TextSentence], places: range) -> str:
    return " ".join(sentences[place].text for place in places)


def pair_corrected(
    source: Document, corrected: Document, languages: tuple[str, str], evidence: Evidence
) -> tuple[list[tuple[str, str]], int]:
    """Pairs for a memory from a document and its corrected translation, and the number of doubtful pairs left out.

    Where both have the same segments, they are paired as they are, and their sentences too if there are as many.
    """
    if len(source.segments) != len(corrected.segments):
        units = pair_documents(source, corrected, languages, evidence).units
        return [(each.source, each.target) for each in units if not each.low], sum(each.low for each in units)
    pairs: list[tuple[str, str]] = []
    for one, other in zip(source.segments, corrected.segments, strict=True):
        pairs.append((one.text, other.text))
        parts = [list(_sentences(each.text, code)) for each, code in zip((one, other), languages, strict=True)]
        if len(parts[0]) == len(parts[1]) > 1:
            pairs += [(each.text, twin.text) for each, twin in zip(*parts, strict=True)]
    return pairs, 0
