"""The paper's conclusions from Table 3 (sections 5.4 and 6.2), checked against our own rows.

A difference counts only if it exceeds the difference between two seeds of the base model. Two runs are a crude measure
of noise, so a verdict is "within the noise" rather than "holds" whenever it is close.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from hark.reproduce.work import Row, Rows

Verdict = Literal["holds", "does not hold", "within the noise", "not measured"]
SIZES = (("C-n2", "C-n4"), ("C-n4", "base"), ("base", "C-n8"), ("C-256", "base"), ("base", "C-1024"),
         ("C-ff1024", "base"), ("base", "C-ff4096"))  # fmt: skip
"""Pairs of a smaller and a larger model that differ in one size."""


@dataclass(frozen=True)
class Conclusion:
    """A conclusion of the paper, whether it holds here, and the figures that say so."""

    claim: str
    verdict: Verdict
    evidence: str

    def __str__(self) -> str:
        return f"*{self.claim}*: **{self.verdict}**. {self.evidence}"


@dataclass(frozen=True)
class Comparison:
    """Compares rows by BLEU or perplexity, with the noise of the base model."""

    rows: Rows
    second: Row

    def noise(self, measure: str) -> float:
        return abs(float(self.rows["base"][measure] - self.second[measure]))

    def better(self, one: str, other: str, measure: str) -> float:
        """How much better row `one` is than `other`: positive for higher BLEU or lower perplexity."""
        difference = float(self.rows[one][measure] - self.rows[other][measure])
        return difference if measure == "bleu" else -difference

    def verdict(self, one: str, other: str, measure: str) -> Verdict:
        """Whether row `one` is better than `other`."""
        gain = self.better(one, other, measure)
        if abs(gain) <= self.noise(measure):
            return "within the noise"
        return "holds" if gain > 0 else "does not hold"

    def both(self, one: str, other: str) -> str:
        """The figures of two rows."""
        (a, b), (c, d) = ((self.rows[x]["perplexity"], self.rows[x]["bleu"]) for x in (one, other))
        return f"perplexity {a:.2f} against {c:.2f}, BLEU {b:.1f} against {d:.1f}"


Check = Callable[[Comparison], tuple[Verdict, str]]
BEST_HEADS = "best heads"
"""Instead of the name of a row: what `best_heads` chooses."""


def draw_conclusions(rows: Rows, second: Row) -> list[Conclusion]:
    """All conclusions. One whose rows did not finish training is reported as not measured."""
    comparison = Comparison(rows, second)
    found = []
    for claim, check in CHECKS.items():
        try:
            found.append(Conclusion(claim, *check(comparison)))
        except KeyError:  # a row diverged and has no scores
            found.append(Conclusion(claim, "not measured", "A run that it depends on diverged."))
    return found


def best_heads(c: Comparison) -> str:
    """The row with the highest BLEU among 4, 8 and 16 heads. The paper states both conclusions in BLEU."""
    return max(("A-4", "base", "A-16"), key=lambda name: c.rows[name]["bleu"])


def compare(about: str, one: str, other: str, measure: str) -> Check:
    """Check that row `one` is better than `other`."""

    def check(c: Comparison) -> tuple[Verdict, str]:
        better = best_heads(c) if one == BEST_HEADS else one
        return c.verdict(better, other, measure), f"{about}: {c.both(better, other)}."

    return check


def check_size(c: Comparison) -> tuple[Verdict, str]:
    verdicts = [c.verdict(larger, smaller, "perplexity") for smaller, larger in SIZES]
    holds, fails = verdicts.count("holds"), verdicts.count("does not hold")
    verdict: Verdict = (
        "holds" if holds > len(SIZES) / 2 and not fails else "does not hold" if fails else "within the noise"
    )
    return verdict, (
        f"Of {len(SIZES)} pairs of a smaller and a larger model, the larger has the lower perplexity in {holds}, the "
        f"higher in {fails}; the rest is within the noise."
    )


def check_positions(c: Comparison) -> tuple[Verdict, str]:
    """Nearly identical: within twice the noise, or within 0.3 BLEU and 2% of the perplexity."""
    bleu, perplexity = abs(c.better("base", "E", "bleu")), abs(c.better("base", "E", "perplexity"))
    alike = bleu <= max(0.3, 2 * c.noise("bleu")) and perplexity <= max(
        0.02 * c.rows["base"]["perplexity"], 2 * c.noise("perplexity")
    )
    return "holds" if alike else "does not hold", f"Sinusoids against learned positions: {c.both('base', 'E')}."


CHECKS: Mapping[str, Check] = {
    "(A) A single head is worse than the best number of heads": compare(
        "Best number of heads against one", BEST_HEADS, "A-1", "bleu"
    ),
    "(A) Quality drops with too many heads": compare("Best number of heads against 32", BEST_HEADS, "A-32", "bleu"),
    "(B) A smaller key size d_k hurts quality": compare("d_k of 64 against 16", "base", "B-16", "perplexity"),
    "(C) Bigger models are better": check_size,
    "(C) The big model is better than the base model": compare("Big against base", "big", "base", "perplexity"),
    "(D) Dropout is very helpful against over-fitting": compare(
        "Dropout 0.1 against none", "base", "D-drop0", "perplexity"
    ),
    "(D) Label smoothing hurts perplexity": compare("No label smoothing against 0.1", "D-ls0", "base", "perplexity"),
    "(D) Label smoothing improves BLEU": compare("Label smoothing 0.1 against none", "base", "D-ls0", "bleu"),
    "(E) Learned positions give nearly identical results to sinusoids": check_positions,
}
