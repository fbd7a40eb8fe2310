"""Drawing of the live panel for a terminal. Loads rich, so the panel imports it only for a terminal."""

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from rich.box import ROUNDED
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.panel import Panel as Frame
from rich.table import Table
from rich.text import Text

from hark.monitor.lines import machine, one_line, own_scores, time_line
from hark.monitor.view import SAMPLES, View
from hark.pages import formats
from hark.train.records import DevRecord, StopRecord

BLOCKS = "▁▂▃▄▅▆▇█"
MAX_LISTED = 8
"""Dev sets that are listed one by one; more are a grid."""


class Screen:
    """A rich renderable of the current view, drawn to the width of the window."""

    def __init__(self, current_view: Callable[[], View]) -> None:
        self.current_view = current_view

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        # If the window is too small, drop samples first, then empty lines, then cut at the bottom.
        height = console.size.height - 1
        whole = self.current_view()
        for n_samples, roomy in ((SAMPLES, True), (1, True), (0, True), (0, False)):
            view = replace(whole, samples=whole.samples[:n_samples])
            picture = draw(view, options.max_width, time.time(), roomy, options.ascii_only)
            if len(console.render_lines(picture, options)) <= height:
                break
        yield picture


def draw(view: View, width: int, now: float, roomy: bool = True, plain: bool = False) -> Frame:
    """Draw the panel of a view with rich. `roomy`: with empty lines; `plain`: for terminals without Unicode."""
    inner = max(width - 6, 10)
    blocks: list[RenderableType | None] = [
        progress_block(view, inner, plain),
        loss_block(view, inner, plain),
        machine_block(view, inner),
        dev_block(view, inner),
        samples_block(view, inner),
        saved_block(view, now),
    ]
    shown: list[RenderableType] = []
    for block in blocks:
        if block is not None:
            shown += [Text(), block] if shown and roomy else [block]
    subtitle = Text(machine(view.start), "dim") if view.start and width >= 60 else None
    return Frame(
        Group(*shown),
        title=Text(view.name, "bold", overflow="ellipsis"),
        title_align="left",
        subtitle=subtitle,
        subtitle_align="right",
        box=ROUNDED,
        border_style="bright_black",
        padding=(1 if roomy else 0, 2),
        width=width,
    )


def progress_block(view: View, width: int, plain: bool) -> Text:
    """The step, a progress bar that fills the width, and the time left."""
    left = Text.assemble(("step ", "dim"), (formats.count(view.step), "bold"))
    if view.steps:
        left.append(f" of {formats.count(view.steps)}", "dim")
    share = min(view.step / view.steps, 1.0) if view.steps else 0.0
    right = Text.assemble((f"{100 * share:.0f}%", "dim"))
    if view.stopped is not None:
        right.append("   ").append(*stop_mark(view.stopped))
    elif view.seconds_left is not None:
        right.append(f"   {formats.duration(view.seconds_left)}").append(" left", "dim")
    room = width - left.cell_len - right.cell_len - 4
    if room < 8:  # too narrow: put the bar on its own line
        fits = left.cell_len + right.cell_len + 3 <= width
        above = [Text.assemble(left, "   ", right)] if fits else [left, right]
        return Text("\n").join([*above, bar(share, width, plain)])
    return Text.assemble(left, "  ", bar(share, room, plain), "  ", right)


def stop_mark(stop: StopRecord) -> tuple[str, str]:
    label = {"early": "stopped early"}.get(stop.reason, stop.reason)
    style = {"finished": "green", "early": "green", "interrupted": "yellow"}.get(stop.reason, "bold red")
    return label, style


def bar(share: float, width: int, plain: bool) -> Text:
    full = round(share * width)
    done, rest = ("#", "-") if plain else ("━", "─")
    return Text.assemble((done * full, "cyan"), (rest * (width - full), "bright_black"))


def loss_block(view: View, width: int, plain: bool) -> Text:
    """The loss, its smoothed value, and its history as a sparkline."""
    if view.train is None:
        estimate = f" ({time_line(view.start)})" if view.start is not None and view.start.step_seconds else ""
        return Text(f"waiting for the first record ...{estimate}", "dim")
    text = Text.assemble(("loss ", "dim"), (formats.loss(view.train.loss), "bold"), ("   smoothed ", "dim"))
    text.append(formats.loss(view.smoothed.value))
    room = width - text.cell_len - 3
    if plain or room < 12:
        return text
    return Text.assemble(text, "   ", (sparkline(view.losses.values, room), "cyan"))


def sparkline(values: tuple[float, ...], width: int) -> str:
    """Values as block characters. Clips the steep beginning, so that later changes remain visible."""
    if not values:
        return ""
    n_bins = min(width, len(values))
    edges = [round(index * len(values) / n_bins) for index in range(n_bins + 1)]
    means = [sum(values[low:high]) / (high - low) for low, high in pairwise(edges)]
    low, high = min(means), sorted(means)[int(0.9 * (len(means) - 1))]
    span = high - low or 1.0
    shares = ((min(mean, high) - low) / span for mean in means)
    return "".join(BLOCKS[round(share * (len(BLOCKS) - 1))] for share in shares)


