"""XML of any kind: text with its inline elements, or only that of the chosen elements."""

import re
from xml.parsers import expat

from hark.documents.android import is_android, read_resources
from hark.documents.encoding import DecodedText, declared_encoding, decode
from hark.documents.formats import Document, DocumentError, ReadingOptions
from hark.documents.markup_document import MarkupDocument, find_cdata
from hark.documents.markup_tokens import MarkupRules

MAX_DEPTH = 2000
"""Elements inside elements."""
_DECLARED = re.compile(rb"\s*<\?xml[^>]{1,200}?encoding\s*=\s*[\"']([\w.:-]{1,40})")
_SVG = ("text", "title", "desc")
"""Elements of pictures with text for people."""


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


def decode_xml(content: bytes) -> DecodedText:
    """Decode an XML file as it declares its encoding, and check it."""
    found = _DECLARED.match(content[:400])
    file = decode(content, declared_encoding(found[1].decode()) if found else "utf-8")
    check_xml(file.text)
    return file


def read(content: bytes, options: ReadingOptions) -> Document:
    """Read XML; CDATA sections are text, or HTML if there are tags in them. Android's resources are messages."""
    file = decode_xml(content)
    if not options.elements and is_android(file.text):
        return read_resources(file)
    for name in options.elements:
        if not re.search(rf"<{re.escape(name)}[\s/>]", file.text):
            raise DocumentError(f"there is no element {name!r}")
    rules = MarkupRules(html=False, ignore=frozenset(options.ignore), only=frozenset(options.elements))
    return MarkupDocument(file, rules, find_cdata)


def read_svg(content: bytes, options: ReadingOptions) -> Document:
    """Read a picture: its texts, titles and descriptions."""
    elements = options.elements or _SVG
    rules = MarkupRules(html=False, ignore=frozenset(options.ignore), only=frozenset(elements))
    return MarkupDocument(decode_xml(content), rules, find_cdata)
