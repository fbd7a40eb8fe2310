"""`hark distil`: a teacher's translations of the training text, for a student to learn from."""

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hark.cli import options

if TYPE_CHECKING:
    from hark.distil.distil import Distilled

BETWEEN_COLLECTIONS = 10_000
"""Objects made between two looks of Python's garbage collector: thousands of sentences live here at a time, and none is
part of a circle, so that its usual looks took a sixth of the host's time.
Log: docs/results/logs/decoding/decode-host.txt."""


EXAMPLES = (
    "hark distil runs/teacher mine -o distilled",
    "hark distil runs/teacher mine --limit 1000 --beam 1 -o try",
)


def distil(
    teacher: options.OneModel,
    dataset: options.PreparedText,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="The text to write.")],
    beam: Annotated[
        int | None, typer.Option("--beam", min=1, metavar="N", help="Width of the search; by default the teacher's.")
    ] = None,
    search: options.Search = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="Only the first N pairs of each corpus.")
    ] = None,
    engine: options.Engine = "auto",
    device: options.Device = "auto",
    precision: options.Precision = "auto",
    processes: Annotated[
        int | None, typer.Option("--processes", min=1, metavar="N", help="How many turn translations into text.")
    ] = None,
    force: options.Force = False,
) -> None:
    """Translate a dataset by a model, for a smaller one to learn from.

    The model is the teacher; what it makes of the training text is parallel text for a student. Writes NAME.SOURCE and
    NAME.TARGET for each corpus, which hark prepare reads. Where a translation is faulty, the corpus's own target stands
    instead. It may be stopped at any moment: the same command goes on where it was.
    """
    from hark.cli.interrupts import leave_at_once
    from hark.data.dataset import Dataset
    from hark.data.progress import show_progress
    from hark.decode.load import Loaded, search_settings
    from hark.distil.distil import distil as distil_text
    from hark.distil.distil import refuse_chance
    from hark.models import named_folder

    gc.set_threshold(BETWEEN_COLLECTIONS)
    opened = Dataset.open(dataset)
    loaded = Loaded(named_folder(teacher), engine, device, precision)
    settings = search_settings(loaded.config.decode, options.search_changes(search or [], beam, 1))
    refuse_chance(settings)
    try:
        with show_progress() as progress:
            done = distil_text(loaded, opened, output, settings, limit, processes, progress, force)
    except KeyboardInterrupt as interrupt:
        leave_at_once(interrupt)
    typer.echo(summary(output, done))


def summary(folder: Path, done: "Distilled") -> str:
    """A few lines for a person: how much the teacher said, and what was not used of it."""
    record = done.record
    if not done.made:
        return f"{folder}: distilled before with the same teacher, dataset and settings; nothing to do"
    used = record.pairs - record.replaced.total()
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in record.replaced.most_common())
    rate = f"{done.made / max(done.seconds, 1e-3):,.0f} a second"
    return (
        f"{folder}: {record.pairs:,} pairs, {used:,} by the teacher ({used / record.pairs:.2%}), {rate}\n"
        f"kept as they were: {reasons or 'none'}"
    )
