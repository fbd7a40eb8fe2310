"""One session of a run, from the checks before the first step to the stop record."""

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from pathlib import Path
from typing import Protocol

from hark.config import Config
from hark.data.dataset import Dataset
from hark.errors import HarkError
from hark.model import new_model
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
    build: Build = new_model,
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
        records = Records(run, stack)
        if processes.leads:
            records.open(config, observe)
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


class Records:
    """Passes each record to the observer and to metrics.jsonl or samples.jsonl, which are created when needed."""

    def __init__(self, run: RunDir, stack: ExitStack) -> None:
        self.run, self.stack = run, stack
        self.writers: dict[Path, MetricsWriter] = {}
        self.observer: Observer | None = None

    def open(self, config: Config, observe: Observe | None) -> None:
        """Open the metrics and the observer. Only the leading process does this, and only it writes records."""
        history = read_metrics(self.run.metrics) if self.run.metrics.exists() else None
        self.writer(self.run.metrics)
        self.observer = self.stack.enter_context(observe(config, self.run, history)) if observe else None

    def writer(self, path: Path) -> MetricsWriter:
        if path not in self.writers:
            self.writers[path] = self.stack.enter_context(MetricsWriter(path))
        return self.writers[path]

    def write(self, record: Record | TranslationSample) -> None:
        self.writer(self.run.samples if isinstance(record, TranslationSample) else self.run.metrics).write(record)
        if self.observer is not None:
            self.observer.update(record)

    def log(self, line: str) -> None:
        if self.observer is not None:
            self.observer.log(line)
