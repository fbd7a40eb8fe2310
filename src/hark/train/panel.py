"""What a person sees while a run goes on: one live panel in a terminal, else plain lines. On stderr.

What is known of the run is a frozen `View`; each record makes the next one, and drawing only reads it, so that the
thread that refreshes the screen never meets a half-made state.
"""

import math
import os
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

from hark.train import figures
from hark.train.metrics import (
    Average,
    DevRecord,
    History,
    Record,
    ResumeRecord,
    Sample,
    SaveRecord,
    StartRecord,
    StopRecord,
    TrainRecord,
    still_true,
)

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.text import Text

SAMPLES = 2  # shown at once
RECENT = 20  # records from which the time left is told
FORGET = 0.9  # of the smoothed loss stays when a record is added
BLOCKS = "▁▂▃▄▅▆▇█"
PAUSE = 5.0  # seconds between plain lines about training


@dataclass(frozen=True)
class Trace:
    """A whole run's losses in bounded space: when it is full, neighbours are merged."""

    values: tuple[float, ...] = ()
    stride: int = 1  # records in each value
    total: float = 0.0  # of the records that do not make a value yet
    count: int = 0

    LIMIT = 256

    def add(self, value: float) -> "Trace":
        if not math.isfinite(value):
            return self
        total, count = self.total + value, self.count + 1
        if count < self.stride:
            return replace(self, total=total, count=count)
        values = (*self.values, total / count)
        if len(values) < self.LIMIT:
            return Trace(values, self.stride)
        pairs = zip(islice(values, 0, None, 2), islice(values, 1, None, 2), strict=True)
        return Trace(tuple((first + second) / 2 for first, second in pairs), 2 * self.stride)


@dataclass(frozen=True)
class View:
    """All that is shown."""

    name: str
    begun: StartRecord | None = None
    recent: tuple[TrainRecord, ...] = ()
    losses: Trace = field(default_factory=Trace)
    smoothed: Average = field(default_factory=Average)
    dev: Mapping[str, DevRecord] = field(default_factory=dict)  # the last of each set
    best: DevRecord | None = None
    saved: SaveRecord | None = None
    samples: tuple[Sample, ...] = ()
    stopped: StopRecord | None = None

    def after(self, record: Record | Sample) -> "View":
        match record:
            case StartRecord():
                return replace(self, begun=record, recent=(), stopped=None)
            case TrainRecord():
                return replace(
                    self,
                    recent=(*self.recent, record)[-RECENT:],
                    losses=self.losses.add(record.loss),
                    smoothed=self.smoothed.add(record.loss, FORGET),
                )
            case DevRecord():
                return replace(self, dev={**self.dev, record.set: record}, best=record if record.best else self.best)
            case SaveRecord():
                return replace(self, saved=record)
            case StopRecord():
                return replace(self, stopped=record)
            case Sample():
                same = [each for each in self.samples if each.step == record.step]
                return replace(self, samples=(*same, record)[-SAMPLES:])

    @property
    def train(self) -> TrainRecord | None:
        return self.recent[-1] if self.recent else None

    @property
    def step(self) -> int:
        """As far as it has come."""
        return self.train.step if self.train else self.begun.step if self.begun else 0

    @property
    def steps(self) -> int:
        return self.begun.steps if self.begun else 0

    @property
    def seconds_left(self) -> float | None:
        """None: not known yet, or nothing is left."""
        if len(self.recent) < 2 or self.step >= self.steps:
            return None
        first, last = self.recent[0], self.recent[-1]
        pace = (last.seconds - first.seconds) / max(last.step - first.step, 1)
        return pace * (self.steps - last.step)


