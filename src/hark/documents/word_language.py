"""The language and direction of the text in Word documents, for translations: spelling, and right-to-left scripts.

Word writes text from right to left only if both the paragraph (`w:bidi`) and the run (`w:rtl`) say so, and formats such
runs by properties of their own (`w:bCs` for `w:b`).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hark.documents.document import Document, Segment, SegmentTranslation
from hark.documents.ooxml import PREFIXES
from hark.documents.xml_document import EditableText, FixedText, XmlDocument, find_attribute
from hark.documents.xml_nodes import Node, Source
from hark.text.language_names import EAST_ASIAN, is_right_to_left, with_region

_COMPLEX = {"b": "bCs", "i": "iCs", "sz": "szCs"}
"""Properties, and those that do the same for right-to-left scripts."""
_AFTER_BIDI = frozenset(
    """
    adjustRightInd snapToGrid spacing ind contextualSpacing mirrorIndents suppressOverlap jc textDirection textAlignment
    textboxTightWrap outlineLvl divId cnfStyle rPr sectPr pPrChange
    """.split()  # noqa: SIM905
)
_AFTER_RTL = frozenset(("cs", "em", "lang", "eastAsianLayout", "specVanish", "oMath", "rPrChange"))
_NO_LANGUAGE = (b"", b"x-none", b"zxx")
"""Attributes that are not there, and text that is not to be checked."""
_AFTER_LANG = frozenset(("eastAsianLayout", "specVanish", "oMath", "rPrChange"))
"""The order of properties is fixed: those that come after the ones that are added here."""


class WordLanguage:
    """The target language of a Word document."""

    def __init__(self, target: str) -> None:
        self._rtl = is_right_to_left(target)
        self._tag = with_region(target)
        short = target.lower().partition("-")[0]
        self._attribute = "bidi" if self._rtl else "eastAsia" if short in EAST_ASIAN else "val"

    def run_properties(self, run: Node, source: Source) -> str:
        """The properties of a run in this language."""
        properties = run.find("w:rPr")
        prefix = _prefix(run, source)
        children = list(properties.elements) if properties is not None else []
        names = {_local(each) for each in children}
        parts: list[tuple[str, str]] = []
        for each in children:
            name, raw = _local(each), source.text(each.start, each.end)
            if name in ("rtl", "lang"):
                continue
            parts.append((name, raw))
            if self._rtl and name in _COMPLEX and _COMPLEX[name] not in names:
                parts.append((_COMPLEX[name], re.sub(rf"(</?{prefix}){name}\b", rf"\g<1>{_COMPLEX[name]}", raw)))
        if "lang" in names:
            lang = f'<{prefix}lang {prefix}{self._attribute}="{self._tag}"/>'
            parts.insert(_place(parts, _AFTER_LANG), ("lang", lang))
        if self._rtl:
            parts.insert(_place(parts, _AFTER_RTL), ("rtl", f"<{prefix}rtl/>"))
        inner = "".join(raw for _, raw in parts)
        return f"<{prefix}rPr>{inner}</{prefix}rPr>" if inner else ""

    def paragraph(self, paragraph: Node, source: Source) -> Iterator[EditableText]:
        """The edit that gives a paragraph the direction of the language, if it has another."""
        properties = paragraph.find("w:pPr")
        children = list(properties.elements) if properties is not None else []
        if any(_local(each) == "bidi" for each in children) == self._rtl:
            return
        prefix = _prefix(paragraph, source)
        parts = [(_local(each), source.text(each.start, each.end)) for each in children if _local(each) != "bidi"]
        if self._rtl:
            parts.insert(_place(parts, _AFTER_BIDI), ("bidi", f"<{prefix}bidi/>"))
        new = f"<{prefix}pPr>{''.join(raw for _, raw in parts)}</{prefix}pPr>"
        start, end = (properties.start, properties.end) if properties is not None else (paragraph.inner_start,) * 2
        yield FixedText(start, end, new)


class LanguageTags:
    """Every statement of a language in a part: of styles, numbers, empty paragraphs and text that stays as it is."""

    prefixes = PREFIXES
    blocks = frozenset(("w:lang", "w:themeFontLang"))
    skipped = frozenset[str]()

    def __init__(self, target: str) -> None:
        self._tag = with_region(target)
        self._attributes = ("val", "bidi") if is_right_to_left(target) else ("val",)

    def texts(self, block: Node, source: Source) -> Iterator[EditableText]:
        """The names of the language."""
        spans = [find_attribute(block, name, source) for name in self._attributes]
        for start, end in sorted(spans):
            if source.content[start:end] not in _NO_LANGUAGE:
                yield FixedText(start, end, self._tag)


@dataclass(frozen=True)
class LocalisedPart:
    """A part of a document whose statements of a language are those of the target when it is written."""

    part: Document
    target: str
    name: str

    @property
    def segments(self) -> Sequence[Segment]:
        return self.part.segments

    def write(self, translations: Sequence[SegmentTranslation]) -> bytes:
        return XmlDocument(self.part.write(translations), LanguageTags(self.target), self.name).write([])


def _local(node: Node) -> str:
    return node.name.rpartition(":")[2]


def _prefix(node: Node, source: Source) -> str:
    """The prefix of Word's elements in the file, with a colon."""
    name = re.split(r"[\s/>]", source.content[node.start + 1 : node.inner_start].decode(), maxsplit=1)[0]
    return name.removesuffix(name.rpartition(":")[2])


def _place(parts: list[tuple[str, str]], after: frozenset[str]) -> int:
    """Where a property goes: before the first of those that come after it."""
    return next((number for number, (name, _) in enumerate(parts) if name in after), len(parts))
