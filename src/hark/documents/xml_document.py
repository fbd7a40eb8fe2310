"""XML of office files: small trees of the parts that hold text, each with its place in the source.

Translations replace the bytes of a paragraph, and everything else is copied from the source. A library that writes the
whole tree again (lxml, python-docx, openpyxl) changes quotes, declarations and name spaces everywhere, and may drop
what it does not know. Expat, from the standard library, says where each element begins, reads in pieces, and so needs
memory for one paragraph only. It fetches nothing; declarations of entities are refused.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape, unescape
from typing import Protocol
from xml.parsers import expat

from hark.documents.formats import DocumentError, Segment, SegmentTranslation

MAX_DEPTH = 300
"""Levels of elements. Tables in tables in text boxes take about 40."""
_CHUNK = 1 << 16
_TAG = re.compile(rb"<[^>\"']*+(?:\"[^\"]*+\"[^>\"']*+|'[^']*+'[^>\"']*+)*+>")
_DECLARED = re.compile(rb"<\?xml[^>]*?\sencoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
CONTROL = re.compile("[\x00-\x1f\x7f\ufffe\uffff]")
"""Characters that XML cannot contain, and white space other than spaces."""
_XML = "http://www.w3.org/XML/1998/namespace"


@dataclass(slots=True, eq=False)
class Node:
    """An element, or with the name "#" a comment or instruction, and its byte offsets in the source."""

    name: str
    """With the prefix that the format's specification uses, whatever prefix the file uses."""
    attributes: Mapping[str, str]
    start: int
    inner_start: int
    inner_end: int = 0
    end: int = 0
    children: "list[Node | str]" = field(default_factory=list)

    @property
    def elements(self) -> "Iterator[Node]":
        return (each for each in self.children if isinstance(each, Node))

    def find(self, name: str) -> "Node | None":
        return next((each for each in self.elements if each.name == name), None)

    def walk(self) -> "Iterator[Node]":
        yield self
        for each in self.elements:
            yield from each.walk()

    @property
    def text(self) -> str:
        return "".join(each for each in self.children if isinstance(each, str))


