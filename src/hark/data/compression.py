"""Byte streams of plain or compressed files, with the read position for progress reports."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from hark.errors import HarkError, UserError, require
from hark.userfiles import check_line, lines_in

SUFFIXES = (".gz", ".xz", ".bz2", ".zst")
BLOCK = 1 << 18
ZSTD_BLOCK = 1 << 14  # compressed bytes at a time; their decompressed content is held in memory


def plain_name(path: Path) -> str:
    """Return the file name without the compression suffix."""
    return path.stem if path.suffix.lower() in SUFFIXES else path.name


def open_file(path: Path) -> io.FileIO:
    """Open a file to read bytes; raise a UserError if that fails."""
    try:
        if path.is_dir():
            raise UserError(f"{path}: is a folder; name a file")
        if path.exists() and not path.is_file():
            raise UserError(f"{path}: not a regular file; it is read twice, so it cannot be a pipe")
        return path.open("rb", buffering=0)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


class ByteStream:
    """The decompressed bytes of a file. Read errors become a UserError that names the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = open_file(path)
        self.size = path.stat().st_size
        with self.explain_errors():
            self._bytes = io.BufferedReader(self._decompress(), BLOCK)

    def _decompress(self) -> Any:
        match self.path.suffix.lower():
            case ".gz":
                return gzip.GzipFile(fileobj=self._file)
            case ".xz":
                return lzma.LZMAFile(self._file)
            case ".bz2":
                return bz2.BZ2File(self._file)
            case ".zst":
                require("zstandard", "data", f"{self.path}: reading it")
                return ZstdReader(self._file)
            case _:
                return self._file

    @property
    def position(self) -> int:
        """Bytes of the file read so far, before decompression."""
        return self._file.tell()

    def peek(self, size: int) -> bytes:
        """Return up to `size` of the next bytes without consuming them."""
        with self.explain_errors():
            return self._bytes.peek(size)[:size]

    def blocks(self) -> Iterator[bytes]:
        with self.explain_errors():
            while block := self._bytes.read(BLOCK):
                yield block

    def lines(self) -> Iterator[bytes]:
        """Yield lines split at \\n only, without the line ending (\\n or \\r\\n) and byte-order mark."""
        with self.explain_errors():
            for number, line in enumerate(lines_in(self._bytes), start=1):
                check_line(line, number, self.path)
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                yield line.removesuffix(b"\n").removesuffix(b"\r")

    @contextmanager
    def explain_errors(self) -> Iterator[None]:
        try:
            yield
        except HarkError:
            raise
        except EOFError:
            raise UserError(f"{self.path}: truncated archive; download it again") from None
        except (gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
            raise UserError(f"{self.path}: not a valid {self.path.suffix} archive: {error}") from None
        except OSError as error:
            if error.errno is None:  # how bz2 and zstandard report invalid input
                raise UserError(f"{self.path}: not a valid {self.path.suffix} archive: {error}") from None
            raise UserError(f"{self.path}: cannot be read: {error.strerror}") from None

    def close(self) -> None:
        self._bytes.close()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ZstdReader(io.RawIOBase):
    """Zstandard stream that detects truncated files, which the library's own reader does not."""

    def __init__(self, file: io.RawIOBase) -> None:
        zstandard: Any = import_module("zstandard")
        self._file, self._error = file, zstandard.ZstdError
        self._new_frame: Any = zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj
        self._frame: Any = None
        self._compressed, self._bytes = b"", memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._bytes:
            if not self._compressed:
                self._compressed = self._file.read(ZSTD_BLOCK) or b""
            if not self._compressed:
                if self._frame is not None:
                    raise EOFError
                return 0
            self._decompress()
        size = min(len(buffer), len(self._bytes))
        buffer[:size] = self._bytes[:size]
        self._bytes = self._bytes[size:]
        return size

    def _decompress(self) -> None:
        if self._frame is None:
            self._frame = self._new_frame()
        try:
            self._bytes = memoryview(self._frame.decompress(self._compressed))
        except self._error as error:
            raise OSError(str(error)) from None
        self._compressed = b""
        if self._frame.eof:  # another frame may follow
            self._compressed, self._frame = self._frame.unused_data, None
