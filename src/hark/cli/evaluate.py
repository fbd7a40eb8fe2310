"""`hark evaluate`: score translations against references."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hark.cli import completion as candidates
from hark.cli import options
from hark.cli.options import argument, option, switch
from hark.cli.streams import STDOUT, check_new_file, print_note, shown_count, write_text
from hark.errors import UserError, require

if TYPE_CHECKING:
    from hark.evaluate.systems import ModelSystem

WORSE = 3
"""Exit code if a score is below the baseline."""
NBEST = 4
RESAMPLES = 1000
MATRIX_EXAMPLES = 3
"""Maximum examples of each kind on the page, by direction, if there are several."""

EXAMPLES = (
    "hark evaluate runs/mine --source test.en --reference test.de",
    "hark evaluate runs/new runs/old --dataset mine -o report.html",
    "hark evaluate --hypothesis other.de --source test.en --reference test.de",
    "hark evaluate en-de --dataset mine --baseline old.json --worse-than 0.5",
)


def evaluate(
    bundles: Annotated[
        list[str] | None, argument("[MODEL]...", "Models: folders, runs or names.", autocompletion=candidates.models)
    ] = None,
    source: Annotated[list[Path] | None, option("--source", "FILE", "Source text of a test set. Repeatable.")] = None,
    reference: Annotated[
        list[Path] | None, option("--reference", "FILE", "Reference, line by line; one per --source.")
    ] = None,
    name: Annotated[list[str] | None, option("--name", "NAME", "Name of a test set; by default its file name.")] = None,
    dataset: Annotated[Path | None, option("--dataset", "DATASET", "Use all test sets of a prepared dataset.")] = None,
    source_language: Annotated[
        str | None,
        options.language("-s", "--source-language", "Only test sets from this language; that of --source FILE."),
    ] = None,
    target_language: Annotated[
        str | None,
        options.language("-t", "--target-language", "Only test sets into this language; that of --reference FILE."),
    ] = None,
    hypothesis: Annotated[
        list[str] | None,
        option("--hypothesis", "[NAME=]FILE", "Translations by another system; one file per test set."),
    ] = None,
    output: Annotated[
        Path | None, option("-o --output", "FILE", "Write a page (.html); - for stdout, instead of the table.")
    ] = None,
    as_json: Annotated[bool, switch("--json", "Print all figures as JSON.")] = False,
    brief: Annotated[bool, switch("--brief", "Only BLEU, chrF2 and speed, one line per system.")] = False,
    baseline: Annotated[
        Path | None, option("--baseline", "FILE", "Compare the first system with earlier --json output.")
    ] = None,
    worse_than: Annotated[
        float | None,
        option("--worse-than", "NUMBER", "With --baseline: exit with status 3 if worse by more than this.", min=0),
    ] = None,
    metric: Annotated[
        Literal["bleu", "chrf2", "ter", "paper_bleu", "lower_bleu", "comet"],
        option(
            "--metric",
            "METRIC",
            "Metric to compare with the baseline: bleu, chrf2, ter, paper_bleu, lower_bleu or comet.",
        ),
    ] = "bleu",
    resamples: Annotated[
        int | None,
        option(
            "--resamples",
            "N",
            f"Bootstrap resamples, for intervals and significance; by default {RESAMPLES:,}, or 0 for several "
            "directions.",
            min=0,
        ),
    ] = None,
    tokenise: Annotated[
        Literal["auto", "13a", "intl", "zh", "char"],
        option("--tokenise", "TOKENISER", "sacreBLEU tokeniser: auto, 13a, intl, zh or char."),
    ] = "auto",
    comet: Annotated[Path | None, option("--comet", "PATH", "Also score with this COMET model.")] = None,
    examples: Annotated[int, option("--examples", "N", "Examples of each kind on the page.", min=1)] = 20,
    beam: Annotated[int | None, option("--beam", "N", "Beam size.", min=1)] = None,
    search: options.Search = None,
    split: Annotated[bool, switch("--split/--no-split", "Split lines into sentences.")] = False,
    protect: options.Protect = False,
    engine: options.Engine = "auto",
    device: options.Device = "auto",
    precision: options.Precision = "auto",
    threads: options.Threads = None,
) -> None:
    """Score models, or files of translations, against references.

    Reports sacreBLEU's BLEU, chrF2 and TER with signatures, and the paper's BLEU, by test set and by length, with
    confidence intervals, significance against the first system, and speed. For test sets of several directions, reports
    matrices of BLEU and chrF2.
    """
    require("sacrebleu", "train", "hark evaluate")
    from hark.cli import leave_at_once
    from hark.evaluate import evaluation
    from hark.evaluate.baseline import Baseline
    from hark.evaluate.directions import choose_sets, matrix_table, set_direction
    from hark.evaluate.held_out import open_sets, wrong_direction
    from hark.evaluate.measures import Comet, choose_tokenisation, find_checkpoint
    from hark.evaluate.systems import ModelSystem, System, check_systems, name_models, read_systems
    from hark.evaluate.table import brief_table, full_table
    from hark.translate.load import Loaded

    # Check all arguments before the slow part.
    if worse_than is not None and baseline is None:
        raise UserError("--worse-than requires --baseline")
    if metric == "comet" and comet is None:
        raise UserError("--metric comet requires --comet")
    if output == STDOUT and as_json:
        raise UserError("-o - and --json both write to stdout; name a file for the page")
    check_new_file(None if output == STDOUT else output, "HTML", " (for JSON, use --json)")
    changes = options.search_changes(search or [], beam, 1)
    bundles = bundles or []
    load = partial(Loaded.named, engine=engine, device=device, precision=precision, threads=threads)
    models = [
        ModelSystem(label, load(bundle), split, protect, changes)
        for label, bundle in zip(name_models(bundles), bundles, strict=True)
    ]
    wanted = source_language, target_language
    sets, pair = open_sets(source or [], reference or [], name or [], dataset, direction_of(models, *wanted))
    if any(test_set.languages for test_set in sets):
        sets = choose_sets(sets, models, *wanted)
        pair = sets[0].languages
    else:
        sets = set_direction(sets, models, pair, *wanted)
    if models and not any(test_set.languages for test_set in sets):
        for line in wrong_direction(sets, models[0].pair):
            sys.stderr.write(line + "\n")
    before = Baseline.read(baseline) if baseline else None
    if before:
        before.check([test_set.name for test_set in sets], metric)
    comet_model = Comet(find_checkpoint(comet)) if comet else None
    from_files = read_systems(hypothesis or [], sets)
    check_systems(models, from_files, pair)
    languages = sets[0].languages or pair or (models[0].pair if models else ("", ""))
    if resamples is None:
        resamples = RESAMPLES if len({test_set.languages for test_set in sets}) == 1 else 0
    of_source, of_target = map(choose_tokenisation, languages)
    systems: list[System] = [*models, *from_files]
    try:
        count = len(systems) * sum(map(len, sets))
        with shown_count("{task.completed:,} of {task.total:,} sentences", count) as advance:
            of_target = of_target if tokenise == "auto" else tokenise
            result = evaluation.evaluate(
                sets, systems, of_source, of_target, resamples, comet_model, advance, language=languages[1]
            )
            verdicts = before.compare(result, metric) if before else []
            if output:
                from hark.evaluate.examples import choose_examples
                from hark.evaluate.page import render

                most = min(examples, MATRIX_EXAMPLES) if result.has_matrix else examples
                page = render(result, choose_examples(result, systems, most, NBEST))
    except KeyboardInterrupt as interrupt:
        leave_at_once(interrupt)
    if output:
        write_text(output, page)
        print_note(str(output))
    if output != STDOUT:
        table = matrix_table if result.has_matrix else brief_table if brief else full_table
        lines = table(result)
        sys.stdout.write(result.to_json() if as_json else "\n".join([*lines, ""]))
    for verdict in verdicts:
        sys.stderr.write(f"{verdict}\n")
    if any(verdict.exceeds(worse_than or 0.0) for verdict in verdicts):
        raise typer.Exit(WORSE)


def direction_of(models: "list[ModelSystem]", source: str | None, target: str | None) -> tuple[str, str] | None:
    """The direction to read a dataset of one pair in: that of the first model, or of the options."""
    if models and not models[0].several:
        return models[0].pair
    return (source, target) if source and target else None
