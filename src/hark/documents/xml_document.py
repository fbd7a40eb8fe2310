"""An XML file as a document: texts that are edited in its source, and everything else as it was."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape, unescape
from typing import Protocol

from hark.documents.document import Segment, SegmentTranslation
from hark.documents.xml_nodes import CONTROL, Node, Source, read_blocks, recode


class EditableText(Protocol):
    """A text of a file: segments, and how its source looks with translations."""

    start: int
    end: int
    segments: Sequence[Segment]

    def fill(self, translations: Sequence[SegmentTranslation]) -> str | None:
        """The new source between start and end; None if no segment has changed."""
        ...


class XmlScheme(ABC):
    """Where the texts of a kind of XML file are."""

    prefixes: Mapping[str, str]
    """Name spaces and their prefixes."""
    blocks: frozenset[str]
    """Elements that are read as trees; they should be small, such as paragraphs."""
    skipped: frozenset[str] = frozenset()
    """Elements whose content is not read."""

    @abstractmethod
    def texts(self, block: Node, source: Source) -> Iterator[EditableText]:
        """The texts of a block, inner ones first: outer ones are read after the inner ones have been edited."""


class XmlDocument:
    """One XML file. Only its bytes are kept: they are read once for the segments and once to write."""

    def __init__(self, content: bytes, scheme: XmlScheme, name: str) -> None:
        """Read a file; `name` is that of the member, for errors."""
        self._content, self._scheme, self._name = content, scheme, name
        self._utf8, self._encoding = recode(content, name)
        source = Source(self._utf8)
        self.segments: Sequence[Segment] = tuple(
            segment for block in self._blocks() for text in scheme.texts(block, source) for segment in text.segments
        )

    def write(self, translations: Sequence[SegmentTranslation]) -> bytes:
        source, output = Source(self._utf8), list[bytes]()
        end = place = 0
        for block in self._blocks():
            for text in self._scheme.texts(block, source):
                begin, end = end, end + len(text.segments)
                filled = text.fill(translations[begin:end])
                if filled is not None:
                    source.replace(text.start, text.end, filled)
            output += [self._utf8[place : block.start], source.finish(block.start, block.end)]
            place = block.end
        written = b"".join([*output, self._utf8[place:]])
        if written == self._utf8:
            return self._content
        if self._encoding is None:
            return written
        return written.decode().encode(self._encoding, "xmlcharrefreplace")

    def _blocks(self) -> Iterator[Node]:
        scheme = self._scheme
        return read_blocks(self._utf8, scheme.prefixes, scheme.blocks, scheme.skipped, self._name)


def find_attribute(node: Node, name: str, source: Source) -> tuple[int, int]:
    """Where the value of an attribute is, named without prefix; the end of the tag if it does not exist."""
    pattern = rf"[\s:]{name}\s*=\s*(?:\"([^\"]*)\"|'([^']*)')".encode()
    found = re.compile(pattern).search(source.content, node.start, node.inner_start)
    return found.span(found.lastindex or 0) if found else (node.inner_start, node.inner_start)


class AttributeText:
    def __init__(self, node: Node, name: str, source: Source) -> None:
        self.start, self.end = find_attribute(node, name, source)
        self._text = unescape(source.content[self.start : self.end].decode())
        self.segments: Sequence[Segment] = (Segment(self._text),) if any(map(str.isalpha, self._text)) else ()

    def fill(self, translations: Sequence[SegmentTranslation]) -> str | None:
        if not translations or translations[0].text == self._text:
            return None
        return escape(CONTROL.sub(" ", translations[0].text)).replace("'", "&apos;")


@dataclass
class FixedText:
    """A part of the source that is replaced whatever the translations are."""

    start: int
    end: int
    new: str | None
    segments: Sequence[Segment] = ()

    def fill(self, _: Sequence[SegmentTranslation]) -> str | None:
        return self.new
