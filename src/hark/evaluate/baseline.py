"""Comparison of scores with those of an earlier evaluation."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hark.errors import UserError
from hark.evaluate.evaluation import FORMAT, KIND, Evaluation
from hark.evaluate.measures import LOWER_IS_BETTER, TITLES, Measure, decimals
from hark.userfiles import read_bytes


@dataclass(frozen=True)
class ScoreChange:
    """The scores of the first system and of the baseline's first system on one set."""

    set: str
    measure: Measure
    before: float
    now: float

    @property
    def loss(self) -> float:
        """How much worse the score is; negative if it is better."""
        return self.now - self.before if self.measure in LOWER_IS_BETTER else self.before - self.now

    def exceeds(self, allowed: float) -> bool:
        return self.loss > allowed + 1e-9

    def __str__(self) -> str:
        places = decimals(self.measure) + 1
        loss = round(self.loss, places)
        change = f"{abs(loss):.{places}f} {'worse' if loss > 0 else 'better'}" if loss else "the same"
        title = TITLES[self.measure]
        return f"{self.set}: {title} {self.now:.{places}f}, baseline {self.before:.{places}f}: {change}"


@dataclass(frozen=True)
class Baseline:
    """The output of an earlier `hark evaluate --json`: scores of its first system by set and measure."""

    file: Path
    signatures: dict[str, str]
    scores: dict[str, dict[str, float]]

    @classmethod
    def read(cls, file: Path) -> "Baseline":
        try:
            tree: Any = json.loads(read_bytes(file))
        except OSError as error:
            raise UserError(f"{file}: cannot be read: {error.strerror}") from None
        except ValueError:
            tree = None
        if not isinstance(tree, dict) or (tree.get("kind"), tree.get("format")) != (KIND, FORMAT):
            raise UserError(f"{file}: not an evaluation; write one with hark evaluate --json")
        try:
            scores = {
                each["name"]: {name: float(score["score"]) for name, score in each["systems"][0]["scores"].items()}
                for each in tree["sets"]
            }
            return cls(file, dict(tree["signatures"]), scores)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            raise UserError(f"{file}: damaged evaluation; write it again with hark evaluate --json") from None

    def check(self, sets: list[str], measure: Measure) -> None:
        """Raise an error if a score is missing, before anything is translated."""
        for name in sets:
            if measure not in self.scores.get(name, {}):
                available = ", ".join(self.scores) if name not in self.scores else ", ".join(self.scores[name])
                raise UserError(f"{self.file}: has no {TITLES[measure]} for {name}, only {available}")

    def compare(self, evaluation: Evaluation, measure: Measure) -> list[ScoreChange]:
        before, now = self.signatures.get(measure), evaluation.signatures[measure]
        if before != now:
            raise UserError(
                f"{self.file}: {TITLES[measure]} was measured with another signature ({before or 'none'}, now {now}); "
                "write the baseline again"
            )
        return [
            ScoreChange(
                each.held_out.name,
                measure,
                self.scores[each.held_out.name][measure],
                each.systems[0].scores[measure].value,
            )
            for each in evaluation.sets
        ]
