"""Table 2: BLEU and training cost of the base and the big model, beside the paper's and its rivals' published rows."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from hark import configfile
from hark.config import Config
from hark.pages.scatter import Dot, draw_scatter
from hark.recipes import find_recipe
from hark.reproduce.corpora import describe_text
from hark.reproduce.cost import run_flops, text_lengths, training_cost
from hark.reproduce.published import BASE, BIG, TABLE_2, PublishedSystem, differences, millions, number, power, table
from hark.reproduce.scales import SHORT_DROPOUT, Scale
from hark.reproduce.translating import run_translation
from hark.reproduce.trial import Trial
from hark.reproduce.work import Report, Row, Rows, Target, TargetPart, Work
from hark.rundir import RunDir

MODELS: Mapping[str, PublishedSystem] = {"base": BASE, "big": BIG}
NEWS = "newstest2014"


def model_config(name: str, scale: Scale, steps: int | None) -> Config:
    """The recipe of the same name, cut to the scale's steps."""
    config = configfile.load(find_recipe(name))
    config = replace(config, model=scale.short_dropout(scale.shrink(config.model)))
    return scale.training(config, steps or scale.steps[f"table2 {name}"], average=True)


def parts(scale: Scale, steps: int | None) -> list[TargetPart]:
    return [model_part(name, model_config(name, scale, steps)) for name in MODELS]


def model_part(name: str, config: Config) -> TargetPart:
    def count_operations(trial: Trial, _run: RunDir, row: Row) -> Row:
        text = text_lengths(trial.dataset, config.batches.max_length)
        flops = run_flops(trial.config.model, text, row["target_tokens"])
        return {"averaged": config.train.average_last, "flops": flops}

    measure = partial(run_translation, config, name, role="test", more=count_operations)
    return TargetPart(name, f"Transformer ({name})", training_cost(config), configfile.dump(config), measure)


def report(work: Work, rows: Rows) -> Report:
    head = ["model", "en-de BLEU", "en-fr BLEU", "FLOPs en-de", "FLOPs en-fr", "GPU-hours", "text and steps"]
    wmt = "WMT 2014, newstest2014"
    lines = [
        [
            each.name,
            number(each.bleu_de, 2),
            number(each.bleu_fr, 2),
            power(each.flops_de),
            power(each.flops_fr),
            "-",
            wmt,
        ]
        for each in TABLE_2
    ]
    for name, published in MODELS.items():
        steps = "100,000" if name == "base" else "300,000"
        hours = f"{published.gpu_hours:.0f} (P100)"
        lines.append(
            [
                f"{published.name}, paper",
                number(published.bleu_de),
                number(published.bleu_fr),
                power(published.flops_de),
                power(published.flops_fr),
                hours,
                f"{wmt}, {steps} steps",
            ]
        )
        lines.append(our_line(published.name, rows[name], work))
    sets: list[dict[str, Any]] = next((row["sets"] for row in rows.values() if "sets" in row), [])
    scores = [
        [MODELS[name].name, each["name"], number(each["bleu"]), number(each["paper_bleu"]), f"{each['sentences']:,}"]
        for name, row in rows.items()
        for each in row.get("sets", [])
    ]
    sizes = [
        [MODELS[name].name, {"base": "65", "big": "213"}[name], millions(row["weights"]), speed(row)]
        for name, row in rows.items()
        if "weights" in row
    ]
    markdown = (
        f"# Table 2, {work.scale.name}\n\n"
        f"{table(head, lines)}\n"
        "The paper's FLOPs are training time x GPUs x sustained single-precision speed. Ours are counted: matrix "
        "products of forward and backward passes over real tokens.\n\n"
        f"## BLEU by test set\n\n{table(['model', 'set', 'sacreBLEU', 'paper convention', 'sentences'], scores)}\n"
        f"Signature: `{sets[0]['signature'] if sets else '-'}`. The paper's convention tokenises and splits words at "
        "hyphens.\n\n"
        f"## Size and speed\n\n"
        f"{table(['model', 'weights in M, paper', 'ours', 'training'], sizes)}\n"
        f"{differences(notes(work, rows))}"
    )
    return Report(markdown, {"table2": draw(rows)})


def our_line(name: str, row: Row, work: Work) -> list[str]:
    if "failed" in row:
        return [f"{name}, ours", "diverged", "-", "-", "-", "-", f"{row['steps']:,} steps"]
    chosen = main_set(row)
    text = f"{describe_text(work.dataset)}, {chosen['name']}, {row['steps']:,} steps"
    hours = f"{row['seconds'] / 3600:.2f} ({row['device']})"
    return [f"{name}, ours", number(chosen["bleu"]), "-", power(row["flops"]), "-", hours, text]


def main_set(row: Row) -> Mapping[str, Any]:
    """The paper's own test set, if it is there, or else the first."""
    sets: list[dict[str, Any]] = row["sets"]
    return next((each for each in sets if each["name"] == NEWS), sets[0])


def speed(row: Row) -> str:
    seconds = max(row["seconds"], 1e-9)
    return f"{row['target_tokens'] / seconds:,.0f} target tokens/s, {power(row['flops'] / seconds)} FLOP/s"


def notes(work: Work, rows: Rows) -> list[str]:
    base, big = rows["base"], rows["big"]
    scale = work.scale
    found = [
        f"text: {describe_text(work.dataset)}, not WMT 2014 (4.5M pairs); no en-fr",
        f"steps: {base['steps']:,} (base) and {big['steps']:,} (big) of {scale.batch_tokens:,} tokens, not 100,000 and "
        "300,000; a shorter warm-up to the same peak rate if the run has less than 16,000 steps",
        f"average of {scale.averaged} checkpoints over the last fifth of the run, not of 5 (base) and 20 (big) at "
        "intervals of 10 minutes",
    ]
    if scale.name != "full":
        found.append(f"dropout of big: {SHORT_DROPOUT}, not 0.3, with which a short run learns too slowly")
    if scale.widths > 1:
        found.append(f"sizes: widths are 1/{scale.widths} of the paper's, layers 1/{scale.layers}")
    return found


def draw(rows: Rows) -> str:
    """BLEU against training cost."""
    dots = [Dot(each.name, each.flops_de, each.bleu_de, 0) for each in TABLE_2 if each.flops_de and each.bleu_de]
    for name, published in MODELS.items():
        dots.append(Dot(f"{name}, paper", published.flops_de or 1, published.bleu_de or 0, 1))
        row = rows[name]
        if "sets" in row:
            chosen = main_set(row)
            dots.append(Dot(f"{name}, ours, {chosen['name']}", row["flops"], chosen["bleu"], 2))
    title = "Table 2: BLEU (en-de) against training cost"
    return draw_scatter(title, "floating-point operations", "BLEU", ("rivals", "paper", "ours"), dots)


TARGET = Target("table2", "BLEU and training cost of base and big", parts, report)
