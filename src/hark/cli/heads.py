"""`hark heads`: measure the attention heads of a model."""

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hark.cli import options
from hark.cli.streams import STDOUT, check_new_file, print_note, shown_count, write_text
from hark.errors import UserError, require

if TYPE_CHECKING:
    from hark.facts import LanguagePair
    from hark.inspect.attention import Head
    from hark.inspect.heads.alignment import Gold
    from hark.inspect.heads.corpus import HeadCorpus, HeadExample
    from hark.inspect.heads.finder import HeadReport, WordPair
    from hark.inspect.heads.importance import HeadEffect, Scorer
    from hark.inspect.text_to_text import TextToText
    from hark.translate.load import Loaded

PAIRS, PARTS = 1000, 50
"""Sentence pairs, or parts of a text, to read by default."""
IMPORTANCE, TEXT_IMPORTANCE = 100, 10
"""Sentence pairs, or parts, on which the importance of heads is measured by default."""


EXAMPLES = (
    "hark heads en-de --on test.en test.de -o heads.svg",
    "hark heads runs/mine --on test.tsv - --importance 100 --curve curve.svg",
    "hark heads runs/mine --on test.en test.de --gold test.align --store",
    "hark heads gpt2 --on text.txt --importance 10 -o heads.svg",
)


def heads(
    bundle: options.OneModel,
    on: Annotated[
        tuple[str, str],
        typer.Option(
            "--on",
            metavar="FILE FILE",
            help="Source and reference: two line-aligned files, or one .tsv and -. Without languages: a text.",
        ),
    ],
    source: Annotated[
        str | None,
        typer.Option("-s", "--source", metavar="LANG", help="Source language, for a model of several pairs."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("-t", "--target", metavar="LANG", help="Target language, for a model of several pairs."),
    ] = None,
    gold: Annotated[
        Path | None,
        typer.Option("--gold", metavar="FILE", help="Gold word alignments, one line per pair: 1-1 2p3."),
    ] = None,
    gold_reversed: Annotated[
        bool, typer.Option("--gold-reversed", help="Read the links of --gold as target-source.")
    ] = False,
    tokenised: Annotated[bool, typer.Option("--tokenised", help="The text is tokenised; detokenise it first.")] = False,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Name of the corpus; by default its file name.")
    ] = None,
    sentences: Annotated[
        int | None,
        typer.Option(
            "--sentences",
            min=1,
            metavar="N",
            help="Read at most N pairs (1000), or N parts of 128 tokens of a text (50).",
        ),
    ] = None,
    importance: Annotated[
        int | None,
        typer.Option(
            "--importance", min=2, metavar="N", help="Measure the loss on N pairs or parts without each head."
        ),
    ] = None,
    curve: Annotated[
        Path | None,
        typer.Option("--curve", metavar="FILE", help="Remove more and more heads, and plot the effect (.svg)."),
    ] = None,
    bleu: Annotated[bool, typer.Option("--bleu", help="With --curve: also measure BLEU.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Draw the heads (.svg); - for stdout, instead of the table."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")] = False,
    store: Annotated[
        bool, typer.Option("--store", help="With --gold: store the best heads in the model, for translate --align.")
    ] = False,
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Show what each attention head does and how important it is.

    Runs the model on sentence pairs and measures where each head attends, how well it aligns words, and what is lost
    without it. With gold alignments, finds the heads that align words best; --store keeps them for hark translate
    --align. A model of one stack (GPT, BERT) reads a text instead; T5 or BART reads pairs, or a text to corrupt. Their
    decoders also read random tokens twice, which shows induction heads.
    """
    require("torch", "train", "looking inside a model")
    from hark.models import named_folder, shape_of, translates

    # Check all arguments before the slow part.
    if output == STDOUT and as_json:
        raise UserError("-o - and --json both write to stdout; name a file for the picture")
    for path in (None if output == STDOUT else output, curve):
        check_new_file(path, "SVG", " (for JSON, use --json)")
    if store and gold is None:
        raise UserError("--store requires --gold")
    if gold_reversed and gold is None:
        raise UserError("--gold-reversed requires --gold")
    if bleu and curve is None:
        raise UserError("--bleu requires --curve")
    if bleu:
        require("sacrebleu", "train", "--bleu")
    asked = Asked(
        on, name, sentences, gold, gold_reversed, tokenised, importance, curve is not None, bleu, device, threads
    )
    folder = named_folder(bundle)
    if shape_of(folder) != "encoder-decoder":
        check_options(bundle, "has one stack", asked, source, target)
        report = look_at_text(folder, bundle, asked)
    else:
        from hark.inspect.text_to_text import TextToText
        from hark.translate.load import Loaded

        if translates(folder):
            loaded = Loaded.named(bundle)
            report = look_at_pairs(loaded, choose_languages(loaded, source, target), asked)
        else:
            check_options(bundle, "has no languages", asked, source, target)
            report = look_at_pairs(TextToText.open(folder), None, asked)
    write_pictures(report, output, curve)
    print_report(report, output, as_json)
    if store and report.alignment is not None:
        from hark.bundle import Bundle
        from hark.card import describe_alignment
        from hark.inspect.heads.table import store as store_heads

        best = report.alignment.best_in_one_layer
        stored = store_heads(Bundle.open(folder), best, report.alignment.pairs, report.corpus)
        print_note(f"{folder}: stored alignment heads {describe_alignment(stored)}")


@dataclass(frozen=True)
class Asked:
    """What to measure, and on what."""

    on: tuple[str, str]
    name: str | None = None
    sentences: int | None = None
    gold: Path | None = None
    gold_reversed: bool = False
    tokenised: bool = False
    importance: int | None = None
    curve: bool = False
    bleu: bool = False
    device: str = "auto"
    threads: int | None = None

    @property
    def weighs(self) -> bool:
        return self.importance is not None or self.curve

    @property
    def is_text(self) -> bool:
        """Whether it is one text, and not pairs."""
        return self.on[1] == "-" and suffix_of(self.on[0]) != ".tsv"

    @property
    def corpus(self) -> str:
        return " ".join((self.name or corpus_name(self.on)).split())


def suffix_of(file: str) -> str:
    from hark.data.corpus import suffix

    return suffix(Path(file))


def check_options(named: str, why: str, asked: Asked, source: str | None, target: str | None) -> None:
    """Refuse options that do not apply to a model without languages, or to one text."""
    given: dict[str, object] = {"-s": source, "-t": target, "--bleu": asked.bleu}
    of_pairs: dict[str, object] = {"--gold": asked.gold, "--tokenised": asked.tokenised}
    if why == "has one stack":
        given |= of_pairs
    for option, value in given.items():
        if value:
            raise UserError(f"{named}: {why}, so it does not translate; leave out {option}")
    for option, value in of_pairs.items():
        if value and asked.is_text:
            raise UserError(f"{option} is for pairs of texts, but {asked.on[0]} is one text; give --on two files")


def complete_arguments(args: list[str]) -> list[str]:
    """Complete `--on FILE`, without a second file, to `--on FILE -`: options have a fixed number of values."""
    at = args.index("--on") if "--on" in args else len(args)
    values = args[at + 1 : at + 3]
    if len(values) == 1 or (len(values) == 2 and values[1].startswith("-") and values[1] != "-"):
        return [*args[: at + 2], "-", *args[at + 2 :]]
    return args


def look_at_text(folder: Path, named: str, asked: Asked) -> "HeadReport":
    """Analyse a model of one stack."""
    from hark.inspect.heads.corpus import read_parts
    from hark.inspect.heads.finder import HeadReport, TextFinder, put_together
    from hark.inspect.reading import TextModel

    if asked.on[1] != "-":
        raise UserError(f"{named}: has one stack, so it reads one text; give --on one file")
    loaded = TextModel.open(folder)
    if asked.weighs and loaded.silence:
        raise UserError(f"{named}: predicts no tokens, because {loaded.silence}; leave out --importance and --curve")
    config, documents = loaded.model.config, loaded.bundle.config.data.documents
    limit = asked.sentences or PARTS
    corpus = read_parts(Path(asked.on[0]), loaded.vocabulary, config.shape, config.max_positions, limit, documents)
    model = loaded.model.to(prepare_device(asked.device, asked.threads))
    finder = TextFinder(model, shown_progress, loaded.vocabulary)
    means, figures = finder.look(corpus)
    effects: dict[Head, HeadEffect] = {}
    worth = None
    if asked.weighs:
        effects, worth = finder.weigh(corpus.examples[: asked.importance or TEXT_IMPORTANCE], asked.curve)
    heads, read = put_together(means, None, effects), len(corpus.examples)
    return HeadReport(loaded.name, asked.corpus, read, 0, heads, None, worth, figures)


def look_at_pairs(loaded: "Loaded | TextToText", languages: "LanguagePair | None", asked: Asked) -> "HeadReport":
    """Analyse an encoder and a decoder, with or without languages."""
    from hark.evaluate.systems import name_models
    from hark.inspect.heads.finder import Finder, HeadReport, TextFigures, put_together

    corpus, links = read(loaded, languages, asked)
    model = loaded.model.to(prepare_device(asked.device, asked.threads))
    finder = Finder(model, shown_progress, loaded.source_vocabulary, loaded.target_vocabulary)
    means, alignment = finder.look(corpus, links)
    if asked.gold is not None and alignment is None:
        raise UserError(f"{asked.gold}: no pair of {' and '.join(asked.on)} has words that match the model's tokens")
    figures = None
    if languages is None:
        repetition = finder.repeat(means)
        figures = TextFigures(
            corpus.tokens, "nats per token", repetition, "text to text", "part" if asked.is_text else "pair"
        )
    effects: dict[Head, HeadEffect] = {}
    worth = None
    if asked.weighs:
        few = TEXT_IMPORTANCE if languages is None and asked.is_text else IMPORTANCE
        chosen = corpus.examples[: asked.importance or few]
        score = scorer(loaded, chosen, languages[1]) if asked.bleu and languages else None
        effects, worth = finder.weigh(chosen, asked.curve, score)
    return HeadReport(
        model=name_models([str(loaded.bundle.folder)])[0],
        corpus=asked.corpus,
        sentences=len(corpus.examples),
        left_out=corpus.left_out,
        heads=put_together(means, alignment, effects),
        alignment=alignment,
        importance=worth,
        text=figures,
    )


def choose_languages(loaded: "Loaded", source: str | None, target: str | None) -> tuple[str, str]:
    """The languages of the text: those of the model or, if it has several, those that -s and -t name."""
    from hark.cli.model_choice import model_codes

    source, target = model_codes(loaded, source, target)
    scheme = loaded.languages.scheme
    if scheme.kind == "none":
        return loaded.config.data.source, loaded.config.data.target
    return scheme.resolve_source(source), scheme.resolve_target(target)


def read(
    loaded: "Loaded | TextToText", languages: "LanguagePair | None", asked: Asked
) -> "tuple[HeadCorpus, list[tuple[WordPair, Gold]] | None]":
    """Read and encode the corpus; with gold alignments, also return the words and links of each line."""
    from hark.inspect.heads.alignment import detokenise, read_gold
    from hark.inspect.heads.corpus import encode, read_texts
    from hark.inspect.heads.corrupted import read_corrupted

    if languages is None and asked.is_text:
        limit = asked.sentences or PARTS
        return read_corrupted(Path(asked.on[0]), loaded.bundle, loaded.source_vocabulary, limit), None
    texts = read_texts(asked.on, languages or ("", ""), asked.sentences or PAIRS)
    words: list[WordPair] = [(source.split(), target.split()) for source, target in texts]
    links = None
    if asked.gold is not None:
        links = list(zip(words, read_gold(asked.gold, words, asked.gold_reversed), strict=True))
    if asked.tokenised:
        texts = [(detokenise(source), detokenise(target)) for source, target in words]
    vocabularies, positions = (loaded.source_vocabulary, loaded.target_vocabulary), loaded.model.config.max_positions
    return encode(texts, *vocabularies, positions, languages, marked=languages is None), links


def prepare_device(device: str, threads: int | None) -> str:
    import torch

    from hark.engine.opening import torch_device

    if threads is not None:
        torch.set_num_threads(threads)
    return torch_device(device)


def shown_progress(activity: str, total: int) -> AbstractContextManager[Callable[[], None]]:
    return shown_count(f"{activity}: {{task.completed:,}} of {{task.total:,}}", total)


def scorer(loaded: "Loaded | TextToText", examples: "Sequence[HeadExample]", language: str) -> "Scorer":
    from hark.inspect.heads.importance import bleu

    return bleu(examples, loaded.target_vocabulary, loaded.bundle.config.decode, language)


def corpus_name(on: tuple[str, str]) -> str:
    """The common stem of two files: `test` for test.en and test.de; the name of one file without its ending."""
    from hark.data.compression import plain_name
    from hark.data.corpus import stem

    return stem(Path(on[0]), [Path(plain_name(Path(name))).suffix.removeprefix(".") for name in on])


def write_pictures(report: "HeadReport", output: Path | None, curve: Path | None) -> None:
    from hark.inspect.heads.picture import draw, draw_curve

    drawn = {}
    if output is not None:
        drawn[output] = draw(report)
    if curve is not None and report.importance is not None:
        drawn[curve] = draw_curve(report, report.importance.curve)
    for path, picture in drawn.items():
        write_text(path, picture)
        print_note(str(path))


def print_report(report: "HeadReport", output: Path | None, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(report.to_tree(), indent=1) + "\n")
    elif output != STDOUT:
        show(report)


def show(report: "HeadReport") -> None:
    from hark.inspect.heads.table import notes, rows
    from hark.pages.formats import aligned

    header, *body = rows(report)
    if not sys.stdout.isatty():
        sys.stdout.write("\n".join([*aligned([header, *body], left=2), "", *notes(report), ""]))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for number, title in enumerate(header):
        table.add_column(
            title, no_wrap=True, justify="left" if number < 2 else "right", style="bold" if not number else ""
        )
    for number, row in enumerate(body):
        ends = number + 1 == len(body) or body[number + 1][0].split()[0] != row[0].split()[0]
        table.add_row(*row, end_section=ends)
    console = Console(highlight=False)
    console.print(table)
    for line in notes(report):
        console.print(line, markup=False)
