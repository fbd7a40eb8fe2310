"""Scores of systems on a set: as a whole with their uncertainty, by length of the source, and of each sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from hark.evaluate.held_out import HeldOutSet
from hark.evaluate.measures import Measure, Tokenisation, make_measures, make_tokeniser

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric
    from sacrebleu.significance import Result

EDGES = (5, 10, 15, 20, 30, 40, 60)
"""The longest source of each group, in tokens; a last group has no end."""
BY_LENGTH: tuple[Measure, Measure] = ("bleu", "chrf2")


@dataclass(frozen=True)
class Score:
    value: float
    confidence: float | None = None
    """Half of the 95% interval."""
    p: float | None = None
    """How likely so large a difference from the first system is by chance, in its direction; none for the first."""


@dataclass(frozen=True)
class Group:
    """The sentences of some lengths."""

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
    """The score of each system by one measure, and its signature.

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
        # sacreBLEU counts resamples whose difference is greater, none of which there are between equal outputs, and
        # would call those surely different.
        p = 1.0 if each.p_value is not None and each.score == first else each.p_value
        scores.append(Score(float(each.score), None if each.ci is None else float(each.ci), p))
    return scores, str(metric.get_signature())


def score_lengths(
    held_out: HeldOutSet, texts: Sequence[str], source_tokenisation: Tokenisation, tokenisation: Tokenisation
) -> tuple[Group, ...]:
    """Scores of the sentences of each length; lengths that do not occur are left out."""
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
    """chrF2 of each sentence; BLEU is no measure for a single one."""
    chrf = make_measures("13a")["chrf2"]
    return [float(chrf.sentence_score(text, [each]).score) for text, each in zip(texts, references, strict=True)]
