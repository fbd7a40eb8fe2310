"""Training Marian on a prepared dataset for some minutes at a time, and evaluating it like ours.

A folder holds `config.toml` and `variant` (how it is trained), `rows.jsonl` (measurements), `state/` (weights, Adam's
state, position in the data: a checkpoint in our format, without pickle), and `minute-M/` for each requested minute: the
weights as one of our bundles, in bfloat16, so that the same engine translates with the weights of both systems.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch._dynamo.utils import counters

from benchmarks.gradient_check import agreement
from benchmarks.marian_weights import to_ours, to_theirs
from benchmarks.peer_training import VARIANTS, Training
from benchmarks.peers import Marian, Padded
from benchmarks.quality_curves import ROWS, Row, read_lines, write_lines
from benchmarks.rows import lay_out
from hark import configfile
from hark.config import Config
from hark.data.batches import Corpus, PackedBatch, PackedBatches, make_batches
from hark.data.dataset import Dataset
from hark.data.prefetch import Prefetch
from hark.data.strata import derive
from hark.errors import UserError
from hark.model import Transformer
from hark.train import checkpoint
from hark.train.export import BundleWriter
from hark.train.loss import Objective, to_tensors
from hark.train.passes import autocast, fallback_reason
from hark.train.processes import Processes
from hark.train.schedule import learning_rate

GROUPS, IDLE, TIMED = (2, 3, 4), 50, 10
"""Candidates for the number of groups of rows per step, of which the fastest is used; consecutive batches without
compilation before the clock starts; and batches that are timed."""
ADAM = ("exp_avg", "exp_avg_sq", "step")

Ready = tuple[list[Padded], int, int]
"""A batch on the device, in groups; its number of real target tokens, and its index."""


class DevEvaluator:
    """Evaluates weights on the dev sets as `hark train` does: the same batches, kernels and precision."""

    def __init__(self, config: Config, dataset: Dataset, device: torch.device) -> None:
        self.config, self.device, self.model = config, device, Transformer(config.model).to(device).eval()
        fused = fallback_reason(self.config, Processes(0, 1, device)) is None
        smoothing, longest = config.train.label_smoothing, config.batches.max_length
        self.objective = Objective(self.model, smoothing, longest, dataset.special.pad, fused)
        stores = [(shard.name, dataset.store(shard)) for shard in dataset.shards("dev")]
        self.sets = [
            make_batches([Corpus(name, 1.0, [store])], self.config.batches, dataset.special) for name, store in stores
        ]

    @torch.no_grad()
    def measure(self, weights: Mapping[str, Tensor]) -> tuple[float, float]:
        """Loss and NLL per target token, averaged over the dev sets."""
        for name, weight in self.model.named_parameters():
            weight.copy_(weights[name])
        means = []
        for batches in self.sets:
            sums, tokens = torch.zeros(2, dtype=torch.float64, device=self.device), 0
            for batch in islice(batches.iterate(), batches.batches_per_epoch):
                with autocast(self.config, self.device):
                    sums += torch.stack(self.objective(to_tensors(batch, self.device))).double()
                tokens += batch.n_target_tokens
            means.append(sums / tokens)
        loss, nll = torch.stack(means).mean(0).tolist()
        return loss, nll


def compiled() -> int:
    """The number of graphs compiled in this process."""
    return int(counters["stats"]["unique_graphs"])


@dataclass
class Progress:
    seconds: float = 0.0
    steps: int = 0
    target_tokens: int = 0


class MarianRun:
    def __init__(
        self,
        folder: Path,
        config: Config,
        dataset: Dataset,
        device: torch.device,
        variant: str,
        init: str,
    ) -> None:
        self.folder, self.device, self.groups = folder, device, GROUPS[0]
        self.config = replace(config, batches=replace(config.batches, kind="packed"))
        self.check_settings(f"{variant}, initial weights {init}")
        self.bundles = BundleWriter.of(config, dataset)
        self.evaluator = DevEvaluator(self.config, dataset, device)
        torch.manual_seed(config.train.seed)
        self.marian = Marian(config.model)
        self.training = Training(self.marian, self.config, device, VARIANTS[variant])
        if init == "ours":  # as in `hark train` with the same seed
            torch.manual_seed(config.train.seed)
            self.training.fill(to_theirs(self.marian, Transformer(config.model).state_dict()))
        self.batches = PackedBatches(dataset.train, self.config.batches, dataset.special)
        self.stream: Prefetch[Ready] = Prefetch(self.batches, prepare=self.ready)
        self.progress, self.built, self.tokens_before = Progress(), 0, 0
        if self.state.exists():
            self.resume()
        self.rows = [row for row in read_lines(folder / ROWS, Row) if row.steps <= self.progress.steps]

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def check_settings(self, variant: str) -> None:
        """Check that a folder is resumed with the same settings."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, text in (("config.toml", configfile.dump(self.config)), ("variant", variant + "\n")):
            path = self.folder / name
            if path.exists() and path.read_text(encoding="utf-8") != text:
                raise UserError(f"{path}: started with other settings; use those, or choose another folder")
            path.write_text(text, encoding="utf-8")

    def ready(self, batch: PackedBatch) -> Ready:
        groups = [Padded.of(each, self.device) for each in lay_out(batch, self.groups)]
        return groups, batch.n_target_tokens, batch.index

    def warm_up(self) -> None:
        """Compile kernels before the clock starts, as `hark train` does. No weight changes."""
        if self.device.type == "cuda":
            if self.progress.steps:
                self.build()
            else:
                self.groups = self.fastest()
        self.check()

    def fastest(self) -> int:
        """Find the fastest number of groups: many have little padding, few keep the device busy."""
        seconds: dict[int, float] = {}
        for self.groups in GROUPS:
            self.build()
            several = [self.ready(self.later(place)) for place in range(TIMED)]
            self.wait()
            start = time.perf_counter()
            for each in several:
                self.training.backward(*each[:2])
            self.wait()
            seconds[self.groups] = (time.perf_counter() - start) / TIMED
        self.training.optimiser.zero_grad()
        times = ", ".join(f"{1000 * each:.1f} in {groups}" for groups, each in seconds.items())
        print(f"ms per batch by number of groups: {times}", flush=True)
        return min(seconds, key=lambda groups: seconds[groups])

    def build(self) -> None:
        """Run batches until the compiler has nothing left to compile."""
        idle = place = 0
        while idle < IDLE:
            built, place = compiled(), place + 1
            self.training.backward(*self.ready(self.later(place))[:2])
            idle = idle + 1 if compiled() == built else 0
        self.training.optimiser.zero_grad()

    def later(self, place: int) -> PackedBatch:
        """A batch of a later epoch."""
        return self.batches[self.batches.batches_per_epoch + place]

    def check(self) -> None:
        """Compare the gradient with that of plain Marian, with the current weights."""
        groups, tokens, _ = self.ready(self.later(0))
        print(agreement(self.training, Marian(self.config.model), groups, tokens), flush=True)

    def train(self, minutes: float, marks: Sequence[float], keep: Sequence[float], until: float | None) -> None:
        """Train for some more minutes; evaluate at `marks`, in minutes since the start, and at the end.

        `until` is a deadline by `time.monotonic`, for commands with a time limit.
        """
        start = time.monotonic()
        self.warm_up()
        self.wait()
        self.training.losses.zero_()
        self.tokens_before = self.progress.target_tokens
        self.built = compiled()
        took = time.monotonic() - start
        print(f"warmed up in {took:.0f} s, {self.built} graphs compiled; {self.groups} groups of rows", flush=True)
        progress, end = self.progress, self.progress.seconds + 60 * minutes
        due = sorted({60 * mark for mark in (*marks, *keep) if progress.seconds < 60 * mark < end} | {end})
        started = time.monotonic() - progress.seconds
        while due:
            groups, tokens, index = next(self.stream)
            # As in `hark train`: dropout is seeded by the batch index, so resuming needs no random state.
            torch.manual_seed(int(derive(self.config.train.seed, index)) >> 1)
            self.training.step(groups, tokens, learning_rate(progress.steps + 1, self.config))
            progress.steps += 1
            progress.target_tokens += tokens
            now = time.monotonic()
            late = until is not None and now >= until
            if now - started < due[0] and not late:
                continue
            self.wait()
            progress.seconds = time.monotonic() - started
            passed = {mark for mark in due if mark <= progress.seconds}
            due = [] if late else [mark for mark in due if mark not in passed]
            self.measure()
            for mark in passed & {60 * each for each in keep}:
                self.keep(mark / 60)
            started = time.monotonic() - progress.seconds
        self.stream.close()
        self.save()
        self.check()  # again: untrained weights ignore the source, which hides errors in attending to it

    def wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def our_weights(self) -> dict[str, Tensor]:
        return to_ours(self.marian, {name: weight.detach() for name, weight in self.training.weights.items()})

    def measure(self) -> None:
        progress = self.progress
        loss, nll = self.evaluator.measure(self.our_weights())
        self.rows.append(Row(progress.seconds, progress.steps, progress.target_tokens, loss, nll))
        write_lines(self.folder / ROWS, self.rows)
        throughput = progress.target_tokens / progress.seconds
        trained = self.training.losses.item() / max(1, progress.target_tokens - self.tokens_before)
        print(
            f"{progress.seconds / 60:.2f} minutes, step {progress.steps:,}: training loss {trained:.4f}, dev loss "
            f"{loss:.4f}, nll {nll:.4f}; {throughput:,.0f} target tokens/s so far{self.late_compiling()}",
            flush=True,
        )
        self.training.losses.zero_()
        self.tokens_before = progress.target_tokens

    def late_compiling(self) -> str:
        """Report compilation that the clock counted and should not have."""
        late = compiled() - self.built
        return f"; {late} graphs compiled while the clock was running" if late else ""

    def keep(self, minute: float) -> None:
        origin = f"Hugging Face Marian after {self.progress.seconds / 60:.2f} minutes, step {self.progress.steps}"
        weights = {name: weight.bfloat16().cpu() for name, weight in self.our_weights().items()}
        self.bundles.write(self.folder / f"minute-{minute:g}", weights, origin, force=True)

    def save(self) -> None:
        adam = self.training.adam.state
        tensors = {
            "weights": {name: weight.detach().cpu() for name, weight in self.training.weights.items()},
            "adam": {
                f"{kind}.{name}": adam[weight][kind].cpu()
                for name, weight in self.training.weights.items()
                for kind in ADAM
            },
        }
        checkpoint.save(self.state, tensors, self.place())

    def place(self) -> dict[str, Any]:
        return {"groups": self.groups, "progress": asdict(self.progress), "batches": self.stream.state_dict()}

    def resume(self) -> None:
        tensors, state = checkpoint.load(self.state)
        self.groups = state["groups"]
        self.training.fill(tensors["weights"])
        # Set Adam's state directly: taking a step to allocate it would change the weights.
        for name, weight in self.training.weights.items():
            self.training.adam.state[weight] = {
                kind: tensors["adam"][f"{kind}.{name}"].to(self.device) for kind in ADAM
            }
        self.progress = Progress(**state["progress"])
        self.stream.load_state_dict(state["batches"])
