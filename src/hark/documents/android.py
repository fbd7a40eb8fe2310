"""Android's string resources: strings, arrays and plurals; names, comments and layout stay byte for byte."""

import re
from collections.abc import Iterator
from functools import partial
from html import unescape

from hark.documents.encoding import DecodedText
from hark.documents.formats import Document
from hark.documents.markup_tokens import pair_up, tokenise
from hark.documents.messages import EncodedMessage, Message, add_tag, is_identifier
from hark.documents.placing import InlineTree
from hark.documents.splicing import SplicedDocument
from hark.documents.xml_elements import XmlElements, attributes

_LISTS = frozenset(("plurals", "string-array", "array"))
_PLACEHOLDER = "xliff:g"
"""The element whose content is not translated."""
_REFERENCE = re.compile(r"&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[\w.:-]{1,64});")
_ESCAPE = re.compile(r"\\(?:u([\da-fA-F]{4})|(.))", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t"}
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_LOOSE_QUOTE = re.compile(r'(?<!\\)(?:\\\\)*"')


def is_android(text: str) -> bool:
    """Whether an XML file is one of resources."""
    return bool(
        re.match(r"(?:\s|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[[^\]]*\])?\s*>)*+<resources[\s>]", text, re.DOTALL)
    )


def read_resources(file: DecodedText) -> Document:
    text = file.text
    messages: list[tuple[int, EncodedMessage]] = []
    for start, stop in _find_values(XmlElements.of(text)):
        message = _read_value(text[start:stop])
        if message is not None and not is_identifier(message.text):
            messages.append((start, message))
    return SplicedDocument.of_messages(file, messages, "xml")


def _find_values(elements: XmlElements) -> Iterator[tuple[int, int]]:
    root = next(
        (n for n, token in enumerate(elements.tokens) if token.name == "resources" and token.kind == "open"), None
    )
    for number in elements.children(root) if root is not None else ():
        token = elements.tokens[number]
        if attributes(token.raw).get("translatable") == "false":
            continue
        if token.name == "string":
            yield elements.span(number)
        elif token.name in _LISTS:
            for item in elements.children(number):
                if elements.tokens[item].name == "item":
                    yield elements.span(item)


def _read_value(raw: str) -> EncodedMessage | None:
    """Read a value; None if it refers to another one, or is written in a way that is not understood."""
    inner, lead, tail = _strip(raw, "", "")
    if section := _CDATA.fullmatch(inner):
        inner, lead, tail = _strip(section[1], f"{lead}<![CDATA[", f"]]>{tail}")
    quoted = len(inner) > 1 and inner.startswith('"') and bool(re.search(r'(?<!\\)(?:\\\\)*"\Z', inner))
    if quoted:
        inner, lead, tail = _strip(inner[1:-1], lead + '"', '"' + tail)
    loose = _LOOSE_QUOTE.search("".join(token.raw for token in tokenise(inner, html=False) if token.kind == "text"))
    if loose or inner.startswith(("@", "?")) or "<![CDATA[" in inner:
        return None
    tree = InlineTree(inner)
    written = {ord("&"): "&amp;", ord("<"): "&lt;"} if section is None else {}
    tokens = list(tokenise(inner, html=False))
    partners = pair_up(tokens)
    until = -1
    for number, token in enumerate(tokens):
        if number <= until:
            continue
        if token.kind == "text":
            _add_text(tree, token.raw, quoted, written)
        elif token.name == _PLACEHOLDER:
            until = max(number, partners[number])
            tree.add_placeholder("".join(each.raw for each in tokens[number : until + 1]))
        else:
            add_tag(tree, token, number, partners[number])
    message = Message(raw, tree, lead, tail, partial(_escape, quoted, written))
    return EncodedMessage(raw, message, partial(_protect_start, lead))


def _strip(raw: str, lead: str, tail: str) -> tuple[str, str, str]:
    """Move the white space around a text to what stands before and after it."""
    inner = raw.strip()
    start = raw.find(inner)
    return inner, lead + raw[:start], raw[start + len(inner) :] + tail


def _add_text(tree: InlineTree, raw: str, quoted: bool, written: dict[int, str]) -> None:
    end = 0
    for found in _REFERENCE.finditer(raw):
        character = unescape(found[0])
        if character == found[0] or len(character) > 1:  # an entity of the file's own
            tree.add_text(_unescape(raw[end : found.start()], quoted))
            tree.add_placeholder(found[0])
            end = found.end()
        elif character not in "\n\t":
            written.setdefault(ord(character), found[0])
    tree.add_text(_unescape(raw[end:], quoted))


def _unescape(raw: str, quoted: bool) -> str:
    text = unescape(raw)
    text = text if quoted else re.sub(r"\s+", " ", text)
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _PLAIN.get(found[2], found[2]), text)


def _escape(quoted: bool, written: dict[int, str], text: str) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace('"', '\\"')
    return (text if quoted else text.replace("'", "\\'")).translate(written)


def _protect_start(lead: str, value: str) -> str:
    """A value that begins with @ or ? refers to another one."""
    start = len(lead)
    return f"{lead}\\{value[start:]}" if value[start : start + 1] in ("@", "?") else value
