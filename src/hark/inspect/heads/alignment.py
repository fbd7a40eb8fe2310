"""Alignment error rates of cross-attention: of every head, of each layer's mean, and of the best combination of heads.

A word of the translation is aligned with the source word that has most of its weight: the mean over its tokens, summed
over the tokens of the source word, as in `hark translate --align`. Error rates against gold alignments are those of Och
and Ney (2003).

Shape suffixes in addition to the package's legend: L layers, C candidates; T and S are words here.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from hark.data.compression import ByteStream
from hark.data.corpus import read_lines
from hark.engine.interface import AlignmentHeads
from hark.errors import UserError
from hark.facts import AlignmentStep as Step
from hark.inspect.attention import Head

LINK = re.compile(r"(\d+)([-p?])(\d+)")
CLOSING = frozenset(".,;:!?)]}»%…")
OPENING = frozenset("([{«„")
QUOTES = frozenset({'"', "'"})
CLITIC = re.compile(r"['’](?:s|re|ve|ll|d|m|t)", re.IGNORECASE)
STEPS: tuple[Step, ...] = get_args(Step)
MOST = 6
"""Maximum heads in a combination; more were never better."""

WordWeights = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Gold:
    """The links of one sentence pair, between target words (rows) and source words (columns)."""

    sure_TS: NDArray[np.bool_]
    possible_TS: NDArray[np.bool_]
    """Includes the sure links."""


def read_gold(path: Path, words: Sequence[tuple[Sequence[str], Sequence[str]]], reversed_: bool = False) -> list[Gold]:
    """Read the links of sentence pairs, one line each: `3-4` is sure and `3p4` (or `3?4`) possible.

    Links are source-target, or target-source with `reversed_`. Words count from 1, or from 0 if the file contains a 0.
    """
    with ByteStream(path) as stream:
        lines = list(read_lines(stream))
    if len(lines) < len(words):
        raise UserError(f"{path}: {len(lines)} lines for {len(words)} sentence pairs; give one line per pair")
    links = [read_links(line, path, number) for number, line in enumerate(lines, start=1)]
    first = 0 if any(0 in (one, other) for line in links for one, _, other in line) else 1
    return [
        make_gold(line, source, target, first, reversed_, f"{path}:{number}")
        for number, (line, (source, target)) in enumerate(zip(links, words, strict=False), start=1)
    ]


def read_links(line: str, path: Path, number: int) -> list[tuple[int, str, int]]:
    found = []
    for word in line.split():
        match = LINK.fullmatch(word)
        if match is None:
            raise UserError(f"{path}:{number}: {word!r} is not a link; use the format 1-1 2p3")
        found.append((int(match[1]), match[2], int(match[3])))
    return found


def make_gold(
    links: Sequence[tuple[int, str, int]],
    source: Sequence[str],
    target: Sequence[str],
    first: int,
    reversed_: bool,
    where: str,
) -> Gold:
    sure_TS, possible_TS = (np.zeros((len(target), len(source)), bool) for _ in range(2))
    for one, kind, other in links:
        s, t = (other - first, one - first) if reversed_ else (one - first, other - first)
        if s >= len(source) or t >= len(target):
            remedy = (
                "if links are source-target, remove --gold-reversed"
                if reversed_
                else "if links are target-source, add --gold-reversed"
            )
            raise UserError(
                f"{where}: link {one}{kind}{other} is out of range: the pair has {len(source)} source and "
                f"{len(target)} target words; {remedy}"
            )
        possible_TS[t, s] = True
        sure_TS[t, s] |= kind == "-"
    return Gold(sure_TS, possible_TS)


def error_rate(sure_hits: float, possible_hits: float, links: float, sure: float) -> float:
    """The alignment error rate (Och and Ney, 2003) of links A: 1 - (|A & S| + |A & P|) / (|A| + |S|)."""
    return 1.0 - (sure_hits + possible_hits) / (links + sure) if links + sure else 0.0


def detokenise(words: Sequence[str]) -> str:
    """Detokenise text approximately: attach punctuation to the words that it belongs to.

    Used if only the tokenised text is available, so that the model's input resembles its training data. No character is
    changed.
    """
    text, glued, quoted = "", True, False
    for word in words:
        closes = word in CLOSING or (word in QUOTES and quoted) or CLITIC.fullmatch(word)
        text += word if glued or closes else f" {word}"
        glued = word in OPENING or (word in QUOTES and not quoted)
        quoted ^= word in QUOTES
    return text


@dataclass(frozen=True, eq=False)
class Linked:
    """One sentence pair: the weights of every head between its words, at either step, and the gold alignment."""

    weights_LHTS: Mapping[Step, WordWeights]
    gold: Gold


def link_words(cross_LHTS: WordWeights, source_shares: WordWeights, target_shares: WordWeights, gold: Gold) -> Linked:
    """Convert attention between tokens to attention between words.

    `..._shares` are how much of each token is in each word; the source's EOS is in none, and the target tokens do not
    include the start token.
    """
    means = target_shares / np.maximum(target_shares.sum(0), 1e-9)
    tokens = len(target_shares)
    at: dict[Step, WordWeights] = {"predicts": cross_LHTS[:, :, :tokens], "reads": cross_LHTS[:, :, 1 : tokens + 1]}
    return Linked({step: means.T @ (rows @ source_shares) for step, rows in at.items()}, gold)


@dataclass(frozen=True)
class Combination:
    """Heads whose mean weight gives the alignment."""

    step: Step
    heads: tuple[Head, ...]
    error: float
    """Alignment error rate on the pairs that they were chosen on."""
    held_out_error: float
    """The error rate of heads chosen in the same way on one half of the pairs and measured on the other."""

    @property
    def in_one_layer(self) -> AlignmentHeads:
        (layer,) = {head.layer for head in self.heads}
        return AlignmentHeads(layer, tuple(head.number for head in self.heads), self.step)


@dataclass(frozen=True, eq=False)
class Alignment:
    """The results on a corpus with gold alignments."""

    pairs: int
    errors_LH: Mapping[Step, NDArray[np.float64]]
    layer_errors_L: Mapping[Step, NDArray[np.float64]]
    """Error rates of the mean of each layer's heads."""
    shares_LH: Mapping[Step, NDArray[np.float64]]
    """Shares of each head's weight on linked words, over the target words that have a link."""
    best: Combination
    best_in_one_layer: Combination


