"""A training job: every part of a run in one place, and how all of them are saved and resumed."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from hark.config import Config
from hark.data.batches import Batch, Batches
from hark.data.permutation import derive
from hark.data.prefetch import Prefetch
from hark.errors import UserError
from hark.model import Transformer
from hark.rundir import RunDir
from hark.train import checkpoint, spread
from hark.train.export import BundleWriter
from hark.train.loss import Objective, Streams, to_tensors
from hark.train.meter import Meter
from hark.train.optimiser import MovingAverage, build_optimiser
from hark.train.passes import build_passes, why_not_recorded
from hark.train.processes import Processes
from hark.train.records import Record, SaveRecord, StartRecord, TranslationSample
from hark.train.signals import Signals

Taken = tuple[Batch[Any], Streams]


@dataclass(frozen=True)
class Judgement:
    """What is found of a model in another way than by its loss."""

    scores: Mapping[str, float]  # by name: BLEU, say
    samples: Sequence[tuple[str, str, str]] = ()  # source, reference and translation, for a person to read


Score = Callable[[Transformer], Judgement]
"""Judges a model; handed over by who starts the training."""


@dataclass
class TrainingProgress:
    """How far a run has come."""

    step: int = 0
    target_tokens: int = 0
    skipped_pairs: int = 0
    seconds: float = 0.0
    best: float | None = None
    since_best: int = 0


class TrainingJob:
    """The parts of a run. The loop (loop.py) drives them; record.py tells of them, dev.py measures them."""

    def __init__(
        self,
        config: Config,
        run: RunDir,
        processes: Processes,
        model: Transformer,
        batches: Batches[Any],
        dev: Sequence[tuple[str, Batches[Any]]],
        bundles: BundleWriter,
        observe: Callable[[Record | TranslationSample], None],
        signals: Signals,
        scores: Sequence[Score] = (),
    ) -> None:
        train = config.train
        self.config, self.run, self.processes, self.signals = config, run, processes, signals
        self.model = model.to(processes.device)
        self.batches, self.dev, self.bundles, self.observe, self.scores = batches, dev, bundles, observe, scores
        self.plain_because = why_not_recorded(config, processes)
        fused = self.plain_because is None
        self.objective = Objective(
            self.model, train.label_smoothing, config.batches.max_length, batches.special.pad, fused
        )
        self.passes = build_passes(self.objective, processes, config)
        weights = list(self.model.parameters())
        self.optimiser = build_optimiser(self.model, train)
        self.average = MovingAverage(weights, train.ema) if train.ema is not None else None
        self.stream: Prefetch[Taken] = Prefetch(
            batches, rank=processes.rank, world=processes.world, prepare=lambda b: (b, to_tensors(b, processes.device))
        )
        self.progress = TrainingProgress()
        self.meter = Meter(processes.device)
        self.saved_at = self.ticked_at = time.monotonic()
        self.batches_here = share_batches(train.batches_per_step, processes.world)

    def seed_dropout(self, batch: Batch[Any]) -> None:
        """Chance is a function of the batch's number: no state to save, and the same on any number of processes."""
        torch.manual_seed(int(derive(self.config.train.seed, batch.index)) >> 1)

    def save_is_due(self) -> bool:
        """The leading process decides for all."""
        if not self.processes.leads:
            return False
        steps, minutes = self.config.train.save_steps, self.config.train.save_minutes
        by_steps = steps is not None and (self.progress.step + 1) % steps == 0
        return by_steps or time.monotonic() - self.saved_at >= 60 * minutes

    def advance(self, tokens: int, skipped_pairs: int) -> None:
        self.progress.step += 1
        self.progress.target_tokens += tokens
        self.progress.skipped_pairs += skipped_pairs
        self.signals.worth_saving = True
        self.tick()

    def tick(self) -> float:
        """Count the time since the last tick as time of the run; how long that was."""
        now = time.monotonic()
        elapsed, self.ticked_at = now - self.ticked_at, now
        self.progress.seconds += elapsed
        return elapsed

    def settle(self) -> None:
        """Wait for the device before anything but training: the steps that it still has to do are training."""
        if self.processes.device.type == "cuda":
            torch.cuda.synchronize(self.processes.device)
        self.tick()

    def prove_memory(self) -> float:
        """The largest batch there can be, forwards and backwards: out of memory now, or never. How long it took."""
        batch = to_tensors(self.batches.worst_case(), self.processes.device)
        began = time.monotonic()
        try:
            self.passes(batch, 1.0, last=True)
            self.optimiser.allocate()
        except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
            if not isinstance(error, torch.OutOfMemoryError | MemoryError) and "alloc" not in str(error):
                raise
            raise UserError(
                f"a batch of {self.config.batches.batch_tokens} tokens does not fit in the memory of "
                f"{self.processes.device}; lower batches.batch_tokens and raise train.batches_per_step"
            ) from None
        return time.monotonic() - began

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """With the moving average in place of the weights, where one is kept: it is what a person will get."""
        if self.average is None:
            yield
            return
        self.exchange()
        try:
            yield
        finally:
            self.exchange()

    @torch.no_grad()
    def exchange(self) -> None:
        assert self.average is not None
        for weight, mean in zip(self.model.parameters(), self.average.weights, strict=True):
            held = weight.clone()
            weight.copy_(mean)
            mean.copy_(held)

    def save(self) -> None:
        """A checkpoint of everything; the older ones beyond those that are kept go."""
        self.settle()
        began = time.monotonic()
        tensors = {
            "model": spread.gather_weights(self.model),
            "adam": spread.gather_optimiser(self.model, self.optimiser),
        }
        if self.average is not None:
            tensors["ema"] = spread.gather_average(self.model, self.average)
        state = {
            "tokenizers": self.bundles.tokenizer_hashes,
            "progress": asdict(self.progress),
            "batches": self.stream.state_dict(),
            "meter": self.meter.state_dict(self.processes),
            "skipped": self.optimiser.skipped.item(),
            "bad_in_a_row": self.optimiser.bad_in_a_row.item(),
        }
        if self.processes.leads:
            checkpoints = self.run.checkpoints
            size = checkpoint.save(checkpoint.folder_of(checkpoints, self.progress.step), tensors, state)
            checkpoint.prune(checkpoints, self.config.train.keep_last)
            self.tell(SaveRecord(self.progress.step, time.monotonic() - began, size, time.time()))
        self.processes.wait()
        self.pause()
        self.saved_at = time.monotonic()

    def resume(self, folder: Path) -> None:
        """Go on from a checkpoint as if nothing had happened."""
        try:
            tensors, state = checkpoint.load(folder)
        except UserError as error:
            raise UserError(f"{error}; remove {folder} to go on from the checkpoint before it") from None
        if state["tokenizers"] != self.bundles.tokenizer_hashes:
            raise UserError(f"{self.config.data.dataset}: is encoded with another tokenizer than {folder}; restore it")
        spread.fill_weights(self.model, tensors["model"], folder)
        spread.fill_optimiser(self.model, self.optimiser, tensors["adam"], folder)
        if self.average is not None:
            spread.fill_average(self.model, self.average, tensors.get("ema", tensors["model"]))
        self.progress = TrainingProgress(**state["progress"])
        self.stream.load_state_dict(state["batches"])
        self.meter.load_state_dict(state["meter"], self.processes, self.progress.target_tokens)
        self.optimiser.skipped.fill_(state["skipped"])
        self.optimiser.bad_in_a_row.fill_(state["bad_in_a_row"])

    def begin(self, kind: type[StartRecord], batch_seconds: float) -> None:
        """Say that it begins. `batch_seconds` is what a batch took on trial: on a CPU a step takes about as long."""
        weights = sum(weight.numel() for weight in self.model.parameters())
        step, tokens, device = self.progress.step, self.progress.target_tokens, self.processes.device
        name = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
        processes, steps = self.processes.world, self.config.train.steps
        because = self.plain_because
        passes = "our kernels, in a CUDA graph" if because is None else f"plain path: {because}"
        pairs = self.batches.n_pairs, self.batches.n_excluded, self.config.batches.max_length
        step_seconds = batch_seconds * self.batches_here if device.type == "cpu" else 0.0
        self.tell(kind(step, time.time(), tokens, name, processes, weights, steps, passes, *pairs, step_seconds))
        self.ticked_at = self.saved_at = self.meter.started = time.monotonic()

    def pause(self) -> None:
        """Time spent on measuring and saving, since it was settled, counts as time of the run, but not against its
        pace."""
        self.meter.started += self.tick()

    def tell(self, record: Record | TranslationSample) -> None:
        if self.processes.leads:
            self.observe(record)


def share_batches(batches_per_step: int, world: int) -> int:
    """The batches of a step that each process takes."""
    if batches_per_step % world:
        raise UserError(
            f"train.batches_per_step: {batches_per_step} batches cannot be shared evenly by {world} processes; "
            f"make it a multiple of {world}"
        )
    return batches_per_step // world
