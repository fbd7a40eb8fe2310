"""Draws a model's heads, and its loss without them, as SVG: no scripts, light or dark by the reader's settings."""

from collections.abc import Iterator, Sequence
from html import escape

from hark.inspect.attention import KINDS, AttentionKind, Head
from hark.inspect.heads.finder import FoundHead, HeadReport
from hark.inspect.heads.importance import Point
from hark.inspect.heads.roles import OWN, TITLES, Purpose
from hark.pages.charts import GAP as CHART_GAP
from hark.pages.charts import HEIGHT, Line, line_chart
from hark.pages.document import group, picture, read_asset
from hark.pages.formats import plural

CELL_WIDTH, CELL_HEIGHT, GAP = 120, 40, 4
LINE = 15
"""Extra height of a cell for an error rate; half of it for a bar."""
LEFT, MARGIN = 40, 24
NARROWEST = 660
"""Minimum width of the picture, to fit the notes."""
PANELS: dict[Purpose, dict[AttentionKind, str]] = {
    "translation": {
        "encoder": "Encoder: a source token looks at the source",
        "decoder": "Decoder: a target token looks at the translation so far",
        "cross": "Cross-attention: a target token looks at the source",
    },
    "text": {
        "encoder": "A token looks at the whole text",
        "decoder": "A token looks at itself and at the text before it",
    },
    "text to text": {
        "encoder": "Encoder: a token of the input looks at the input",
        "decoder": "Decoder: a token of the output looks at the output so far",
        "cross": "Cross-attention: a token of the output looks at the input",
    },
}
"""Titles of the grids."""
CURVE_WIDTH = 640


def draw(report: HeadReport) -> str:
    """Draw the whole picture: a grid of layers by heads for each kind of attention, and a legend."""
    heads = 1 + max(each.head.number for each in report.heads)
    width = max(NARROWEST, 2 * MARGIN + LEFT + heads * (CELL_WIDTH + GAP) - GAP)
    title = f"What the heads of {report.model} look at"
    parts = [f'<text class="title" x="{MARGIN}" y="{MARGIN + 12}">{escape(title)}</text>']
    top = MARGIN + 12
    for line in subtitles(report):
        top += 18
        parts.append(f'<text x="{MARGIN}" y="{top}">{escape(line)}</text>')
    top += 28
    for kind in KINDS:
        panel = [each for each in report.heads if each.head.kind == kind]
        if not panel:
            continue
        drawn, height = draw_panel(kind, panel, report)
        parts.append(f'<g transform="translate({MARGIN} {top})">{drawn}</g>')
        top += height
    drawn, height = draw_legend(report, width - 2 * MARGIN)
    parts.append(f'<g transform="translate({MARGIN} {top})">{drawn}</g>')
    return on_card(f"Heads of {report.model}", width, top + height + MARGIN, "\n".join(parts))


def on_card(title: str, width: int, height: int, content: str) -> str:
    return picture(title, width, height, content + "\n", read_asset("hark.inspect.heads", "picture.css"))


def subtitles(report: HeadReport) -> Iterator[str]:
    yield report.read if report.text else f"{report.read}, with reference translations"
    if report.text and (found := report.text.repetition):
        yield f"Random tokens that come twice: a loss of {found.first:.2f}, and of {found.second:.2f} again"
    if report.alignment is not None:
        best = report.alignment.best_in_one_layer
        names = ", ".join(short_name(head) for head in best.heads)
        yield f"Best alignment: heads {names}, at the step that {best.step} a word: error rate {best.error:.3f}"


def short_name(head: Head) -> str:
    return f"{head.layer + 1}:{head.number + 1}"


def chosen_heads(report: HeadReport) -> Sequence[Head]:
    return report.alignment.best_in_one_layer.heads if report.alignment else ()


def longest_bar(report: HeadReport) -> float | None:
    """The effect drawn as a full bar; None if no effects were measured."""
    effects = [each.effect.nll for each in report.heads if each.effect]
    return max(*effects, 1e-9) if effects else None


