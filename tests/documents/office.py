"""Small office files made by hand, and translators without a model, for the tests of documents."""

import re
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

from hark.documents.formats import Document, Segment, SegmentTranslation
from hark.translate.align import Link, word_spans

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
HEADER = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n'

Translate = Callable[[Segment], SegmentTranslation]


def keep(segment: Segment) -> SegmentTranslation:
    return SegmentTranslation(segment.text, [Link(span, span, 1.0) for span in word_spans(segment.text)])


def shout(segment: Segment) -> SegmentTranslation:
    """Translate into capitals; placeholders stay."""
    text = re.sub(r"\{\{\w+\}\}|[^{}]+", lambda part: part[0] if part[0][0] == "{" else part[0].upper(), segment.text)
    return SegmentTranslation(text, keep(segment).links)


def backwards(segment: Segment) -> SegmentTranslation:
    """Translate into capitals in reverse order."""
    spans = word_spans(segment.text)[::-1]
    text, links = "", []
    for span in spans:
        word = segment.text[slice(*span)]
        text += " " if text else ""
        links.append(Link(span, (len(text), len(text) + len(word)), 1.0))
        text += word if "{{" in word else word.upper()
    return SegmentTranslation(text, links)


def translated(document: Document, translate: Translate = shout) -> bytes:
    return document.write([translate(each) for each in document.segments])


def texts(document: Document) -> list[str]:
    return [each.text for each in document.segments]


def archive(members: Mapping[str, str | bytes], stored: Sequence[str] = ("mimetype",)) -> bytes:
    output = BytesIO()
    with ZipFile(output, "w", ZIP_DEFLATED) as opened:
        for name, content in members.items():
            opened.writestr(name, content, 0 if name in stored else ZIP_DEFLATED)
    return output.getvalue()


def member(content: bytes, name: str) -> str:
    with ZipFile(BytesIO(content)) as opened:
        return opened.read(name).decode()


def package(parts: Mapping[str, tuple[str, str]], others: Mapping[str, str | bytes] | None = None) -> bytes:
    """An OOXML package of parts with their content types."""
    types = "".join(f'<Override PartName="/{name}" ContentType="{kind}"/>' for name, (kind, _) in parts.items())
    space = "http://schemas.openxmlformats.org/package/2006/content-types"
    listed = f'{HEADER}<Types xmlns="{space}"><Default Extension="xml" ContentType="application/xml"/>{types}</Types>'
    return archive(
        {
            "[Content_Types].xml": listed,
            **{name: content for name, (_, content) in parts.items()},
            **(others or {}),
        }
    )
