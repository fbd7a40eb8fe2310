"""Scores of systems on a set: corpus-level with confidence intervals, by source length, and per sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from hark.evaluate.held_out import HeldOutSet
from hark.evaluate.measures import Measure, Tokenisation, make_measures, make_tokeniser

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric
    from sacrebleu.significance import Result

EDGES = (5, 10, 15, 20, 30, 40, 60)
"""The maximum source length of each group, in tokens; the last group is unbounded."""
BY_LENGTH: tuple[Measure, Measure] = ("bleu", "chrf2")


@dataclass(frozen=True)
class Score:
    """A corpus-level score."""

    value: float
    confidence: float | None = None
    """Half of the 95% confidence interval."""
    p: float | None = None
    """One-sided p-value of the difference from the first system; None for the first."""


@dataclass(frozen=True)
class Group:
    """The scores of the sentences in a range of lengths."""

    shortest: int
    longest: int | None
    sentences: int
    bleu: float
    chrf2: float

    @property
    def name(self) -> str:
        return f"{self.shortest}–{self.longest}" if self.longest else f"{self.shortest}+"


def score_set(
    held_out: HeldOutSet, outputs: Sequence[Sequence[str]], metric: "Metric", resamples: int
) -> tuple[list[Score], str]:
    """Score each system by one metric; return the scores and the signature.

    With `resamples`, sacreBLEU's paired bootstrap compares each system with the first (Koehn, 2004).
    """
    references = [held_out.references]
    if not resamples:
        scores = [Score(metric.corpus_score(texts, references).score) for texts in outputs]
        return scores, str(metric.get_signature())
    from sacrebleu.significance import PairedTest

    systems = [(str(number), texts) for number, texts in enumerate(outputs)]
    _, columns = PairedTest(systems, {"": metric}, references, "bs", resamples)()
    (results,) = (cast("list[Result]", column) for name, column in columns.items() if name != "System")
    first = results[0].score
    scores = []
    for each in results:
        # sacreBLEU counts resamples with a greater difference. Equal outputs have none, which would make them
        # significantly different.
        p = 1.0 if each.p_value is not None and each.score == first else each.p_value
        scores.append(Score(float(each.score), None if each.ci is None else float(each.ci), p))
    return scores, str(metric.get_signature())


def score_lengths(
    held_out: HeldOutSet, texts: Sequence[str], source_tokenisation: Tokenisation, tokenisation: Tokenisation
) -> tuple[Group, ...]:
    """Score the sentences by source length; omit empty groups."""
    tokenise, measures = make_tokeniser(source_tokenisation), make_measures(tokenisation)
    lengths = [len(tokenise(source).split()) for source in held_out.sources]
    groups = []
    for low, high in zip((0, *EDGES), (*EDGES, None), strict=True):
        inside = [at for at, length in enumerate(lengths) if low < max(length, 1) and (high is None or length <= high)]
        if inside:
            chosen, references = [texts[at] for at in inside], [[held_out.references[at] for at in inside]]
            bleu, chrf2 = (measures[name].corpus_score(chosen, references).score for name in BY_LENGTH)
            groups.append(Group(low + 1, high, len(inside), bleu, chrf2))
    return tuple(groups)


def score_sentences(texts: Sequence[str], references: Sequence[str]) -> list[float]:
    """chrF2 of each sentence; BLEU is unsuitable for single sentences."""
    chrf = make_measures("13a")["chrf2"]
    return [float(chrf.sentence_score(text, [each]).score) for text, each in zip(texts, references, strict=True)]
