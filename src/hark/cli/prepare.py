"""`hark prepare`: make a dataset from raw text."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hark.cli import options
from hark.cli.options import option
from hark.config import CorpusConfig, Documents
from hark.errors import UserError
from hark.facts import LabelsOf
from hark.settings import SettingError

if TYPE_CHECKING:
    from hark.config import DataConfig
    from hark.data.dataset import Dataset
    from hark.data.report import DatasetReport

TWO_FILES: Any = (str, str)
"""Typer has no repeatable option with two values; the parser beneath it has."""
ONE_FILE = "-"
DEFAULT_LANGUAGE = "en"
DEV_SHARE = 0.1
"""The share of running text that is kept as dev set, if none is named."""
SHOWN_LABELS = 10


EXAMPLES = (
    "hark prepare --pair en de --train my.en my.de --dev dev.en dev.de -o mine",
    "hark prepare --train a.tsv - --train b.tsv - --weight 2 --vocab 8000 -o mine",
    "hark prepare gpt-nano --text shakespeare.txt -o shakespeare",
    "hark prepare data.many=true --train a.en a.fr --train b.de b.fr -o many",
)


def prepare(
    recipe: options.Recipe = None,
    overrides: options.Overrides = None,
    pair: Annotated[
        tuple[str, str] | None, option("--pair", "LANG LANG", "Source and target language, e.g. en de.")
    ] = None,
    train: Annotated[
        list[str] | None,
        option(
            "--train",
            "FILE FILE",
            "Training corpus, source and target: two line-aligned files, or one .tsv, .jsonl, .tmx or .trees and "
            "- (each may end in .gz, .xz, .bz2 or .zst). With data.many, names end in languages: a.en a.fr, or "
            "a.en-fr.tsv and -. Repeatable.",
            click_type=TWO_FILES,
        ),
    ] = None,
    weight: Annotated[
        list[float] | None, option("--weight", "NUMBER", "Sampling weight of the preceding --train.")
    ] = None,
    dev: Annotated[
        list[str] | None, option("--dev", "FILE FILE", "Dev set, scored during training.", click_type=TWO_FILES)
    ] = None,
    test: Annotated[
        list[str] | None, option("--test", "FILE FILE", "Test set, for the final scores.", click_type=TWO_FILES)
    ] = None,
    text: Annotated[
        list[str] | None,
        option(
            "--text",
            "FILE",
            "Running text of one language, instead of pairs: a plain "
            "text file, or a .jsonl with objects that have a text; with data.labels, lines of a text, a tab and its "
            "label. Repeatable; instead of --train.",
        ),
    ] = None,
    text_dev: Annotated[
        list[str] | None, option("--text-dev", "FILE", "Dev set of running text; without, a tenth of the text.")
    ] = None,
    language: Annotated[str | None, option("--language", "LANG", "Language of --text; else en.")] = None,
    vocab: Annotated[int | None, option("--vocab", "N", "Vocabulary size.")] = None,
    output: Annotated[
        Path | None, option("-o --output", "FOLDER", "Write the dataset to this folder; by default data.dataset.")
    ] = None,
    processes: Annotated[
        int | None, option("--processes", "N", "Worker processes; by default one per core.", min=1)
    ] = None,
    force: options.Force = False,
) -> None:
    """Make a dataset from raw text.

    The text is pairs to translate, or with --text running text of one language or text with labels. It is cleaned, a
    vocabulary is learnt, and a report says what was dropped and why.

    Sentences of --dev and --test sets are removed from the training text. Running it again with the same files and
    settings does nothing.
    """
    from hark.cli.recipe import explicit_value, load_recipe
    from hark.data.prepare import prepare as make_dataset
    from hark.data.progress import show_progress
    from hark.recipes import split_arguments

    config = load_recipe(recipe, overrides)
    many = config.data.many
    if many and pair:
        raise UserError("--pair and data.many=true exclude each other; each corpus has its own languages")
    if text and train:
        raise UserError("--text and --train exclude each other; prepare text and pairs apart")
    if text and pair:
        raise UserError("--pair is for sentence pairs; name the language of --text with --language")
    if not (text or config.data.documents or config.data.labels):
        for option, value in (("--text-dev", text_dev), ("--language", language)):
            if value:
                raise UserError(f"{option} requires --text; pairs have --dev and --pair")
    try:
        changes: dict[str, Any] = dict(zip(("source", "target"), pair or (), strict=False))
        if vocab is not None:
            changes["vocab_size"] = vocab
        if train or weight:
            changes["train"] = corpora(train, weights_in(sys.argv) if weight else None, many)
        changes |= {role: corpora(files, None, many) for role, files in (("dev", dev), ("test", test)) if files}
        if text or config.data.documents:
            named = language or explicit_value(*split_arguments(recipe, overrides), "data", "target")
            known = config.data.target if config.train.from_ else ""
            changes = {**text_settings(config.data, text, text_dev, named or known or DEFAULT_LANGUAGE), **changes}
        config = replace(config, data=replace(config.data, **changes))
    except SettingError as error:
        raise UserError(f"command line: {error}") from None
    folder = output or (Path(config.data.dataset) if config.data.dataset else None)
    if folder is None:
        raise UserError("no output folder; name one with -o")
    with show_progress() as progress:
        prepared = make_dataset(config, folder, processes, progress, force)
    if prepared.created and prepared.dataset.manifest.is_text:
        typer.echo(text_summary(prepared.dataset, 0 if config.train.from_ else config.data.vocab_size))
    elif prepared.created:
        typer.echo(summary(prepared.dataset))
        sys.stdout.flush()
        for line in suspicions(prepared.dataset.report):
            sys.stderr.write(line + "\n")
    else:
        typer.echo(f"{folder}: up to date with these files and settings; nothing to do")


def text_settings(
    data: "DataConfig", text: Sequence[str] | None, dev: Sequence[str] | None, language: str
) -> dict[str, Any]:
    """The settings of a dataset of running text."""
    kinds: dict[LabelsOf | None, Documents] = {None: "file", "text": "line", "words": "paragraph"}
    changes: dict[str, Any] = {"documents": data.documents or kinds[data.labels], "source": "", "target": language}
    if text:
        changes["train"] = tuple(CorpusConfig(file) for file in text)
    if dev:
        changes["dev"] = tuple(CorpusConfig(file) for file in dev)
    if not (dev or data.dev or data.dev_share):
        changes["dev_share"] = DEV_SHARE
    return changes


def text_summary(dataset: "Dataset", wanted: int) -> str:
    """A summary to print of a dataset of running text. `wanted`: the size of the vocabulary, if one was learnt."""
    from hark.pages.formats import plural, size

    report = dataset.text_report
    dropped = ", ".join(f"{rule} {number:,}" for rule, number in report.dropped.items()) or "none"
    too_little = f" instead of {wanted:,}: the text has no more" if report.vocab_size < wanted else ""
    return "\n".join(
        [
            f"{dataset.folder}: {plural(report.kept, 'document')} kept; dropped: {dropped}",
            *(
                f"{each.role} {each.name}: {size(each.bytes)}, {each.tokens:,} tokens "
                f"({each.bytes / max(1, each.tokens):.2f} bytes each)"
                for each in report.corpora
            ),
            *label_lines(report.labels("train")),
            f"vocabulary {report.vocab_size:,}{too_little}",
            f"report: {dataset.folder / 'report.html'}",
        ]
    )


def label_lines(counts: Mapping[str, int]) -> Iterator[str]:
    """The commonest labels with their shares, if there are any."""
    total = sum(counts.values())
    if total:
        shown = ", ".join(f"{name} {count / total:.1%}" for name, count in islice(counts.items(), SHOWN_LABELS))
        more = f", and {len(counts) - SHOWN_LABELS} others" if len(counts) > SHOWN_LABELS else ""
        yield f"{len(counts)} labels: {shown}{more}"


def corpora(
    files: Sequence[Any] | None, weights: Sequence[float] | None = None, many: bool = False
) -> tuple[CorpusConfig, ...]:
    """The corpora that --train, --dev or --test names; with `many`, their languages are the suffixes of the files."""
    pairs: Sequence[tuple[str, str]] = files or ()
    return tuple(
        CorpusConfig(
            source,
            "" if target == ONE_FILE else target,
            weight=weight,
            languages=languages_of(source, target) if many else (),
        )
        for (source, target), weight in zip(pairs, weights or [1.0] * len(pairs), strict=True)
    )


def languages_of(source: str, target: str) -> tuple[str, str]:
    """The languages of a corpus by its file names: train.en.xz and train.fr.xz, or tatoeba.en-fr.tsv."""
    from hark.data.compression import plain_name
    from hark.data.corpus import FORMATS

    if target == ONE_FILE:
        name = plain_name(Path(source))
        stem, dot, suffix = name.rpartition(".")
        codes = (stem if dot and suffix in FORMATS else name).rpartition(".")[2].split("-")
    else:
        codes = [Path(plain_name(Path(each))).suffix.removeprefix(".") for each in (source, target)]
    if len(codes) != 2 or not all(codes):
        example = "train.en-fr.tsv" if target == ONE_FILE else "train.en and train.fr"
        raise UserError(
            f"{source}: cannot tell its languages; name the {'file' if target == ONE_FILE else 'files'} as in "
            f"{example}, or set `languages` in a recipe"
        )
    return codes[0], codes[1]


def weights_in(arguments: Sequence[str]) -> list[float]:
    """The weight of each --train: that of the --weight after it, or 1. Typer does not keep the order of options."""
    weights: list[float] = []
    for argument, following in pairwise([*arguments, ""]):
        name, equals, value = argument.partition("=")
        if name == "--train":
            weights.append(1.0)
        elif name == "--weight":
            if not weights:
                raise UserError("--weight before any --train; put it after the --train that it applies to")
            weights[-1] = float(value if equals else following)
    return weights


def summary(dataset: "Dataset") -> str:
    """A summary to print: pairs read, kept and dropped, tokens, and the path of the report."""
    total = dataset.report.total
    dropped = sorted((item for item in total.dropped.items() if item[1]), key=lambda item: -item[1])
    variants = ", ".join(f"{kind} {count:,}" for kind, count in sorted(total.augmented.items()))
    written, limit = total.kept + sum(total.augmented.values()), dataset.report.max_length
    return "\n".join(
        [
            f"{dataset.folder}: {total.read:,} pairs read, {total.kept:,} kept ({total.kept / total.read:.2%})",
            "dropped: " + (", ".join(f"{rule} {count:,}" for rule, count in dropped[:5]) or "none"),
            *([f"added variants: {variants}"] if variants else []),
            *(
                [f"too long: {total.too_long:,} of {written:,} pairs; training skips them (batches.max_length {limit})"]
                if total.too_long
                else []
            ),
            *describe_directions(dataset),
            "tokens: "
            + ", ".join(f"{side.tokens:,} {code}" for code, side in dataset.report.languages.items())
            + f"; vocabulary {dataset.tokenizer('target').vocab_size:,}",
            f"report: {dataset.folder / 'report.html'}",
        ]
    )


def describe_directions(dataset: "Dataset") -> Iterator[str]:
    """The pairs by direction, if there are several: a row for each source, a column for each target."""
    from hark.pages.formats import aligned, short

    pairs = {(direction.source, direction.target): short(direction.pairs) for direction in dataset.report.directions}
    if len(pairs) < 2:
        return
    codes = list(dataset.report.languages)
    yield f"pairs in {len(pairs)} directions (rows: source, columns: target):"
    rows = [["", *codes], *([one, *(pairs.get((one, other), "-") for other in codes)] for one in codes)]
    yield from (f"  {line}" for line in aligned(rows, left=0))


def suspicions(report: "DatasetReport") -> Iterator[str]:
    """Warnings about the dataset to check before training on it."""
    from hark.data.language import looks_swapped

    for corpus in report.corpora:
        samples = [(each.source, each.target) for each in corpus.samples["language"]]
        source, target = corpus.languages or (report.source, report.target)
        if looks_swapped(corpus.dropped, corpus.kept, samples, source, target):
            yield (
                f"{corpus.name}: {corpus.kept:,} of {corpus.read:,} kept: are the files swapped? Dropped pairs have "
                f"{target} on the {source} side and {source} on the {target} side"
            )
