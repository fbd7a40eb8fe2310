"""Translation of document files, and of folders of them, for `hark translate`."""

import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hark.errors import HarkError, UserError

if TYPE_CHECKING:
    from hark.decode.load import Loaded
    from hark.decode.translation import Translation
    from hark.documents.cache import SegmentCache
    from hark.documents.document import Document, ReadingOptions
    from hark.documents.memory import Memory
    from hark.documents.report import DocumentReport
    from hark.documents.translate import TranslatedDocument
    from hark.text.terms import Terms

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


def is_document(path: Path) -> bool:
    """Whether a file is a document: plain text, and what has no known suffix, is read line by line instead."""
    from hark.documents.formats import FORMATS, find_suffix

    suffix = find_suffix(path.name)
    return suffix != "" and FORMATS[suffix] != FORMATS[".txt"]


def translate_documents(path: Path, output: Path | None, choices: DocumentChoices) -> int:
    """Translate a file or a folder; return the number of flagged segments."""
    if choices.report is not None and choices.report.suffix.lower() not in (".json", ".html"):
        raise UserError(f"{choices.report}: a report must be a .json or .html file")
    return (translate_folder if path.is_dir() else translate_file)(path, output, choices)


def translate_file(path: Path, output: Path | None, choices: DocumentChoices) -> int:
    """Translate one file; return the number of flagged segments."""
    opened = open_document(path, choices)
    output = output or path.with_name(translated_name(path, *opened.pair))
    report = translate_opened(opened, output, choices)
    if choices.report is not None:
        write_report(choices.report, [report])
    return report.counts["flagged"]


def translate_folder(folder: Path, output: Path | None, choices: DocumentChoices) -> int:
    """Translate the documents in a folder and below it; return the number of flagged segments.

    Files that are there already are left alone without --force, so that an interrupted run continues.
    """
    from hark.atomic import refuse_overlap
    from hark.documents.formats import FORMATS, find_suffix

    if output is None:
        if choices.target is None:
            raise UserError(f"{folder}: name the folder of the translations with -o")
        output = folder.resolve().with_name(f"{folder.resolve().name}.{choices.target}")
    refuse_overlap(output, [folder])
    files = [each for each in sorted(folder.rglob("*")) if each.is_file() and not is_hidden(each, folder)]
    documents = [each for each in files if find_suffix(each.name)]
    if not documents:
        raise UserError(f"{folder}: has no files that can be translated: {', '.join(FORMATS)}")
    reports: list[DocumentReport] = []
    skipped, failed = 0, 0
    for path in documents:
        place = output / path.relative_to(folder)
        if place.exists() and not choices.force:
            skipped += 1
            continue
        try:
            opened = open_document(path, choices)
            place.parent.mkdir(parents=True, exist_ok=True)
            reports.append(translate_opened(opened, place, choices))
        except UserError as error:  # a damaged file must not stop the others
            failed += 1
            sys.stderr.write(f"{error}\n")
    if choices.report is not None:
        write_report(choices.report, reports)
    summary = [f"{len(reports):,} translated"]
    summary += [f"{skipped:,} there already (--force translates them again)"] if skipped else []
    summary += [f"{len(files) - len(documents):,} of other types"] if len(files) > len(documents) else []
    sys.stderr.write(f"{output}: {len(files):,} files: {', '.join(summary)}\n")
    if failed:
        raise HarkError(f"{failed:,} of {len(documents):,} files could not be translated")
    return sum(each.counts["flagged"] for each in reports)


def is_hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def open_document(path: Path, choices: DocumentChoices) -> OpenedDocument:
    """Read a file, and choose the model for it."""
    from hark.cli.model_choice import choose_model, model_codes
    from hark.cli.streams import open_file
    from hark.decode.load import Loaded
    from hark.decode.source_language import DETECTED
    from hark.documents.formats import read_document
    from hark.documents.translate import sample

    with open_file(path) as file:
        document = read_document(str(path), file.read(), choices.reading)
    beginning = list(sample(document, DETECTED + 1))
    folder, source, _ = choose_model(choices.model, choices.source, choices.target, beginning)
    if folder not in choices.loaded:
        choices.loaded[folder] = Loaded(folder, *choices.engine)
    loaded = choices.loaded[folder]
    source, target = model_codes(loaded, source, choices.target)
    pair = loaded.languages.pair("".join(beginning), source, target)
    return OpenedDocument(path, document, loaded, source, target, pair)


def translated_name(path: Path, source: str, target: str) -> str:
    """The name of a translation: letter.de.docx for letter.docx and for letter.en.docx."""
    stem = path.stem.removesuffix(f".{source}") or path.stem
    return f"{stem}.{target}{path.suffix}"


def translate_opened(opened: OpenedDocument, output: Path, choices: DocumentChoices) -> "DocumentReport":
    """Translate a document and write the output file; print warnings and a summary on stderr."""
    from hark.cli.streams import STDOUT, writer
    from hark.documents.memory_file import open_memory
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
    report = make_report(str(opened.path), done, choices.terms, memory if choices.report is not None else None)
    for number, line in enumerate(report.warnings()):
        if number < MAX_WARNINGS:
            sys.stderr.write(f"{line}\n")
    if (more := report.counts["flagged"] - MAX_WARNINGS) > 0:
        sys.stderr.write(f"{more:,} more flagged segments; --report lists all\n")
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
            texts, source=opened.source, target=opened.target, align=align, terms=choices.terms, **choices.options
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
        [hashlib.sha256(each.read_bytes()).hexdigest() for each in files],
        [opened.source, opened.target, choices.engine],
        choices.options,
        None if terms is None else [terms.entries, terms.kept],
    ]
    return hashlib.sha256(json.dumps(settings, default=str).encode()).hexdigest()


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


def write_report(path: Path, reports: "Sequence[DocumentReport]") -> None:
    from hark.cli.streams import writer
    from hark.documents.report import to_html, to_json

    text = to_json(reports) if path.suffix.lower() == ".json" else to_html(reports)
    with writer(path) as file:
        file.write(text.encode("utf-8", "replace"))


def reading_options(settings: list[str]) -> "ReadingOptions":
    """The options of `--read`: `columns=title,body`, `attributes=true`."""
    from dataclasses import fields

    from hark.configfile import suggest
    from hark.documents.document import ReadingOptions

    known = {each.name: each.type for each in fields(ReadingOptions)}
    chosen: dict[str, Any] = {}
    for each in settings:
        name, equals, value = each.partition("=")
        if name not in known or not equals:
            raise UserError(f"--read {each}: no such setting{suggest(name, list(known))}")
        if known[name] is bool:
            if value not in ("true", "false"):
                raise UserError(f"--read {each}: must be true or false")
            chosen[name] = value == "true"
        else:
            chosen[name] = (*chosen.get(name, ()), *filter(None, map(str.strip, value.split(","))))
    return ReadingOptions(**chosen)
