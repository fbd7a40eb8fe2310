"""The paper's figures: positional encodings, the learning-rate schedule, and attention as in figures 3 to 5."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from hark.config import Config, ModelConfig
from hark.inspect.presets import LANGUAGE, PRESETS, PresetName, find_heads, sentence_of
from hark.inspect.recording import record
from hark.inspect.words import merge_tokens
from hark.model.positions import sinusoids
from hark.models import named_folder
from hark.pages.attention import HeadView, draw_heads
from hark.pages.cells import draw_cells
from hark.pages.charts import Line, line_chart
from hark.pages.document import picture, swatches
from hark.reproduce.cost import Cost
from hark.reproduce.published import differences, table
from hark.reproduce.scales import Scale
from hark.reproduce.trial import Advance
from hark.reproduce.work import Report, Row, Rows, Target, TargetPart, Work
from hark.train.schedule import learning_rate
from hark.translate.load import Loaded

MODEL = f"{LANGUAGE}-de"
"""The languages of the installed model whose attention is shown."""
POSITIONS, WIDTH = 50, 64
RATES = ((512, 4000), (512, 8000), (256, 4000))
"""(d_model, warm-up steps) of the schedules; the first is the paper's base model."""
STEPS, STRIDE = 20_000, 200
PRESET_NAMES: tuple[PresetName, ...] = ("long-distance", "anaphora", "structure")


def parts(_scale: Scale, _steps: int | None) -> list[TargetPart]:
    cost = Cost(seconds=3)
    found = [
        TargetPart("positions", "positional encodings", cost, f"{POSITIONS} {WIDTH}", measure_positions),
        TargetPart("rate", "learning rate", cost, f"{RATES} {STEPS} {STRIDE}", measure_rates),
    ]
    model = named_folder(MODEL).name
    for name in PRESET_NAMES:
        preset = PRESETS[name]
        found.append(
            TargetPart(
                f"figure{preset.figure}",
                f"figure {preset.figure}: {preset.title.lower()}",
                cost,
                f"{model} {MODEL} {preset}",
                partial(measure_attention, name),
            )
        )
    return found


def measure_positions(_work: Work, _advance: Advance) -> Row:
    """The encodings, and how far a rotation of each pair by a fixed offset is from them (paper, 3.5)."""
    table_PD = sinusoids(POSITIONS, WIDTH).double().numpy()
    offset = 7
    shift = np.exp(1j * offset / 10000 ** (np.arange(0, WIDTH, 2) / WIDTH))
    pairs = table_PD[:, 1::2] + 1j * table_PD[:, 0::2]  # cos + i sin
    error = float(np.abs(pairs[:-offset] * shift - pairs[offset:]).max())
    return {"values": np.round(table_PD, 3).tolist(), "rotation_error": error, "offset": offset}


def measure_rates(_work: Work, _advance: Advance) -> Row:
    curves = []
    for d_model, warmup in RATES:
        config = Config(model=ModelConfig(d_model=d_model))
        config = replace(config, train=replace(config.train, warmup_steps=warmup))
        points = [(step, learning_rate(step, config)) for step in (1, *range(STRIDE, STEPS + 1, STRIDE))]
        curves.append({"d_model": d_model, "warmup": warmup, "points": points, "peak": learning_rate(warmup, config)})
    return {"curves": curves}


@cache
def installed_model() -> Loaded:
    return Loaded.named(MODEL, engine="torch", device="cpu")


def measure_attention(name: PresetName, _work: Work, _advance: Advance) -> Row:
    """The heads that do what the figure shows, found by measurement, with their weights between words."""
    loaded, preset = installed_model(), PRESETS[name]
    recording = record(loaded, sentence_of(name, LANGUAGE), beam=1)
    heads = find_heads(recording, preset)
    weights_LHSS = merge_tokens(recording.attention.encoder_LHSS, recording.source, recording.source)
    words = list(recording.source.text_words)
    return {
        "model": recording.model,
        "layers": len(weights_LHSS),
        "translation": recording.translation,
        "words": [recording.source.words[at] for at in words],
        "looking": preset.looking,
        "heads": [
            {
                "head": str(each.head),
                "about": each.arcs.about,
                "weight": each.weight,
                "usual": each.usual,
                "weights": np.round(weights_LHSS[each.head.layer, each.head.number][np.ix_(words, words)], 4).tolist(),
            }
            for each in heads
        ],
        "layer": [np.round(weights[np.ix_(words, words)], 4).tolist() for weights in weights_LHSS[heads[0].head.layer]]
        if preset.whole_layer
        else [],
    }


def report(work: Work, rows: Rows) -> Report:
    pictures = {"positions": draw_positions(rows["positions"]), "rate": draw_rates(rows["rate"])}
    lines = [
        [
            "3.5, positional encodings",
            "![](positions.svg)",
            f"the table that the model adds; rotating each pair gives the encoding {rows['positions']['offset']} "
            f"positions later within {rows['positions']['rotation_error']:.0e}",
            "nothing: the same formula",
        ],
        [
            "5.3, learning rate",
            "![](rate.svg)",
            f"equation 3; base peaks at {rows['rate']['curves'][0]['peak']:.2e}",
            "nothing: the same formula (the paper has no picture of it)",
        ],
    ]
    for name in PRESET_NAMES:
        preset = PRESETS[name]
        file = f"figure{preset.figure}"
        row = rows[file]
        pictures[file] = draw_attention(name, row)
        found = "; ".join(
            f"{each['head']} {each['about']}: weight {each['weight']:.2f}, at that distance elsewhere "
            f"{each['usual']:.2f}"
            for each in row["heads"]
        )
        lines.append(
            [
                f"figure {preset.figure}",
                f"![]({file}.svg)",
                found,
                f"sentence, model ({row['model']}, with {row['layers']} encoder layers) and so layer and head; "
                "the head is the best by measurement, not chosen by eye",
            ]
        )
    markdown = (
        f"# Figures, {work.scale.name}\n\n"
        f"{table(['figure', 'ours', 'what it shows', 'what differs from the paper'], lines)}\n"
        f"{differences(['the figures are the same at every scale'])}"
    )
    return Report(markdown, pictures)


def draw_positions(row: Row) -> str:
    title = f"Positional encodings: {POSITIONS} positions, width {WIDTH}"
    return draw_cells(title, "position", "dimension", row["values"], low=-1.0, high=1.0)


def draw_rates(row: Row) -> str:
    curves: Sequence[dict[str, Any]] = row["curves"]
    lines = [Line([(x, y) for x, y in each["points"]], colour=index) for index, each in enumerate(curves)]
    names = [f"d_model {each['d_model']}, warm-up {each['warmup']:,}" for each in curves]
    chart = line_chart("Learning rate (equation 3)", lines, STEPS, below="step", width=620, from_zero=True)
    return picture("Learning rate", 640, 250 + 20 * len(names), chart + swatches(names, 20, 248, 20))


def draw_attention(name: PresetName, row: Row) -> str:
    preset = PRESETS[name]
    title = f"After figure {preset.figure}: {preset.title.lower()}"
    if row["layer"]:  # figure 3 shows all heads of a layer, one colour each
        views = [HeadView(f"all heads of the layer of {row['heads'][0]['head']}", row["layer"])]
    else:
        views = [HeadView(f"{each['head']}: {each['about']}", [each["weights"]]) for each in row["heads"]]
    return draw_heads(title, row["words"], views, row["looking"])


TARGET = Target("figures", "positional encodings, learning rate, attention", parts, report,
                needs="nothing")  # fmt: skip
