"""Event files for TensorBoard, an optional extra."""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from hark.errors import HarkError, require
from hark.train.records import DevRecord, Record, StartRecord, TrainRecord, TranslationSample


class Board:
    """A writer of event files, in addition to metrics.jsonl."""

    def __init__(self, folder: Path) -> None:
        require("tensorboard", "tensorboard", "train.tensorboard")
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        try:
            self.events: Any = EventFileWriter(str(folder), flush_secs=10)
        except OSError as error:
            raise HarkError(f"{folder}: cannot be written: {error.strerror}") from None

    def write(self, record: Record | TranslationSample) -> None:
        from tensorboard.compat.proto import event_pb2, summary_pb2

        if isinstance(record, StartRecord):
            # Makes TensorBoard discard what a killed process wrote about later steps.
            start = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
            self.events.add_event(event_pb2.Event(wall_time=record.time, step=record.step + 1, session_log=start))
            return
        values = [summary_pb2.Summary.Value(tag=tag, simple_value=value) for tag, value in scalars(record)]
        if values:
            summary = summary_pb2.Summary(value=values)
            self.events.add_event(event_pb2.Event(wall_time=record.time, step=record.step, summary=summary))

    def close(self) -> None:
        self.events.close()

    def __enter__(self) -> "Board":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def scalars(record: Record | TranslationSample) -> Iterator[tuple[str, float]]:
    """The tags and values of a record."""
    if isinstance(record, TrainRecord):
        for name in ("loss", "nll", "rate", "grad_norm", "tokens_per_second", "fill", "memory_gib", "utilisation"):
            value = getattr(record, name)
            if value is not None:
                yield f"train/{name}", value
    elif isinstance(record, DevRecord):
        yield f"dev/{record.set}/nll", record.nll
        yield f"dev/{record.set}/perplexity", record.perplexity
        for name, value in record.scores.items():
            yield f"dev/{record.set}/{name}", value
