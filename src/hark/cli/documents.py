"""Translation of documents, and of folders of them, for `hark translate`: resumable, with warnings and a summary."""

import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hark.errors import HarkError, UserError

if TYPE_CHECKING:
    from hark.documents.formats import Document, ReadingOptions
    from hark.documents.memory import Memory
    from hark.documents.report import DocumentReport
    from hark.documents.translate import SegmentCache, TranslatedDocument
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
    from hark.documents.report import make_report

    to_file = output != STDOUT and (output.is_file() or not output.exists())
    if to_file and output.exists():
        if output.samefile(opened.path):
            raise UserError(f"{output}: is the input file; write the translation to another file")
        if not choices.force:
            raise UserError(f"{output}: already exists; name another file, or replace it with --force")
    memory = None
    if choices.memory is not None:
        from hark.documents.memory import open_memory

        memory = open_memory(choices.memory, *opened.pair)
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
    from hark.documents.translate import SegmentCache, cache_path

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
    from hark.cli.streams import shown_count
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

    with shown_count(
        "{task.completed:,} of {task.total:,} segments", len(opened.document.segments), opened.path.name
    ) as advance:
        return translate_document(opened.document, translate, cache, memory, advance)


def describe_settings(opened: OpenedDocument, choices: DocumentChoices) -> str:
    """A digest of all that a translation depends on, apart from the text."""
    import hark
    from hark.manifest import NAME, sha256

    files = [opened.loaded.bundle.folder / NAME, *([choices.memory] if choices.memory is not None else [])]
    terms = choices.terms
    settings = [
        hark.__version__,
        [*map(sha256, files)],
        [opened.source, opened.target, opened.formality, choices.engine],
        choices.options,
        None if terms is None else [terms.entries, terms.kept],
    ]
    return hashlib.sha256(json.dumps(settings, default=str).encode()).hexdigest()


def is_document(path: Path, suffix: str | None = None) -> bool:
    """Whether a file is a document: plain text, and what has no known suffix, is read line by line instead."""
    from hark.documents.formats import FORMATS, find_suffix

    suffix = find_suffix(path.name) if suffix is None else suffix
    return suffix != "" and FORMATS[suffix] != FORMATS[".txt"]


def translate_documents(path: Path, output: Path | None, choices: DocumentChoices) -> int:
    """Translate a file or a folder; return the number of flagged segments."""
    if choices.report is not None and choices.report.suffix.lower() not in (".json", ".html"):
        raise UserError(f"{choices.report}: a report must be a .json or .html file")
    return (translate_folder if path.is_dir() else translate_file)(path, output, choices)


def translate_file(path: Path, output: Path | None, choices: DocumentChoices) -> int:
    """Translate one file; return the number of flagged segments."""
    from hark.cli.streams import STDIN_FILE, STDOUT

    opened = open_document(path, choices, output_suffix(path, output, choices.suffix))
    if output is None:
        output = STDOUT if path == STDIN_FILE else path.with_name(translated_name(path, *opened.pair, choices.suffix))
    report = translate_opened(opened, output, choices)
    if choices.report is not None:
        write_report(choices.report, [report])
    return report.counts["flagged"]


def translate_folder(folder: Path, output: Path | None, choices: DocumentChoices) -> int:
    """Translate the documents in a folder and below it; return the number of flagged segments.

    Files that are there already are left alone without --force, so that an interrupted run continues.
    """
    from hark.atomic import refuse_overlap
    from hark.documents.formats import FORMATS, WrongKindError, find_suffix

    if output is None:
        if choices.target is None:
            raise UserError(f"{folder}: name the folder of the translations with -o")
        output = folder.resolve().with_name(f"{folder.resolve().name}.{choices.target}")
    refuse_overlap(output, [folder])
    found = [each for each in sorted(folder.rglob("*")) if each.is_file() and not is_hidden(each, folder)]
    files = [each for each in found if each.resolve().is_relative_to(folder.resolve())]
    documents = [file for file in files if find_suffix(file.name)]
    if not documents:
        raise UserError(f"{folder}: has no files that can be translated: {', '.join(FORMATS)}")
    reports: list[DocumentReport] = []
    skipped, failed, others = 0, 0, len(files) - len(documents)
    for path, place in place_outputs(documents, folder, output):
        if place.exists() and not choices.force:
            skipped += 1
            continue
        try:
            opened = open_document(path, choices, place.suffix)
            place.parent.mkdir(parents=True, exist_ok=True)
            reports.append(translate_opened(opened, place, choices, f"{path}: "))
        except WrongKindError:  # a film or a program whose suffix is that of Qt's messages
            others += 1
        except UserError as error:  # a damaged file must not stop the others
            failed += 1
            sys.stderr.write(f"{error}\n" if str(error).startswith(str(path)) else f"{path}: {error}\n")
    if choices.report is not None:
        write_report(choices.report, reports)
    summary = [f"{len(reports):,} translated"]
    summary += [f"{skipped:,} there already (--force translates them again)"] if skipped else []
    summary += [f"{others:,} of other types"] if others else []
    summary += [f"{outside:,} left out: links out of the folder"] if (outside := len(found) - len(files)) else []
    sys.stderr.write(f"{output}: {len(files):,} files: {', '.join(summary)}\n")
    if failed:
        raise HarkError(f"{failed:,} of {len(documents):,} files could not be translated")
    return sum(report.counts["flagged"] for report in reports)


