"""A folder that appears whole or not at all, whatever happens while it is made."""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hark.errors import HarkError, UserError


@contextmanager
def new_folder(folder: Path, is_ours: Callable[[Path], bool], force: bool = False) -> Iterator[Path]:
    """A folder to fill, beside `folder`; it takes that name at the end of the block, or vanishes if the block fails.

    An earlier `folder` is replaced only with `force`, and only if `is_ours` recognises it. What a killed run left
    behind is removed. Only one run at a time can make the same folder.
    """
    folder = folder.resolve()
    refuse_existing(folder, is_ours, force)
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial, old = (folder.with_name(f".{folder.name}.{state}") for state in ("partial", "old"))
    lock = claim(partial, folder)
    try:
        clear(partial)
        if old.exists() and not folder.exists():  # a run was killed between the two renames below
            old.rename(folder)
        refuse_existing(folder, is_ours, force)
        shutil.rmtree(old, ignore_errors=True)
        yield partial
        sync(partial)
        refuse_existing(folder, is_ours, force)
        if folder.exists():
            folder.rename(old)
        partial.rename(folder)
        sync_one(folder.parent)
        shutil.rmtree(old, ignore_errors=True)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    finally:
        os.close(lock)


def refuse_existing(folder: Path, is_ours: Callable[[Path], bool], force: bool) -> None:
    """Refuse what hark did not make, and, unless it may be replaced, what hark did make. An empty folder is free."""
    refuse_others(folder, is_ours)
    if not force and folder.exists() and any(folder.iterdir()):
        raise UserError(f"{folder}: exists already; name another folder, or replace it with --force")


def refuse_overlap(output: Path, inputs: Iterable[Path]) -> None:
    """Refuse an output that is one of the inputs, contains one, or lies inside one, whatever links lead there."""
    ours = list(existing_ancestors(output))
    for given in inputs:
        if not given.exists():
            continue
        theirs = list(existing_ancestors(given))
        if output.exists() and ours[0] == theirs[0]:
            raise UserError(f"{output}: is {given} itself, which would be lost; name another output")
        if theirs[0] in ours:
            raise UserError(f"{output}: lies inside {given}; name an output elsewhere")
        if output.exists() and ours[0] in theirs:
            raise UserError(f"{output}: contains {given}, which would be lost; name another output")


def existing_ancestors(path: Path) -> Iterator[tuple[int, int]]:
    """The path and the folders above it, as far as they exist, by device and inode: names may differ, these do not."""
    real = path.resolve()
    for each in (real, *real.parents):
        with suppress(OSError):
            found = each.stat()
            yield found.st_dev, found.st_ino


def refuse_others(folder: Path, is_ours: Callable[[Path], bool]) -> None:
    if folder.exists() and not is_ours(folder) and not (folder.is_dir() and not any(folder.iterdir())):
        raise UserError(f"{folder}: exists and was not made by hark, so it is left alone; name another folder")


def claim(partial: Path, folder: Path) -> int:
    """Make the folder and lock it. The lock ends with this process, however that ends, and outlives a rename."""
    while True:
        partial.mkdir(exist_ok=True)
        try:
            lock = os.open(partial, os.O_RDONLY)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise HarkError(f"{folder}: another run is making it; wait for that one") from None
        except OSError:
            return lock  # a file system without locks
        with suppress(FileNotFoundError):
            if partial.stat().st_ino == os.fstat(lock).st_ino:
                return lock
        os.close(lock)  # the run that held the lock has just renamed or removed the folder


def clear(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def sync(folder: Path) -> None:
    """Have everything in a folder on the disk before its name is: a power cut must not leave an empty shell."""
    for root, _, names in os.walk(folder):
        for name in names:
            sync_one(Path(root, name))
        sync_one(Path(root))


def sync_one(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