def draw_panel(kind: AttentionKind, panel: Sequence[FoundHead], report: HeadReport) -> tuple[str, int]:
    chosen, worth = chosen_heads(report), longest_bar(report)
    height = CELL_HEIGHT + LINE * any(each.errors for each in panel) + (LINE // 2 if worth else 0)
    layers = 1 + max(each.head.layer for each in panel)
    parts = [f'<text class="panel" y="0">{PANELS[report.purpose][kind]}</text>']
    for layer in range(layers):
        y = 14 + layer * (height + GAP) + height // 2 + 4
        parts.append(
            f'<text x="{LEFT - 8}" y="{y}" text-anchor="end">{"layer " if layer == 0 else ""}{layer + 1}</text>'
        )
    for each in panel:
        x, y = LEFT + each.head.number * (CELL_WIDTH + GAP), 14 + each.head.layer * (height + GAP)
        parts.append(
            f'<g transform="translate({x} {y})">'
            f"{draw_cell(each, height, each.head in chosen, worth, report.purpose)}</g>"
        )
    return "\n".join(parts), 14 + layers * (height + GAP) + 28


def draw_cell(found: FoundHead, height: int, chosen: bool, worth: float | None, purpose: Purpose) -> str:
    colour = f"fill:var(--{found.named.partly or found.named.role});fill-opacity:{strength(found)}"
    parts = [
        f"<title>{escape(explain(found, purpose))}</title>",
        f'<rect width="{CELL_WIDTH}" height="{height}" rx="5" style="{colour}"/>',
        f'<text class="detail" x="8" y="16">{short_name(found.head)}</text>',
        f'<text class="share" x="{CELL_WIDTH - 8}" y="16">{found.named.share:.2f}</text>',
        f'<text class="role" x="8" y="31">{found.named.title(found.head.kind, purpose)}</text>',
    ]
    if found.errors:
        step = min(found.errors, key=lambda each: found.errors[each])
        parts.append(f'<text class="detail" x="8" y="46">AER {found.errors[step]:.2f}, {step}</text>')
    if worth is not None and found.effect:
        length = max(0.0, found.effect.nll) / worth * (CELL_WIDTH - 16)
        parts.append(f'<rect class="track" x="8" y="{height - 7}" width="{CELL_WIDTH - 16}" height="3" rx="1.5"/>')
        parts.append(f'<rect class="worth" x="8" y="{height - 7}" width="{length:.1f}" height="3" rx="1.5"/>')
    if chosen:
        parts.append(
            f'<rect class="chosen" x="0.9" y="0.9" width="{CELL_WIDTH - 1.8}" height="{height - 1.8}" rx="4.5"/>'
        )
    return "".join(parts)


def strength(found: FoundHead) -> float:
    """The opacity of a cell: higher for a clearer role."""
    return round((0.05 if found.named.partly else 0.18) + 0.5 * min(1.0, found.named.share), 2)


def explain(found: FoundHead, purpose: Purpose) -> str:
    """All measures of a head, for the tooltip."""
    figures = [f"{measure} {value:.2f}" for measure, value in found.measures.items()]
    figures += [f"AER {error:.3f} ({step})" for step, error in found.errors.items()]
    figures += [f"effect {found.effect.nll:+.4f} ± {found.effect.interval:.4f}"] if found.effect else []
    role = f"{found.named.title(found.head.kind, purpose)}, {found.named.share:.2f}"
    return f"{found.head}: {role} ({', '.join(figures)})"


def draw_legend(report: HeadReport, width: int) -> tuple[str, int]:
    used = {role for each in report.heads for role in (each.named.role, each.named.partly)}
    parts, x, y = [], 0, 0
    for role, title in (TITLES | OWN[report.purpose]).items():
        if role in used:
            size = 30 + round(6.2 * len(title))
            if x + size > width:
                x, y = 0, y + 20
            parts.append(
                f'<rect x="{x}" y="{y}" width="12" height="12" rx="3" style="fill:var(--{role});fill-opacity:.68"/>'
            )
            parts.append(f'<text x="{x + 18}" y="{y + 10}">{title}</text>')
            x += size
    notes = ["The number is the share of the head's weight on it; for “all over”, how evenly the weight is spread."]
    if report.text and report.text.repetition:
        notes.append("Induction: where a token comes again, on what came after it before.")
        notes.append("That and “same token before” are measured on random tokens that come twice.")
    if report.alignment is not None:
        notes.append(
            "AER: alignment error rate, at the better of the two steps. Outlined: the best combination of heads."
        )
    if (worth := longest_bar(report)) is not None:
        notes.append(f"Bar: increase in loss when the head is removed; the longest is {worth:.3f} {report.unit}.")
    for note in notes:
        y += 22
        parts.append(f'<text y="{y + 8}">{escape(note)}</text>')
    return "\n".join(parts), y + 14


def draw_curve(report: HeadReport, points: Sequence[Point]) -> str:
    """Draw a chart of the loss, and one of BLEU if it was measured."""
    loss = f"Loss, {report.unit}" if report.text else "Loss, nats per target token"
    charts = [(loss, [(point.removed, point.nll) for point in points])]
    if all(point.score is not None for point in points):
        charts.append(("BLEU", [(point.removed, point.score or 0.0) for point in points]))
    sentences = report.importance.sentences if report.importance else report.sentences
    text = f"{plural(sentences, report.examples)} of {report.corpus}; no retraining"
    parts = [
        f'<text class="title" x="{CHART_GAP}" y="32">{escape(report.model)} without its least important heads</text>',
        f'<text x="{CHART_GAP}" y="50">{escape(text)}</text>\n',
    ]
    most = points[-1].removed
    for index, (title, values) in enumerate(charts):
        drawn = line_chart(
            title,
            [Line(values, index)],
            most,
            below=f"heads removed, of {most}",
            width=CURVE_WIDTH,
            dots=lambda removed, value: f"{removed} removed: {value:.3f}",
        )
        parts.append(group(0, 60 + index * HEIGHT, drawn))
    return picture(f"{report.model} without heads", CURVE_WIDTH, 60 + len(charts) * HEIGHT + 6, "".join(parts))
