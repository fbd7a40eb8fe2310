"""ODT, ODS and ODP: paragraphs of OpenDocument texts, sheets and presentations.

The XML is edited in place (see `xml_document`). Spans are read as formats, because LibreOffice makes a new one for each
editing session, which looks like its neighbours.

Decisions: inserted text is translated and deleted text, which is kept in a list of changes, is not; hidden text and
text in code styles is kept as it is; fields are kept; cells with numbers, dates or formulas are kept; a tab ends a
sentence, and so does a line break unless the next line goes on in lower case.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hark.documents.archives import Archive, ArchiveDocument
from hark.documents.formats import Document, DocumentError, ReadingOptions, SegmentTranslation
from hark.documents.paragraph_piece import (
    Half,
    Item,
    Kept,
    ParagraphText,
    TextFormat,
    TextRun,
    Wrap,
    pair_halves,
    plain_text,
)
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

_SPACE = "urn:oasis:names:tc:opendocument:xmlns:"
_PREFIXES = {
    **{f"{_SPACE}{name}:1.0": name for name in ("office", "text", "table", "presentation", "style", "meta")},
    f"{_SPACE}drawing:1.0": "draw",
    f"{_SPACE}svg-compatible:1.0": "svg",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://openoffice.org/2009/office": "officeooo",
}
_PARAGRAPHS = frozenset(("text:p", "text:h"))
_PLAIN_TEXTS = frozenset(
    """
    dc:title dc:subject dc:description text:index-title-template presentation:footer-decl presentation:header-decl
    """.split()  # noqa: SIM905
)
_DESCRIPTIONS = frozenset(("svg:title", "svg:desc"))
_DROPPED = frozenset(("text:soft-page-break", "text:ruby-text"))
_WITHIN = frozenset(("text:ruby", "text:ruby-base"))
"""Elements that are left out, but not what is in them."""
_WRAPPING = frozenset(("text:a", "text:meta"))
_TEXTLESS = frozenset(("text:note", "office:annotation", "text:hidden-text", "text:hidden-paragraph", "#"))
"""Elements with text that is not a part of the sentence."""
_SKIPPED = frozenset(
    """
    text:tracked-changes table:tracked-changes office:font-face-decls office:scripts office:forms office:settings
    """.split()  # noqa: SIM905
)
_LOCALISED = frozenset(("style:text-properties", "style:paragraph-properties", "style:page-layout-properties"))
"""Elements that state a language or a direction."""
_CODE_STYLES = frozenset(("Source_20_Text", "Preformatted_20_Text", "User_20_Entry", "Example"))
_SPACES = re.compile(r"[ \t\r\n]+")


def read(content: bytes, options: ReadingOptions) -> Document:
    archive = Archive(content, "OpenDocument")
    listing = "META-INF/manifest.xml"
    if listing in archive and b"encryption-data" in archive.read(listing):
        raise DocumentError("this OpenDocument file is password-protected")
    objects = [name for name in archive.names if re.fullmatch(r"Object [^/]+/content\.xml", name)]  # charts
    names = ["content.xml", *objects, *(name for name in ("styles.xml", "meta.xml") if name in archive)]
    parts: dict[str, Document] = {}
    for name in names:
        member = archive.read(name)
        scheme = OpenScheme(_read_styles(member, name), name == "styles.xml", options)
        parts[name] = XmlDocument(member, scheme, name)
    return ArchiveDocument(archive, parts)


class FlatDocument(XmlDocument):
    """A file of one XML document, without an archive; as it was if nothing is translated."""

    def write(self, translations: Sequence[SegmentTranslation]) -> bytes:
        same = all(new.text == old.text for new, old in zip(translations, self.segments, strict=True))
        return self._content if same else super().write(translations)


def read_flat(content: bytes, options: ReadingOptions) -> Document:
    if b"office:document" not in content[:4096].replace(b"\0", b""):
        raise DocumentError("the file is not flat OpenDocument")
    scheme = OpenScheme(_read_styles(content, "it"), False, options)
    return FlatDocument(content, scheme, "it")


@dataclass(frozen=True)
class TextStyle:
    """A style of the file's own."""

    look: str
    """What it does to text; nothing if it only says when the text was written."""
    hidden: bool = False
    code: bool = False


