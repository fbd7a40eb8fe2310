"""The input and output of verbs: lines of files and pipes as they arrive, files written atomically, progress."""

import codecs
import os
import re
import select
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from io import StringIO
from pathlib import Path
from time import monotonic
from typing import BinaryIO, Literal, Self

from hark.errors import HarkError, UserError
from hark.text.paragraphs import group
from hark.userfiles import MAX_LINE, check_line, lines_in, read_whole

Errors = Literal["strict", "replace"]
CHUNK = 1 << 16
PAUSE = 0.2
"""Seconds of silence that end a paragraph: a program that waits for each answer sends no more lines."""
STDOUT = Path("-")
"""The path in `-o -`."""
STDIN = "-"
STDIN_FILE = Path("/dev/stdin")
"""What is read as a document comes from a file."""
LIKE_A_FILE = re.compile(
    r"\S+\.(?:txt|md|rst|tex|x?html?|xml|csv|tsv|jsonl?|ya?ml|toml|pot?|srt|vtt|ass|docx?|pptx?|xlsx?|f?od[tps]|epub"
    r"|rtf|pdf|xliff?|xlf|tmx|properties|strings|stringsdict|ts|svg|log)",
    re.IGNORECASE,
)
TEXTS = frozenset((".log", ".src", ".trg", ".tgt", ".ref", ".hyp", ".out", ".in"))
"""Suffixes of text without markup that are no format of documents."""
LIKE_A_SUFFIX = re.compile(r"\.[a-z][\w+-]{0,11}", re.IGNORECASE)
LIKE_A_LANGUAGE = re.compile(r"\.[a-z]{2,3}(?:[-_][a-z]{2,4})?", re.IGNORECASE)
PROGRAMS = frozenset((".cs", ".ml", ".pl", ".ps", ".sh"))
"""Suffixes that are languages, but more often those of programs."""
LINE = re.compile(r"[^\n]*\n|[^\n]+")


def is_interactive() -> bool:
    """Whether stdout and stderr are terminals."""
    return sys.stdout.isatty() and sys.stderr.isatty()


def print_note(line: str) -> None:
    """Print a note on stderr if a person reads both it and stdout."""
    if is_interactive():
        sys.stderr.write(line + "\n")


def decode_line(raw: bytes, number: int, name: str, errors: Errors) -> str:
    """Decode a line; raise an error on invalid bytes, or replace them with U+FFFD. A line without an end is refused."""
    if errors == "strict" and b"\0" in raw:
        utf16 = raw[:2] in (b"\xff\xfe", b"\xfe\xff")
        kind = "UTF-16 text; convert it to UTF-8" if utf16 else "binary, not text; name another file"
        raise UserError(f"{name}: line {number} is {kind}, or use --errors replace")
    check_line(raw, number, name)
    if errors == "replace":
        return raw.decode("utf-8", "replace").replace("\0", "\ufffd")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{name}: line {number}: not UTF-8 text (byte {error.start + 1}); convert it, or use --errors replace"
        ) from None


