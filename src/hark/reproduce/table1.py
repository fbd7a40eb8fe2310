"""Table 1: complexity per layer, sequential operations and path length, measured instead of derived."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from hark.pages.loglog import LogPanel, draw_panels
from hark.reproduce.cost import Cost
from hark.reproduce.layer_types import (
    KERNEL,
    LAYER_TYPES,
    LayerType,
    Points,
    count_flops,
    fit_exponent,
    graph_depth,
    name_law,
    path_length,
    saved_bytes,
    time_pass,
)
from hark.reproduce.published import TABLE_1, differences, table
from hark.reproduce.scales import Scale
from hark.reproduce.trial import Advance
from hark.reproduce.work import Report, Row, Rows, Target, TargetPart, Work
from hark.train.processes import choose_device

NEIGHBOURS = 32
"""The neighbourhood r of restricted self-attention."""
COUNTED_LENGTHS, COUNTED_WIDTHS = (32, 64, 128), (16, 32, 64)
"""Sizes for counts, which do not depend on the machine."""
PATH_LENGTHS, PATH_NEIGHBOURS = (8, 16, 32, 64, 128), 8


def parts(scale: Scale, _steps: int | None) -> list[TargetPart]:
    sizes = f"{scale.lengths} {scale.depths} {scale.repeats}"
    seconds = 20.0 if scale.name != "tiny" else 0.5
    return [
        TargetPart(
            file_name(each), each.name, Cost(seconds=seconds), f"{each.name} {sizes}", partial(measure_layer, each)
        )
        for each in LAYER_TYPES
    ]


def file_name(kind: LayerType) -> str:
    return kind.name.replace(",", "").replace(" ", "-")


def measure_layer(kind: LayerType, work: Work, advance: Advance) -> Row:
    """Every measurement of a type of layer, by size."""
    scale, device = work.scale, choose_device(work.device, 0)
    length, width = middle(scale.lengths), middle(scale.depths)
    row: dict[str, Any] = {"device": torch.cuda.get_device_name() if device.type == "cuda" else "CPU"}
    row |= {"length": length, "width": width, "time_n": [], "time_d": [], "bytes_n": [], "bytes_d": []}
    sizes = [("n", n, width) for n in scale.lengths] + [("d", length, d) for d in scale.depths]
    for done, (axis, n, d) in enumerate(sizes, start=1):
        layer = kind.timed(d, NEIGHBOURS).to(device)
        x = torch.randn(n, d, device=device, requires_grad=True)
        size = n if axis == "n" else d
        row[f"time_{axis}"].append((size, time_pass(layer, x, scale.repeats)))
        row[f"bytes_{axis}"].append((size, saved_bytes(layer, x)))
        del layer, x
        advance(done / (len(sizes) + 1))
    row["flops_n"] = [(n, count(kind, n, COUNTED_WIDTHS[0])) for n in COUNTED_LENGTHS]
    row["flops_d"] = [(d, count(kind, COUNTED_LENGTHS[0], d)) for d in COUNTED_WIDTHS]
    row["depth"] = [(n, graph_depth(kind.stacked(4, PATH_NEIGHBOURS, 0), sequence(n, 4))) for n in PATH_LENGTHS]
    row["path"] = [(n, path_length(kind, n, 4, PATH_NEIGHBOURS)) for n in PATH_LENGTHS]
    return row


def count(kind: LayerType, n: int, d: int) -> int:
    return count_flops(kind.stacked(d, NEIGHBOURS, 0), sequence(n, d))


def sequence(n: int, d: int) -> torch.Tensor:
    return torch.randn(n, d, requires_grad=True)


def middle(sizes: Sequence[int]) -> int:
    return sizes[len(sizes) // 2 - 1]


def report(work: Work, rows: Rows) -> Report:
    kinds = [(file_name(kind), kind) for kind in LAYER_TYPES]
    head = [
        "layer", "complexity, paper", "operations, counted", "time, measured", "kept for backward, measured",
        "sequential operations, paper", "measured", "path length, paper", "measured",
    ]  # fmt: skip
    lines, fits = [], {}
    for name, kind in kinds:
        row, paper = rows[name], TABLE_1[kind.published]
        fits[name] = exponents = {key: fit_exponent(row[key]) for key in
                                  ("time_n", "time_d", "bytes_n", "bytes_d", "flops_n", "flops_d")}  # fmt: skip
        lines.append(
            [
                kind.name,
                paper.complexity,
                law_of(exponents["flops_n"], exponents["flops_d"]),
                law_of(exponents["time_n"], exponents["time_d"]),
                law_of(exponents["bytes_n"], exponents["bytes_d"]),
                paper.sequential,
                f"{name_law(row['depth'])}: {listed(row['depth'])}",
                paper.path,
                f"{name_law(row['path'])}: {listed(row['path'])}",
            ]
        )
    first = rows[kinds[0][0]]
    scale = work.scale
    notes = [
        f"measured on {first['device']} in float32, forward and backward pass, batch of one: n from "
        f"{scale.lengths[0]:,} to {scale.lengths[-1]:,} at d = {first['width']:,}, d from {scale.depths[0]:,} to "
        f"{scale.depths[-1]:,} at n = {first['length']:,}; exponents are fitted to the larger half of the sizes",
        "time grows more slowly than operations while a layer is too small to fill the machine",
        f"k = {KERNEL}; r = {NEIGHBOURS} ({PATH_NEIGHBOURS} for path lengths); the convolutions of a stack are "
        "dilated; attention has no projections, as in the paper's count; the recurrent layer is an LSTM, for counts "
        "a GRU",
        "the paper has no column for memory; the fused kernel has no row in the paper",
    ]
    lengths = ", ".join(str(n) for n in PATH_LENGTHS)
    markdown = (
        f"# Table 1, {scale.name}\n\n{table(head, lines)}\n"
        "Sequential operations: the longest chain in the graph of one layer. Path length: the steps after which the "
        f"last position depends on the first, found by its gradient. Both at n = {lengths}.\n\n"
        f"{differences(notes)}"
    )
    return Report(markdown, {"table1": draw(kinds, rows)}, {"exponents": fits})


def law_of(n: float, d: float) -> str:
    return f"n^{n:.2f} · d^{d:.2f}"


def listed(points: Points) -> str:
    return ", ".join(f"{value:.0f}" for _, value in points)


def draw(kinds: Sequence[tuple[str, LayerType]], rows: Rows) -> str:
    def panel(title: str, unit: str, below: str, key: str, scale: float) -> LogPanel:
        curves = [[(int(size), value * scale) for size, value in rows[name][key]] for name, _ in kinds]
        return LogPanel(title, unit, below, curves)

    first = rows[kinds[0][0]]
    panels = [
        panel("Time against length", f"ms, d = {first['width']}", "n", "time_n", 1e3),
        panel("Time against width", f"ms, n = {first['length']}", "d", "time_d", 1e3),
        panel("Memory against length", f"MB kept for the backward pass, d = {first['width']}", "n", "bytes_n", 1e-6),
    ]
    return draw_panels([kind.name for _, kind in kinds], panels, first["device"])


TARGET = Target("table1", "complexity, sequential operations and path length", parts, report, needs="nothing")
