"""Made-up runs: the files that a training run writes, without training."""

from pathlib import Path

from hark.rundir import RunDir
from hark.train.metrics import MetricsWriter
from hark.train.records import DevRecord, Record, ResumeRecord, StartRecord, StopRecord, TrainRecord, TranslationSample


def make_run(folder: Path, steps: int = 3, first: int = 1) -> RunDir:
    """A run of some steps, each with a training record."""
    folder.mkdir(parents=True, exist_ok=True)
    run = RunDir(folder)
    run.config.write_text("")
    write(run, start(), *(train(step) for step in range(first, first + steps)))
    return run


def write(run: RunDir, *records: Record) -> None:
    with MetricsWriter(run.metrics) as writer:
        for each in records:
            writer.write(each)


def write_sample(run: RunDir, step: int, translation: str, source: str = "a dog") -> None:
    with MetricsWriter(run.samples) as writer:
        writer.write(TranslationSample(step, source, "ein Hund", translation, time=float(step)))


def start() -> StartRecord:
    return StartRecord(0, 1000.0, 0, "cpu", 1, 10, 100)


def resume(step: int) -> ResumeRecord:
    return ResumeRecord(step, 1000.0 + step, 0, "cpu", 1, 10, 100)


def train(step: int, loss: float | None = None) -> TrainRecord:
    value = 5.0 - step / 100 if loss is None else loss
    return TrainRecord(step, 0.1, value, value - 1, 0.001, 1.0, 100 * step, 5000.0, 0.9, float(step), 1000.0 + step)


def dev(step: int, bleu: float) -> DevRecord:
    return DevRecord(step, "dev", 4.0, 3.0 - step / 100, 20.0, True, float(step), 1000.0 + step, {"BLEU": bleu})


def stop(step: int) -> StopRecord:
    return StopRecord(step, "finished", "", 1000.0 + step)
