"""The folder of a training run: its files and its lock."""

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from hark.errors import UserError


@dataclass(frozen=True)
class RunDir:
    """The paths in a run: the resolved `config.toml`, `checkpoints/step-N/`, `metrics.jsonl`, `samples.jsonl`, and the
    bundle `best/`."""

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
    def saved_steps(self) -> list[int]:
        """The steps of the complete checkpoints, in order; incomplete ones have other names."""
        names = (path.name.removeprefix("step-") for path in self.checkpoints.glob("step-[0-9]*"))
        return sorted(int(name) for name in names if name.isdigit())

    @property
    def saved(self) -> int:
        """The number of complete checkpoints."""
        return len(self.saved_steps)

    @property
    def offending(self) -> Path:
        """The saved batch with a non-finite loss or gradient."""
        return self.path / "offending-batch.npz"

    @property
    def exists(self) -> bool:
        return self.config.is_file()

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    @property
    def in_use(self) -> bool:
        """Whether a live process holds the lock. Tests with a shared lock, released at once."""
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
    """An exclusive lock on a run, held while a process writes to it. The system releases it if the process dies."""

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
            raise UserError(f"{self.run.path}: in use by process {owner or '?'}; wait for it or stop it") from None
        os.ftruncate(self.file, 0)
        os.write(self.file, f"{os.getpid()}\n".encode())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.file)
