"""Subtitles: joins the cues of a sentence, and lays its translation out over the same cues. Times never change."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from hark.documents.cue_layout import LINE, CueSlot, break_lines, split_over_cues
from hark.documents.document import Segment, SegmentTranslation
from hark.documents.encoding import DecodedText
from hark.documents.inline_tree import InlineTree
from hark.documents.placing import place
from hark.text.rewrite import Span
from hark.translate.align import Link

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

    def __init__(self, file: DecodedText, cues: Sequence[Cue], newline: str, escape: Callable[[str], str]) -> None:
        self._file, self._newline, self._escape = file, newline, escape
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
            part = break_lines(text[start:end], max(LINE, cue.longest), cue.lines)
            placed = place(cue.tree.root, cue.text, part, [each for each in inside if each], self._escape)
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
