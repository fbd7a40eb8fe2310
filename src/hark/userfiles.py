"""Bounds on what is read from files that users name: /dev/zero and `yes` never end."""

import os
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from hark.errors import UserError

MAX_LINE = 64 << 20
"""Bytes of a line. No text has a longer one; data that is not text may have no line ends at all."""
MAX_FILE = 512 << 20
"""Bytes of a file that is read as a whole."""
CHUNK = 1 << 20


def lines_in(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file with their line endings; `check_line` refuses the first part of one that is too long."""
    return iter(partial(file.readline, MAX_LINE + 1), b"")


def check_line(raw: bytes, number: int, name: object) -> None:
    if len(raw) > MAX_LINE:
        raise UserError(f"{name}: line {number} is longer than {in_mib(MAX_LINE)}; is this text?")


def read_bytes(path: Path) -> bytes:
    """Read a file as a whole."""
    with path.open("rb", buffering=0) as file:
        return read_whole(file, path)


def read_whole(file: BinaryIO, path: Path) -> bytes:
    """Read an open file. It may be a pipe or a terminal, but no other device."""
    about = os.fstat(file.fileno())
    device = stat.S_ISBLK(about.st_mode) or (stat.S_ISCHR(about.st_mode) and not file.isatty())
    if device and about.st_rdev != os.stat(os.devnull).st_rdev:
        raise UserError(f"{path}: not a regular file")
    chunks: list[bytes] = []
    size = 0
    while max(size, about.st_size) <= MAX_FILE and (chunk := file.read(CHUNK)):
        chunks.append(chunk)
        size += len(chunk)
    if max(size, about.st_size) > MAX_FILE:
        raise UserError(f"{path}: larger than {in_mib(MAX_FILE)}; split it")
    return b"".join(chunks)


def in_mib(size: int) -> str:
    return f"{size >> 20:,} MiB"
