"""HTML and XML files: text with its inline tags, and insets in the markup, such as attributes and CDATA sections.

Other markup, scripts and comments stay as they are.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Protocol

from hark.documents.encoding import DecodedText, declared_encoding, decode
from hark.documents.formats import Document, ReadingOptions, Segment, SegmentTranslation
from hark.documents.markup import Markup, MarkupItem
from hark.documents.markup_tokens import ATTRIBUTE, MarkupRules, tokenise
from hark.text.detector import base_language
from hark.text.language_names import is_right_to_left
from hark.translate.align import Link

ATTRIBUTES = frozenset(("alt", "title", "placeholder", "aria-label"))
"""HTML attributes with text for people."""
_VALUE = MarkupRules(html=False, outline=False, collapse=False)
_CDATA, _CDATA_END = "<![CDATA[", "]]>"
_MARKUP = re.compile(r"<[/!]?[a-zA-Z]|&#?\w+;")


class Inset(Protocol):
    """Text inside a tag or a section, with its own rules of escaping."""

    start: int
    end: int
    texts: Sequence[str]
    tagged: Sequence[bool]

    def join(self, translations: Sequence[tuple[str, Sequence[Link]]]) -> str: ...


class AttributeValue:
    """The value of an attribute, with its quotes. Its markup is read again when it is written: it takes memory."""

    __slots__ = ("end", "raw", "start", "tagged", "texts")

    def __init__(self, start: int, raw: str) -> None:
        self.start, self.end, self.raw = start, start + len(raw), raw
        value = self._read()
        self.texts: Sequence[str] = value.texts
        self.tagged: Sequence[bool] = value.tagged

    def _read(self) -> Markup:
        return Markup(self.raw[1:-1] if self.raw[0] in "\"'" else self.raw, _VALUE)

    def join(self, translations: Sequence[tuple[str, Sequence[Link]]]) -> str:
        quote = "'" if self.raw[0] == "'" else '"'
        value = self._read().join(translations).replace(quote, "&quot;" if quote == '"' else "&#39;")
        return f"{quote}{value}{quote}"


class CdataSection:
    """A CDATA section; its content is HTML if there is a tag or an entity in it."""

    def __init__(self, start: int, raw: str) -> None:
        self.start, self.end = start, start + len(raw)
        self._content = raw.removeprefix(_CDATA).removesuffix(_CDATA_END)
        self._html = Markup(self._content, MarkupRules()) if _MARKUP.search(self._content) else None
        self.texts: Sequence[str] = self._html.texts if self._html else (self._content.strip(),)
        self.tagged: Sequence[bool] = self._html.tagged if self._html else (False,)

    def join(self, translations: Sequence[tuple[str, Sequence[Link]]]) -> str:
        if self._html:
            content = self._html.join(translations)
        else:
            before, _, after = self._content.partition(self.texts[0])
            content = before + translations[0][0] + after
        return _CDATA + content.replace("]]>", "]]]]><![CDATA[>") + _CDATA_END


class MarkupDocument:
    """An HTML or XML file. The segments of the insets come after those of the text."""

    def __init__(
        self,
        file: DecodedText,
        rules: MarkupRules,
        insets: Callable[[MarkupItem], Iterator[Inset]] | None = None,
        finish: Callable[[str], str] = str,
    ) -> None:
        """`insets` finds those of a tag or section; `finish` changes a page that was translated."""
        self._file, self._markup, self._finish = file, Markup(file.text, rules), finish
        found = chain.from_iterable(map(insets, self._markup.items())) if insets else ()
        self._insets = [inset for inset in found if any(any(map(str.isalpha, text)) for text in inset.texts)]

    @property
    def segments(self) -> Sequence[Segment]:
        parts: list[Markup | Inset] = [self._markup, *self._insets]
        return [Segment(text, tagged) for part in parts for text, tagged in zip(part.texts, part.tagged, strict=True)]

    def write(self, translations: Sequence[SegmentTranslation]) -> bytes:
        between = len(self._markup.texts)
        pairs = ((each.text, each.links) for each in translations[:between])
        markup = self._with_insets(translations[between:]) if self._insets else self._markup
        text = markup.join(pairs)
        return self._file.encode(text if text == self._file.text else self._finish(text), "xml")

    def _with_insets(self, translations: Sequence[SegmentTranslation]) -> Markup:
        """The document with its insets translated; its texts are the same."""
        source, parts, end, done = self._file.text, list[str](), 0, 0
        for inset in self._insets:
            pairs = [(each.text, each.links) for each in translations[done : done + len(inset.texts)]]
            done += len(pairs)
            if [text for text, _ in pairs] != list(inset.texts):
                parts += [source[end : inset.start], inset.join(pairs)]
                end = inset.end
        return Markup("".join([*parts, source[end:]]), self._markup.rules) if parts else self._markup


def find_attributes(item: MarkupItem) -> Iterator[Inset]:
    """Yield the attributes of a tag that have text for people."""
    if item.ignored or item.token.kind not in ("open", "single"):
        return
    for found in ATTRIBUTE.finditer(item.token.raw):
        if found[1].lower() in ATTRIBUTES:
            yield AttributeValue(item.start + found.start(2), found[2])


def find_cdata(item: MarkupItem) -> Iterator[Inset]:
    raw = item.token.raw
    if item.token.kind == "hidden" and raw.startswith(_CDATA) and raw.endswith(_CDATA_END) and not item.ignored:
        yield CdataSection(item.start, raw)


_DECLARED = re.compile(
    rb"<\?xml[^>]{1,200}?encoding\s*=\s*[\"']([\w.:-]{1,40})|<meta[^>]{1,400}?charset\s*=\s*[\"']?([\w.:-]{1,40})", re.I
)
_LANGUAGE = re.compile(r"(\s(?:xml:)?lang\s*=\s*[\"']?)([\w-]+)", re.IGNORECASE)
_DIRECTION = re.compile(r"(\sdir\s*=\s*[\"']?)(ltr|rtl|auto)\b", re.IGNORECASE)
_HEAD = 4096
"""Bytes in which the encoding is declared; the standard asks for 1,024."""
_BEGINNING = 1 << 20
"""Characters in which the tags of the page and its body are."""


def read(content: bytes, options: ReadingOptions) -> Document:
    """Read HTML, or XHTML if it begins with an XML declaration."""
    return _read(content, options, xhtml=False)


def read_xhtml(content: bytes, options: ReadingOptions) -> Document:
    """Read XHTML that needs no declaration, as in books."""
    return _read(content, options, xhtml=True)


def _read(content: bytes, options: ReadingOptions, xhtml: bool) -> Document:
    found = _DECLARED.search(content[:_HEAD])
    file = decode(content, declared_encoding((found[1] or found[2]).decode(), as_browsers=True) if found else "")
    xhtml = xhtml or file.text.lstrip().startswith("<?xml")
    rules = MarkupRules(ignore=frozenset(map(str.lower, options.ignore)), xhtml=xhtml)
    insets = find_attributes if options.attributes else None
    finish = partial(_localise, options.source, options.target) if options.target else str
    return MarkupDocument(file, rules, insets, finish)


def _localise(source: str, target: str, text: str) -> str:
    """Set the language and the direction of a translated page: browsers and screen readers go by them."""
    parts, end, place = list[str](), 0, 0
    for token in tokenise(text, html=True):
        if token.kind == "open" and token.name in ("html", "body"):
            parts += [text[end:place], _localise_tag(token.raw, source, target, first=not parts)]
            end = place + len(token.raw)
        place += len(token.raw)
        if token.name == "body" or place > _BEGINNING:
            break
    return "".join([*parts, text[end:]])


def _localise_tag(tag: str, source: str, target: str, first: bool) -> str:
    def language(found: re.Match[str]) -> str:
        same = not source or base_language(found[2]) == base_language(source)
        return found[1] + (target if same else found[2])

    direction = "rtl" if is_right_to_left(target) else "ltr"
    tag = _LANGUAGE.sub(language, tag)
    if _DIRECTION.search(tag):
        return _DIRECTION.sub(lambda found: found[1] + (found[2] if found[2] == "auto" else direction), tag)
    return f'{tag.removesuffix(">")} dir="rtl">' if first and direction == "rtl" else tag
