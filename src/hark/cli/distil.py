"""`hark distil`: translate the training text with a teacher, as training text for a student."""

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hark.cli import options
from hark.cli.options import option

if TYPE_CHECKING:
    from hark.distil.distil import Distilled

BETWEEN_COLLECTIONS = 10_000
"""Allocations between two runs of Python's garbage collector. Thousands of sentences are alive at a time, without
reference cycles; at the default threshold, it took a sixth of the host's time.
Log: docs/results/logs/decoding/decode-host.txt."""


EXAMPLES = ("hark distil runs/teacher mine -o distilled", "hark distil runs/teacher mine --limit 1000 --beam 1 -o try")


def distil(
    teacher: options.OneModel,
    dataset: options.PreparedText,
    output: Annotated[Path, option("-o --output", "FOLDER", "Write the text to this folder.")],
    beam: Annotated[int | None, option("--beam", "N", "Beam size; by default the teacher's.", min=1)] = None,
    search: options.Search = None,
    limit: Annotated[int | None, option("--limit", "N", "Only the first N pairs of each corpus.", min=1)] = None,
    engine: options.Engine = "auto",
    device: options.Device = "auto",
    precision: options.Precision = "auto",
    processes: Annotated[int | None, option("--processes", "N", "Processes that detokenise.", min=1)] = None,
    force: options.Force = False,
) -> None:
    """Translate a dataset with a teacher, to train a smaller model on.

    Writes NAME.SOURCE and NAME.TARGET for each corpus, for hark prepare. Faulty translations are replaced by the
    corpus's own target. May be stopped at any time; run the same command to resume.
    """
    from hark.cli import leave_at_once
    from hark.data.dataset import Dataset
    from hark.data.progress import show_progress
    from hark.distil.distil import distil as distil_text
    from hark.distil.distil import refuse_sampling
    from hark.translate.load import Loaded

    gc.set_threshold(BETWEEN_COLLECTIONS)
    opened = Dataset.open(dataset)
    loaded = Loaded.named(teacher, engine=engine, device=device, precision=precision)
    settings = loaded.config.decode.changed(options.search_changes(search or [], beam, 1))
    refuse_sampling(settings)
    try:
        with show_progress() as progress:
            result = distil_text(loaded, opened, output, settings, limit, processes, progress, force)
    except KeyboardInterrupt as interrupt:
        leave_at_once(interrupt)
    typer.echo(summary(output, result))


def summary(folder: Path, result: "Distilled") -> str:
    """A summary to print: how many translations were used, and why others were not."""
    record = result.record
    if not result.new_pairs:
        return f"{folder}: up to date with this teacher, dataset and settings; nothing to do"
    used = record.pairs - record.replaced.total()
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in record.replaced.most_common())
    rate = f"{result.new_pairs / max(result.seconds, 1e-3):,.0f} per second"
    return (
        f"{folder}: {record.pairs:,} pairs, {used:,} by the teacher ({used / record.pairs:.2%}), {rate}\n"
        f"original target kept: {reasons or 'none'}"
    )