def place_outputs(documents: Sequence[Path], folder: Path, output: Path) -> Iterator[tuple[Path, Path]]:
    """Yield each document with the path of its translation in the output folder.

    A PDF becomes letter.html, or letter.pdf.html if that is the translation of another document.
    """
    places = [output / path.relative_to(folder) for path in documents]
    taken = {str(place).casefold() for place in places}  # some file systems do not distinguish capital letters
    for path, place in zip(documents, places, strict=True):
        suffix = output_suffix(path, None)
        if suffix != path.suffix:
            wanted = place.with_suffix(suffix)
            names = chain((wanted.name, place.name + suffix), (f"{place.name}-{number}{suffix}" for number in count(2)))
            place = next(new for name in names if str(new := place.with_name(name)).casefold() not in taken)
            taken.add(str(place).casefold())
            if place != wanted:
                sys.stderr.write(f"{path}: {wanted.name} is the translation of another file; writing {place.name}\n")
        yield path, place


def is_hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def output_suffix(path: Path, output: Path | None, suffix: str | None = None) -> str:
    """The suffix of a translation: that of the file, but a PDF becomes HTML or DOCX. `suffix`: its format."""
    from hark.documents.formats import find_outputs, find_suffix

    possible = find_outputs(path.name if suffix is None else f"a{suffix}")
    wanted = find_suffix(output.name) if output is not None else ""
    if wanted and wanted not in possible:
        raise UserError(f"{output}: a {suffix or path.suffix} file can become only {' or '.join(possible)}")
    return wanted or (path.suffix if len(possible) == 1 else possible[0])


def open_document(path: Path, choices: DocumentChoices, suffix: str) -> OpenedDocument:
    """Read a file, and choose the model for it."""
    from hark.cli.model_choice import choose_model, model_codes
    from hark.cli.streams import read_content
    from hark.documents.formats import read_document
    from hark.documents.translate import sample
    from hark.models import describe_model
    from hark.text.detector import GLANCE
    from hark.translate.choice import LoadedModels
    from hark.translate.languages import check_other, resolve
    from hark.translate.load import Loaded
    from hark.translate.translator import UNKNOWN

    content = read_content(path)
    reading = replace(
        choices.reading,
        source=choices.source or "",
        target=choices.target or "",
        output=suffix.removeprefix(".") if suffix != path.suffix else "",
    )
    document = read_document(str(path), content, reading, choices.suffix)
    beginning = list(sample(document, GLANCE + 1))
    folder, source, target, _, written_in = choose_model(
        choices.model, choices.source, choices.target, beginning, choices.formality
    )
    if folder not in choices.loaded:
        choices.loaded[folder] = Loaded(folder, *choices.engine)
    loaded = choices.loaded[folder]
    source, target = model_codes(loaded, source, target)
    pair = loaded.languages.pair("".join(beginning), source, target)
    if pair[0] == UNKNOWN and beginning:  # a memory must know the language
        inquiry = check_other("".join(beginning), describe_model(folder), (), pair[1])
        pair = (resolve(inquiry, LoadedModels({folder: loaded})) or UNKNOWN, pair[1])
    if not reading.target:  # known only now; some formats state it in the file
        document = read_document(str(path), content, replace(reading, target=pair[1]), choices.suffix)
    texts = (segment.text for segment in document.segments)
    form = loaded.choose_form(texts, choices.formality, None if pair[0] == UNKNOWN else pair[0], target)
    return OpenedDocument(path, document, loaded, source, target, pair, written_in, form)


def translated_name(path: Path, source: str, target: str, suffix: str | None = None) -> str:
    """The name of a translation: letter.de.docx for letter.docx and for letter.en.docx."""
    stem = path.stem.removesuffix(f".{source}") or path.stem
    return f"{stem}.{target}{output_suffix(path, None, suffix)}"


def write_report(path: Path, reports: "Sequence[DocumentReport]") -> None:
    from hark.cli.streams import write_text
    from hark.documents.report import to_html, to_json

    write_text(path, (to_json if path.suffix.lower() == ".json" else to_html)(reports))


def reading_options(settings: list[str]) -> "ReadingOptions":
    """The options of `--read`: `columns=title,body`, `attributes=true`."""
    from hark.configfile import suggest
    from hark.documents.formats import ReadingOptions

    known = {each.name: each.type for each in fields(ReadingOptions) if each.name not in ("source", "target", "output")}
    chosen: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if name not in known or not equals:
            raise UserError(f"--read {setting}: no such setting{suggest(name, list(known))}")
        if known[name] is bool:
            if value not in ("true", "false"):
                raise UserError(f"--read {setting}: must be true or false")
            chosen[name] = value == "true"
        else:
            chosen[name] = (*chosen.get(name, ()), *filter(None, map(str.strip, value.split(","))))
    return ReadingOptions(**chosen)
