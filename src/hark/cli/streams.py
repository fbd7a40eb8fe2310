"""Lines of text into a verb and out of it: from files and pipes, as they come, and never half a line or half a file."""

import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Literal

from hark.errors import HarkError, UserError

Errors = Literal["strict", "replace"]
WAIT = 0.002
"""Seconds to wait for a line before saying that there is none just now."""
CHUNK = 1 << 16


def decode_line(raw: bytes, number: int, name: str, errors: Errors) -> str:
    """A line as text; what is no text is refused, or replaced by U+FFFD."""
    if errors == "replace":
        return raw.decode("utf-8", "replace").replace("\0", "\ufffd")
    if b"\0" in raw:
        kind = "UTF-16 text; convert it to UTF-8" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "binary, not text"
        raise UserError(f"{name}: line {number} is {kind}; or use --errors replace")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{name}: line {number}: not UTF-8 text (byte {error.start + 1}); convert it, or use --errors replace"
        ) from None


def file_lines(path: Path, errors: Errors) -> Iterator[str]:
    """The lines of a file, with their ends."""
    with open_file(path) as file:
        try:
            for number, raw in enumerate(file, start=1):
                yield decode_line(raw, number, str(path), errors)
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def open_file(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except IsADirectoryError:
        raise UserError(f"{path}: is a folder; name a file, or pipe words in") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def arriving_lines(descriptor: int, errors: Errors, name: str = "stdin") -> Iterator[str | None]:
    """The lines of a pipe or a terminal, with their ends, as they come; None whenever there is none just now."""
    rest, number, open_ = b"", 0, True
    while open_:
        if not select.select([descriptor], [], [], WAIT)[0]:
            yield None
            continue
        chunk = os.read(descriptor, CHUNK)
        open_ = bool(chunk)
        *lines, rest = (rest + chunk).split(b"\n") if chunk else (rest,)
        for line in lines:
            number += 1
            yield decode_line(line + b"\n", number, name, errors)
    if rest:
        yield decode_line(rest, number + 1, name, errors)


@contextmanager
def writer(path: Path | None) -> Iterator[BinaryIO]:
    """Where output goes: stdout, or a file that appears whole or not at all. Devices and pipes are written directly."""
    if path is None:
        yield sys.stdout.buffer
        return
    try:
        if path.exists() and (not path.is_file() or path.parent == Path("/dev")):
            with path.open("wb") as file:
                yield file
            return
        real = path.resolve()  # behind a link, so that the link stays
        partial = real.with_name(f".{real.name}.{os.getpid()}.partial")
        try:
            with partial.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if real.exists():
                partial.chmod(real.stat().st_mode & 0o777)
            partial.replace(real)
        except BaseException:
            with suppress(OSError):
                partial.unlink()
            raise
    except BrokenPipeError:
        raise
    except IsADirectoryError:
        raise UserError(f"{path}: is a folder; name a file") from None
    except PermissionError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from None
    except FileNotFoundError:
        raise UserError(f"{path}: cannot be written: there is no folder {path.parent}") from None
    except OSError as error:
        raise HarkError(f"{path}: cannot be written: {error.strerror}") from None


@contextmanager
def shown_progress(given: Path | str | None, output: Path | None) -> Iterator[Callable[[str], None]]:
    """To be told of each line that is done; shown on stderr if a person looks at it and the lines go elsewhere."""
    if isinstance(given, str) or not sys.stderr.isatty() or (output is None and sys.stdout.isatty()):
        yield lambda _: None
        return
    from rich import progress
    from rich.console import Console

    known = (progress.BarColumn(), progress.TaskProgressColumn()) if isinstance(given, Path) else ()
    shown = progress.TextColumn("{task.fields[lines]:,} lines, {task.fields[rate]:,.1f} lines/s")
    columns = (*known, shown, progress.TimeElapsedColumn())
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        size = given.stat().st_size if isinstance(given, Path) else None
        bar = bars.add_task("", total=size, lines=0, rate=0.0)
        done = 0

        def advance(line: str) -> None:
            nonlocal done
            done += 1
            seconds = max(bars.tasks[0].elapsed or 0.0, 1e-3)
            bars.update(bar, advance=len(line.encode(errors="replace")), lines=done, rate=done / seconds)

        yield advance