def machine_block(view: View, width: int) -> Table | None:
    """Speed, learning rate, memory and the like, in as many columns as fit."""
    train = view.train
    if train is None:
        return None
    cells = [
        ("speed", f"{formats.short(train.tokens_per_second)} tokens/s"),
        ("rate", formats.rate(train.rate)),
        ("gradient", formats.short(train.grad_norm)),
        ("fill", formats.percent(train.fill)),
        ("epoch", f"{train.epoch:.2f}"),
    ]
    if train.memory_gib is not None:
        cells.append(("memory", f"{train.memory_gib:.1f} GiB"))
    if train.utilisation is not None:
        cells.append(("MFU", formats.percent(train.utilisation)))
    texts = [Text.assemble((f"{name:<9}", "dim"), value) for name, value in cells]
    if view.start is not None and view.start.too_long:
        share = formats.share(view.start.too_long, view.start.pairs)
        texts.append(Text.assemble((f"{'too long':<9}", "dim"), f"{share} of pairs"))
    for number, noun in ((train.skipped_pairs, "pair"), (train.skipped, "step")):
        if number:
            texts.append(Text.assemble((f"{'skipped':<9}", "dim"), (formats.plural(number, noun), "yellow")))
    n_columns = max(1, min(4, (width + 3) // 25))
    table = Table.grid(padding=(0, 3))
    for _ in range(n_columns):
        table.add_column(no_wrap=True, min_width=min(22, width))
    add_rows(table, texts, n_columns)
    return table


def add_rows(table: Table, cells: list[Text], n_columns: int) -> None:
    for first in range(0, len(cells), n_columns):
        table.add_row(*cells[first : first + n_columns])


def dev_block(view: View, width: int) -> Text | Table | None:
    """The last result on each dev set, and the best."""
    several = len(view.dev) > 1
    if len(view.dev) > MAX_LISTED:
        return dev_grid(view, width)
    rows = [Text.assemble(("dev      ", "dim"), dev_text(last, width - 9, several)) for last in view.dev.values()]
    if view.best is not None:
        rows.append(Text.assemble(("best     ", "green"), dev_text(view.best, width - 9, several)))
    return Text("\n", no_wrap=True, overflow="ellipsis").join(rows) if rows else None


def dev_grid(view: View, width: int) -> Table:
    """The last loss of each of many dev sets, such as those of a many-to-many dataset, in as many columns as fit."""
    cells = [Text.assemble((f"{name} ", "dim"), formats.loss(last.nll)) for name, last in view.dev.items()]
    widest = max(cell.cell_len for cell in cells)
    n_columns = max(1, (width + 3) // (widest + 3))
    table = Table.grid(padding=(0, 3))
    add_rows(table, cells, n_columns)
    best = f", best at {formats.count(view.best.step)}" if view.best is not None else ""
    step = formats.count(max(last.step for last in view.dev.values()))
    whole = Table.grid()
    whole.add_row(Text(f"dev, nll by set at {step}{best}", "dim"))
    whole.add_row(table)
    return whole


def dev_text(dev: DevRecord, width: int, several: bool) -> Text:
    """As many scores of a dev set as fit, the most important first."""
    named = [(name, formats.score(value)) for name, value in own_scores(dev).items()]
    named += [("nll", formats.loss(dev.nll)), ("at", formats.count(dev.step))]
    named.append(("perplexity", formats.short(dev.perplexity)))
    text = Text(f"{dev.set}   " if several else "")
    for name, value in named:
        if text.cell_len + len(name) + len(value) + 1 <= width:
            text.append(f"{name} ", "dim").append(f"{value}   ")
    if not several and text.cell_len + len(dev.set) <= width:
        text.append(dev.set, "dim")
    text.rstrip()
    return text


def samples_block(view: View, width: int) -> Text | None:
    """Sample translations from the latest evaluation."""
    if not view.samples or width < 40:
        return None
    rows = []
    for sample in view.samples:
        rows += [
            Text.assemble(("source       ", "dim"), (one_line(sample.source), "dim")),
            Text.assemble(("reference    ", "dim"), (one_line(sample.reference), "dim")),
            Text.assemble(("translation  ", "dim"), one_line(sample.translation)),
            Text(),
        ]
    for row in rows:
        row.truncate(width, overflow="ellipsis")
    return Text("\n").join(rows[:-1])


def saved_block(view: View, now: float) -> Text | None:
    if view.saved is None:
        return None
    ago = formats.duration(now - view.saved.time)
    return Text.assemble(
        ("saved    ", "dim"),
        f"step {formats.count(view.saved.step)}",
        (f"   {ago} ago   {formats.size(view.saved.bytes)} in {view.saved.took:.1f} s", "dim"),
        overflow="ellipsis",
        no_wrap=True,
    )
