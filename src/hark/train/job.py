"""A training job: all parts of a run, and how they are saved to and resumed from a checkpoint."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from hark.config import Config
from hark.data.batches import Batch, Batches
from hark.data.prefetch import Prefetch
from hark.data.strata import derive
from hark.errors import UserError
from hark.model import Model
from hark.rundir import RunDir
from hark.train import checkpoint, sharding
from hark.train.bad_steps import BadSteps
from hark.train.export import BundleWriter
from hark.train.loss import Objective, Streams, to_tensors
from hark.train.optimiser import MovingAverage, build_optimiser
from hark.train.passes import Meter, build_passes, fallback_reason
from hark.train.processes import Processes
from hark.train.records import Record, SaveRecord, StartRecord, TranslationSample
from hark.train.signals import Signals

LoadedBatch = tuple[Batch[Any], Streams]
"""A batch on the host, and its streams on the device."""


@dataclass(frozen=True)
class DevScores:
    """Scores of a model other than its loss, and sample translations."""

    of_sets: Mapping[str, Mapping[str, float]]  # by dev set, and by name, such as BLEU
    samples: Sequence[tuple[str, str, str]] = ()  # source, reference and translation

    @property
    def scores(self) -> dict[str, float]:
        """All scores; the names of those of several sets end with the set."""
        several = len(self.of_sets) > 1
        every = ((name, *score) for name, scores in self.of_sets.items() for score in scores.items())
        return {f"{kind} {name}" if several else kind: value for name, kind, value in every}

    @property
    def main(self) -> float:
        """What a model is chosen by: the mean of the first kind of score over the dev sets."""
        values = [next(iter(scores.values())) for scores in self.of_sets.values() if scores]
        return sum(values) / max(1, len(values))


DevScorer = Callable[[Model], DevScores]
"""Scores a model on the dev sets; passed in by the caller of `run_training`."""


@dataclass
class TrainingProgress:
    """How far a run has got."""

    step: int = 0
    target_tokens: int = 0
    skipped_pairs: int = 0
    seconds: float = 0.0
    best: float | None = None
    since_best: int = 0


class TrainingJob:
    """The parts of a run. loop.py drives them, step_log.py logs them, dev.py evaluates them."""

    def __init__(
        self,
        config: Config,
        run: RunDir,
        processes: Processes,
        model: Model,
        batches: Batches[Any],
        dev: Sequence[tuple[str, Batches[Any]]],
        bundles: BundleWriter,
        observe: Callable[[Record | TranslationSample], None],
        signals: Signals,
        scorers: Sequence[DevScorer] = (),
    ) -> None:
        train = config.train
        self.config, self.run, self.processes, self.signals = config, run, processes, signals
        self.model = model.to(processes.device)
        self.batches, self.dev, self.bundles, self.observe, self.scorers = batches, dev, bundles, observe, scorers
        self.fallback = fallback_reason(config, processes)
        fused = self.fallback is None
        self.objective = Objective.of(config, self.model, batches.ignored, fused)
        self.passes = build_passes(self.objective, processes, config)
        weights = list(self.model.parameters())
        self.optimiser = build_optimiser(self.model, train)
        self.average = MovingAverage(weights, train.ema) if train.ema is not None else None
        self.stream: Prefetch[LoadedBatch] = Prefetch(
            batches, rank=processes.rank, world=processes.world, prepare=lambda b: (b, to_tensors(b, processes.device))
        )
        self.progress = TrainingProgress()
        self.meter = Meter(processes.device, self.model.reads, self.model.predicts)
        self.bad_steps = BadSteps(run, train.max_bad_steps, processes.leads)
        self.saved_at = self.ticked_at = time.monotonic()
        if train.batches_per_step % processes.world:
            raise UserError(
                f"train.batches_per_step: {train.batches_per_step} batches cannot be divided evenly among "
                f"{processes.world} processes; set a multiple of {processes.world}"
            )
        self.batches_here = train.batches_per_step // processes.world

    def seed_dropout(self, batch: Batch[Any]) -> None:
        """Seed dropout from the batch index: there is no state to save, and the number of processes does not matter."""
        # Without a GPU, torch.manual_seed formats the stack for the case that one is used later.
        seed = torch.default_generator.manual_seed if self.processes.device.type == "cpu" else torch.manual_seed
        seed(int(derive(self.config.train.seed, batch.index)) >> 1)

    def save_is_due(self) -> bool:
        """Whether to save after this step. The leading process decides for all."""
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
        """Add the time since the last tick to the run's time, and return it."""
        now = time.monotonic()
        elapsed, self.ticked_at = now - self.ticked_at, now
        self.progress.seconds += elapsed
        return elapsed

    def synchronise(self) -> None:
        """Wait for the device, so that the time of queued steps counts as training and not as what comes next."""
        if self.processes.device.type == "cuda":
            torch.cuda.synchronize(self.processes.device)
        self.tick()

    def check_memory(self) -> float:
        """Run the largest possible batch forward and backward, so that memory runs out now or never. Return the seconds
        it took."""
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
        """Swap the moving average in for the weights, if the run keeps one: it is what the bundle will hold."""
        self.swap_average()
        try:
            yield
        finally:
            self.swap_average()

    @torch.no_grad()
    def swap_average(self) -> None:
        if self.average is None:
            return
        for weight, mean in zip(self.model.parameters(), self.average.weights, strict=True):
            held = weight.clone()
            weight.copy_(mean)
            mean.copy_(held)

    def save(self) -> None:
        """Save a checkpoint, and remove old ones beyond `keep_last`."""
        self.synchronise()
        began = time.monotonic()
        tensors = {
            "model": sharding.gather_weights(self.model),
            "adam": sharding.gather_optimiser(self.model, self.optimiser),
        }
        if self.average is not None:
            tensors["ema"] = sharding.gather_average(self.model, self.average)
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
            size = checkpoint.save(checkpoints / f"step-{self.progress.step}", tensors, state)
            checkpoint.prune(checkpoints, self.config.train.keep_last)
            self.record(SaveRecord(self.progress.step, time.monotonic() - began, size, time.time()))
        self.processes.wait()
        self.resume_meter()
        self.saved_at = time.monotonic()

    def resume(self, folder: Path) -> None:
        """Restore the state of a checkpoint, so that training continues as if it had never stopped."""
        try:
            tensors, state = checkpoint.load(folder)
        except UserError as error:
            raise UserError(f"{error}; remove {folder} to resume from the previous checkpoint") from None
        if state["tokenizers"] != self.bundles.tokenizer_hashes:
            raise UserError(f"{self.config.data.dataset}: encoded with a different tokenizer than {folder}; restore it")
        sharding.fill_weights(self.model, tensors["model"], folder)
        sharding.fill_optimiser(self.model, self.optimiser, tensors["adam"], folder)
        if self.average is not None:
            sharding.fill_average(self.model, self.average, tensors.get("ema", tensors["model"]))
        self.progress = TrainingProgress(**state["progress"])
        self.stream.load_state_dict(state["batches"])
        self.meter.load_state_dict(state["meter"], self.processes, self.progress.target_tokens)
        self.optimiser.skipped.fill_(state["skipped"])
        self.optimiser.bad_in_a_row.fill_(state["bad_in_a_row"])

    def log_start(self, kind: type[StartRecord], batch_seconds: float) -> None:
        """Write the start record and start the clocks. `batch_seconds` is the time of the trial batch, from which the
        time of a step on a CPU is estimated."""
        weights = sum(weight.numel() for weight in self.model.parameters())
        step, tokens, device = self.progress.step, self.progress.target_tokens, self.processes.device
        name = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
        processes, steps = self.processes.world, self.config.train.steps
        passes = "our kernels, in a CUDA graph" if self.fallback is None else f"plain path: {self.fallback}"
        pairs = self.batches.n_pairs, self.batches.n_excluded, self.config.batches.max_length
        step_seconds = batch_seconds * self.batches_here if device.type == "cpu" else 0.0
        self.record(kind(step, time.time(), tokens, name, processes, weights, steps, passes, *pairs, step_seconds))
        self.ticked_at = self.saved_at = self.meter.started = time.monotonic()

    def resume_meter(self) -> None:
        """Exclude the time since `synchronise`, spent on evaluating or saving, from the throughput."""
        self.meter.started += self.tick()

    def record(self, record: Record | TranslationSample) -> None:
        """Pass a record to the observer, on the leading process only."""
        if self.processes.leads:
            self.observe(record)