class Source:
    """The bytes of an XML file, with edits. Edits of inner elements are made before those of outer ones."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self._edits: list[tuple[int, int, bytes]] = []

    def replace(self, start: int, end: int, new: str) -> None:
        """Replace a part of the source; edits within it are overwritten."""
        while self._edits and self._edits[-1][0] >= start and self._edits[-1][1] > start:
            self._edits.pop()
        self._edits.append((start, end, new.encode("utf-8", "replace")))

    def part(self, start: int, end: int) -> bytes:
        if not self._edits or self._edits[-1][0] < start:
            return self.content[start:end]
        parts: list[bytes] = []
        place = start
        for begin, stop, new in self._edits:
            if start <= begin and stop <= end:
                parts += [self.content[place:begin], new]
                place = stop
        return b"".join([*parts, self.content[place:end]])

    def text(self, start: int, end: int) -> str:
        return self.part(start, end).decode()

    def finish(self, start: int, end: int) -> bytes:
        """A part of the source with its edits, which are then forgotten."""
        finished = self.part(start, end)
        self._edits.clear()
        return finished


def recode(content: bytes, name: str) -> tuple[bytes, str | None]:
    """The content in UTF-8, and its encoding if that is another."""
    declared = _DECLARED.match(content[:200])
    encoding = declared[1].decode().lower() if declared else "utf-8"
    if content.startswith((b"\xff\xfe", b"<\0")):
        encoding = "utf-16-le"
    elif content.startswith((b"\xfe\xff", b"\0<")):
        encoding = "utf-16-be"
    if encoding in ("utf-8", "us-ascii", "ascii", "utf8"):
        return content, None
    try:
        return content.decode(encoding).encode(), encoding
    except (LookupError, UnicodeError) as error:
        raise DocumentError(f"damaged file: {name}: {error}") from error


def find_nodes(content: bytes, prefixes: Mapping[str, str], names: frozenset[str], member: str) -> Iterator[Node]:
    """Yield the outermost elements of an XML file that have one of these names."""
    return read_blocks(recode(content, member)[0], prefixes, names, frozenset(), member)


def read_blocks(
    content: bytes, prefixes: Mapping[str, str], blocks: frozenset[str], skipped: frozenset[str], name: str
) -> Iterator[Node]:
    """Yield the outermost blocks of an XML file in UTF-8."""
    reader = _BlockReader(content, prefixes, blocks, skipped, name)
    try:
        for start in range(0, max(len(content), 1), _CHUNK):
            reader.parser.Parse(content[start : start + _CHUNK], start + _CHUNK >= len(content))
            yield from reader.take()
    except expat.ExpatError as error:
        raise DocumentError(f"damaged file: {name}: {error}") from error


class _BlockReader:
    def __init__(
        self, content: bytes, prefixes: Mapping[str, str], blocks: frozenset[str], skipped: frozenset[str], name: str
    ) -> None:
        self._content, self._blocks, self._skipped, self._name = content, blocks, skipped, name
        self._prefixes = {_XML: "xml", **prefixes}
        self._names: dict[str, str] = {}
        self._done: list[Node] = []
        self._opened: list[Node] = []
        self._depth = 0
        self._skipping = 0
        """The depth of the skipped element that we are in, or 0."""
        self.parser = expat.ParserCreate("utf-8", "}")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._add_text
        self.parser.CommentHandler = lambda _: self._add_other(b"-->")
        self.parser.ProcessingInstructionHandler = lambda *_: self._add_other(b"?>")
        self.parser.StartDoctypeDeclHandler = self._start_doctype
        self.parser.SkippedEntityHandler = lambda entity, _: self._add_text(unescape(f"&{entity};"))

    def take(self) -> list[Node]:
        done, self._done = self._done, []
        return done

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise DocumentError(f"unsafe file: {self._name} is nested more than {MAX_DEPTH} levels deep")
        if self._skipping:
            return
        known = self._short(name)
        if not self._opened:
            if known in self._skipped:
                self._skipping = self._depth
            if known not in self._blocks or self._skipping:
                return
        start = self.parser.CurrentByteIndex
        tag = _TAG.match(self._content, start)
        assert tag is not None
        node = Node(known, {self._short(key): value for key, value in attributes.items()}, start, tag.end())
        if self._opened:
            self._opened[-1].children.append(node)
        self._opened.append(node)

    def _end(self, _: str) -> None:
        if self._skipping:
            if self._skipping == self._depth:
                self._skipping = 0
        elif self._opened:
            node = self._opened.pop()
            if self._content[node.inner_start - 2 : node.inner_start] == b"/>":
                node.inner_end = node.end = node.inner_start
            else:
                node.inner_end = self.parser.CurrentByteIndex
                node.end = self._content.index(b">", node.inner_end) + 1
            if not self._opened:
                self._done.append(node)
        self._depth -= 1

    def _add_text(self, text: str) -> None:
        if self._opened and not self._skipping:
            self._opened[-1].children.append(text)

    def _add_other(self, ending: bytes) -> None:
        if self._opened and not self._skipping:
            start = self.parser.CurrentByteIndex
            end = self._content.index(ending, start) + len(ending)
            self._opened[-1].children.append(Node("#", {}, start, end, end, end))

    def _start_doctype(self, _name: str, _system: str | None, _public: str | None, internal: int) -> None:
        if internal:
            raise DocumentError(f"unsafe file: {self._name} declares entities")

    def _short(self, name: str) -> str:
        """The name of an element or attribute with its usual prefix."""
        known = self._names.get(name)
        if known is None:
            space, _, local = name.rpartition("}")
            known = f"{self._prefixes.get(space, space)}:{local}" if space else local
            self._names[name] = known
        return known


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
