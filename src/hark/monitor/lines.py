"""Log lines about a run, for output that is not a terminal."""

from collections.abc import Iterable, Mapping

from hark.monitor.view import View
from hark.pages import formats
from hark.train.records import (
    DevRecord,
    Record,
    ResumeRecord,
    SaveRecord,
    StartRecord,
    StopRecord,
    TrainRecord,
    TranslationSample,
)

MAX_ALL_SCORES = 4
"""Up to this many, the scores of all dev sets are shown with each set."""


def lines(record: Record | TranslationSample, view: View) -> Iterable[str]:
    """The log lines of a record."""
    match record:
        case StartRecord():
            verb = "resumed" if isinstance(record, ResumeRecord) else "started"
            yield f"{verb} {view.name} at step {where(record.step, view)}  {machine(record)}"
            if record.step_seconds:
                yield time_line(record)
            if record.too_long:
                yield too_long_line(record)
        case TrainRecord():
            yield "  ".join(train_fields(record, view))
        case DevRecord():
            best = "  best" if record.best else ""
            skipped = f"  {formats.plural(record.skipped_pairs, 'pair')} skipped" if record.skipped_pairs else ""
            yield f"dev {record.set} at step {record.step}  {format_scores(record)}{skipped}{best}"
        case SaveRecord():
            yield f"saved step {record.step}  {formats.size(record.bytes)} in {record.took:.1f} s"
        case StopRecord():
            yield stop_line(record)
        case TranslationSample():
            yield f"sample at step {record.step}"
            yield f"  source       {one_line(record.source)}"
            yield f"  reference    {one_line(record.reference)}"
            yield f"  translation  {one_line(record.translation)}"


def train_fields(record: TrainRecord, view: View) -> Iterable[str]:
    yield f"step {where(record.step, view)}"
    yield f"loss {formats.loss(record.loss)}"
    yield f"rate {formats.rate(record.rate)}"
    yield f"grad {formats.short(record.grad_norm)}"
    yield f"{formats.short(record.tokens_per_second)} tokens/s"
    yield f"fill {formats.percent(record.fill)}"
    if record.memory_gib is not None:
        yield f"memory {record.memory_gib:.1f} GiB"
    if record.skipped:
        yield f"{formats.plural(record.skipped, 'step')} skipped"
    if record.skipped_pairs:
        yield f"{formats.plural(record.skipped_pairs, 'pair')} skipped"
    if view.seconds_left is not None:
        yield f"left {formats.duration(view.seconds_left)}"


def where(step: int, view: View) -> str:
    return f"{step}/{view.steps}" if view.steps else str(step)


def machine(start: StartRecord) -> str:
    """Device, processes and size of the model: H200, 2 processes, 63.1M weights."""
    processes = f", {start.processes} processes" if start.processes > 1 else ""
    passes = f"; {start.passes}" if start.passes else ""
    return f"{start.device}{processes}, {formats.short(start.weights)} weights{passes}"


def time_line(start: StartRecord) -> str:
    """The estimated duration, before the first step."""
    left = formats.duration(start.step_seconds * (start.steps - start.step))
    return f"about {start.step_seconds:.2g} s per step, {left} in total; Ctrl-C saves and stops"


def too_long_line(start: StartRecord) -> str:
    """The share of pairs that training skips."""
    longer, skipped = ("is longer", "is skipped") if start.too_long == 1 else ("are longer", "are skipped")
    return (
        f"{start.too_long:,} of {formats.plural(start.pairs, 'pair')} ({formats.share(start.too_long, start.pairs)}) "
        f"{longer} than batches.max_length {start.max_length} and {skipped}"
    )


def own_scores(dev: DevRecord) -> Mapping[str, float]:
    """The scores of a record; of many dev sets, only those of its own set."""
    own = {name: value for name, value in dev.scores.items() if name.endswith(f" {dev.set}")}
    return own if own and len(dev.scores) > MAX_ALL_SCORES else dev.scores


def format_scores(dev: DevRecord) -> str:
    scores = [f"{name} {formats.score(value)}" for name, value in own_scores(dev).items()]
    return "  ".join([*scores, f"nll {formats.loss(dev.nll)}", f"perplexity {formats.short(dev.perplexity)}"])


def stop_line(stop: StopRecord) -> str:
    reason = {"early": "stopped early"}.get(stop.reason, stop.reason)
    has_message = stop.message and stop.reason != "failed"  # the command line prints the error
    return f"{reason} at step {stop.step}" + (f": {one_line(stop.message)}" if has_message else "")


def one_line(text: str) -> str:
    return " ".join(text.split())
