"""Time and memory of training at 64 to 16,384 tokens per sequence: a table and a plot.

python -m benchmarks.lengths --out FOLDER                 measure on a GPU; write lengths.json and lengths.svg
python -m benchmarks.lengths --draw lengths.json lengths.svg      draw an earlier measurement
python -m benchmarks.lengths --tiny                       on any machine, in seconds; checks correctness only

A step is forward and backward, without the optimiser, whose cost does not depend on the length. Source and target have
the same length. Two series: a batch with a fixed number of tokens, in which only the cost of attention grows with the
length; and a batch of one sequence, whose memory shows the cost of a token. Neither ours nor the peer is compiled, to
save compiling for every length.
"""

import argparse
import gc
import json
import statistics
import timeit
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise, product
from pathlib import Path
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from benchmarks.peers import Padded, TorchTransformer
from hark import configfile
from hark.config import Config
from hark.data.batches import PackedStream
from hark.model import Transformer, kernels
from hark.pages.loglog import LogPanel, draw_panels
from hark.recipes import FOLDER as RECIPES
from hark.text.tokenizer import SPECIAL
from hark.train.loss import Objective, Streams

LENGTHS = tuple(2**power for power in range(6, 15))
BATCH_TOKENS = 32_768
WARM_UP, STEPS = 2, 5
System = Literal["kernels", "flash", "torch"]
NAMES: dict[System, str] = {
    "kernels": "hark, our kernels", "flash": "hark, flash kernel", "torch": "nn.Transformer, padded",
}  # fmt: skip
Series = Literal["batch", "one"]


@dataclass(frozen=True)
class Point:
    """One measurement, or the reason why it failed."""

    system: System
    series: Series
    length: int
    sequences: int
    ms: float | None = None
    gib: float | None = None
    failure: str = ""

    @property
    def tokens_per_second(self) -> float | None:
        """Target tokens per second; there are as many source tokens."""
        return None if self.ms is None else 1000 * self.sequences * self.length / self.ms

    def row(self) -> str:
        name = f"{NAMES[self.system]:<24} {self.length:>7,} x {self.sequences:<5,}"
        if self.ms is None:
            return f"{name} {self.failure}"
        gib = "-" if self.gib is None else f"{self.gib:.2f}"
        return f"{name} {self.ms:>9.1f} {self.tokens_per_second or 0:>12,.0f} {gib:>8}"


def packed_tensors(length: int, sequences: int, vocab_size: int, device: torch.device) -> Streams:
    """A packed batch of sequences of one length, as from `hark.train.loss.to_tensors`."""
    cu = torch.arange(sequences + 1, device=device, dtype=torch.int32) * length
    positions = torch.arange(length, device=device, dtype=torch.int32).repeat(sequences)
    shape = (3, sequences * length)
    source, target, labels = torch.randint(300, vocab_size, shape, device=device, dtype=torch.int32)
    return {"source": PackedStream(source, positions, cu), "target": PackedStream(target, positions, cu, labels)}


