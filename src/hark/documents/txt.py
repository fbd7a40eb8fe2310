"""Plain text: a segment for each line, or for each paragraph whose lines were wrapped by hand."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hark.documents.encoding import decode
from hark.documents.formats import Document, ReadingOptions
from hark.documents.splicing import Splice, SplicedDocument
from hark.text.paragraphs import Unit, group, wrap
from hark.translate.align import Link

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


@dataclass(frozen=True)
class Paragraph:
    """Lines that are translated together, without the white space around them."""

    text: str
    """The text on one line."""
    raw: str
    unit: Unit
    tagged: bool = False

    def fill(self, translation: str, links: Sequence[Link]) -> str:  # noqa: ARG002
        if translation == self.text:
            return self.raw
        if self.unit.joined is None:
            return translation
        wrapped = wrap(translation, self.unit).after
        return wrapped.replace("\n", "\r") if "\n" not in self.unit.text else wrapped


def read(content: bytes, options: ReadingOptions) -> Document:  # noqa: ARG001
    """Read plain text in any encoding."""
    file = decode(content)
    return SplicedDocument(file, tuple(split_paragraphs(file.text)))


def split_paragraphs(text: str) -> Iterator[str | Splice]:
    """Yield paragraphs and what is between them; code blocks and lines without letters are not translated."""
    for unit in group(_LINE.findall(text)):
        inner = unit.text.strip()
        if unit.code or not any(map(str.isalpha, inner)):
            yield unit.text
            continue
        start = unit.text.index(inner)
        yield unit.text[:start]
        joined = unit.joined.after.strip() if unit.joined is not None else inner
        yield Paragraph(joined, inner, unit)
        yield unit.text[start + len(inner) :]
