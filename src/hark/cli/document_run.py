"""Translation of one document for `hark translate`: resumable, with progress, warnings and a summary."""

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hark.errors import UserError

if TYPE_CHECKING:
    from hark.documents.cache import SegmentCache
    from hark.documents.formats import Document, ReadingOptions
    from hark.documents.memory import Memory
    from hark.documents.report import DocumentReport
    from hark.documents.translate import TranslatedDocument
    from hark.text.address import Formality
    from hark.text.terms import Terms
    from hark.translate.load import Loaded
    from hark.translate.translation import Translation

MAX_WARNINGS = 10
"""Flagged segments of a document to print reasons for; the rest are counted."""


@dataclass(frozen=True)
class DocumentChoices:
    """What the command line says about documents."""

    model: str | None
    source: str | None
    target: str | None
    engine: tuple[Any, ...]
    """Engine, device, precision and threads."""
    options: dict[str, Any]
    """Arguments of `Loaded.translate`."""
    reading: "ReadingOptions"
    terms: "Terms | None" = None
    memory: Path | None = None
    report: Path | None = None
    force: bool = False
    suffix: str | None = None
    """The format of the file; None: the one of its name."""
    formality: "Formality" = "auto"
    loaded: "dict[Path, Loaded]" = field(default_factory=dict)
    """Models by folder: the files of a folder may be in several languages."""


@dataclass(frozen=True)
class OpenedDocument:
    """A document with the model that translates it."""

    path: Path
    document: "Document"
    loaded: "Loaded"
    source: str | None
    """None: the model detects it for each segment."""
    target: str | None
    pair: tuple[str, str]
    """The languages, detected if necessary."""
    written_in: str | None = None
    """The language of the text if it is not to be translated, see `hark.translate.choice`."""
    formality: "Formality | None" = None
    """The form of address, chosen for the whole document."""


def translate_opened(
    opened: OpenedDocument, output: Path, choices: DocumentChoices, before: str = ""
) -> "DocumentReport":
    """Translate a document and write the output file; print warnings, with what is `before` them, and a summary."""
    from hark.cli.streams import STDOUT, writer
    from hark.documents.memory import open_memory
    from hark.documents.report import make_report

    to_file = output != STDOUT and (output.is_file() or not output.exists())
    if to_file and output.exists():
        if output.samefile(opened.path):
            raise UserError(f"{output}: is the input file; write the translation to another file")
        if not choices.force:
            raise UserError(f"{output}: already exists; name another file, or replace it with --force")
    memory = open_memory(choices.memory, *opened.pair) if choices.memory is not None else None
    with kept_segments(opened, output if to_file else None, choices) as cache:
        done = translate_segments(opened, choices, cache, memory)
        with writer(output) as file:
            file.write(done.content)
    known = memory if choices.report is not None else None
    report = make_report(str(opened.path), done, choices.terms, known, opened.pair[1])
    for number, line in enumerate(report.warnings()):
        if number < MAX_WARNINGS:
            sys.stderr.write(f"{before}{line}\n")
    if (more := report.counts["flagged"] - MAX_WARNINGS) > 0:
        sys.stderr.write(f"{before}{more:,} more flagged segments; --report lists all\n")
    name = opened.path if output == STDOUT else output
    sys.stderr.write(f"{name}: {report.summary}\n")
    return report


@contextmanager
def kept_segments(
    opened: OpenedDocument, output: Path | None, choices: DocumentChoices
) -> "Iterator[SegmentCache | None]":
    """Keep the finished segments beside the output until it is complete."""
    from hark.documents.cache import SegmentCache, cache_path

    if output is None:
        yield None
        return
    with SegmentCache(cache_path(output), describe_settings(opened, choices)) as cache:
        if cache.done:
            sys.stderr.write(f"{output}: resuming; {len(cache.done):,} different segments are finished\n")
        try:
            yield cache
        except KeyboardInterrupt:
            if cache.done:
                sys.stderr.write(f"{output}: run the same command again to continue where it stopped\n")
            raise


def translate_segments(
    opened: OpenedDocument, choices: DocumentChoices, cache: "SegmentCache | None", memory: "Memory | None"
) -> "TranslatedDocument":
    from hark.documents.translate import translate_document

    def translate(texts: list[str], align: bool) -> "Iterator[Translation]":
        return opened.loaded.translate(
            texts,
            source=opened.source,
            target=opened.target,
            written_in=opened.written_in,
            align=align,
            terms=choices.terms,
            formality=opened.formality,
            **choices.options,
        )

    with segment_progress(opened.path.name, len(opened.document.segments)) as advance:
        return translate_document(opened.document, translate, cache, memory, advance)


def describe_settings(opened: OpenedDocument, choices: DocumentChoices) -> str:
    """A digest of all that a translation depends on, apart from the text."""
    import hark
    from hark.manifest import NAME

    files = [opened.loaded.bundle.folder / NAME, *([choices.memory] if choices.memory is not None else [])]
    terms = choices.terms
    settings = [
        hark.__version__,
        [digest_file(file) for file in files],
        [opened.source, opened.target, opened.formality, choices.engine],
        choices.options,
        None if terms is None else [terms.entries, terms.kept],
    ]
    return hashlib.sha256(json.dumps(settings, default=str).encode()).hexdigest()


def digest_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def segment_progress(name: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a callback that takes the number of finished segments. Shown on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("segments"),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task(name, total=total)
        yield lambda count: bars.update(bar, advance=count)
