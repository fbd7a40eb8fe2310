"""Table 3: variations on the Transformer architecture, each trained with the same budget of tokens."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial

from hark import configfile
from hark.config import Config
from hark.pages.bars import BarRow, draw_bars
from hark.reproduce.conclusions import draw_conclusions
from hark.reproduce.corpora import describe_text
from hark.reproduce.cost import training_cost
from hark.reproduce.published import TABLE_3, Variation, differences, millions, number, perplexity, table
from hark.reproduce.scales import PAPER_WARMUP, SHORT_DROPOUT, Scale, warmup_for
from hark.reproduce.translating import run_translation
from hark.reproduce.work import Report, Row, Rows, Target, TargetPart, Work

SECOND_SEED = "base-seed2"


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


TARGET = Target("table3", "variations on the architecture", parts, report)