def measure_alignment(pairs: Sequence[Linked], advance: Callable[[], None] = lambda: None) -> Alignment:
    """Measure the alignment of all heads and choose the best combinations. `advance` is called `ROUNDS` times."""
    layers, heads = pairs[0].weights_LHTS["predicts"].shape[:2]
    every = [Head("cross", layer, number) for layer in range(layers) for number in range(heads)]
    by_layer = [every[layer * heads : (layer + 1) * heads] for layer in range(layers)]
    errors, layer_errors, shares = {}, {}, {}
    for step in STEPS:
        weights = [each.weights_LHTS[step] for each in pairs]
        golds = [each.gold for each in pairs]
        errors[step] = rates([each.reshape(-1, *each.shape[2:]) for each in weights], golds).reshape(layers, heads)
        layer_errors[step] = rates([each.mean(1) for each in weights], golds)
        shares[step] = linked_shares(weights, golds)
    advance()
    best = choose(pairs, [every])
    advance()
    best_in_one_layer = choose(pairs, by_layer)
    advance()
    return Alignment(len(pairs), errors, layer_errors, shares, best, best_in_one_layer)


ROUNDS = 3


def choose(pairs: Sequence[Linked], groups: Sequence[Sequence[Head]]) -> Combination:
    """Choose the best combination of heads from one of the groups, at one of the steps."""
    step, heads, error = choose_on(pairs, groups)
    halves = pairs[::2], pairs[1::2]
    if not halves[1]:
        return Combination(step, heads, error, error)
    counts = np.zeros(4)
    for chosen_by, measured_on in (halves, halves[::-1]):
        other_step, others, _ = choose_on(chosen_by, groups)
        combined = [sum_of(each, other_step, others)[None] for each in measured_on]
        counts += count(combined, [each.gold for each in measured_on])[:, 0]
    return Combination(step, heads, error, float(error_rate(*counts)))


def choose_on(pairs: Sequence[Linked], groups: Sequence[Sequence[Head]]) -> tuple[Step, tuple[Head, ...], float]:
    tried = ((step, *add_greedily(pairs, step, group)) for step in STEPS for group in groups)
    return min(tried, key=lambda each: each[2])


def add_greedily(pairs: Sequence[Linked], step: Step, group: Sequence[Head]) -> tuple[tuple[Head, ...], float]:
    """Choose the best head, then add the one that helps most, until none does."""
    golds = [each.gold for each in pairs]
    candidates = [np.stack([sum_of(each, step, [head]) for head in group]) for each in pairs]
    totals = [np.zeros_like(each[0]) for each in candidates]
    chosen: list[int] = []
    error = np.inf
    while len(chosen) < min(MOST, len(group)):
        found_C = rates([each + total for each, total in zip(candidates, totals, strict=True)], golds)
        found_C[chosen] = np.inf
        best = int(found_C.argmin())
        if found_C[best] >= error:
            break
        error = float(found_C[best])
        chosen.append(best)
        totals = [total + each[best] for each, total in zip(candidates, totals, strict=True)]
    return tuple(sorted(group[index] for index in chosen)), error


def sum_of(pair: Linked, step: Step, heads: Iterable[Head]) -> WordWeights:
    layers, numbers = zip(*((head.layer, head.number) for head in heads), strict=True)
    chosen: WordWeights = pair.weights_LHTS[step][list(layers), list(numbers)].sum(0)
    return chosen


def rates(weights_CTS: Sequence[WordWeights], golds: Sequence[Gold]) -> NDArray[np.float64]:
    """The error rate of each candidate over all pairs."""
    return np.array([error_rate(*counts) for counts in count(weights_CTS, golds).T])


def count(weights_CTS: Sequence[WordWeights], golds: Sequence[Gold]) -> NDArray[np.float64]:
    """Count hits among the sure and the possible links, predicted links, and sure links, (4, C), over all pairs."""
    total = np.zeros((4, len(weights_CTS[0])))
    for candidates_CTS, gold in zip(weights_CTS, golds, strict=True):
        t, best_CT = np.arange(candidates_CTS.shape[1]), candidates_CTS.argmax(-1)
        total[0] += gold.sure_TS[t, best_CT].sum(-1)
        total[1] += gold.possible_TS[t, best_CT].sum(-1)
        total[2] += len(t)
        total[3] += gold.sure_TS.sum()
    return total


def linked_shares(weights_LHTS: Sequence[WordWeights], golds: Sequence[Gold]) -> NDArray[np.float64]:
    total = np.zeros(weights_LHTS[0].shape[:2])
    words = 0
    for weights, gold in zip(weights_LHTS, golds, strict=True):
        total += np.einsum("lhts,ts->lh", weights, gold.possible_TS.astype(np.float32))
        words += int(gold.possible_TS.any(1).sum())
    return total / max(words, 1)
