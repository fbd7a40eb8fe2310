"""Subtitles in the formats Advanced SubStation Alpha (ASS) and SubStation Alpha (SSA)."""

import re
from collections.abc import Iterator

from hark.documents.encoding import decode
from hark.documents.formats import Document, DocumentError, ReadingOptions
from hark.documents.placing import InlineTree
from hark.documents.subtitles import Cue, SubtitleDocument, split_dialogue

_LINE = re.compile(r"(?:(?<=[\r\n])|\A)(?:(Format|Dialogue):[ \t]*([^\r\n]*)|\[([^\]\r\n]+)\])")
_CLOCK = re.compile(r"\s*(\d+):(\d{1,2}):(\d{1,2}(?:\.\d+)?)\s*")
_OVERRIDE = re.compile(r"\{[^{}]*\}")
_NOT_TEXT = re.compile(r"\{[^{}]*\\(?:p[1-9]|[kK][fo]?\d)")
"""Drawings, and karaoke, where every syllable has its time."""
_LEAD = re.compile(r"(?:\{[^{}]*\}|\s)*")
_NEWLINE = re.compile(r"\\N")
_SPACE = re.compile(r"[ \t]*(?:\\[Nn])+[ \t]*|\\h")
_BRACES = {ord("{"): "(", ord("}"): ")"}
"""What is in braces is not shown."""


def read(content: bytes, options: ReadingOptions) -> Document:  # noqa: ARG001
    """Read the dialogue of an ASS or SSA file."""
    file = decode(content)
    return SubtitleDocument(file, list(_cues(file.text)), r"\N", _BRACES)


def _cues(text: str) -> Iterator[Cue]:
    fields: list[str] = []
    section = ""
    for line in _LINE.finditer(text):
        if line[3]:
            section = line[3].strip().lower()
        elif section == "events" and line[1] == "Format":
            fields = [name.strip().lower() for name in line[2].split(",")]
        elif section == "events":
            if fields[-1:] != ["text"]:
                raise DocumentError("the events have no Format line that ends with Text; the file may be damaged")
            yield from _cue(line, fields)


def _cue(line: re.Match[str], fields: list[str]) -> Iterator[Cue]:
    values = line[2].split(",", len(fields) - 1)
    if len(values) < len(fields) or _NOT_TEXT.search(values[-1]):
        return
    event = dict(zip(fields, values, strict=True))
    raw = event["text"]
    begin, end = (_CLOCK.fullmatch(event.get(name, "")) for name in ("start", "end"))
    lead = _LEAD.match(raw)
    if begin is None or end is None or lead is None:
        return
    voice = "|".join((event.get("style", ""), event.get("name", ""), event.get("layer", "")))
    at = line.end() - len(raw)
    for span in split_dialogue(raw, (lead.end(), len(raw)), _NEWLINE):
        inner = raw[slice(*span)]
        parts = [_OVERRIDE.sub("", part) for part in _NEWLINE.split(inner)]
        spoken = voice if span[0] == lead.end() else f"{voice} {span[0]}"
        place = (at + span[0], at + span[1])
        yield Cue(place, inner, _tree(inner), len(parts), max(map(len, parts)), _seconds(begin), _seconds(end), spoken)


def _seconds(clock: re.Match[str]) -> float:
    return int(clock[1]) * 3600 + int(clock[2]) * 60 + float(clock[3])


def _tree(raw: str) -> InlineTree:
    """Override tags switch a style on and off; they keep their order."""
    tree, end = InlineTree(raw), 0
    for tag in _OVERRIDE.finditer(raw):
        tree.add_text(_SPACE.sub(" ", raw[end : tag.start()]))
        tree.add_mark(tag[0], ordered=True)
        end = tag.end()
    tree.add_text(_SPACE.sub(" ", raw[end:]))
    return tree
