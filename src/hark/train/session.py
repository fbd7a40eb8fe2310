"""One session of a run, from its first refusal to its last record."""

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext, suppress

from hark.config import Config
from hark.data.dataset import Dataset
from hark.errors import HarkError
from hark.rundir import RunDir, RunLock
from hark.train.checkpoint import list_checkpoints, step_of
from hark.train.job import Job, Score
from hark.train.loop import train
from hark.train.metrics import MetricsWriter, Record, Sample, StopRecord, read_metrics
from hark.train.panel import Panel
from hark.train.processes import Processes, join
from hark.train.signals import Signals
from hark.train.sizing import describe_cpu_cost
from hark.train.start import begin, build_job, new_run
from hark.train.tensorboard import Board


def run_training(
    config: Config,
    run: RunDir,
    dataset: Dataset,
    resumed: bool,
    scores: Sequence[Score] = (),
    notes: Sequence[str] = (),
) -> int:
    """Train to the end, or until a signal; the number of that signal, or 0. `notes` are told before it begins."""
    with ExitStack() as stack:
        processes = stack.enter_context(join(config.train.device))
        if processes.local == 0:  # each machine has a copy of its own
            dataset.verify("train", "dev")
        if processes.leads and not resumed:
            new_run(run, config)
        processes.wait()
        stack.enter_context(RunLock(run) if processes.leads else nullcontext())
        if processes.leads:
            cost = [describe_cpu_cost(config)] if processes.device.type == "cpu" else []
            sys.stderr.writelines(f"{line}\n" for line in (*notes, *cost))
            sys.stderr.flush()
        signals = stack.enter_context(Signals())
        tell = Teller(config, run, processes, stack)
        signals.tell = tell.say
        job = build_job(config, run, dataset, processes, signals, tell, scores)
        stack.callback(job.stream.close)
        try:
            begin(job, resumed)
            ending = train(job)
        except KeyboardInterrupt:
            with suppress(HarkError):
                job.tell(StopRecord(job.progress.step, "interrupted", unsaved_words(run), time.time()))
            raise
        except Exception as error:
            with suppress(HarkError):  # a full disk may be why, and then there is no room for the record either
                job.tell(StopRecord(job.progress.step, "failed", str(error), time.time()))
            raise
        job.tell(StopRecord(job.progress.step, ending, ending_words(ending, job), time.time()))
        return signals.received


def ending_words(ending: str, job: Job) -> str:
    match ending:
        case "interrupted":
            return f"saved at step {job.progress.step}; go on with hark train --resume {job.run.path}"
        case "early":
            return f"no better dev score in {job.config.train.early_stop} measurements"
    kept = "last" if job.config.train.best == "last" else "best"
    return f"the {kept} model is {job.run.best}" if job.dev else f"the last checkpoint is in {job.run.checkpoints}"


def unsaved_words(run: RunDir) -> str:
    """For a run that was ended at once."""
    saved = list_checkpoints(run.checkpoints)
    if not saved:
        return "ended before anything was saved"
    return f"not saved; go on from step {step_of(saved[-1])} with hark train --resume {run.path}"


class RunFiles(ExitStack):
    """The files of a run that records go to. That of samples is made with the first of them."""

    def __init__(self, run: RunDir) -> None:
        super().__init__()
        self.run, self.metrics = run, self.enter_context(MetricsWriter(run.metrics))
        self.samples: MetricsWriter | None = None

    def write(self, record: Record | Sample) -> None:
        if not isinstance(record, Sample):
            self.metrics.write(record)
            return
        if self.samples is None:
            self.samples = self.enter_context(MetricsWriter(self.run.samples))
        self.samples.write(record)


class Teller:
    """Hands each record to all who want it: the file, the person, TensorBoard."""

    def __init__(self, config: Config, run: RunDir, processes: Processes, stack: ExitStack) -> None:
        self.listeners = []
        self.panel: Panel | None = None
        if processes.leads:
            history = read_metrics(run.metrics) if run.metrics.exists() else None
            self.listeners.append(stack.enter_context(RunFiles(run)).write)
            if config.train.tensorboard:
                self.listeners.append(stack.enter_context(Board(run.path / "tensorboard")).write)
            self.panel = stack.enter_context(Panel(run.name, history))
            self.listeners.append(self.panel.update)

    def __call__(self, record: Record | Sample) -> None:
        for listener in self.listeners:
            listener(record)

    def say(self, line: str) -> None:
        if self.panel is not None:
            self.panel.say(line)
