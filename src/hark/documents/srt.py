"""Subtitles in the formats SubRip (SRT) and WebVTT."""

import re
from collections.abc import Iterator, Sequence
from html import unescape

from hark.documents.encoding import decode
from hark.documents.formats import Document, ReadingOptions
from hark.documents.markup_tokens import Token, TokenKind, pair_up
from hark.documents.placing import InlineTree
from hark.documents.subtitles import Cue, SubtitleDocument, split_dialogue

_CLOCK = r"(?:(\d{1,3}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})"
_TIMES = re.compile(rf"(?:(?<=[\r\n])|\A)[ \t]*{_CLOCK}[ \t]*-->[ \t]*{_CLOCK}[^\r\n]*(?:\r\n|\r|\n|\Z)")
_BLANK = re.compile(r"(?:\r\n|\r|\n)[ \t]*(?:\r\n|\r|\n)|\A[ \t]*(?:\r\n|\r|\n)")
_NUMBER_BEFORE = re.compile(r"(?:(?:\r\n|\r|\n)|\A)[ \t]*\d+[ \t]*(?:\r\n|\r|\n)\Z")
_TAG = re.compile(r"<(/?)([a-zA-Z]\w*)[^<>\r\n]*>|<[\d:.]+>|\{\\[^{}\r\n]*\}")
_WHOLE = re.compile(r"(?:\{\\[^{}\r\n]*\}|<v[ .][^<>\r\n]*>)+")
_AROUND = re.compile(r"\s*<([a-zA-Z]\w*)[^<>]*>((?:(?!</?\1\b).)*)</\1>\s*", re.DOTALL)
_VOICE = re.compile(r"<v[ .][^<>\r\n]*>")
_NEWLINE = re.compile(r"\r\n|\r|\n")
_SPACE = re.compile(r"[ \t]*(?:\r\n|\r|\n)+[ \t]*")
MAX_AROUND = 10
"""Tags around the whole text of a cue that are left out of it."""
_VTT_ESCAPES = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}


def read(content: bytes, options: ReadingOptions) -> Document:  # noqa: ARG001
    """Read SubRip or WebVTT, which differ in little else than their first line."""
    file = decode(content)
    vtt = file.text.startswith("WEBVTT")
    escapes = _VTT_ESCAPES if vtt else {}
    return SubtitleDocument(file, list(_cues(file.text, vtt)), file.newline, escapes)


def _cues(text: str, vtt: bool) -> Iterator[Cue]:
    """Yield the cues of a file. The text of a cue ends at a blank line; in SubRip files only before the next times."""
    times = list(_TIMES.finditer(text))
    for number, found in enumerate(times):
        after = times[number + 1] if number + 1 < len(times) else None
        body = text[found.end() : after.start() if after else len(text)]
        if vtt:
            blank = _BLANK.search(body)
            body = body[: blank.start()] if blank else body
        elif after:
            counter = _NUMBER_BEFORE.search(body)
            body = body[: counter.start()] if counter else body
        raw = body.strip()
        if raw:
            at = found.end() + body.index(raw)
            start, end = _seconds(found.groups()[:4]), _seconds(found.groups()[4:])
            yield from _read_cue(raw, at, start, end, vtt)


def _seconds(clock: Sequence[str | None]) -> float:
    hours, minutes, seconds, thousandths = (int(part or 0) for part in clock)
    return hours * 3600 + minutes * 60 + seconds + thousandths / 1000


def _read_cue(raw: str, at: int, start: float, end: float, vtt: bool) -> Iterator[Cue]:
    """Read the text of a cue, each line of a dialogue for itself; tags around the whole text are left out."""
    voice = _VOICE.search(raw)
    begin, stop = 0, len(raw)
    if lead := _WHOLE.match(raw):
        begin = lead.end()
        if raw.endswith("</v>"):
            stop -= len("</v>")
    for _ in range(MAX_AROUND):
        if (around := _AROUND.fullmatch(raw, begin, stop)) is None:
            break
        begin, stop = around.span(2)
    for span in split_dialogue(raw, (begin, stop), _NEWLINE):
        inner = raw[slice(*span)]
        lines = [_TAG.sub("", line) for line in _NEWLINE.split(inner)]
        spoken = f"{voice[0] if voice else ''} {span[0] if '-' in raw[: span[0]] else ''}"
        place = (at + span[0], at + span[1])
        yield Cue(place, inner, _tree(inner, vtt), len(lines), max(map(len, lines)), start, end, spoken)


def _tree(raw: str, vtt: bool) -> InlineTree:
    tree = InlineTree(raw)
    tags = list(_TAG.finditer(raw))
    kinds: Iterator[TokenKind] = ("hidden" if not tag[2] else "close" if tag[1] else "open" for tag in tags)
    partners = pair_up(Token(kind, tag[0], tag[2] or "") for kind, tag in zip(kinds, tags, strict=True))
    end = 0
    for number, tag in enumerate(tags):
        _add(tree, raw[end : tag.start()], vtt)
        end = tag.end()
        if partners[number] < 0:
            tree.add_mark(tag[0], ordered=True)
        elif partners[number] > number:
            tree.open(tag[0])
        else:
            tree.close(tag[0])
    _add(tree, raw[end:], vtt)
    return tree


def _add(tree: InlineTree, raw: str, vtt: bool) -> None:
    text = _SPACE.sub(" ", raw)
    tree.add_text(unescape(text) if vtt else text)
