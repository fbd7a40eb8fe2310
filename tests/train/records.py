"""Made-up records of runs, for tests."""

from pathlib import Path

from hark.train.metrics import MetricsWriter
from hark.train.records import DevRecord, Record, ResumeRecord, StartRecord, StopReason, StopRecord
from hark.train.records import TrainRecord as Train

EPOCH = 1_700_000_000.0


def start(steps: int = 100) -> StartRecord:
    return StartRecord(0, EPOCH, 0, "cpu", 1, 63_082_496, steps)


def resume(step: int, steps: int = 100) -> ResumeRecord:
    return ResumeRecord(step, EPOCH + step, step * 1000, "cpu", 1, 63_082_496, steps)


def train(step: int, loss: float | None = None, **more: float | None) -> Train:
    loss = 10 / step if loss is None else loss
    values: dict[str, float | None] = {"rate": 2.1e-4, "grad_norm": 0.82, "tokens_per_second": 513_000.0, "fill": 0.989}
    values |= {"seconds": step / 2, "time": EPOCH + step, "epoch": step / 10, "nll": loss - 1, **more}
    return Train(step=step, loss=loss, target_tokens=step * 1000, **values)  # type: ignore[arg-type]


def dev(step: int, bleu: float | None = None, best: bool = False, name: str = "dev") -> DevRecord:
    scores = {} if bleu is None else {"bleu": bleu}
    return DevRecord(step, name, 3.0, 2.0, 7.39, best, step / 2, EPOCH + step, scores)


def stop(step: int, reason: StopReason = "finished", message: str = "") -> StopRecord:
    return StopRecord(step, reason, message, EPOCH + step)


def make_run(folder: Path, *records: Record) -> Path:
    """Create a run folder with these records."""
    folder.mkdir(parents=True)
    (folder / "config.toml").touch()
    with MetricsWriter(folder / "metrics.jsonl") as writer:
        for record in records:
            writer.write(record)
    return folder
