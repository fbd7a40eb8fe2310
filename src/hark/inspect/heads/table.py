"""The report on a model's heads as a table for the terminal, and the best alignment heads as facts of the model."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from hark.bundle import Bundle, write_facts
from hark.facts import AlignmentFacts
from hark.facts import AlignmentStep as Step
from hark.inspect.attention import KINDS
from hark.inspect.heads.alignment import STEPS, Combination
from hark.inspect.heads.finder import FoundHead, HeadReport, TextFigures
from hark.inspect.heads.picture import short_name
from hark.inspect.heads.roles import HeadMeasure, Role


def store(bundle: Bundle, best: Combination, pairs: int, corpus: str) -> AlignmentFacts:
    """Replace the alignment heads in a bundle's facts; return the new ones."""
    heads = best.in_one_layer
    found = AlignmentFacts(heads.layer, heads.heads, heads.step, best.error, pairs, corpus)
    write_facts(bundle, replace(bundle.facts, alignment=found))
    return found


REPEATED: tuple[HeadMeasure, ...] = ("induction", "copying")
LISTED: tuple[Role, ...] = ("previous", "next", "induction", "duplicate", "start", "end")
"""Roles of which the clearest heads are listed below the table of a model without languages."""
SHOWN = 8
WHEN: dict[Step, str] = {"predicts": "predicting a word", "reads": "reading a word"}


def rows(report: HeadReport) -> Iterator[list[str]]:
    """Yield a header and a row for each head. Columns that were not measured are omitted."""
    aligned = report.alignment is not None
    weighed = report.importance is not None
    repeated = REPEATED if report.text and report.text.repetition else ()
    yield [
        *("head", "looks at", "share", "entropy", "distance"),
        *(f"AER {step}" for step in STEPS if aligned),
        *repeated,
        *(["effect"] if weighed else []),
    ]
    for each in report.heads:
        yield [
            f"{each.head.kind} {short_name(each.head)}",
            each.named.title(each.head.kind, report.purpose),
            f"{each.named.share:.2f}",
            f"{each.measures['entropy']:.2f}",
            f"{each.measures['distance']:.1f}",
            *(f"{each.errors[step]:.3f}" if each.errors else "" for step in STEPS if aligned),
            *(f"{each.measures[measure]:.2f}" if measure in each.measures else "" for measure in repeated),
            *([effect(each)] if weighed else []),
        ]


def effect(found: FoundHead) -> str:
    return f"{found.effect.nll:+.4f} ±{found.effect.interval:.4f}" if found.effect else ""


def notes(report: HeadReport) -> Iterator[str]:
    """Yield the legend of the table and the results for all heads together."""
    left_out = f" ({report.left_out:,} more skipped: empty or too long)" if report.left_out else ""
    yield f"{report.read}{left_out}"
    yield "share: fraction of the head's weight, or its evenness; entropy in bits; distance in tokens"
    if report.text is not None:
        yield from text_notes(report, report.text)
    if report.importance is not None:
        what = "parts" if report.examples == "part" else "pairs"
        loss = f"{report.importance.nll:.4f} {report.unit} on {report.importance.sentences:,} {what}"
        yield f"effect: increase in loss when the head is removed; the loss is {loss}; ±: half of the 95% interval"
    if (alignment := report.alignment) is not None:
        yield f"AER: alignment error rate on {alignment.pairs:,} pairs, at the step that predicts or reads a word"
        for step in STEPS:
            errors = alignment.layer_errors_L[step]
            layers = "  ".join(f"{number}: {error:.3f}" for number, error in enumerate(errors, start=1))
            yield f"AER of each layer's mean, {WHEN[step]}:  {layers}"
        yield f"best heads of one layer: {describe(alignment.best_in_one_layer)}"
        yield f"best heads of all layers: {describe(alignment.best)}"


def text_notes(report: HeadReport, text: TextFigures) -> Iterator[str]:
    if (found := text.repetition) is not None:
        yield "induction, copying: on random tokens that come twice, the weight on the token after the same one before,"
        yield "  and how far the head raises the next token (share of the others that it raises less; by chance 0.50)"
        yield f"loss on {found.length} random tokens: {found.first:.2f} nats per token, and {found.second:.2f} again"
    for role, kind in product(LISTED, KINDS):
        same = (each for each in report.heads if (each.named.role, each.head.kind) == (role, kind))
        heads = sorted(same, key=lambda each: -each.named.share)
        if heads:
            shown = ", ".join(f"{short_name(each.head)} ({each.named.share:.2f})" for each in heads[:SHOWN])
            more = f" and {len(heads) - SHOWN} more" if len(heads) > SHOWN else ""
            where = f", {kind}" if text.purpose == "text to text" else ""
            yield f"{heads[0].named.title(kind, text.purpose)}{where}: {shown}{more}"


def describe(best: Combination) -> str:
    names = ", ".join(short_name(head) for head in best.heads)
    held_out = f"held out: {best.held_out_error:.3f}"
    return f"{names}, {WHEN[best.step]}: AER {best.error:.3f} ({held_out})"
