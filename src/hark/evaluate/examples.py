"""Choice of example sentences: the worst ones, and those on which two systems differ most."""

from collections.abc import Sequence
from dataclasses import dataclass

from hark.evaluate.evaluation import Evaluation, SetResult
from hark.evaluate.scores import score_sentences
from hark.evaluate.systems import Insight, System


@dataclass(frozen=True)
class ExampleTranslation:
    """A sentence as translated by one system."""

    system: str
    text: str
    chrf2: float
    insight: Insight | None


@dataclass(frozen=True)
class Example:
    """A sentence with its reference and the translations of all systems."""

    line: int
    source: str
    reference: str
    candidates: tuple[ExampleTranslation, ...]

    @property
    def change(self) -> float:
        """The chrF2 of the second system minus that of the first."""
        return self.candidates[1].chrf2 - self.candidates[0].chrf2


@dataclass(frozen=True)
class Examples:
    """The examples of one set."""

    name: str
    worst: tuple[Example, ...]
    """Lowest chrF2 of the first system."""
    changed: tuple[Example, ...]
    """Largest difference between the first two systems."""


def choose_examples(evaluation: Evaluation, systems: Sequence[System], number: int, nbest: int) -> list[Examples]:
    """Choose up to `number` examples of each kind per set, with alternatives and alignments from the models."""
    return [choose_from(each, systems, number, nbest) for each in evaluation.sets]


def choose_from(result: SetResult, systems: Sequence[System], number: int, nbest: int) -> Examples:
    held_out = result.held_out
    chrf2 = [score_sentences(each.output.texts, held_out.references) for each in result.systems]
    lines = range(len(held_out))
    worst = sorted(lines, key=lambda at: chrf2[0][at])[:number]
    changed: list[int] = []
    if len(systems) > 1:
        first, second = (each.output.texts for each in result.systems[:2])
        different = [at for at in lines if first[at] != second[at]]
        changed = sorted(different, key=lambda at: -abs(chrf2[1][at] - chrf2[0][at]))[:number]
    shown = sorted({*worst, *changed})
    insights = [
        dict(zip(shown, system.look([held_out.sources[at] for at in shown], nbest, held_out.languages), strict=True))
        for system in systems
    ]

    def example(at: int) -> Example:
        candidates = tuple(
            ExampleTranslation(each.name, each.output.texts[at], chrf2[of][at], insights[of][at])
            for of, each in enumerate(result.systems)
        )
        return Example(at + 1, held_out.sources[at], held_out.references[at], candidates)

    return Examples(held_out.name, tuple(map(example, worst)), tuple(map(example, changed)))
