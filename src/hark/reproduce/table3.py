"""Table 3: variations on the Transformer architecture, each trained with the same budget of tokens.

The paper's conclusions from it (sections 5.4 and 6.2) are checked against our own rows. A difference counts only if it
exceeds the difference between two seeds of the base model. Two runs are a crude measure of noise, so a verdict is
"within the noise" rather than "holds" whenever it is close.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Literal

from hark import configfile
from hark.config import Config
from hark.pages.bars import BarRow, draw_bars
from hark.reproduce.corpora import describe_text
from hark.reproduce.cost import training_cost
from hark.reproduce.published import TABLE_3, Variation, differences, millions, number, perplexity, table
from hark.reproduce.scales import PAPER_WARMUP, SHORT_DROPOUT, Scale, warmup_for
from hark.reproduce.translating import run_translation
from hark.reproduce.work import Report, Row, Rows, Target, TargetPart, Work

SECOND_SEED = "base-seed2"
Verdict = Literal["holds", "does not hold", "within the noise", "not measured"]
SIZES = (("C-n2", "C-n4"), ("C-n4", "base"), ("base", "C-n8"), ("C-256", "base"), ("base", "C-1024"),
         ("C-ff1024", "base"), ("base", "C-ff4096"))  # fmt: skip
"""Pairs of a smaller and a larger model that differ in one size."""


def variation_config(variation: Variation, scale: Scale, steps: int | None, seed: int = 1) -> Config:
    """The settings of a row. The number of steps is the budget: every row sees the same batches."""
    config = variation.apply(Config())
    model, name = scale.shrink(config.model), "table3"
    if variation.group == "big":
        model, name = scale.short_dropout(model), "table3 big"
    budget = steps or scale.steps[name]
    config = scale.training(replace(config, model=model), budget, average=False, warmup=warmup_of(scale, budget))
    return replace(config, train=replace(config.train, seed=seed))


def warmup_of(scale: Scale, steps: int) -> int:
    """The paper's for models of its size, even if the run ends before: with a shorter one and small batches, base did
    not learn to attend in 5,000 steps (docs/what-did-not-work.md)."""
    return PAPER_WARMUP if scale.widths == 1 else warmup_for(steps)


def parts(scale: Scale, steps: int | None) -> list[TargetPart]:
    found = [variation_part(each.name, title_of(each), variation_config(each, scale, steps)) for each in TABLE_3]
    second = variation_config(TABLE_3[0], scale, steps, seed=2)
    return [*found, variation_part(SECOND_SEED, "base, second seed", second)]


def title_of(variation: Variation) -> str:
    return variation.about if variation.group in ("base", "big") else f"({variation.group}) {variation.about}"


def variation_part(name: str, title: str, config: Config) -> TargetPart:
    return TargetPart(
        name, title, training_cost(config), configfile.dump(config), partial(run_translation, config, name)
    )


def report(work: Work, rows: Rows) -> Report:
    base, second = rows["base"], rows[SECOND_SEED]
    head = ["", "variation", "PPL, paper", "PPL, ours", "BLEU, paper", "BLEU, ours", "weights, paper", "weights, ours"]
    lines = [table_line(each, rows[each.name]) for each in TABLE_3]
    lines.insert(1, ["", "base, second seed", "", shown(second, "perplexity"), "", shown(second, "bleu"), "", ""])
    conclusions = draw_conclusions(rows, second)
    scale, dataset = work.scale, work.dataset
    sets = base.get("sets", [])
    names = ", ".join(each["name"] for each in sets)
    notes = [
        f"text: {describe_text(dataset)}, not WMT 2014 (4.5M pairs); scored on {names}, not newstest2013",
        f"steps: {base['steps']:,} of {scale.batch_tokens:,} tokens for every row "
        f"({base.get('target_tokens', 0):,} target tokens), not 100,000 (big: 300,000); warm-up of "
        f"{warmup_of(scale, base['steps']):,} steps to the paper's peak rate",
        f"BLEU: sacreBLEU ({sets[0]['signature'] if sets else '-'}), {sum(each['sentences'] for each in sets):,} "
        "sentences; the paper's is tokenised BLEU",
    ]
    if scale.name != "full":
        notes.append(f"dropout of big: {SHORT_DROPOUT}, not 0.3, with which a short run learns too slowly")
    if scale.widths > 1:
        notes.append(
            f"sizes: every width is 1/{scale.widths} of the paper's and there are 1/{scale.layers} of the layers; "
            "rows are named after the paper's sizes"
        )
    markdown = (
        f"# Table 3, {scale.name}\n\n{table(head, lines)}\n"
        "PPL: perplexity per token of the vocabulary. Weights in millions. As in the paper, beam 4, length penalty "
        f"0.6, and no checkpoint averaging. {spread(base, second)}\n\n"
        f"{differences(notes)}\n## Which of the paper's conclusions hold at this scale\n\n"
        + "".join(f"- {each}\n" for each in conclusions)
    )
    return Report(markdown, {"table3": draw(rows)}, {"conclusions": [asdict(each) for each in conclusions]})


def spread(base: Row, second: Row) -> str:
    """The difference between the two seeds."""
    if "failed" in base or "failed" in second:
        return "A run of the base model diverged."
    ppl, bleu = (abs(base[name] - second[name]) for name in ("perplexity", "bleu"))
    return f"The two seeds of base differ by {ppl:.2f} in perplexity and {bleu:.1f} BLEU."


def table_line(variation: Variation, row: Row) -> Sequence[str]:
    weights = "65" if variation.weights is None else f"{variation.weights:.0f}"
    return [
        variation.group if variation.group in "ABCDE" else "",
        variation.about,
        number(variation.perplexity, 2),
        shown(row, "perplexity"),
        number(variation.bleu),
        shown(row, "bleu"),
        weights,
        millions(row["weights"]) if "weights" in row else "-",
    ]


def shown(row: Row, name: str) -> str:
    if "failed" in row:
        return "diverged"
    return perplexity(row[name]) if name == "perplexity" else number(row[name], 1)


def draw(rows: Rows) -> str:
    """BLEU of each variation relative to the base model, the paper's and ours."""
    paper, ours = TABLE_3[0].bleu, rows["base"].get("bleu")
    bars = [
        BarRow(title_of(each), (each.bleu - paper, difference(rows[each.name].get("bleu"), ours)))
        for each in TABLE_3[1:]
    ]
    return draw_bars("Table 3: BLEU relative to the base model", ("paper", "ours"), bars)


def difference(value: float | None, base: float | None) -> float | None:
    return None if value is None or base is None else value - base


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


TARGET = Target("table3", "variations on the architecture", parts, report)
