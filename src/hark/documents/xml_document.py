"""An XML file as a document: texts that are edited in its source, and everything else as it was.

Checks XML before it is read: it must be well-formed, and must not declare entities that could do harm.

What files of messages in XML share: the elements of a file, and messages whose special characters are references.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape, unescape
from typing import Protocol
from xml.parsers import expat

from hark.documents.document import DocumentError, Segment, SegmentTranslation
from hark.documents.markup_tokens import Token, pair_up, tokenise
from hark.documents.messages import EncodedMessage, read_message
from hark.documents.xml_nodes import CONTROL, Node, Source, read_blocks, recode

MAX_DEPTH = 2000
"""Elements inside elements."""


def check_xml(text: str) -> None:
    """Raise an error if the text is not XML, or declares entities from files or made of other entities.

    Nothing is expanded: the readers work on the text itself.
    """
    parser = expat.ParserCreate("utf-8")
    depth = 0

    def declare(name: str, _: int, value: str | None, *rest: object) -> None:
        if value is None or "&" in value or "%" in value or any(each is not None for each in rest[1:]):
            raise DocumentError(
                f"the XML declares the entity {name!r} by other entities or files, which is not allowed"
            )

    def start(name: str, _: object) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise DocumentError(f"the XML is nested more than {MAX_DEPTH:,} levels deep, at the element {name!r}")

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    parser.EntityDeclHandler = declare
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.DefaultHandler = lambda _: None  # without it, internal entities are expanded
    try:
        for at in range(0, len(text), 1 << 20):
            parser.Parse(text[at : at + (1 << 20)].encode("utf-8", "surrogatepass"))
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise DocumentError(f"line {error.lineno} is not well-formed XML: {expat.ErrorString(error.code)}") from None


class EditableText(Protocol):
    """A text of a file: segments, and how its source looks with translations."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...

    @property
    def segments(self) -> Sequence[Segment]: ...

    def fill(self, translations: Sequence[SegmentTranslation]) -> str | None:
        """The new source between start and end; None if no segment has changed."""
        ...


class XmlScheme(Protocol):
    """Where the texts of a kind of XML file are."""

    @property
    def prefixes(self) -> Mapping[str, str]:
        """Name spaces and their prefixes."""
        ...

    @property
    def blocks(self) -> frozenset[str]:
        """Elements that are read as trees; they should be small, such as paragraphs."""
        ...

    @property
    def skipped(self) -> frozenset[str]:
        """Elements whose content is not read."""
        ...

    def texts(self, block: Node, source: Source) -> Iterator[EditableText]:
        """The texts of a block, inner ones first: outer ones are read after the inner ones have been edited."""
        ...


class XmlDocument:
    """One XML file. Only its bytes are kept: they are read once for the segments and once to write."""

    def __init__(self, content: bytes, scheme: XmlScheme, name: str) -> None:
        """Read a file; `name` is that of the member, for errors."""
        self._content, self._scheme, self._name = content, scheme, name
        self._utf8, self._encoding = recode(content, name)
        source = Source(self._utf8)
        self._segments = tuple(
            segment for block in self._blocks() for text in scheme.texts(block, source) for segment in text.segments
        )

    @property
    def segments(self) -> Sequence[Segment]:
        return self._segments

    def write(self, translations: Sequence[SegmentTranslation]) -> bytes:
        """Return the file with its segments replaced."""
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
    """The value of an attribute, as a text."""

    def __init__(self, node: Node, name: str, source: Source) -> None:
        self.start, self.end = find_attribute(node, name, source)
        self._text = unescape(source.content[self.start : self.end].decode())
        self.segments = (Segment(self._text),) if any(map(str.isalpha, self._text)) else ()

    def fill(self, translations: Sequence[SegmentTranslation]) -> str | None:
        """The new value; None if it is the old one."""
        if not translations or translations[0].text == self._text:
            return None
        return escape(CONTROL.sub(" ", translations[0].text)).replace("'", "&apos;")


@dataclass(frozen=True)
class FixedText:
    """A part of the source that is replaced whatever the translations are."""

    start: int
    end: int
    new: str | None
    segments = ()

    def fill(self, _: Sequence[SegmentTranslation]) -> str | None:
        """The new source."""
        return self.new


@dataclass(frozen=True)
class XmlElements:
    """The tokens of an XML file, where they begin, and the partner of each tag."""

    text: str
    tokens: Sequence[Token]
    starts: Sequence[int]
    partners: Sequence[int]

    @classmethod
    def of(cls, text: str) -> "XmlElements":
        tokens = list(tokenise(text, html=False))
        starts = [0]
        for token in tokens:
            starts.append(starts[-1] + len(token.raw))
        return cls(text, tokens, starts, pair_up(tokens))

    def span(self, number: int) -> tuple[int, int]:
        """The span of the content of an element; nothing, after its tag, if it has none."""
        close = self.partners[number]
        start = self.starts[number + 1]
        return (start, self.starts[close]) if close > number else (start, start)

    def content(self, number: int) -> str:
        return self.text[slice(*self.span(number))]

    def children(self, number: int) -> Sequence[int]:
        """The numbers of the opening tags directly inside an element."""
        found: list[int] = []
        at = number + 1
        while at < self.partners[number]:
            if self.tokens[at].kind in ("open", "single"):
                found.append(at)
            at = max(at, self.partners[at]) + 1
        return found


def read_escaped(raw: str, kept: re.Pattern[str]) -> EncodedMessage:
    """Read a message in which tags are escaped, as `&lt;b&gt;`; what matches `kept` is a placeholder."""
    return EncodedMessage(raw, read_message(unescape(raw), kept), partial(_escape, "&quot;" in raw or "&apos;" in raw))


def _escape(quotes: bool, value: str) -> str:
    value = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return value.replace('"', "&quot;").replace("'", "&apos;") if quotes else value
