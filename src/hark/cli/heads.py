"""`hark heads`: what every head of a model does."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hark.cli import options
from hark.cli.streams import STDOUT, say, writer
from hark.errors import UserError, require

if TYPE_CHECKING:
    from hark.decode.load import Loaded
    from hark.inspect.attention import Head
    from hark.inspect.heads.corpus import HeadCorpus, HeadExample
    from hark.inspect.heads.finder import Finder, HeadReport, Words
    from hark.inspect.heads.gold import Gold
    from hark.inspect.heads.importance import HeadEffect, Score

IMPORTANCE = 100
"""Sentence pairs that heads are weighed on, unless told otherwise."""


EXAMPLES = (
    "hark heads en-de --on test.en test.de -o heads.svg",
    "hark heads runs/mine --on test.tsv - --importance 100 --curve curve.svg",
    "hark heads runs/mine --on test.en test.de --gold test.align --store",
)


def heads(
    bundle: options.OneModel,
    on: Annotated[
        tuple[str, str],
        typer.Option(
            "--on",
            metavar="FILE FILE",
            help="Text and its translation: two line-aligned files, or one .tsv and -.",
        ),
    ],
    gold: Annotated[
        Path | None,
        typer.Option("--gold", metavar="FILE", help="Which words belong together, line by line: 1-1 2p3."),
    ] = None,
    gold_reversed: Annotated[
        bool, typer.Option("--gold-reversed", help="The links of --gold are target-source, not source-target.")
    ] = False,
    tokenised: Annotated[
        bool, typer.Option("--tokenised", help="The text is in words and signs apart: put it together first.")
    ] = False,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="What to call the text; else its file's name.")
    ] = None,
    sentences: Annotated[
        int, typer.Option("--sentences", min=1, metavar="N", help="Pairs to read, at the most.")
    ] = 1000,
    importance: Annotated[
        int | None,
        typer.Option("--importance", min=2, metavar="N", help="Remove each head in turn, on N pairs, and measure."),
    ] = None,
    curve: Annotated[
        Path | None,
        typer.Option("--curve", metavar="FILE", help="Remove ever more heads, and draw what is left (.svg)."),
    ] = None,
    bleu: Annotated[bool, typer.Option("--bleu", help="With --curve: translate, and measure BLEU, too.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Draw the heads (.svg); - for stdout, instead of the table."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="All figures as JSON on stdout.")] = False,
    store: Annotated[
        bool, typer.Option("--store", help="With --gold: write the best heads into the model, for translate --align.")
    ] = False,
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Say what each head of a model does, and what it is worth.

    That is what it looks at, how well it aligns words, and what is lost without it. Translations by people are read
    with the model, and the weights of every head are measured. With gold alignments the heads that align words best are
    found; --store keeps them for hark translate --align.
    """
    require("torch", "train", "looking inside a model")
    from hark.decode.load import Loaded
    from hark.evaluate.systems import name_models
    from hark.inspect.heads.finder import HeadReport, put_together
    from hark.models import named_folder

    # All that can be refused is refused before anything is measured.
    if output == STDOUT and as_json:
        raise UserError("-o - and --json both write to stdout; name a file for the picture")
    for path in (None if output == STDOUT else output, curve):
        check_picture(path)
    if store and gold is None:
        raise UserError("--store keeps the heads that align best, which only gold alignments tell: add --gold")
    if gold_reversed and gold is None:
        raise UserError("--gold-reversed says how --gold is written; add that")
    if bleu and curve is None:
        raise UserError("--bleu is measured along the curve: add --curve FILE")
    if bleu:
        require("sacrebleu", "train", "--bleu")
    loaded = Loaded(named_folder(bundle))
    corpus, links = read(loaded, on, sentences, gold, gold_reversed, tokenised)
    finder = make_finder(loaded, device, threads)
    tally, alignment = finder.look(corpus, links)
    if gold is not None and alignment is None:
        raise UserError(f"{gold}: no pair of {' and '.join(on)} has words that the model's tokens are made of")
    effects: dict[Head, HeadEffect] = {}
    worth = None
    if importance is not None or curve is not None:
        examples = corpus.examples[: importance or IMPORTANCE]
        effects, worth = finder.weigh(examples, curve is not None, scorer(loaded, examples) if bleu else None)
    report = HeadReport(
        model=name_models([str(loaded.bundle.folder)])[0],
        corpus=" ".join((name or corpus_name(on)).split()),
        sentences=len(corpus.examples),
        left_out=corpus.left_out,
        heads=put_together(tally, alignment, effects),
        alignment=alignment,
        importance=worth,
    )
    write_pictures(report, output, curve)
    if as_json:
        sys.stdout.write(json.dumps(report.to_tree(), indent=1) + "\n")
    elif output != STDOUT:
        show(report)
    if store and alignment is not None:
        from hark.card import describe_alignment
        from hark.inspect.heads.store import store as store_heads

        stored = store_heads(loaded.bundle, alignment.best_in_one_layer, alignment.pairs, report.corpus)
        say(f"{loaded.bundle.folder}: stored alignment heads {describe_alignment(stored)}")


