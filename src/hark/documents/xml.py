"""XML of any kind: text with its inline elements, or only that of the chosen elements."""

import re

from hark.documents.android import is_android, read_resources
from hark.documents.document import Document, DocumentError, ReadingOptions
from hark.documents.encoding import DecodedText, declared_encoding, decode
from hark.documents.markup_document import MarkupDocument, find_cdata
from hark.documents.markup_tokens import MarkupRules
from hark.documents.xml_document import check_xml

_DECLARED = re.compile(rb"\s*<\?xml[^>]{1,200}?encoding\s*=\s*[\"']([\w.:-]{1,40})")

_SVG = ("text", "title", "desc")
"""Elements of pictures with text for people."""


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
    rules = MarkupRules(html=False, ignore=frozenset(options.ignore), only=frozenset(options.elements), collapse=True)
    return MarkupDocument(file, rules, find_cdata)


def read_svg(content: bytes, options: ReadingOptions) -> Document:
    """Read a picture: its texts, titles and descriptions."""
    elements = options.elements or _SVG
    rules = MarkupRules(html=False, ignore=frozenset(options.ignore), only=frozenset(elements), collapse=True)
    return MarkupDocument(decode_xml(content), rules, find_cdata)
