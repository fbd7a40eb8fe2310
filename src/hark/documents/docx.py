"""DOCX: paragraphs of Word documents, with the formats, links, notes and fields in them.

The XML is edited in place (see `xml_document`) instead of by python-docx, which does not reach text boxes, notes,
comments and tracked changes, and writes every part again.

Decisions: of tracked changes, inserted text is translated inside its insertion and deleted text is kept as it is;
hidden text and text in code styles is kept as it is; the results of links and cross-references are translated, those of
other fields are kept; a tab ends a sentence, and so does a line break unless the next line goes on in lower case.

Translations state their language and direction, for spelling and right-to-left scripts. Word writes text from right to
left only if both the paragraph (`w:bidi`) and the run (`w:rtl`) say so, and formats such runs by properties of their
own (`w:bCs` for `w:b`).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hark.documents.archives import Archive, ArchiveDocument
from hark.documents.formats import Document, ReadingOptions, Segment, SegmentTranslation
from hark.documents.markup import MAX_DEPTH
from hark.documents.ooxml import (
    PREFIXES,
    DrawingScheme,
    RunNames,
    around,
    open_package,
    parts_of,
    read_parts,
    run_format,
)
from hark.documents.paragraph_piece import Half, Item, Kept, ParagraphText, TextRun, Wrap, emit, pair_halves, visible
from hark.documents.xml_document import (
    AttributeText,
    EditableText,
    FixedText,
    Node,
    Source,
    XmlDocument,
    XmlScheme,
    find_attribute,
    find_nodes,
)
from hark.text.language_names import EAST_ASIAN, is_right_to_left, with_region

_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_TYPES = (
    f"{_WORD}.document.main+xml",
    f"{_WORD}.template.main+xml",
    "application/vnd.ms-word.document.macroEnabled.main+xml",
    "application/vnd.ms-word.template.macroEnabledTemplate.main+xml",
    f"{_WORD}.footnotes+xml",
    f"{_WORD}.endnotes+xml",
    f"{_WORD}.comments+xml",
    f"{_WORD}.header+xml",
    f"{_WORD}.footer+xml",
)
_STYLES = f"{_WORD}.styles+xml"
_LANGUAGES = (
    _STYLES,
    f"{_WORD}.settings+xml",
    f"{_WORD}.numbering+xml",
    "application/vnd.ms-word.stylesWithEffects+xml",
)
"""Parts without text that state a language."""
_CODE_STYLES = frozenset(("HTMLCode", "HTMLPreformatted", "HTMLKeyboard", "HTMLSample", "SourceCode", "VerbatimChar"))
"""Styles of code in Word, and in documents made by pandoc."""
_RUN = RunNames("w:rPr", "t", frozenset(("w:lang", "w:noProof", "w:rPrChange")))
_DELETED = frozenset(("w:del", "w:moveFrom"))
_WRAPPING = frozenset(("w:hyperlink", "w:ins", "w:moveTo", "w:smartTag", "w:customXml", "w:dir", "w:bdo"))
_DROPPED = frozenset(("w:proofErr", "w:lastRenderedPageBreak", "w:softHyphen"))
"""What says where the speller or the printer was in the old text."""
_TRANSLATED_FIELDS = frozenset(("HYPERLINK", "REF", "TOC", "INDEX", "STYLEREF", "QUOTE"))
_OFF = frozenset(("0", "false", "off"))


def read(content: bytes, options: ReadingOptions) -> Document:
    archive = open_package(content, "DOCX", "word")
    scheme = WordScheme(frozenset(_hidden_styles(archive)), options)
    types = parts_of(archive)
    schemes: dict[str, XmlScheme] = dict.fromkeys(_TYPES, scheme)
    if options.target:
        schemes |= dict.fromkeys(_LANGUAGES, LanguageTags(options.target))
    parts = read_parts(archive, schemes, DrawingScheme(options))
    if options.target:
        parts = {
            name: LocalisedPart(part, options.target, name) if types[name] in _TYPES else part
            for name, part in parts.items()
        }
    return ArchiveDocument(archive, parts)


@dataclass
class _FieldPart(Kept):
    """A character that begins, divides or ends a field, or a part of its instruction."""

    ordered: bool = True
    kind: str = ""
    instruction: str = ""


class WordScheme(XmlScheme):
    """Paragraphs of WordprocessingML."""

    prefixes = PREFIXES
    blocks = frozenset(("w:p",))

    def __init__(self, hidden: frozenset[str], options: ReadingOptions) -> None:
        """`hidden`: the styles that hide text."""
        self._hidden, self._descriptions = hidden, options.attributes
        self._language = WordLanguage(options.target) if options.target else None

    def texts(self, block: Node, source: Source) -> Iterator[EditableText]:
        """The paragraph, after those in its text boxes."""
        if block.name == "wp:docPr":
            if self._descriptions:
                yield AttributeText(block, "descr", source)
            return
        for each in block.elements:
            for inner in _find_inner(each):
                yield from self.texts(inner, source)
        properties = block.find("w:pPr")
        style = properties.find("w:pStyle") if properties is not None else None
        if style is None or style.attributes.get("w:val") not in self._hidden | _CODE_STYLES:
            start = properties.end if properties is not None else block.inner_start
            text = ParagraphText(start, block.inner_end, self._content(block, source))
            if self._language and text.segments:
                yield from self._language.paragraph(block, source)
            yield text

    def _content(self, parent: Node, source: Source) -> list[Item]:
        items = [item for each in parent.elements for item in self._items(each, source)]
        return pair_halves(_fold_fields(items))

    def _items(self, node: Node, source: Source) -> Iterator[Item]:
        name = node.name
        if name == "w:r":
            yield from self._run(node, source)
            return
        if name in _DROPPED or name.endswith("Pr"):  # properties belong to their parent's opening tag
            return
        raw = source.text(node.start, node.end)
        if name in _DELETED:
            yield Kept(raw)
        elif name.endswith(("Start", "End")):
            kind = name.removesuffix("Start").removesuffix("End")
            key = f"{kind} {node.attributes.get('w:id')}"
            yield Half(raw, key=key, opens=name.endswith("Start"))
        elif name == "w:fldSimple":
            inner = self._content(node, source)
            yield _field(node.attributes.get("w:instr", ""), *_tags(node, node, source), inner)
        elif name == "w:sdt" and (content := node.find("w:sdtContent")) is not None:
            yield Wrap(*_tags(node, content, source), self._content(content, source))
        elif name in _WRAPPING and any(node.elements):
            yield Wrap(*_tags(node, node, source), self._content(node, source))
        else:
            yield Kept(raw, placeholder=name in ("m:oMath", "m:oMathPara"))

    def _run(self, run: Node, source: Source) -> Iterator[Item]:
        properties = run.find("w:rPr")
        style = properties.find("w:rStyle") if properties is not None else None
        named = style.attributes.get("w:val") if style is not None else None
        hidden = named in self._hidden or (properties is not None and is_on(properties.find("w:vanish")))
        if hidden or named in _CODE_STYLES:
            yield Kept(source.text(run.start, run.end), placeholder=not hidden)
            return
        written = self._language.run_properties(run, source) if self._language else None
        form = run_format(run, _RUN, source, ' xml:space="preserve"', written)
        for part in run.elements:
            name = part.name
            if name in _DROPPED or name == "w:rPr":
                continue
            if name == "w:t":
                text = part.text if part.attributes.get("xml:space") == "preserve" else part.text.strip()
                yield TextRun(text.replace("\n", " "), form)
                continue
            raw = around(run, part, properties, source)
            if name == "w:noBreakHyphen":
                yield TextRun("\N{NON-BREAKING HYPHEN}", form)
            elif name == "w:ruby":  # the reading above the characters has no place in a translation
                base = part.find("w:rubyBase")
                yield from self._content(base, source) if base is not None else ()
            elif name == "w:fldChar":
                yield _FieldPart(raw, kind=part.attributes.get("w:fldCharType", ""))
            elif name == "w:instrText":
                yield _FieldPart(raw, kind="instruction", instruction=part.text)
            elif name in ("w:tab", "w:ptab"):
                yield Kept(raw, splits=True)
            elif name in ("w:br", "w:cr"):
                page = part.attributes.get("w:type", "textWrapping") != "textWrapping"
                yield Kept(raw, splits=page, line_break=not page)
            else:
                yield Kept(raw)


def is_on(toggle: Node | None) -> bool:
    return toggle is not None and toggle.attributes.get("w:val", "1") not in _OFF


def _tags(outer: Node, content: Node, source: Source) -> tuple[str, str]:
    """What stands before and after the content of an element: its tags, with its properties."""
    start = content.inner_start
    for element in content.elements:
        if not element.name.endswith("Pr"):
            break
        start = element.end
    return source.text(outer.start, start), source.text(content.inner_end, outer.end)


def _find_inner(node: Node) -> Iterator[Node]:
    """Paragraphs in text boxes, and pictures."""
    if node.name in ("w:p", "wp:docPr"):
        yield node
        return
    for each in node.elements:
        yield from _find_inner(each)


def _field(instruction: str, opening: str, closing: str, result: list[Item]) -> Item:
    words = instruction.split()
    text = visible(result)
    if words and words[0].upper() in _TRANSLATED_FIELDS and any(map(str.isalpha, text)):
        return Wrap(opening, closing, result)
    return Kept(opening + emit(result) + closing, placeholder=bool(text.strip()))


def _fold_fields(items: Sequence[Item]) -> list[Item]:
    """Make fields that begin and end here one item each; not those nested beyond reason."""
    if _field_depth(items) > MAX_DEPTH:
        return list(items)
    output: list[Item] = []
    opened: list[tuple[list[Item], list[Item] | None]] = []
    """For each open field the items up to its divider, and those after it."""
    for item in items:
        kind = item.kind if isinstance(item, _FieldPart) else ""
        made = item
        if kind == "begin":
            opened.append(([item], None))
            continue
        if kind == "separate" and opened and opened[-1][1] is None:
            opened[-1][0].append(item)
            opened[-1] = opened[-1][0], []
            continue
        if kind == "end" and opened:
            head, result = opened.pop()
            words = "".join(each.instruction for each in head if isinstance(each, _FieldPart))
            made = _field(words, emit(head), item.raw, result or []) if isinstance(item, Kept) else item
        if not opened:
            output.append(made)
        elif opened[-1][1] is None:
            opened[-1][0].append(made)
        else:
            opened[-1][1].append(made)
    for head, result in opened:  # a field that goes on in the next paragraph, as tables of contents do
        output += [*head, *(result or [])]
    return output


def _field_depth(items: Sequence[Item]) -> int:
    depth = deepest = 0
    for item in items:
        if isinstance(item, _FieldPart):
            depth = max(0, depth + (item.kind == "begin") - (item.kind == "end"))
            deepest = max(deepest, depth)
    return deepest


def _hidden_styles(archive: Archive) -> Iterator[str]:
    """The styles that hide text, or are based on one that does."""
    hidden: dict[str, bool] = {}
    based: dict[str, str] = {}
    for part in (name for name, kind in parts_of(archive).items() if kind == _STYLES):
        for style in find_nodes(archive.read(part), PREFIXES, frozenset(("w:style",)), part):
            name = style.attributes.get("w:styleId", "")
            properties, parent = style.find("w:rPr"), style.find("w:basedOn")
            toggle = properties.find("w:vanish") if properties is not None else None
            if toggle is not None:
                hidden[name] = is_on(toggle)
            elif parent is not None:
                based[name] = parent.attributes.get("w:val", "")
    for name in {*hidden, *based}:
        place, seen = name, set[str]()
        while place not in hidden and place in based and place not in seen:
            seen.add(place)
            place = based[place]
        if hidden.get(place):
            yield name


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
        properties = run.find("w:rPr")
        prefix = _prefix(run, source)
        children = list(properties.elements) if properties is not None else []
        names = {_local(each) for each in children}
        parts: list[tuple[str, str]] = []
        for child in children:
            name, raw = _local(child), source.text(child.start, child.end)
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


class LanguageTags(XmlScheme):
    """Every statement of a language in a part: of styles, numbers, empty paragraphs and text that stays as it is."""

    prefixes = PREFIXES
    blocks = frozenset(("w:lang", "w:themeFontLang"))

    def __init__(self, target: str) -> None:
        self._tag = with_region(target)
        self._attributes = ("val", "bidi") if is_right_to_left(target) else ("val",)

    def texts(self, block: Node, source: Source) -> Iterator[EditableText]:
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