class Panel:
    """Follows a run: `with Panel("name") as panel: panel.update(record)`."""

    def __init__(self, name: str, history: History | None = None, stream: TextIO | None = None) -> None:
        """`history`: what a resumed run has told before, so that its curve goes on where it was."""
        self.stream = stream or sys.stderr
        self.name = name
        self.history = history or History()
        self.view = View(name)
        self.live: Any = None
        self.told = -math.inf
        if is_terminal(self.stream):
            from rich.console import Console
            from rich.live import Live

            screen = Screen(self)
            self.live = Live(screen, console=Console(file=self.stream), refresh_per_second=2, vertical_overflow="crop")

    def update(self, record: Record | Sample) -> None:
        if isinstance(record, StartRecord):
            self.view = View(self.name)
            for each in still_true(self.history.records, record):
                self.view = self.view.after(each)
        self.view = self.view.after(record)
        if self.live is not None:  # it looks at the view by itself, so that no rate of records can make drawing dear
            return
        if isinstance(record, TrainRecord):
            if record.time - self.told < PAUSE and record.step != self.view.steps:
                return
            self.told = record.time
        for line in lines(record, self.view):
            self.stream.write(line + "\n")
        self.stream.flush()

    def __enter__(self) -> "Panel":
        if self.live is not None:
            self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live is not None:
            self.live.stop()
            stop = self.view.stopped
            if stop is not None and stop.reason != "failed":  # the command line says why it failed
                self.stream.write(stop_words(stop) + "\n")


def is_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


# Plain lines


def lines(record: Record | Sample, view: View) -> Iterable[str]:
    """What a record says where there is no terminal."""
    match record:
        case StartRecord():
            verb = "resumed" if isinstance(record, ResumeRecord) else "started"
            yield f"{verb} {view.name} at step {where(record.step, view)}  {machine(record)}"
        case TrainRecord():
            yield "  ".join(train_words(record, view))
        case DevRecord():
            best = "  best" if record.best else ""
            yield f"dev {record.set} at step {record.step}  {scores_words(record)}{best}"
        case SaveRecord():
            yield f"saved step {record.step}  {figures.size(record.bytes)} in {record.took:.1f} s"
        case StopRecord():
            yield stop_words(record)
        case Sample():
            yield f"sample at step {record.step}"
            yield f"  source       {one_line(record.source)}"
            yield f"  reference    {one_line(record.reference)}"
            yield f"  translation  {one_line(record.translation)}"


def train_words(record: TrainRecord, view: View) -> Iterable[str]:
    yield f"step {where(record.step, view)}"
    yield f"loss {figures.loss(record.loss)}"
    yield f"rate {figures.rate(record.rate)}"
    yield f"grad {figures.short(record.grad_norm)}"
    yield f"{figures.short(record.tokens_per_second)} tokens/s"
    yield f"fill {figures.percent(record.fill)}"
    if record.memory_gib is not None:
        yield f"memory {record.memory_gib:.1f} GiB"
    if record.skipped:
        yield f"skipped {record.skipped}"
    if view.seconds_left is not None:
        yield f"left {figures.duration(view.seconds_left)}"


def where(step: int, view: View) -> str:
    return f"{step}/{view.steps}" if view.steps else str(step)


def machine(begun: StartRecord) -> str:
    """On what it runs, and what: H200, 2 processes, 63.1M weights."""
    processes = f", {begun.processes} processes" if begun.processes > 1 else ""
    return f"{begun.device}{processes}, {figures.short(begun.weights)} weights"


def scores_words(dev: DevRecord) -> str:
    words = [f"{name} {figures.score(value)}" for name, value in dev.scores.items()]
    return "  ".join([*words, f"nll {figures.loss(dev.nll)}", f"perplexity {figures.short(dev.perplexity)}"])


def stop_words(stop: StopRecord) -> str:
    reason = {"early": "stopped early"}.get(stop.reason, stop.reason)
    return f"{reason} at step {stop.step}" + (f": {one_line(stop.message)}" if stop.message else "")


def one_line(text: str) -> str:
    return " ".join(text.split())


# The live panel