class Bench:
    """Measures one model at a time, at all lengths."""

    def __init__(self, config: Config, lengths: Sequence[int], batch_tokens: int, device: torch.device) -> None:
        reach = max(config.model.max_positions, *lengths)
        self.config = replace(config, model=replace(config.model, max_positions=reach))
        self.lengths, self.batch_tokens, self.device = lengths, batch_tokens, device

    def run(self, system: System) -> list[Point]:
        torch.manual_seed(1)
        kind = TorchTransformer if system == "torch" else Transformer
        model = kind(self.config.model).to(self.device).train()
        points = []
        for series, length in product(get_args(Series), self.lengths):
            sequences = max(1, self.batch_tokens // length) if series == "batch" else 1
            points.append(self.measure(model, Point(system, series, length, sequences)))
            print(points[-1].row(), flush=True)
        return points

    def measure(self, model: nn.Module, point: Point) -> Point:
        gc.collect()
        on_gpu = self.device.type == "cuda"
        if on_gpu:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        try:
            step = self.step(model, point)
            seconds = timeit.repeat(step, number=1, repeat=WARM_UP + STEPS if on_gpu else 1)
        except torch.OutOfMemoryError:
            return replace(point, failure="out of memory")
        except Exception as error:  # a failure at one length must not lose the others
            return replace(point, failure=f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")
        finally:
            model.zero_grad()
        gib = torch.cuda.max_memory_allocated() / 2**30 if on_gpu else None
        return replace(point, ms=1000 * statistics.median(seconds[-STEPS:]), gib=gib)

    def step(self, model: nn.Module, point: Point) -> Callable[[], None]:
        vocab_size, smoothing = self.config.model.vocab_size, self.config.train.label_smoothing
        if isinstance(model, TorchTransformer):
            shape = (3, point.sequences, point.length)
            source_BS, target_in_BT, target_out_BT = torch.randint(300, vocab_size, shape, device=self.device)
            batch = Padded(source_BS, None, target_in_BT, target_out_BT)
            loss_of: Callable[[], Tensor] = lambda: model(batch, smoothing)  # noqa: E731
        else:
            tensors = packed_tensors(point.length, point.sequences, vocab_size, self.device)
            objective = Objective(model, smoothing, point.length, SPECIAL.pad, point.system == "kernels")  # type: ignore[arg-type]
            loss_of = lambda: objective(tensors)[0]  # noqa: E731

        def step() -> None:
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
                loss = loss_of()
            (loss / (point.length * point.sequences)).backward()  # type: ignore[no-untyped-call]
            model.zero_grad()
            if self.device.type == "cuda":
                torch.cuda.synchronize()

        return step


def cost_of_a_token(points: Sequence[Point]) -> list[str]:
    """The memory of each additional token, from length to length: constant if memory grows linearly."""
    lines = []
    for system, name in NAMES.items():
        mine = [each for each in points if each.system == system and each.series == "one"]
        known = [(each.length, each.gib) for each in mine if each.gib is not None]
        steps = [(high - low) * 2**20 / (after - before) for (before, low), (after, high) in pairwise(known)]
        if steps:
            figures = " ".join(f"{each:,.0f}" for each in steps)
            lines.append(f"{name}, one sequence: KiB per additional token, from length to length: {figures}")
    return lines


def draw(points: Sequence[Point], batch_tokens: int, machine: str) -> str:
    """Draw the plot as SVG."""
    systems = [system for system in NAMES if any(each.system == system for each in points)]
    sides = f"{batch_tokens:,} tokens per side"

    def panel(title: str, unit: str, series: Series, figure: Literal["ms", "gib"], guide: bool = True) -> LogPanel:
        """A panel of one series, with a curve per system."""
        known = [each for each in points if each.series == series and getattr(each, figure) is not None]
        curves = [[(each.length, getattr(each, figure)) for each in known if each.system == name] for name in systems]
        return LogPanel(title, unit, "tokens per sequence" + " · dotted: linear" * guide, curves, guide)

    panels = [
        panel("Time of a step", f"ms, {sides}", "batch", "ms"),
        panel("Memory", f"GiB, {sides}", "batch", "gib", guide=False),
        panel("Memory, one sequence", "GiB", "one", "gib"),
    ]
    return draw_panels([NAMES[each] for each in systems], [each for each in panels if any(each.curves)], machine)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", default="kernels,flash,torch")
    parser.add_argument("--tiny", action="store_true", help="use a tiny model on the CPU")
    parser.add_argument("--out", type=Path, help="folder for the points and the plot")
    parser.add_argument("--draw", nargs=2, type=Path, metavar=("JSON", "SVG"), help="only draw")
    arguments = parser.parse_args()
    if arguments.draw:
        known = json.loads(arguments.draw[0].read_text())
        points = [Point(**each) for each in known["points"]]
        arguments.draw[1].write_text(draw(points, known["batch_tokens"], known["machine"]))
        return
    size, lengths, batch_tokens = ("tiny", (16, 32), 64) if arguments.tiny else ("base", LENGTHS, BATCH_TOKENS)
    device = torch.device("cuda" if torch.cuda.is_available() and not arguments.tiny else "cpu")
    machine = torch.cuda.get_device_name() if device.type == "cuda" else "CPU, for correctness only"
    bench = Bench(configfile.load(RECIPES / f"{size}.toml"), lengths, batch_tokens, device)
    print(f"{machine}; torch {torch.__version__}")
    print(f"{'what':<24} {'length x sequences':>15} {'ms/step':>9} {'target tok/s':>12} {'GiB':>8}")
    points = []
    for system in arguments.systems.split(","):
        if system == "kernels" and not kernels.available():
            print(f"{NAMES['kernels']}: not measured; requires Triton and a GPU")
            continue
        points += bench.run(system)
        if arguments.out:
            arguments.out.mkdir(parents=True, exist_ok=True)
            known = {"machine": machine, "torch": torch.__version__, "batch_tokens": batch_tokens}
            report = {**known, "points": [asdict(each) for each in points]}
            (arguments.out / "lengths.json").write_text(json.dumps(report, indent=1) + "\n")
    print("\n".join(cost_of_a_token(points)))
    if arguments.out and any(each.ms for each in points):
        (arguments.out / "lengths.svg").write_text(draw(points, batch_tokens, machine))


if __name__ == "__main__":
    main()
