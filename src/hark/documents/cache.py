"""The finished segments of a translation in progress, in a file beside the output, so that a killed run continues."""

import fcntl
import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from hark.documents.formats import SegmentKey, SegmentOutcome
from hark.errors import HarkError, UserError

FORMAT = 1


def cache_path(output: Path) -> Path:
    """Where the finished segments of an output file are kept until it is complete."""
    return output.with_name(f".{output.name}.segments")


class SegmentCache:
    """Outcomes of segments, one JSON object per line; a line that a kill cut off is dropped.

    Outcomes are found by text, so that they are still good if other parts of the input change. `settings` is
    everything else that they depend on: outcomes of other settings are dropped. On success the file is removed.
    """

    def __init__(self, path: Path, settings: str) -> None:
        self._path = path
        self._file = _open_locked(path)
        self.done: dict[SegmentKey, SegmentOutcome] = {}
        header = {"format": FORMAT, "settings": settings}
        end = self._read(header)
        self._file.seek(end)
        self._file.truncate()
        if not end:
            self._write(header)

    def add(self, key: SegmentKey, outcome: SegmentOutcome) -> None:
        """Keep an outcome. It is safe from a kill of the process as soon as this returns."""
        self.done[key] = outcome
        self._write({"source": key[0], "tagged": key[1], **outcome.to_json()})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the file if the output is complete, or if it holds nothing."""
        if kind is None or not self.done:
            self._path.unlink(missing_ok=True)
        self._file.close()

    def _read(self, header: dict[str, Any]) -> int:
        """Read what an earlier run has finished; return the offset of the end of its last good line."""
        end = 0
        for line in self._file:
            try:
                row: Any = json.loads(line) if line.endswith(b"\n") else None
                if end == 0 and row != header:
                    return 0
                if end > 0:
                    self.done[row["source"], row["tagged"]] = SegmentOutcome.from_json(row)
            except (ValueError, KeyError, TypeError):
                return end
            end += len(line)
        return end

    def _write(self, row: dict[str, Any]) -> None:
        try:
            self._file.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")
            self._file.flush()
        except OSError as error:
            raise HarkError(f"{self._path}: cannot be written: {error.strerror}") from None


def _open_locked(path: Path) -> BinaryIO:
    try:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+b")
    except FileNotFoundError:
        raise UserError(f"{path.parent}: no such folder") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise HarkError(f"{path}: another process is translating this file; wait for it to finish") from None
    except OSError:  # the file system has no locks
        pass
    return file