class Screen:
    """Draws a panel's view anew whenever rich asks, as wide as the window is then."""

    def __init__(self, panel: Panel) -> None:
        self.panel = panel

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        # A window that is too low loses samples first, then empty lines; what is left over is cut at the bottom.
        height = console.size.height - 1
        for n_samples, roomy in ((SAMPLES, True), (1, True), (0, True), (0, False)):
            view = replace(self.panel.view, samples=self.panel.view.samples[:n_samples])
            picture = draw(view, options.max_width, time.time(), roomy, options.ascii_only)
            if len(console.render_lines(picture, options)) <= height:
                break
        yield picture


def draw(view: View, width: int, now: float, roomy: bool = True, plain: bool = False) -> Any:
    """The panel of a view, for rich. `roomy`: with empty lines; `plain`: for terminals without Unicode."""
    from rich.box import ROUNDED
    from rich.console import Group
    from rich.panel import Panel as Frame
    from rich.text import Text

    inner = max(width - 6, 10)
    blocks = [progress_block(view, inner, plain), loss_block(view, inner, plain), machine_block(view, inner)]
    blocks += [dev_block(view, inner), samples_block(view, inner), saved_block(view, now)]
    shown: list[Any] = []
    for block in blocks:
        if block is not None:
            shown += [Text(), block] if shown and roomy else [block]
    subtitle = Text(machine(view.begun), "dim") if view.begun and width >= 60 else None
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


def progress_block(view: View, width: int, plain: bool) -> "Text":
    """The step, a bar, and the time left; the bar takes what room there is."""
    from rich.text import Text

    left = Text.assemble(("step ", "dim"), (figures.count(view.step), "bold"))
    if view.steps:
        left.append(f" of {figures.count(view.steps)}", "dim")
    share = min(view.step / view.steps, 1.0) if view.steps else 0.0
    right = Text.assemble((f"{100 * share:.0f}%", "dim"))
    if view.stopped is not None:
        right.append("   ")
        right.append(*stop_mark(view.stopped))
    elif view.seconds_left is not None:
        right.append("   ")
        right.append(figures.duration(view.seconds_left))
        right.append(" left", "dim")
    room = width - left.cell_len - right.cell_len - 4
    if room < 8:  # too narrow for one line: the bar has one of its own
        fits = left.cell_len + right.cell_len + 3 <= width
        above = [Text.assemble(left, "   ", right)] if fits else [left, right]
        return Text("\n").join([*above, bar(share, width, plain)])
    return Text.assemble(left, "  ", bar(share, room, plain), "  ", right)


def stop_mark(stop: StopRecord) -> tuple[str, str]:
    words = {"early": "stopped early"}.get(stop.reason, stop.reason)
    style = {"finished": "green", "early": "green", "interrupted": "yellow"}.get(stop.reason, "bold red")
    return words, style


def bar(share: float, width: int, plain: bool) -> "Text":
    from rich.text import Text

    full = round(share * width)
    done, rest = ("#", "-") if plain else ("━", "─")
    return Text.assemble((done * full, "cyan"), (rest * (width - full), "bright_black"))


def loss_block(view: View, width: int, plain: bool) -> Any:
    """The loss, its smoothed value, and its whole course as a line of blocks."""
    from rich.text import Text

    if view.train is None:
        return Text("waiting for the first figures ...", "dim")
    words = Text.assemble(("loss ", "dim"), (figures.loss(view.train.loss), "bold"))
    words.append("   smoothed ", "dim")
    words.append(figures.loss(view.smoothed.value))
    room = width - words.cell_len - 3
    if plain or room < 12:
        return words
    return Text.assemble(words, "   ", (sparkline(view.losses.values, room), "cyan"))


def sparkline(values: tuple[float, ...], width: int) -> str:
    """A course in blocks. The steep beginning is cut off at the top, so that what came after can still be seen."""
    if not values:
        return ""
    n_bins = min(width, len(values))
    edges = [round(index * len(values) / n_bins) for index in range(n_bins + 1)]
    means = [sum(values[low:high]) / (high - low) for low, high in pairwise(edges)]
    low, high = min(means), sorted(means)[int(0.9 * (len(means) - 1))]
    scale = (len(BLOCKS) - 1) / (high - low) if high > low else 0.0
    return "".join(BLOCKS[min(round((each - low) * scale), len(BLOCKS) - 1)] for each in means)


