"""Files of clients: kept in a private temporary folder for a short time, and translated."""

import asyncio
import codecs
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from tempfile import TemporaryDirectory
from urllib.parse import quote

from hark.serve.refusal import Refusal
from hark.serve.service import Job, Service
from hark.text.terms import Terms

LIFETIME = 3600.0
"""Seconds after which a file is deleted, delivered or not."""
FILES, BYTES = 500, 1 << 30
"""Maximum files at a time, and their bytes together."""
FORMATS = (".txt", ".md")
"""The file types that can be translated, by the end of their names."""
LONGEST_NAME = 120
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


@dataclass(frozen=True)
class StoredFile:
    """A file, and the name that its client gave it, which is never used as a path."""

    id: str
    path: Path
    name: str
    size: int
    expires: float


class Uploads:
    """Stores files under random names in a folder that only this process' user can read; removed at exit."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._folder: TemporaryDirectory[str] | None = None
        self._files: dict[str, StoredFile] = {}

    def add(self, content: bytes, name: str) -> StoredFile:
        """Store a file; refuse it if there is no room."""
        self.expire()
        if len(self._files) >= FILES or sum(each.size for each in self._files.values()) + len(content) > BYTES:
            raise Refusal(503, "too many files are waiting; try again later", 60)
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="hark-serve-")  # mkdtemp: mode 0700
        number = secrets.token_hex(16)
        path = Path(self._folder.name, number)
        path.write_bytes(content)
        self._files[number] = StoredFile(number, path, plain_name(name), len(content), self._now() + LIFETIME)
        with suppress(RuntimeError):  # no event loop: then the next call deletes what is old
            asyncio.get_running_loop().call_later(LIFETIME + 1, self.expire)
        return self._files[number]

    def find(self, number: str) -> StoredFile | None:
        """Return a file; None if there is none, or it was deleted."""
        self.expire()
        return self._files.get(number)

    def remove(self, number: str) -> None:
        """Delete a file."""
        stored = self._files.pop(number, None)
        if stored is not None:
            stored.path.unlink(missing_ok=True)

    def expire(self) -> None:
        """Delete the files whose time is over."""
        for each in [each for each in self._files.values() if each.expires <= self._now()]:
            self.remove(each.id)

    def close(self) -> None:
        """Delete everything."""
        self._files.clear()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def plain_name(name: str) -> str:
    """The last part of a file name without control characters, for the header of a download."""
    last = PureWindowsPath(PurePosixPath(name).name).name
    printable = "".join(character for character in last if character.isprintable() and character not in '"\\/')
    return printable[-LONGEST_NAME:].lstrip(".") or "file.txt"


def attachment(name: str) -> dict[str, str]:
    """The headers of a download: for old clients in ASCII, for others with all characters."""
    plain = plain_name(name)
    ascii_name = plain.encode("ascii", "replace").decode().replace("?", "_")
    return {"content-disposition": f"attachment; filename=\"{ascii_name}\"; filename*=UTF-8''{quote(plain)}"}


def file_type(name: str) -> str:
    """The type of a file by its name; refuse types that cannot be translated."""
    suffix = PurePosixPath(plain_name(name)).suffix.lower()
    if suffix not in FORMATS:
        raise Refusal(400, f"files of type {suffix or 'unknown'} are not supported; supported are {', '.join(FORMATS)}")
    return suffix


def translated_name(name: str, target: str) -> str:
    """The name of a translated file: letter_de.txt."""
    path = PurePosixPath(plain_name(name))
    return f"{path.stem}_{target}{path.suffix}"


def file_job(path: Path, source: str | None, target: str, terms: Terms | None = None) -> tuple[Job, str]:
    """Read a file; return the job that translates it, and its encoding. Refuse what is not text."""
    content = path.read_bytes()
    encoding = next((name for mark, name in _BOMS if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        raise Refusal(400, "the file is not text in UTF-8 or UTF-16; convert it to UTF-8") from None
    if "\0" in text:
        raise Refusal(400, "the file is not text: it contains NUL characters")
    return Job((text,), source, target, urgent=False, terms=terms), encoding


async def translate_file(service: Service, path: Path, source: str | None, target: str, terms: Terms | None) -> bytes:
    """Translate a file and return the content of the translated file.

    This is the one function that knows file formats; today all are plain text.
    """
    job, encoding = file_job(path, source, target, terms)
    [done] = await service.translate(job)
    return done.translation.text.encode(encoding)
