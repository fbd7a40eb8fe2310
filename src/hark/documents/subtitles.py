"""Subtitles: joins the cues of a sentence, and lays its translation out over the same cues and their lines.

Times never change.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from hark.documents.encoding import DecodedText
from hark.documents.formats import Segment, SegmentTranslation
from hark.documents.placing import InlineTree, place
from hark.text.rewrite import Span
from hark.translate.align import Link

READING_SPEED = 20.0
"""Characters that people read in a second; text is moved to a neighbouring cue rather than shown faster."""
MAX_LINE_CHARS = 42
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


MAX_CUES, MAX_CHARACTERS, MAX_PAUSE = 8, 500, 2.0
"""Cues, characters and seconds between cues up to which cues are joined."""
_FINAL = re.compile(r"[.!?♪。！？\])][\"'”’»«]*$")
_TRAILING_OFF = re.compile(r"(?:\.\.\.|…)[\"'”’»«]*$")
_DIALOGUE = re.compile(r"\s*[-–—]\s?\S")
_DASH = re.compile(r"\s*[-–—]\s*(?=\S)")


@dataclass(frozen=True)
class Cue:
    """A text on the screen: where it is in the file, and when it is shown."""

    span: Span
    raw: str
    tree: InlineTree
    lines: int
    longest: int
    start: float
    end: float
    voice: str = ""
    """Who speaks, or in which style: cues of different voices are not joined, nor are the lines of a dialogue."""

    @property
    def text(self) -> str:
        return self.tree.text


class SubtitleDocument:
    """A file of subtitles. A segment is a sentence, or several if a cue ends one and begins another."""

    def __init__(self, file: DecodedText, cues: Sequence[Cue], newline: str, escapes: dict[int, str]) -> None:
        self._file, self._newline, self._escapes = file, newline, escapes
        spoken = [cue for cue in cues if any(map(str.isalnum, cue.text))]
        self._groups = [
            group for group in join_cues(spoken) if any(map(str.isalpha, "".join(each.text for each in group)))
        ]

    @property
    def segments(self) -> Sequence[Segment]:
        return [
            Segment(" ".join(cue.text for cue in group), any(cue.tree.root.children for cue in group))
            for group in self._groups
        ]

    def write(self, translations: Sequence[SegmentTranslation]) -> bytes:
        parts, end = list[str](), 0
        for group, segment, done in zip(self._groups, self.segments, translations, strict=True):
            filled = [cue.raw for cue in group] if done.text == segment.text else list(self._lay_out(group, done))
            for cue, text in zip(group, filled, strict=True):
                parts += [self._file.text[end : cue.span[0]], text]
                end = cue.span[1]
        return self._file.encode("".join([*parts, self._file.text[end:]]))

    def _lay_out(self, group: Sequence[Cue], done: SegmentTranslation) -> Iterator[str]:
        text = " ".join(done.text.split())
        links = done.links if text == done.text else ()
        slots = [CueSlot(len(cue.text), cue.end - cue.start, bool(_FINAL.search(cue.text))) for cue in group]
        begin = 0
        for cue, (start, end) in zip(group, split_over_cues(text, slots), strict=True):
            source = (begin, begin + len(cue.text))
            inside = [_shifted(each, source, (start, end)) for each in links]
            part = break_lines(text[start:end], max(MAX_LINE_CHARS, cue.longest), cue.lines)
            kept = [each for each in inside if each]
            placed = place(cue.tree.root, cue.text, part, kept, lambda text: text.translate(self._escapes))
            yield placed.replace("\n", self._newline)
            begin = source[1] + 1


def _shifted(link: Link, source: Span, target: Span) -> Link | None:
    """A link inside a cue and its part of the translation; None if it is not inside."""
    inside = source[0] <= link.source[0] and link.source[1] <= source[1]
    if not inside or link.target[0] < target[0] or target[1] < link.target[1]:
        return None
    (a, b), (c, d) = link.source, link.target
    return replace(link, source=(a - source[0], b - source[0]), target=(c - target[0], d - target[0]))


def split_dialogue(raw: str, span: Span, newline: re.Pattern[str]) -> Iterator[Span]:
    """Yield the span of a text without white space; if each line begins with a dash, those of the lines after it."""
    breaks = [match.span() for match in newline.finditer(raw, *span)]
    starts, ends = [span[0], *(end for _, end in breaks)], [*(start for start, _ in breaks), span[1]]
    dashes = [_DASH.match(raw, start, end) for start, end in zip(starts, ends, strict=True)]
    if len(dashes) > 1 and all(dashes):
        starts = [dash.end() for dash in dashes if dash]
    else:
        starts, ends = starts[:1], ends[-1:]
    for start, end in zip(starts, ends, strict=True):
        text = raw[start:end]
        inner = text.strip()
        start += len(text) - len(text.lstrip())
        yield start, start + len(inner)


def join_cues(cues: Sequence[Cue]) -> Iterator[list[Cue]]:
    """Group cues whose sentences continue in the next cue."""
    group: list[Cue] = []
    punctuated = is_punctuated(cues)
    for cue in cues:
        size = sum(len(each.text) for each in group)
        if group and not (len(group) < MAX_CUES and size < MAX_CHARACTERS and continues(group[-1], cue, punctuated)):
            yield group
            group = []
        group.append(cue)
    if group:
        yield group


def is_punctuated(cues: Sequence[Cue]) -> bool:
    """Whether sentences end with a full stop or the like, so that a cue without one is not the end of a sentence."""
    stops = sum(bool(_FINAL.search(cue.text.strip())) for cue in cues)
    ends = sum(not _is_lower(following.text) and cue.text.strip()[-1].isalpha() for cue, following in pairwise(cues))
    return 2 * stops >= ends


def _is_lower(text: str) -> bool:
    return text.lstrip(".… \"'“„")[:1].islower()


def continues(cue: Cue, following: Cue, punctuated: bool = True) -> bool:
    """Whether the sentence of a cue goes on in the following one."""
    if not -0.5 <= following.start - cue.end <= MAX_PAUSE or cue.voice != following.voice:
        return False
    text, next_text = cue.text.strip(), following.text.strip()
    if _DIALOGUE.match(text) or _DIALOGUE.match(next_text) or next_text[:1] in "♪[(":
        return False
    lower = _is_lower(next_text)
    if _TRAILING_OFF.search(text):
        return lower
    if _FINAL.search(text):
        return False
    # Without a full stop: signs and titles are in capitals or have none either, so that a comma or case must tell.
    # Where no sentence has one, a capital begins a sentence; joined, the model would leave words out.
    begins = next_text.isupper() if punctuated else next_text[:1].isupper()
    return lower or text[-1] in ",;–—-" or (text[-1].isalpha() and any(map(str.islower, text)) and not begins)
