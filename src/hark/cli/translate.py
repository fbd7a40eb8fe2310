"""`hark translate`: translate text."""

from pathlib import Path
from typing import Annotated

import typer

from hark.cli import options
from hark.errors import UserError

EXAMPLES = (
    'hark translate -t de "Where is the nearest train station?"',
    "hark translate -t en letter.txt -o letter.en.txt",
    "hark translate -m runs/mine --beam 1 < test.en > test.de",
    'hark translate -t de --json --align -- "-5 degrees"',
)


def translate(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TEXT|FILE|-]", help="Text, or a file of text; - or nothing for stdin."),
    ] = None,
    model: options.Model = None,
    source: options.Source = None,
    target: options.Target = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to this file; - for stdout.")
    ] = None,
    beam: Annotated[int | None, typer.Option("--beam", min=1, metavar="N", help="Beam size; 1 is fastest.")] = None,
    nbest: Annotated[
        int,
        typer.Option("--nbest", min=1, metavar="N", help="Print the N best of each line: line number, score, text."),
    ] = 1,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object per line, with score and flags.")
    ] = False,
    align: Annotated[bool, typer.Option("--align", help="With --json: add word alignments.")] = False,
    search: options.Search = None,
    split: Annotated[
        bool, typer.Option("--split/--no-split", help="Split lines into sentences, or treat each as one.")
    ] = True,
    join: Annotated[
        bool, typer.Option("--join/--no-join", help="Join hard-wrapped paragraphs, and wrap them again.")
    ] = True,
    protect: options.Protect = True,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Check uncertain lines with the reverse model, if installed.")
    ] = True,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with status 3 if a translation is doubtful.")] = False,
    errors: options.Errors = "strict",
    engine: options.Engine = "auto",
    device: options.Device = "auto",
    precision: options.Precision = "auto",
    threads: options.Threads = None,
) -> None:
    """Translate text, a file or stdin.

    Keeps lines, blank lines, indentation, list marks and order. Prints each line as soon as it is ready. Warns of
    doubtful translations on stderr, or in the JSON object of the line with --json.
    """
    from hark.cli.inputs import find_input, group_lines, read_lines
    from hark.cli.interrupts import leave_at_once
    from hark.cli.model_choice import choose_model, model_codes
    from hark.cli.printing import write
    from hark.cli.streams import shown_progress, writer
    from hark.decode.load import Loaded

    if align and not as_json:
        raise UserError("--align requires --json")
    text = find_input(words or [])
    if isinstance(text, Path) and output is not None and output.exists() and output.samefile(text):
        raise UserError(f"{output}: is the input file; write the translation to another file")
    folder, source, lines = choose_model(model, source, target, read_lines(text, errors))
    loaded = Loaded(folder, engine, device, precision, threads)
    source, target = model_codes(loaded, source, target)
    changes = options.search_changes(search or [], beam, nbest)
    try:
        with writer(output) as out, shown_progress(text, output) as advance:
            results = loaded.translate(
                group_lines(lines, join and split),
                source=source,
                target=target,
                split=split,
                align=align,
                protect=protect,
                join=join,
                check=check,
                **changes,
            )
            doubtful = write(results, out, advance, nbest, as_json, align, at_once=text is None)
    except KeyboardInterrupt as interrupt:
        leave_at_once(interrupt)
    if doubtful and strict:
        raise typer.Exit(3)
