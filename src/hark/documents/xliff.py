"""XLIFF 1.2 and 2: fills in missing targets; existing translations, notes and layout stay byte for byte."""

import re
from collections.abc import Iterator

from hark.documents.formats import Document, DocumentError, ReadingOptions
from hark.documents.markup_tokens import Token
from hark.documents.xml import decode_xml
from hark.documents.xml_elements import XmlElements, attributes
from hark.documents.xml_inline import BilingualDocument, TargetUnit, read_content
from hark.text.rewrite import Span

_UNDONE = frozenset(("new", "needs-translation", "initial"))
"""States of targets that are to be translated, whatever is in them."""


def read(content: bytes, options: ReadingOptions) -> Document:
    file = decode_xml(content)
    if not re.search(r"<(?:[\w.-]+:)?xliff\b", file.text):
        raise DocumentError("the file is not XLIFF: it has no element xliff")
    units = list(_find_units(XmlElements.of(file.text)))
    return BilingualDocument(file, units, list(_languages(file.text, options.target)))


def _languages(text: str, target: str) -> Iterator[tuple[Span, str]]:
    """State the target language where the file does not."""
    two = re.search(r"<xliff\b[^>]*\bversion\s*=\s*[\"']2", text)
    name = "trgLang" if two else "target-language"
    for tag in re.finditer(r"<(?:[\w.-]+:)?xliff\b[^>]*>" if two else r"<(?:[\w.-]+:)?file\b[^>]*>", text):
        if target and name not in attributes(tag[0]):
            at = tag.end() - (2 if tag[0].endswith("/>") else 1)
            yield (at, at), f' {name}="{target}"'


def _name(token: Token) -> str:
    """The name of a tag without the prefix of its namespace."""
    return token.name.rpartition(":")[2]


def _find_units(elements: XmlElements) -> Iterator[TargetUnit]:
    """Yield the units without a finished translation."""
    tokens, partners = elements.tokens, elements.partners
    kept: list[bool] = []  # for each open unit or group, whether it is not to be translated
    opened: list[int] = []  # the elements around
    number = 0
    while number < len(tokens):
        token, name = tokens[number], _name(tokens[number])
        if name in ("file", "group", "unit", "trans-unit", "body"):
            if token.kind == "open":
                values = attributes(token.raw)
                above = bool(kept) and kept[-1]
                no = values["translate"] == "no" if "translate" in values else above
                kept.append(no or values.get("approved") == "yes")
            elif token.kind == "close" and kept:
                kept.pop()
        if token.kind == "open" and name in ("alt-trans", "matches", "notes"):
            number = max(partners[number], number)
        elif token.kind == "open" and name == "source" and partners[number] > number and not (kept and kept[-1]):
            if opened and _name(tokens[opened[-1]]) in ("trans-unit", "segment"):
                yield from _read_unit(elements, number, opened[-1])
            number = partners[number]
        elif token.kind == "open" and partners[number] > number:
            opened.append(number)
        elif token.kind == "close" and partners[number] >= 0:
            opened.pop()
        number += 1


def _read_unit(elements: XmlElements, source: int, parent: int) -> Iterator[TargetUnit]:
    tokens, partners = elements.tokens, elements.partners
    content = read_content(elements.content(source))
    if not content.translatable:
        return
    close = partners[source]
    after = close + 1
    while after < partners[parent] and _name(tokens[after]) != "target":
        if tokens[after].kind == "open" and _name(tokens[after]) == "seg-source":
            close = partners[after]
        after = max(after, partners[after]) + 1 if tokens[after].kind == "open" else after + 1
    state = _state(elements, parent)
    tag = tokens[source].raw.replace("source", "target", 1)
    name = re.split(r"[\s/>]", tag[1:], maxsplit=1)[0]
    if after >= partners[parent]:
        before = tokens[source - 1].raw if tokens[source - 1].kind == "text" else ""
        space = before[len(before.rstrip()) :]
        at = elements.starts[close + 1]
        yield TargetUnit(content, (at, at), f"{space}<{name}>", f"</{name}>", state)
        return
    own = _state(elements, after)
    if tokens[after].kind == "single":
        opening = re.sub(r"\s*/>$", ">", own[1] if own else tokens[after].raw)
        yield TargetUnit(content, elements.tag(after), opening, f"</{name}>", state)
    elif own or state or not elements.content(after).strip():
        yield TargetUnit(content, elements.span(after), "", "", own or state)


def _state(elements: XmlElements, number: int) -> tuple[Span, str] | None:
    """The tag of a target or a segment that says that it is not translated, and how it is after translation."""
    raw = elements.tokens[number].raw
    if attributes(raw).get("state") not in _UNDONE:
        return None
    return elements.tag(number), re.sub(r"(\sstate\s*=\s*[\"'])[\w-]+", r"\1translated", raw)