def check_picture(path: Path | None) -> None:
    if path is None:
        return
    if path.suffix.lower() != ".svg":
        raise UserError(f"{path}: pictures are SVG; name it .svg (figures as JSON: --json)")
    if path.is_dir():
        raise UserError(f"{path}: is a folder; name a file")
    if not path.parent.is_dir():
        raise UserError(f"{path}: cannot be written: there is no folder {path.parent}")


def read(
    loaded: "Loaded", on: tuple[str, str], limit: int, gold: Path | None, gold_reversed: bool, tokenised: bool
) -> "tuple[HeadCorpus, list[tuple[Words, Gold]] | None]":
    """The text as the model sees it, and the words and links of each line if there are any."""
    from hark.inspect.heads.corpus import encode, read_texts
    from hark.inspect.heads.gold import detokenise, read_gold

    data = loaded.config.data
    texts = read_texts(on, (data.source, data.target), limit)
    words: list[Words] = [(source.split(), target.split()) for source, target in texts]
    links = list(zip(words, read_gold(gold, words, gold_reversed), strict=True)) if gold else None
    if tokenised:
        texts = [(detokenise(source), detokenise(target)) for source, target in words]
    positions = loaded.config.model.max_positions
    return encode(texts, loaded.source_vocabulary, loaded.target_vocabulary, positions), links


def make_finder(loaded: "Loaded", device: str, threads: int | None) -> "Finder":
    import torch

    from hark.decode.load import torch_device
    from hark.inspect.heads.finder import Finder

    if threads is not None:
        torch.set_num_threads(threads)
    model = loaded.model.to(torch_device(device))
    return Finder(model, loaded.source_vocabulary, loaded.target_vocabulary, shown_progress)


@contextmanager
def shown_progress(what: str, total: int) -> Iterator[Callable[[], None]]:
    """To be told of each part that is done; shown on stderr if a person looks at it."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich import progress
    from rich.console import Console

    words = progress.TextColumn("{task.description}: {task.completed:,} of {task.total:,}")
    columns = (progress.BarColumn(), words, progress.TimeElapsedColumn(), progress.TimeRemainingColumn())
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task(what, total=total)
        yield lambda: bars.advance(bar)


def scorer(loaded: "Loaded", examples: "Sequence[HeadExample]") -> "Score":
    from hark.inspect.heads.score import bleu

    return bleu(examples, loaded.target_vocabulary, loaded.config.decode, loaded.config.data.target)


def corpus_name(on: tuple[str, str]) -> str:
    """test.en and test.de are `test`, whatever languages their names speak of."""
    from hark.data.compression import plain_name
    from hark.data.names import stem

    return stem(Path(on[0]), [Path(plain_name(Path(name))).suffix.removeprefix(".") for name in on])


def write_pictures(report: "HeadReport", output: Path | None, curve: Path | None) -> None:
    from hark.inspect.heads import curve as curve_picture
    from hark.inspect.heads import picture as grid_picture

    drawn = {}
    if output is not None:
        drawn[output] = grid_picture.draw(report)
    if curve is not None and report.importance is not None:
        drawn[curve] = curve_picture.draw(report, report.importance.curve)
    for path, picture in drawn.items():
        with writer(path) as file:
            file.write(picture.encode("utf-8", "replace"))
        say(str(path))


def show(report: "HeadReport") -> None:
    from hark.inspect.heads.table import notes, rows

    header, *found = rows(report)
    if not sys.stdout.isatty():
        sys.stdout.write("\n".join([*plain([header, *found]), "", *notes(report), ""]))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for number, title in enumerate(header):
        table.add_column(
            title, no_wrap=True, justify="left" if number < 2 else "right", style="bold" if not number else ""
        )
    for number, row in enumerate(found):
        ends = number + 1 == len(found) or found[number + 1][0].split()[0] != row[0].split()[0]
        table.add_row(*row, end_section=ends)
    console = Console(highlight=False)
    console.print(table)
    for line in notes(report):
        console.print(line, markup=False)


def plain(rows: list[list[str]]) -> Iterator[str]:
    """Columns in line with each other: words to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