def machine_block(view: View, width: int) -> Any:
    """Small figures in as many columns as fit."""
    from rich.table import Table
    from rich.text import Text

    train = view.train
    if train is None:
        return None
    cells = [
        ("speed", f"{figures.short(train.tokens_per_second)} tokens/s"),
        ("rate", figures.rate(train.rate)),
        ("gradient", figures.short(train.grad_norm)),
        ("fill", figures.percent(train.fill)),
        ("epoch", f"{train.epoch:.2f}"),
    ]
    if train.memory_gib is not None:
        cells.append(("memory", f"{train.memory_gib:.1f} GiB"))
    if train.utilisation is not None:
        cells.append(("utilised", figures.percent(train.utilisation)))
    texts = [Text.assemble((f"{name:<9}", "dim"), value) for name, value in cells]
    if train.skipped:
        texts.append(Text.assemble((f"{'skipped':<9}", "dim"), (f"{figures.count(train.skipped)} steps", "yellow")))
    n_columns = max(1, min(4, (width + 3) // 25))
    table = Table.grid(padding=(0, 3))
    for _ in range(n_columns):
        table.add_column(no_wrap=True, min_width=min(22, width))
    for first in range(0, len(texts), n_columns):
        table.add_row(*texts[first : first + n_columns])
    return table


def dev_block(view: View, width: int) -> Any:
    """The last measurement on each dev set, and the best."""
    from rich.text import Text

    several = len(view.dev) > 1
    rows = [Text.assemble(("dev      ", "dim"), dev_text(each, width - 9, several)) for each in view.dev.values()]
    if view.best is not None:
        rows.append(Text.assemble(("best     ", "green"), dev_text(view.best, width - 9, several)))
    return Text("\n", no_wrap=True, overflow="ellipsis").join(rows) if rows else None


def dev_text(dev: DevRecord, width: int, several: bool) -> "Text":
    """As much of a measurement as fits, the most important first."""
    from rich.text import Text

    named = [(name, figures.score(value)) for name, value in dev.scores.items()]
    named += [("nll", figures.loss(dev.nll)), ("at", figures.count(dev.step))]
    named.append(("perplexity", figures.short(dev.perplexity)))
    text = Text(f"{dev.set}   " if several else "")
    for name, value in named:
        if text.cell_len + len(name) + len(value) + 1 <= width:
            text.append(f"{name} ", "dim")
            text.append(f"{value}   ")
    if not several and text.cell_len + len(dev.set) <= width:
        text.append(dev.set, "dim")
    text.rstrip()
    return text


def samples_block(view: View, width: int) -> Any:
    """Translations from the latest measurement."""
    from rich.text import Text

    if not view.samples or width < 40:
        return None
    rows = []
    for sample in view.samples:
        rows += [
            Text.assemble(("source   ", "dim"), (one_line(sample.source), "dim")),
            Text.assemble(("wanted   ", "dim"), (one_line(sample.reference), "dim")),
            Text.assemble(("given    ", "dim"), one_line(sample.translation)),
            Text(),
        ]
    for row in rows:
        row.truncate(width, overflow="ellipsis")
    return Text("\n").join(rows[:-1])


def saved_block(view: View, now: float) -> Any:
    from rich.text import Text

    if view.saved is None:
        return None
    ago = figures.duration(now - view.saved.time)
    return Text.assemble(
        ("saved    ", "dim"),
        f"step {figures.count(view.saved.step)}",
        (f"   {ago} ago   {figures.size(view.saved.bytes)} in {view.saved.took:.1f} s", "dim"),
        overflow="ellipsis",
        no_wrap=True,
    )
