"""A run told in plain lines, where there is no terminal."""

from collections.abc import Iterable

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


def lines(record: Record | TranslationSample, view: View) -> Iterable[str]:
    """What a record says where there is no terminal."""
    match record:
        case StartRecord():
            verb = "resumed" if isinstance(record, ResumeRecord) else "started"
            yield f"{verb} {view.name} at step {where(record.step, view)}  {machine(record)}"
            if record.step_seconds:
                yield time_words(record)
            if record.too_long:
                yield too_long_words(record)
        case TrainRecord():
            yield "  ".join(train_words(record, view))
        case DevRecord():
            best = "  best" if record.best else ""
            skipped = f"  {formats.plural(record.skipped_pairs, 'pair')} skipped" if record.skipped_pairs else ""
            yield f"dev {record.set} at step {record.step}  {scores_words(record)}{skipped}{best}"
        case SaveRecord():
            yield f"saved step {record.step}  {formats.size(record.bytes)} in {record.took:.1f} s"
        case StopRecord():
            yield stop_words(record)
        case TranslationSample():
            yield f"sample at step {record.step}"
            yield f"  source       {one_line(record.source)}"
            yield f"  reference    {one_line(record.reference)}"
            yield f"  translation  {one_line(record.translation)}"


def train_words(record: TrainRecord, view: View) -> Iterable[str]:
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


def machine(begun: StartRecord) -> str:
    """On what it runs, and what: H200, 2 processes, 63.1M weights."""
    processes = f", {begun.processes} processes" if begun.processes > 1 else ""
    passes = f"; {begun.passes}" if begun.passes else ""
    return f"{begun.device}{processes}, {formats.short(begun.weights)} weights{passes}"


def time_words(begun: StartRecord) -> str:
    """How long it will take, before any step was taken."""
    left = formats.duration(begun.step_seconds * (begun.steps - begun.step))
    return f"a step takes about {begun.step_seconds:.2g} s, all of them about {left}; Ctrl-C saves and ends"


def too_long_words(begun: StartRecord) -> str:
    """How much of the text is never trained on."""
    longer, skipped = ("is longer", "is skipped") if begun.too_long == 1 else ("are longer", "are skipped")
    return (
        f"{begun.too_long:,} of {formats.plural(begun.pairs, 'pair')} ({formats.share(begun.too_long, begun.pairs)}) "
        f"{longer} than batches.max_length {begun.max_length} and {skipped}"
    )


def scores_words(dev: DevRecord) -> str:
    words = [f"{name} {formats.score(value)}" for name, value in dev.scores.items()]
    return "  ".join([*words, f"nll {formats.loss(dev.nll)}", f"perplexity {formats.short(dev.perplexity)}"])


def stop_words(stop: StopRecord) -> str:
    reason = {"early": "stopped early"}.get(stop.reason, stop.reason)
    told = stop.message and stop.reason != "failed"  # the command line says why it failed
    return f"{reason} at step {stop.step}" + (f": {one_line(stop.message)}" if told else "")


def one_line(text: str) -> str:
    return " ".join(text.split())
