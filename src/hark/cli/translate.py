"""`hark translate`: translate text."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import typer

from hark.cli import options
from hark.cli.options import argument, option, switch
from hark.errors import UserError

EXAMPLES = (
    'hark translate -t de "Where is the nearest train station?"',
    "hark translate -m runs/mine --beam 1 < test.en > test.de",
    "hark translate -t de report.docx --glossary terms.tsv --report report.html",
    "hark translate -t de manual/ --recursive -o manual.de --memory approved.tmx",
)


def translate(
    words: Annotated[
        list[str] | None, argument("[TEXT|FILE|-]", "Text, a file or a folder; - or nothing for stdin.")
    ] = None,
    model: options.Model = None,
    source: options.Source = None,
    target: options.Target = None,
    output: Annotated[
        Path | None, option("-o --output", "FILE", "Write to this file; - for stdout. Documents: letter.de.docx.")
    ] = None,
    beam: Annotated[int | None, option("--beam", "N", "Beam size; 1 is fastest.", min=1)] = None,
    nbest: Annotated[
        int, option("--nbest", "N", "Print the N best of each line: line number, score, text.", min=1)
    ] = 1,
    as_json: Annotated[bool, switch("--json", "Print a JSON object per line, with score and flags.")] = False,
    align: Annotated[bool, switch("--align", "With --json: add word alignments.")] = False,
    glossary: Annotated[
        Path | None, option("--glossary", "FILE", "Terms and their translations, .tsv or .csv.")
    ] = None,
    do_not_translate: Annotated[
        Path | None, option("--do-not-translate", "FILE", "Terms to keep as they are, one a line.")
    ] = None,
    formality: Annotated[
        Literal["auto", "formal", "informal"],
        option("--formality", "KIND", "formal (Sie, vous), informal (du, tu), or auto: one form for the whole text."),
    ] = "auto",
    memory: Annotated[
        Path | None, option("--memory", "FILE", "Files: use this translation memory, .tmx or .sqlite.")
    ] = None,
    report: Annotated[Path | None, option("--report", "FILE", "Files: report on each segment, .html or .json.")] = None,
    recursive: Annotated[
        bool, switch("--recursive", "Translate all documents in a folder; -o names another folder.")
    ] = False,
    as_format: Annotated[
        str | None,
        option("--as", "FORMAT", "Read the file, or stdin, as txt, html, md, yaml or another format of documents."),
    ] = None,
    read: Annotated[
        list[str] | None,
        option(
            "--read",
            "SETTING=VALUE",
            "What to translate in a document: attributes=true (HTML), elements=p,li or ignore=code (XML), "
            "paths=items[*].title (JSON, YAML, TOML), columns=title,3 (CSV). Repeatable.",
        ),
    ] = None,
    force: options.Force = False,
    search: options.Search = None,
    split: Annotated[bool, switch("--split/--no-split", "Split lines into sentences, or treat each as one.")] = True,
    join: Annotated[bool, switch("--join/--no-join", "Join hard-wrapped paragraphs, and wrap them again.")] = True,
    protect: options.Protect = True,
    check: Annotated[
        bool, switch("--check/--no-check", "Check uncertain lines with the reverse model, if installed.")
    ] = True,
    strict: Annotated[bool, switch("--strict", "Exit with status 3 if a translation is doubtful.")] = False,
    errors: options.Errors = "strict",
    engine: options.Engine = "auto",
    device: options.Device = "auto",
    precision: options.Precision = "auto",
    threads: options.Threads = None,
) -> None:
    """Translate text, a file, a folder or stdin.

    Keeps lines, blank lines, indentation, list marks and order. Prints each line as soon as it is ready. Warns of
    doubtful translations on stderr, or in the JSON object of the line with --json.

    Documents (DOCX, HTML, subtitles, YAML and more) keep their layout. Their translation is written beside them unless
    -o names a file. An interrupted run continues where it stopped. Files of other types need --as.
    """
    from hark.cli import leave_at_once
    from hark.cli.model_choice import choose_form, choose_model, model_codes
    from hark.cli.printing import write
    from hark.cli.streams import (
        STDIN_FILE,
        STDOUT,
        find_format,
        find_input,
        group_lines,
        read_lines,
        shown_progress,
        writer,
    )
    from hark.translate.load import Loaded

    if align and not as_json:
        raise UserError("--align requires --json")
    text = find_input(words or [])
    terms = None
    if glossary is not None or do_not_translate is not None:
        from hark.documents.glossary import read_glossary_files

        terms = read_glossary_files(glossary, do_not_translate)
    changes = options.search_changes(search or [], beam, nbest)
    how = {"split": split, "protect": protect, "join": join, "check": check, **changes}
    machine = (engine, device, precision, threads)
    try:
        suffix = format_suffix(as_format)
        file_options = {"--memory": memory, "--report": report, "--read": read}
        if isinstance(text, Path) and suffix is None and not text.is_dir():
            suffix = find_format(text, source)
        if text is None and suffix not in (None, ".txt"):
            text = STDIN_FILE
        plain = errors == "replace" or as_json or nbest > 1 or output in (None, STDOUT)
        if reads_documents(text, recursive, file_options, suffix, plain):
            from hark.cli.documents import DocumentChoices, reading_options, translate_documents

            if as_json or nbest > 1:
                raise UserError("--json and --nbest are for plain text; for a document, use --report")
            reading = reading_options(read or [])
            choices = DocumentChoices(
                model, source, target, machine, how, reading, terms, memory, report, force, suffix, formality
            )
            assert isinstance(text, Path)
            doubtful = translate_documents(text, output, choices)
        else:
            if isinstance(text, Path) and output is not None and output.exists() and output.samefile(text):
                raise UserError(f"{output}: is the input file; write the translation to another file")
            lines = read_lines(text, errors)
            folder, source, target, lines, written_in = choose_model(model, source, target, lines, formality)
            loaded = Loaded(folder, *machine)
            source, target = model_codes(loaded, source, target)
            form, lines = choose_form(loaded, lines, formality, source, target)
            with writer(output) as out, shown_progress(text, output) as advance:
                units = group_lines(lines, join and split)
                results = loaded.translate(
                    units, source=source, target=target, written_in=written_in, align=align, terms=terms,
                    formality=form, **how,
                )  # fmt: skip
                doubtful = write(results, out, advance, nbest, as_json, align, at_once=text is None)
    except KeyboardInterrupt as interrupt:
        leave_at_once(interrupt)
    if doubtful and strict:
        raise typer.Exit(3)


def format_suffix(name: str | None) -> str | None:
    """The suffix of a format of `--as`, which is written with or without its dot."""
    if name is None:
        return None
    from hark.configfile import suggest
    from hark.documents.formats import FORMATS

    suffix = f".{name.lower().removeprefix('.')}"
    if suffix not in FORMATS:
        known = [each.removeprefix(".") for each in FORMATS]
        raise UserError(f"--as {name}: no such format{suggest(name, known)}; the formats are {', '.join(known)}")
    return suffix


def reads_documents(
    text: Path | str | None, recursive: bool, file_options: Mapping[str, object], suffix: str | None, plain: bool
) -> bool:
    """Whether the input is read as documents: folders, files of document formats, and plain text with options that
    only documents have, or in another encoding, which the output has too unless it is `plain`: lines in UTF-8."""
    from hark.cli.documents import is_document
    from hark.cli.streams import is_utf8

    given = [name for name, value in file_options.items() if value is not None]
    if not isinstance(text, Path):
        if given or recursive:
            raise UserError(f"{(*given, '--recursive')[0]} requires a file or a folder")
        if isinstance(text, str) and suffix not in (None, ".txt"):
            raise UserError("--as requires a file, or text on stdin")
        return False
    if text.is_dir():
        if not recursive:
            raise UserError(f"{text}: is a folder; translate all documents in it with --recursive")
        if suffix is not None:
            raise UserError(f"{text}: is a folder; --as is for a file")
        return True
    if given or is_document(text, suffix):
        return True
    return not plain and text.is_file() and not is_utf8(text)
