"""Atomic creation of folders, and checks of output paths."""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hark.errors import HarkError, UserError


@contextmanager
def new_folder(folder: Path, is_ours: Callable[[Path], bool], force: bool = False) -> Iterator[Path]:
    """Yield a temporary folder next to `folder`; rename it to `folder` at the end, or remove it if the block fails.

    Replaces an existing `folder` only with `force`, and only if `is_ours` recognises it. Removes what a killed process
    left behind. Only one process at a time can create the same folder.
    """
    folder = folder.resolve()
    refuse_existing(folder, is_ours, force)
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial, old = (folder.with_name(f".{folder.name}.{state}") for state in ("partial", "old"))
    lock = claim(partial, folder)
    try:
        clear(partial)
        if old.exists() and not folder.exists():  # a process was killed between the two renames below
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
    """Raise an error if a non-empty folder exists that may not be replaced: not made by hark, or no `force`."""
    refuse_others(folder, is_ours)
    if not force and folder.exists() and any(folder.iterdir()):
        raise UserError(f"{folder}: already exists; name another folder, or replace it with --force")


def refuse_overlap(output: Path, inputs: Iterable[Path]) -> None:
    """Raise an error if the output is an input, contains one, or is inside one, also through links."""
    of_output = list(existing_ancestors(output))
    for each in inputs:
        if not each.exists():
            continue
        of_input = list(existing_ancestors(each))
        if output.exists() and of_output[0] == of_input[0]:
            raise UserError(f"{output}: would overwrite the input {each}; name another folder")
        if of_input[0] in of_output:
            raise UserError(f"{output}: is inside the input {each}; name another folder")
        if output.exists() and of_output[0] in of_input:
            raise UserError(f"{output}: contains the input {each}, which would be lost; name another folder")


def existing_ancestors(path: Path) -> Iterator[tuple[int, int]]:
    """Device and inode, which are unique, of a path and the folders above it, as far as they exist."""
    real = path.resolve()
    for each in (real, *real.parents):
        with suppress(OSError):
            info = each.stat()
            yield info.st_dev, info.st_ino


def refuse_others(folder: Path, is_ours: Callable[[Path], bool]) -> None:
    if folder.exists() and not is_ours(folder) and not (folder.is_dir() and not any(folder.iterdir())):
        raise UserError(f"{folder}: exists and was not made by hark; name another folder")


def claim(partial: Path, folder: Path) -> int:
    """Create the folder and lock it. The lock ends with this process, even if it is killed, and survives a rename."""
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
            raise HarkError(f"{folder}: another process is writing it; wait for it to finish") from None
        except OSError:
            return lock  # the file system has no locks
        with suppress(FileNotFoundError):
            if partial.stat().st_ino == os.fstat(lock).st_ino:
                return lock
        os.close(lock)  # the process that held the lock has just renamed or removed the folder


def replace_file(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file, whole or in blocks, completely or not at all; a link to it is kept."""
    real = path.resolve()
    temporary = real.with_name(f".{real.name}.{os.getpid()}.partial")
    try:
        with temporary.open("wb") as file:
            file.writelines([content] if isinstance(content, bytes) else content)
        sync_one(temporary)
        if real.exists():
            temporary.chmod(real.stat().st_mode & 0o777)
        temporary.replace(real)
    except OSError as error:
        raise HarkError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def clear(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def sync(folder: Path) -> None:
    """Flush a folder to disk before it is renamed: after a power cut it must not be there without its content."""
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
