"""One session of a run, from the checks before the first step to the stop record."""

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from typing import Protocol

from hark.config import Config
from hark.data.dataset import Dataset
from hark.errors import HarkError
from hark.model import Transformer
from hark.rundir import RunDir, RunLock
from hark.train.checkpoint import list_checkpoints, step_of
from hark.train.job import DevScorer, TrainingJob
from hark.train.loop import train
from hark.train.metrics import History, MetricsWriter, read_metrics
from hark.train.processes import join
from hark.train.records import Record, StopRecord, TranslationSample
from hark.train.signals import Signals
from hark.train.start import Build, begin, build_job, new_run


class Observer(Protocol):
    """Shows a run while it trains."""

    def update(self, record: Record | TranslationSample) -> None:
        """Receive a record."""

    def log(self, line: str) -> None:
        """Show a line that is not a record. Any thread may call it."""


Observe = Callable[[Config, RunDir, History | None], AbstractContextManager[Observer]]
"""Opens an observer. The history of a resumed run holds its earlier records."""


def run_training(
    config: Config,
    run: RunDir,
    dataset: Dataset,
    resumed: bool,
    scorers: Sequence[DevScorer] = (),
    notes: Sequence[str] = (),
    observe: Observe | None = None,
    build: Build = Transformer,
) -> int:
    """Train until the last step or a signal, and return the signal number or 0. `notes` are printed before step 1."""
    with ExitStack() as stack:
        processes = stack.enter_context(join(config.train.device))
        if processes.local == 0:  # each machine has its own copy
            dataset.verify("train", "dev")
        if processes.leads and not resumed:
            new_run(run, config)
        processes.wait()
        stack.enter_context(RunLock(run) if processes.leads else nullcontext())
        if processes.leads:
            sys.stderr.writelines(f"{line}\n" for line in notes)
            sys.stderr.flush()
        signals = stack.enter_context(Signals())
        records = Records(stack)
        if processes.leads:
            records.open(config, run, observe)
        signals.notify = records.log
        job = build_job(config, run, dataset, processes, signals, records.write, scorers, build)
        stack.callback(job.stream.close)
        try:
            begin(job, resumed)
            ending = train(job)
        except KeyboardInterrupt:
            with suppress(HarkError):
                job.record(StopRecord(job.progress.step, "interrupted", unsaved_message(run), time.time()))
            raise
        except Exception as error:
            with suppress(HarkError):  # the disk may be full, and then this record cannot be written either
                job.record(StopRecord(job.progress.step, "failed", str(error), time.time()))
            raise
        job.record(StopRecord(job.progress.step, ending, stop_message(ending, job), time.time()))
        return signals.received


def stop_message(ending: str, job: TrainingJob) -> str:
    match ending:
        case "interrupted":
            return f"saved at step {job.progress.step}; resume with hark train --resume {job.run.path}"
        case "early":
            return f"no improvement on the dev sets in {job.config.train.early_stop} evaluations"
    kept = "last" if job.config.train.best == "last" else "best"
    return f"the {kept} model is {job.run.best}" if job.dev else f"the last checkpoint is in {job.run.checkpoints}"


def unsaved_message(run: RunDir) -> str:
    """The message for a run that was interrupted and not saved."""
    saved = list_checkpoints(run.checkpoints)
    if not saved:
        return "stopped before the first checkpoint"
    return f"not saved; resume from step {step_of(saved[-1])} with hark train --resume {run.path}"


class RunFiles(ExitStack):
    """Writes records to metrics.jsonl and samples to samples.jsonl, which is created with the first sample."""

    def __init__(self, run: RunDir) -> None:
        super().__init__()
        self.run, self.metrics = run, self.enter_context(MetricsWriter(run.metrics))
        self.samples: MetricsWriter | None = None

    def write(self, record: Record | TranslationSample) -> None:
        if not isinstance(record, TranslationSample):
            self.metrics.write(record)
            return
        if self.samples is None:
            self.samples = self.enter_context(MetricsWriter(self.run.samples))
        self.samples.write(record)


class Records:
    """Passes each record to the files of the run and to its observer."""

    def __init__(self, stack: ExitStack) -> None:
        self.stack = stack
        self.files: RunFiles | None = None
        self.observer: Observer | None = None

    def open(self, config: Config, run: RunDir, observe: Observe | None) -> None:
        """Open the files and the observer. Only the leading process does this."""
        history = read_metrics(run.metrics) if run.metrics.exists() else None
        self.files = self.stack.enter_context(RunFiles(run))
        self.observer = self.stack.enter_context(observe(config, run, history)) if observe else None

    def write(self, record: Record | TranslationSample) -> None:
        if self.files is not None:
            self.files.write(record)
        if self.observer is not None:
            self.observer.update(record)

    def log(self, line: str) -> None:
        if self.observer is not None:
            self.observer.log(line)
