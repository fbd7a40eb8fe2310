"""Lays the translation of a sentence out over the subtitles (cues) that show it, and over their lines."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from hark.text.rewrite import Span

READING_SPEED = 20.0
"""Characters that people read in a second; text is moved to a neighbouring cue rather than shown faster."""
LINE = 42
"""Characters of a line, unless the source has longer ones."""
MAX_BREAKS = 100
"""Places to choose from; the time is quadratic in their number. Only texts beyond all reason have more."""
MAX_LINES = 4
"""Lines that are balanced; more than that are filled one after another."""
_BREAK = re.compile(
    r"\s+|(?<=[\u3001\u3002\uff01\uff0c\uff1f])|(?<=[\u3040-\u30ff\u3400-\u9fff])(?=[\u3040-\u30ff\u3400-\u9fff])"
)
_STOP = re.compile(r"[.!?…。！？][\"'”’»)]*$")
_PAUSE = re.compile(r"[,;:–—、，][\"'”’»)]*$")


@dataclass(frozen=True)
class CueSlot:
    """What is known of a cue: how much it said, and for how long."""

    length: int
    seconds: float
    stops: bool
    """Whether its text ends a sentence."""


def split_over_cues(text: str, cues: Sequence[CueSlot]) -> list[Span]:
    """Return the span of the text for each cue: by length and time, at word ends, and at punctuation where possible."""
    if len(cues) == 1:
        return [(0, len(text))]
    breaks = [match.span() for match in _BREAK.finditer(text)]
    places = [(0, 0), *breaks[:: len(breaks) // MAX_BREAKS + 1], (len(text), len(text))]
    total = max(1, len(text))
    said, time = sum(each.length for each in cues) or 1, sum(each.seconds for each in cues) or 1.0
    # best[k]: the cost of laying out the text up to break k over the cues so far, and the breaks chosen.
    best: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, (0,))}
    for number, cue in enumerate(cues):
        last = number == len(cues) - 1
        ideal = total * (2 * cue.length / said + cue.seconds / time) / 3
        found: dict[int, tuple[float, tuple[int, ...]]] = {}
        for end in [len(places) - 1] if last else range(len(places)):
            options = (
                (cost + _cost(text, (places[begin][1], places[end][0]), cue, ideal, last), (*path, end))
                for begin, (cost, path) in best.items()
                if begin <= end
            )
            option = min(options, default=None)
            if option is not None:
                found[end] = option
        best = found
    path = best[len(places) - 1][1]
    return [(places[begin][1], max(places[begin][1], places[end][0])) for begin, end in pairwise(path)]


def _cost(text: str, span: Span, cue: CueSlot, ideal: float, last: bool) -> float:
    """How bad it is to show a part of the text in a cue."""
    part = text[slice(*span)]
    if not part:
        return 50.0
    cost = ((len(part) - ideal) / max(8.0, ideal)) ** 2
    too_fast = len(part) - READING_SPEED * cue.seconds
    if too_fast > 0:
        cost += 0.1 * too_fast
    if not last:
        stops, pauses = bool(_STOP.search(part[-6:])), bool(_PAUSE.search(part[-6:]))
        cost -= (1.0 if cue.stops else 0.2) * stops + 0.15 * pauses
        cost += 0.5 * (cue.stops and not stops)
    return cost


def break_lines(text: str, limit: int, lines: int) -> str:
    """Break text into lines of about equal length, no longer than the limit if possible."""
    wanted = max(1, -(-len(text) // limit)) if len(text) > limit or lines > 1 else 1
    if lines > 1 and len(text) > limit * 0.75:
        wanted = max(wanted, min(lines, 2))
    if wanted == 1:
        return text
    if wanted > MAX_LINES:
        return re.sub(rf"(.{{1,{limit}}}) (?=\S)", r"\1\n", text)
    spans = split_over_cues(text, [CueSlot(1, 1e9, False)] * wanted)
    for before, after in zip(reversed(spans[:-1]), reversed(spans[1:]), strict=True):
        if text[before[1] : after[0]].isspace() and before[0] < before[1]:
            text = text[: before[1]] + "\n" + text[before[1] + 1 :]
    return text
