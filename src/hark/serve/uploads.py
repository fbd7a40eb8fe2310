"""Files of clients: kept in a private temporary folder for a short time, and translated."""

import asyncio
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from hark.documents.formats import FORMATS, ReadingOptions, find_outputs, find_suffix, find_way_out, read_document
from hark.documents.report import make_report, to_summary
from hark.documents.translate import DocumentJob, TranslatedDocument
from hark.errors import HarkError
from hark.serve.bodies import Refusal
from hark.serve.service import Job, Service
from hark.serve.translating import DETECTION_CHARS, find_languages
from hark.text.address import Formality
from hark.text.terms import Terms

LIFETIME = 3600.0
"""Seconds after which a file is deleted, delivered or not."""
MAX_FILES, MAX_BYTES = 500, 1 << 30
"""Files at a time, and their bytes together."""
MAX_NAME_CHARS = 120


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
        size = sum(stored.size for stored in self._files.values()) + len(content)
        if len(self._files) >= MAX_FILES or size > MAX_BYTES:
            raise Refusal(503, "too many files are waiting; try again later", 60)
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="hark-serve-")  # mkdtemp: mode 0700
        number = secrets.token_hex(16).upper()  # as DeepL's clients print it
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
        stored = self._files.pop(number, None)
        if stored is not None:
            stored.path.unlink(missing_ok=True)

    def expire(self) -> None:
        """Delete the files whose time is over."""
        for stored in list(self._files.values()):
            if stored.expires <= self._now():
                self.remove(stored.id)

    def close(self) -> None:
        self._files.clear()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def plain_name(name: str) -> str:
    """The last part of a file name without control characters, for the header of a download."""
    last = PureWindowsPath(PurePosixPath(name).name).name
    printable = "".join(character for character in last if character.isprintable() and character not in '"\\/')
    return printable[-MAX_NAME_CHARS:].lstrip(".") or "file.txt"


def attachment(name: str) -> dict[str, str]:
    """The headers of a download: for old clients in ASCII, for others with all characters."""
    plain = plain_name(name)
    ascii_name = plain.encode("ascii", "replace").decode().replace("?", "_")
    return {"content-disposition": f"attachment; filename=\"{ascii_name}\"; filename*=UTF-8''{quote(plain)}"}


def file_type(name: str) -> str:
    """The type of a file by its name; refuse types that cannot be translated."""
    plain = plain_name(name)
    if suffix := find_suffix(plain):
        return suffix
    wrong = PurePosixPath(plain).suffix.lower()
    extension = f"the file extension {wrong}" if wrong else "a file without a file extension"
    way_out = find_way_out(plain) or f"supported are {', '.join(FORMATS)}"
    raise Refusal(400, f"{extension} is not supported; {way_out}")


def output_type(name: str, wanted: str | None = None) -> str:
    """The type of a translated file: that of the file, but a PDF becomes HTML or DOCX; `wanted` is without the dot."""
    given, possible = file_type(name), find_outputs(plain_name(name))
    if wanted is None:
        return possible[0]
    if f".{wanted.lower()}" not in possible:
        raise Refusal(400, f"a {given} file cannot become {wanted[:20]}; leave output_format out")
    return f".{wanted.lower()}"


def translated_name(name: str, target: str, suffix: str) -> str:
    """The name of a translated file: letter_de.docx."""
    path = PurePosixPath(plain_name(name))
    return f"{path.stem}_{target}{path.suffix if suffix == path.suffix.lower() else suffix}"


@dataclass(frozen=True)
class FileJob:
    """A file that was read, and the jobs that translate its segments: with word links, and without."""

    stored: StoredFile
    document: DocumentJob
    jobs: tuple[Job, ...]
    written_in: str | None = None
    """The language of the file if it is not to be translated, see `hark.translate.choice`."""

    @property
    def characters(self) -> int:
        """The length of all segments, also of repeated ones."""
        return sum(len(text) * times for (text, _), times in self.document.count.items())


async def read_file(
    service: Service,
    uploads: Uploads,
    content: bytes,
    name: str,
    suffix: str,
    source: str | None,
    target: str,
    formality: Formality = "auto",
    terms: Terms | None = None,
) -> FileJob:
    """Store and read a file of any format that `hark.documents` knows; `suffix` is the type of the translated file.

    Refuse it if it is damaged or unsafe, if its text is too long, or if the server has no time for it.
    """
    stored = uploads.add(content, name)
    options = ReadingOptions(source=source or "", target=target, output=suffix.removeprefix("."))

    def read() -> DocumentJob:
        try:
            return DocumentJob(read_document(stored.name, content, options))
        except HarkError as error:  # also of a library that is not installed
            raise Refusal(400, str(error)) from None

    try:
        document = await asyncio.to_thread(read)  # office files take a while
        beginning = "".join(document.sample(DETECTION_CHARS))
        found, written_in, _ = await find_languages(service, source, beginning, target)
        texts = {tagged: tuple(document.pending(tagged)) for tagged in (False, True)}
        whole = Job((*texts[False], *texts[True]), found, target, urgent=False, terms=terms, formality=formality)
        service.check(whole)
        segments = (text for text, _ in document.count)
        form = await asyncio.to_thread(service.choose_form, segments, formality, found, target)
    except Refusal:
        uploads.remove(stored.id)
        raise
    jobs = [
        replace(whole, texts=texts[tagged], align=tagged, written_in=written_in, formality=form)
        for tagged in (False, True)
    ]
    return FileJob(stored, document, tuple(jobs), written_in)


async def translate_file(service: Service, file: FileJob) -> TranslatedDocument:
    """Translate a file; return the content of the translated file, and what became of its segments."""
    for job in file.jobs:
        if job.texts:
            for text, done in zip(job.texts, await service.translate(job), strict=True):
                file.document.add((text, job.align), done.translation)
    try:
        return await asyncio.to_thread(file.document.finish)
    except HarkError as error:
        raise Refusal(400, str(error)) from None


def summarise_file(done: TranslatedDocument) -> dict[str, Any]:
    """How many segments were translated, kept and flagged, and which are flagged."""
    return to_summary(make_report("", done, terms=None, memory=None))
