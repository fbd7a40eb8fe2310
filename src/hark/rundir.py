"""A run folder: where everything in it lies, and who may write to it."""

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from hark.errors import UserError


@dataclass(frozen=True)
class RunDir:
    """`config.toml` as resolved, `checkpoints/step-N/`, `metrics.jsonl`, `samples.jsonl`, and `best/`, a bundle."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.resolve().name

    @property
    def config(self) -> Path:
        return self.path / "config.toml"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def samples(self) -> Path:
        return self.path / "samples.jsonl"

    @property
    def best(self) -> Path:
        return self.path / "best"

    @property
    def saved(self) -> int:
        """How many checkpoints it has; half-made ones bear other names."""
        return sum(1 for _ in self.checkpoints.glob("step-[0-9]*"))

    @property
    def offending(self) -> Path:
        """Where the batch is kept whose loss or gradient was not a number."""
        return self.path / "offending-batch.npz"

    @property
    def exists(self) -> bool:
        return self.config.is_file()

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    @property
    def in_use(self) -> bool:
        """Whether a live process holds the run. Only looks: a run that is about to start is not disturbed for long."""
        try:
            file = os.open(self.lock, os.O_RDONLY)
        except OSError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
        except OSError:
            return True
        finally:
            os.close(file)


class RunLock:
    """Held while a process writes to a run folder. The system lets go of it however the process ends."""

    def __init__(self, run: RunDir) -> None:
        self.run = run
        self.file = -1

    def __enter__(self) -> "RunLock":
        self.file = os.open(self.run.lock, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = os.read(self.file, 32).decode(errors="replace").strip()
            os.close(self.file)
            raise UserError(
                f"{self.run.path}: in use by process {owner or '?'}; wait for it, or stop it first"
            ) from None
        os.ftruncate(self.file, 0)
        os.write(self.file, f"{os.getpid()}\n".encode())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.file)
