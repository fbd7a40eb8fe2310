"""EPUB: the chapters of a book in reading order, its tables of contents, and its title and description.

Chapters are read as HTML. The book gets the language and the direction of the target. Styles, fonts, pictures and the
names of files do not change, so that links inside the book stay valid.
"""

from collections.abc import Iterator, Sequence
from html import escape
from posixpath import dirname, join, normpath
from urllib.parse import unquote

from hark.documents import markup_document as html
from hark.documents.archives import Archive, ArchiveDocument
from hark.documents.formats import Document, DocumentError, ReadingOptions, Segment, SegmentTranslation
from hark.documents.markup import Markup
from hark.documents.markup_tokens import MarkupRules
from hark.documents.paragraph_piece import plain_text
from hark.documents.xml_document import (
    AttributeText,
    EditableText,
    FixedText,
    Node,
    Source,
    XmlDocument,
    XmlScheme,
    find_nodes,
)

_PREFIXES = {
    "http://www.idpf.org/2007/opf": "opf",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://www.daisy.org/z3986/2005/ncx/": "ncx",
    "urn:oasis:names:tc:opendocument:xmlns:container": "container",
    "http://www.w3.org/2001/04/xmlenc#": "enc",
}
_CHAPTER, _CONTENTS = ("application/xhtml+xml", "text/html"), "application/x-dtbncx+xml"


def read(content: bytes, options: ReadingOptions) -> Document:
    archive = Archive(content, "EPUB")
    package = _find_package(archive)
    chapters, contents = _list_members(archive, package)
    if not chapters:
        raise DocumentError("this EPUB file has no chapters")
    locked = _encrypted(archive)
    if locked.intersection(chapters):
        raise DocumentError("this EPUB file is copy-protected: its chapters are encrypted")
    parts: dict[str, Document] = {
        package: XmlDocument(archive.read(package), BookScheme(options.target), package),
        **{name: html.read_xhtml(archive.read(name), options) for name in chapters},
        **{name: XmlDocument(archive.read(name), ContentsScheme(), name) for name in contents},
    }
    return ArchiveDocument(archive, parts)


def _find_package(archive: Archive) -> str:
    """The member that lists all others."""
    name = "META-INF/container.xml"
    for found in find_nodes(archive.read(name), _PREFIXES, frozenset(("container:rootfile",)), name):
        path = found.attributes.get("full-path", "")
        if path in archive:
            return path
    raise DocumentError("not a valid EPUB file: it has no package document")


def _list_members(archive: Archive, package: str) -> tuple[list[str], list[str]]:
    """The chapters in reading order, with those that are not in it at the end, and the tables of contents."""
    items: dict[str, tuple[str, str]] = {}
    order: list[str] = []
    for node in find_nodes(archive.read(package), _PREFIXES, frozenset(("opf:item", "opf:itemref")), package):
        if node.name == "opf:itemref":
            order.append(node.attributes.get("idref", ""))
            continue
        href = unquote(node.attributes.get("href", "").partition("#")[0])
        name = normpath(join(dirname(package), href))
        if name in archive:
            items[node.attributes.get("id", name)] = name, node.attributes.get("media-type", "")
    spine = [items[each] for each in order if each in items]
    every = dict.fromkeys([*spine, *items.values()])
    return [name for name, kind in every if kind in _CHAPTER], [name for name, kind in every if kind == _CONTENTS]


def _encrypted(archive: Archive) -> set[str]:
    name = "META-INF/encryption.xml"
    if name not in archive:
        return set()
    nodes = find_nodes(archive.read(name), _PREFIXES, frozenset(("enc:CipherReference",)), name)
    return {unquote(node.attributes.get("URI", "")) for node in nodes}


class BookScheme(XmlScheme):
    """The package document: title, description and the like."""

    prefixes = _PREFIXES
    blocks = frozenset(("dc:title", "dc:description", "dc:subject", "dc:language", "opf:reference"))

    def __init__(self, target: str) -> None:
        self._target = target

    def texts(self, block: Node, source: Source) -> Iterator[EditableText]:
        match block.name:
            case "dc:language":
                new = escape(self._target, quote=False) if self._target else None
                yield FixedText(block.inner_start, block.inner_end, new)
            case "opf:reference":
                yield AttributeText(block, "title", source)
            case "dc:description":
                yield EscapedHtml(block)
            case _:
                yield plain_text(block)


class ContentsScheme(XmlScheme):
    """The table of contents for readers of EPUB 2."""

    prefixes = _PREFIXES
    blocks = frozenset(("ncx:docTitle", "ncx:navLabel"))

    def texts(self, block: Node, _: Source) -> Iterator[EditableText]:
        return (plain_text(each) for each in block.elements if each.name == "ncx:text")


class EscapedHtml:
    """HTML as the text of an element, which is how shops want descriptions; or plain text."""

    def __init__(self, node: Node) -> None:
        self.start, self.end = node.inner_start, node.inner_end
        self._markup = Markup(node.text, MarkupRules())
        pairs = zip(self._markup.texts, self._markup.tagged, strict=True)
        self.segments: Sequence[Segment] = tuple(Segment(text, tagged) for text, tagged in pairs)

    def fill(self, translations: Sequence[SegmentTranslation]) -> str | None:
        if [each.text for each in translations] == [each.text for each in self.segments]:
            return None
        return escape(self._markup.join([(each.text, each.links) for each in translations]), quote=False)