def file_lines(path: Path, errors: Errors) -> Iterator[str]:
    """The lines of a file, with their line endings. A file in another encoding is decoded as a document is."""
    if errors == "strict" and path.is_file() and not is_utf8(path):
        from hark.documents.encoding import decode
        from hark.documents.formats import DocumentError

        try:
            yield from StringIO(decode(read_content(path)).text, newline="\n")
        except DocumentError as error:
            raise UserError(f"{path}: {error}") from None
        return
    with open_file(path) as file:
        try:
            for number, raw in enumerate(lines_in(file), start=1):
                yield decode_line(raw, number, str(path), errors)
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def is_utf8(path: Path) -> bool:
    """Whether a file is text in UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with open_file(path) as file:
        try:
            while chunk := file.read(CHUNK):
                if "\0" in decoder.decode(chunk):
                    return False
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def read_content(path: Path) -> bytes:
    """Read a document as a whole."""
    with open_file(path) as file:
        try:
            return read_whole(file, path)
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def open_file(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except IsADirectoryError:
        raise UserError(f"{path}: is a folder; name a file, or pipe the text in") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


class ArrivingLines:
    """The lines of a pipe or a terminal as they arrive, with their line endings."""

    def __init__(self, descriptor: int, errors: Errors, name: str = "stdin") -> None:
        self.descriptor, self.errors, self.name = descriptor, errors, name
        self.lines: deque[bytes] = deque()
        self.rest: list[bytes] = []
        """Chunks of an incomplete line; joined once, which keeps long lines linear."""
        self.held = 0
        """Bytes of these chunks."""
        self.number = 0
        self.open = True

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        while self.open and not self.lines:
            self.read()
        if not self.lines:
            raise StopIteration
        line = decode_line(self.lines[0], self.number + 1, self.name, self.errors)  # it stays there if it is invalid
        self.lines.popleft()
        self.number += 1
        return line

    def ready(self, wait: float = 0.0) -> bool:
        """Whether a line is available, or arrives within `wait` seconds; true at the end of input."""
        until = monotonic() + wait
        while self.open and not self.lines:
            if not select.select([self.descriptor], [], [], max(0.0, until - monotonic()))[0]:
                break
            self.read()
        return bool(self.lines) or not self.open

    def ended(self) -> bool:
        """Whether the input is known to have ended; does not block."""
        return self.ready() and not self.lines

    def read(self) -> None:
        chunk = os.read(self.descriptor, CHUNK)
        *lines, last = chunk.split(b"\n")
        if lines:
            lines[0] = b"".join([*self.rest, lines[0]])
            self.rest, self.held = [], 0
        self.lines.extend(line + b"\n" for line in lines)
        self.rest += [last] if last else []
        self.held += len(last)
        if not chunk or self.held > MAX_LINE:  # a line that is too long is refused when its turn comes
            self.open = False
            self.lines.extend([b"".join(self.rest)] if self.rest else [])

    def put_back(self, lines: Iterable[str]) -> None:
        """Return lines to the front of the queue."""
        again = [line.encode() for line in lines]
        self.lines.extendleft(reversed(again))
        self.number -= len(again)


class ArrivingUnits:
    """The paragraphs of a pipe as they arrive. A pause ends one, so that line-by-line clients get their answers."""

    def __init__(self, lines: ArrivingLines) -> None:
        self.lines = lines
        self.units = group(lines, partial(lines.ready, PAUSE))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        return next(self.units).text

    def ready(self) -> bool:
        return self.lines.ready()


@contextmanager
def writer(path: Path | None) -> Iterator[BinaryIO]:
    """Open stdout, or a file that is replaced atomically. Devices and pipes are written directly."""
    if path is None or path == STDOUT:
        yield sys.stdout.buffer
        return
    real = path.resolve()  # follows a link, which is kept
    temporary = real.with_name(f".{real.name}.{os.getpid()}.partial")
    try:
        if path.exists() and (not path.is_file() or path.parent == Path("/dev")):
            with path.open("wb") as file:
                yield file
            return
        try:
            with temporary.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if real.exists():
                temporary.chmod(real.stat().st_mode & 0o777)
            temporary.replace(real)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
    except BrokenPipeError:
        raise
    except FileNotFoundError as error:
        if error.filename != str(temporary):  # a file that the body reads
            raise
        raise UserError(f"{path}: no such folder: {path.parent}") from None
    except IsADirectoryError:
        raise UserError(f"{path}: is a folder; name a file") from None
    except PermissionError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from None
    except OSError as error:
        raise HarkError(f"{path}: cannot be written: {error.strerror}") from None


def write_text(path: Path | None, text: str) -> None:
    """Write a whole text to stdout or a file, as `writer` does."""
    with writer(path) as file:
        file.write(text.encode("utf-8", "replace"))


def check_new_file(path: Path | None, form: Literal["HTML", "SVG"], hint: str = "") -> None:
    """Reject an unusable path of a page or a picture before any work is done; None: nothing is written."""
    if path is None:
        return
    kind, suffixes = ("page", (".html", ".htm")) if form == "HTML" else ("picture", (".svg",))
    if path.suffix.lower() not in suffixes:
        raise UserError(f"{path}: the {kind} is {form}; name a {suffixes[0]} file{hint}")
    if path.is_dir():
        raise UserError(f"{path}: is a folder; name a file")
    if not path.parent.is_dir():
        raise UserError(f"{path}: no such folder: {path.parent}")


@contextmanager
def shown_count(counted: str, total: int, name: str = "") -> Iterator[Callable[..., None]]:
    """Yield a callback to call after an item, or with a number of items. The count is shown on stderr, if that is a
    terminal, behind a name."""
    if not sys.stderr.isatty():
        yield lambda _=1: None
        return
    from rich import progress
    from rich.console import Console

    columns = (
        *([progress.TextColumn("{task.description}")] if name else []),
        progress.BarColumn(),
        progress.TextColumn(counted),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task(name, total=total)
        yield lambda count=1: bars.advance(bar, count)


@contextmanager
def shown_progress(source: Path | str | None, output: Path | None) -> Iterator[Callable[[str], None]]:
    """Yield a callback to call with each finished line. Progress is shown on stderr, if that is a terminal and the
    translations go elsewhere."""
    to_stdout = output is None or output == STDOUT
    if isinstance(source, str) or not sys.stderr.isatty() or (to_stdout and sys.stdout.isatty()):
        yield lambda _: None
        return
    from rich import progress
    from rich.console import Console

    known = (progress.BarColumn(), progress.TaskProgressColumn()) if isinstance(source, Path) else ()
    shown = progress.TextColumn("{task.fields[lines]:,} lines, {task.fields[rate]:,.1f} lines/s")
    columns = (*known, shown, progress.TimeElapsedColumn())
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        size = source.stat().st_size if isinstance(source, Path) else None
        bar = bars.add_task("", total=size, lines=0, rate=0.0)
        done = 0

        def advance(line: str) -> None:
            nonlocal done
            done += 1
            seconds = max(bars.tasks[0].elapsed or 0.0, 1e-3)
            bars.update(bar, advance=len(line.encode(errors="replace")), lines=done, rate=done / seconds)

        yield advance


def find_input(words: list[str], verb: str = "translate") -> Path | str | None:
    """Return the input that the arguments name: a file, text, or None for stdin. Messages use the verb."""
    if not words or words == [STDIN]:
        return None
    try:
        for word in words:
            word.encode()
    except UnicodeEncodeError:
        raise UserError("the text is not UTF-8; put it in a file and use --errors replace") from None
    files = [word for word in words if len(word) < 4096 and "\0" not in word and os.path.exists(word)]
    if len(words) == 1 and files:
        return Path(words[0])
    if len(words) > 1 and len(files) == len(words):
        raise UserError(f"{', '.join(words)}: only one file at a time")
    if len(words) == 1 and LIKE_A_FILE.fullmatch(words[0]):
        raise UserError(f"{words[0]}: no such file; to {verb} this as text, pipe it in")
    return " ".join(words)


def find_format(path: Path, source: str | None) -> str:
    """The suffix of the format of a file. One that is neither a document nor text is refused: it would break."""
    from hark.documents.formats import find_suffix, find_way_out

    if known := find_suffix(path.name):
        return known
    suffix = path.suffix.lower()
    if suffix in TEXTS or not LIKE_A_SUFFIX.fullmatch(suffix) or suffix == f".{source}":
        return ".txt"
    if LIKE_A_LANGUAGE.fullmatch(suffix) and suffix not in PROGRAMS:  # test.en
        from hark.text.detector import base_language, known_languages

        if base_language(suffix[1:].replace("_", "-")) in known_languages():
            return ".txt"
    way_out = find_way_out(path.name) or "if it is plain text, use --as txt"
    raise UserError(f"{path}: files of type {suffix} cannot be translated; {way_out}")


def read_lines(
    source: Path | str | None, errors: Literal["strict", "replace"], verb: str = "translate"
) -> Iterable[str]:
    """The lines of an input, with their line endings."""
    if isinstance(source, Path):
        print_note(f"{verb.removesuffix('e')}ing the file {source}")
        return file_lines(source, errors)
    if source is not None:
        return LINE.findall(source if source.endswith("\n") else source + "\n")
    if sys.stdin is None or sys.stdin.closed:
        raise UserError(f"nothing to {verb}: stdin is closed; pass text or a file")
    if sys.stdin.isatty() and sys.stderr.isatty():
        sys.stderr.write("type text; end with Ctrl-D\n")
    return ArrivingLines(sys.stdin.fileno(), errors)


def group_lines(lines: Iterable[str], join: bool) -> Iterable[str]:
    """Group lines into translation units: single lines, hard-wrapped paragraphs or blocks of code.

    A line from a pipe that may continue a paragraph waits a moment for the next one. A line from a terminal does not.
    """
    if isinstance(lines, ArrivingLines):
        return ArrivingUnits(lines) if join and not os.isatty(lines.descriptor) else lines
    return (unit.text for unit in group(lines)) if join else lines
