"""Evaluation of systems on test sets with all metrics."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import hark
from hark.evaluate.held_out import HeldOutSet
from hark.evaluate.measures import Comet, Measure, Tokenisation, choose_tokenisation, make_measures
from hark.evaluate.scores import Group, Score, score_lengths, score_set
from hark.evaluate.systems import ModelSystem, Output, System

FORMAT = 1
KIND = "hark evaluation"
MATRIX: tuple[Measure, ...] = ("bleu", "chrf2")
"""The metrics of a matrix of directions; the others would take long and crowd it."""


@dataclass(frozen=True)
class SystemResult:
    """The results of one system on one set."""

    name: str
    output: Output
    scores: dict[Measure, Score]
    by_length: tuple[Group, ...]
    zero_shot: bool = False
    """Whether the system was not trained on the direction of the set."""


@dataclass(frozen=True)
class SetResult:
    """The results of all systems on one set."""

    held_out: HeldOutSet
    systems: tuple[SystemResult, ...]


@dataclass(frozen=True)
class Evaluation:
    """The results of all systems on all sets."""

    signatures: dict[Measure, str]
    resamples: int
    sets: tuple[SetResult, ...]

    @property
    def has_matrix(self) -> bool:
        """Whether the sets are of several directions, so that a matrix shows their scores best."""
        return len({each.held_out.languages for each in self.sets}) > 1

    def to_json(self) -> str:
        """All figures as JSON, without texts."""
        tree = {
            "kind": KIND,
            "format": FORMAT,
            "hark": hark.__version__,
            "signatures": self.signatures,
            "resamples": self.resamples,
            "sets": [
                {
                    "name": each.held_out.name,
                    **({"languages": list(each.held_out.languages)} if each.held_out.languages else {}),
                    "sentences": len(each.held_out),
                    "systems": [system_tree(system) for system in each.systems],
                }
                for each in self.sets
            ],
        }
        return json.dumps(tree, ensure_ascii=False, indent=1) + "\n"


def system_tree(system: SystemResult) -> dict[str, Any]:
    speed = system.output.speed
    return {
        "name": system.name,
        "scores": {
            name: {"score": score.value, "confidence": score.confidence, "p": score.p}
            for name, score in system.scores.items()
        },
        "by_length": [asdict(group) for group in system.by_length],
        "doubtful": system.output.doubtful,
        "speed": speed
        and {
            "engine": speed.engine,
            "load_seconds": speed.load_seconds,
            "seconds": speed.seconds,
            "sentences_per_second": speed.sentences_per_second,
            "tokens_per_second": speed.tokens_per_second,
        },
    }


def is_zero_shot(system: System, held_out: HeldOutSet) -> bool:
    pair = held_out.languages
    return isinstance(system, ModelSystem) and pair is not None and not system.is_trained_on(pair)


def evaluate(
    sets: Sequence[HeldOutSet],
    systems: Sequence[System],
    source_tokenisation: Tokenisation = "13a",
    tokenisation: Tokenisation = "13a",
    resamples: int = 1000,
    comet: Comet | None = None,
    advance: Callable[[], None] = lambda: None,
    language: str = "",
) -> Evaluation:
    """Translate the sets and score the translations. Other systems are compared with the first.

    Sets of several directions are scored by `MATRIX` only, with the tokenisations of their own languages. Each system
    translates all sets before the next one starts, so that they do not compete for the machine.
    """
    outputs = [[system.translate(held_out, advance) for held_out in sets] for system in systems]
    signatures: dict[Measure, str] = {}
    results = []
    matrix = len({held_out.languages for held_out in sets}) > 1
    for number, held_out in enumerate(sets):
        texts = [of_system[number].texts for of_system in outputs]
        scores: list[dict[Measure, Score]] = [{} for _ in systems]
        if held_out.languages and matrix:
            source_tokenisation, tokenisation = map(choose_tokenisation, held_out.languages)
            language = held_out.languages[1]
        for name, metric in make_measures(tokenisation, language).items():
            if matrix and name not in MATRIX:
                continue
            by_system, signature = score_set(held_out, texts, metric, resamples)
            known = signatures.setdefault(name, signature)
            if signature not in known.split(" or "):  # another tokenisation for another language
                signatures[name] = f"{known} or {signature}"
            for of_system, score in zip(scores, by_system, strict=True):
                of_system[name] = score
        if comet:
            signatures["comet"] = comet.signature
            for of_system, each in zip(scores, texts, strict=True):
                of_system["comet"] = Score(comet.score(held_out, each))
        system_results = tuple(
            SystemResult(
                system.name,
                outputs[at][number],
                scores[at],
                () if matrix else score_lengths(held_out, texts[at], source_tokenisation, tokenisation),
                zero_shot=is_zero_shot(system, held_out),
            )
            for at, system in enumerate(systems)
        )
        results.append(SetResult(held_out, system_results))
    return Evaluation(signatures, resamples, tuple(results))
