"""F1 by sentence length, as a table and as a picture."""

from collections.abc import Mapping, Sequence

from hark.pages.charts import GAP, HEIGHT, WIDTH, Line, line_chart
from hark.pages.document import group, picture, swatches
from hark.parse.score import LengthScore

LINE = 20


def draw_curve(curves: Mapping[str, Sequence[LengthScore]], title: str = "F1 by sentence length") -> str:
    """Draw the scores of one or several parsers, each at the middle of its range of lengths."""
    lines = [
        Line([((each.first + each.last) / 2, each.score.f1) for each in scores], colour=number)
        for number, scores in enumerate(curves.values())
    ]
    reach = max(each.last for scores in curves.values() for each in scores)
    above = GAP + len(curves) * LINE
    chart = line_chart(
        title, lines, reach, below="words", from_zero=True, width=WIDTH, dots=lambda _, value: f"{value:.1f}"
    )
    content = swatches(list(curves), GAP, GAP, LINE) + group(0, above, chart)
    return picture(title, WIDTH, above + HEIGHT + GAP, content)


def length_table(scores: Sequence[LengthScore]) -> list[str]:
    """The scores as lines of text."""
    rows = [("words", "sentences", "F1", "complete")]
    for each in scores:
        score = each.score
        lengths = f"{each.first}-{each.last}"
        rows.append((lengths, f"{score.sentences:,}", f"{score.f1:.2f}", f"{score.complete_match:.2f}"))
    return ["".join(cell.rjust(11) for cell in row) for row in rows]