class OpenScheme(XmlScheme):
    prefixes = _PREFIXES

    def __init__(self, styles: Mapping[str, TextStyle], masters: bool, options: ReadingOptions) -> None:
        """`masters`: whether this is about master pages, whose titles are prompts."""
        self._styles, self._masters = styles, masters
        self._descriptions, self._target = options.attributes, options.target
        holders = ("table:table-cell", "table:covered-table-cell", "draw:frame", "draw:custom-shape")
        self.blocks = _PARAGRAPHS | _PLAIN_TEXTS | _DESCRIPTIONS | frozenset(holders)
        self.blocks |= _LOCALISED if options.target else frozenset()
        self.skipped = _SKIPPED if options.target else _SKIPPED | {"office:automatic-styles"}

    def texts(self, block: Node, source: Source) -> Iterator[EditableText]:
        """The texts of a block, those of notes and frames before the paragraph that they are in."""
        name = block.name
        if name in _LOCALISED:
            yield from sorted(self._localise(block, source), key=lambda each: each.start)
            return
        if name in _PLAIN_TEXTS or (name in _DESCRIPTIONS and self._descriptions):
            yield plain_text(block)
            return
        if name in _DESCRIPTIONS or self._is_prompt(block):
            return
        own = True
        if name.endswith("table-cell"):
            own = block.attributes.get("office:value-type", "string") == "string"
            own = own and "table:formula" not in block.attributes
            if own and "office:string-value" in block.attributes:
                yield AttributeText(block, "string-value", source)
        for each in block.elements:
            if own or each.name not in _PARAGRAPHS:
                yield from self.texts(each, source)
        if name in _PARAGRAPHS and not self._style(block).hidden and not self._style(block).code:
            items = self._items(block.children, TextFormat(), source)
            yield ParagraphText(block.inner_start, block.inner_end, pair_halves(_collapse(list(items))))

    def _localise(self, properties: Node, source: Source) -> Iterator[FixedText]:
        """The edits that give a style the language and direction of the target."""
        rtl = is_right_to_left(self._target)
        language, _, region = with_region(self._target).partition("-")
        script = "-complex" if rtl else "-asian" if language in EAST_ASIAN else ""
        news = {f"language{script}": language, f"country{script}": region or "none"}
        news["writing-mode"] = "rl-tb" if rtl else "lr-tb"
        for name, new in news.items():
            start, end = find_attribute(properties, name, source)
            if source.content[start:end] not in (b"", b"page", b"none", b"tb-rl", b"tb-lr", b"zxx"):
                yield FixedText(start, end, new)

    def _is_prompt(self, node: Node) -> bool:
        """Whether a shape only asks for text."""
        role = node.attributes.get("presentation:class", "footer")
        asks = self._masters and role not in ("header", "footer", "date-time", "page-number")
        return asks or node.attributes.get("presentation:placeholder") == "true"

    def _style(self, node: Node) -> TextStyle:
        name = node.attributes.get("text:style-name", "")
        return self._styles.get(name) or TextStyle(name, code=name in _CODE_STYLES)

    def _items(self, children: Sequence[Node | str], form: TextFormat, source: Source) -> Iterator[Item]:
        for child in children:
            if isinstance(child, str):
                yield TextRun(child, form)
                continue
            name = child.name
            if name in _DROPPED:
                continue
            raw = source.text(child.start, child.end)
            tags = source.text(child.start, child.inner_start), source.text(child.inner_end, child.end)
            if name == "text:span" and not ((style := self._style(child)).hidden or style.code):
                inner = form
                if style.look and not tags[0].endswith("/>"):
                    inner = TextFormat((*form.look, style.look), form.opening + tags[0], tags[1] + form.closing)
                yield from self._items(child.children, inner, source)
            elif name in _WITHIN:
                yield from self._items(child.children, form, source)
            elif name in _WRAPPING and child.children:
                yield Wrap(*tags, pair_halves(list(self._items(child.children, form, source))))
            elif name == "text:s":
                single = child.attributes.get("text:c", "1") == "1"
                yield TextRun(" ", form) if single else Kept(form.wrap(raw), splits=True)
            elif name == "text:tab":
                yield Kept(form.wrap(raw), splits=True)
            elif name == "text:line-break":
                yield Kept(form.wrap(raw), line_break=True)
            elif name.endswith(("-start", "-end")) or name == "office:annotation":
                named = ("text:name", "text:id", "text:change-id", "office:name")
                keys = [child.attributes[key] for key in named if key in child.attributes]
                kind = name.removesuffix("-start").removesuffix("-end")
                yield Half(raw, key=f"{kind} {keys}", opens=not name.endswith("-end"))
            else:
                shown = name not in _TEXTLESS and not name.startswith("draw:")
                shown = shown and (name != "text:span" or not self._style(child).hidden)
                yield Kept(form.wrap(raw), placeholder=shown and any(node.text.strip() for node in child.walk()))


def _collapse(items: list[Item]) -> list[Item]:
    """Make white space one space, and none at the start, as OpenDocument has it."""
    after_space = True

    def collapse(inner: Sequence[Item]) -> Iterator[Item]:
        nonlocal after_space
        for item in inner:
            match item:
                case TextRun():
                    text = _SPACES.sub(" ", item.text)
                    text = text[1:] if after_space and text.startswith(" ") else text
                    after_space = text.endswith(" ") if text else after_space
                    yield TextRun(text, item.format)
                case Wrap():
                    yield replace(item, children=list(collapse(item.children)))
                case Kept():
                    after_space = item.splits or item.line_break or (after_space and not item.placeholder)
                    yield item

    return list(collapse(items))


def _read_styles(content: bytes, name: str) -> dict[str, TextStyle]:
    """The styles of text and paragraphs that are defined in a member."""
    found: dict[str, TextStyle] = {}
    for style in find_nodes(content, _PREFIXES, frozenset(("style:style",)), name):
        family, parent = style.attributes.get("style:family"), style.attributes.get("style:parent-style-name", "")
        properties = style.find("style:text-properties")
        looks = dict(properties.attributes) if properties is not None else {}
        hidden = looks.get("text:display") == "none"
        for session in ("officeooo:rsid", "officeooo:paragraph-rsid"):
            looks.pop(session, None)
        if family in ("text", "paragraph"):
            code = parent in _CODE_STYLES or style.attributes.get("style:name") in _CODE_STYLES
            look = f"{parent} {sorted(looks.items())}" if looks or parent else ""
            found[style.attributes.get("style:name", "")] = TextStyle(look, hidden, code)
    return found
