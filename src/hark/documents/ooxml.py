"""What DOCX, PPTX and XLSX share: the parts of the package, its properties, runs, and the text of drawings."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import escape

from hark.documents.archives import Archive
from hark.documents.formats import Document, DocumentError, ReadingOptions
from hark.documents.paragraph_piece import Item, Kept, ParagraphText, TextFormat, TextRun, plain_text
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
from hark.text.language_names import is_right_to_left, with_region

_OFFICE = "http://schemas.openxmlformats.org"
_STRICT = "http://purl.oclc.org/ooxml"
_PLACES = {
    "w": "wordprocessingml",
    "x": "spreadsheetml",
    "p": "presentationml",
    "a": "drawingml",
    "c": "drawingml:chart",
    "wp": "drawingml:wordprocessingDrawing",
    "xdr": "drawingml:spreadsheetDrawing",
    "r": "officeDocument:relationships",
    "m": "officeDocument:math",
}


def _prefixes() -> Iterator[tuple[str, str]]:
    for prefix, place in _PLACES.items():
        room, _, kind = place.partition(":")
        yield f"{_OFFICE}/{room}/2006/{kind or 'main'}", prefix
        yield f"{_STRICT}/{room}/{kind or 'main'}", prefix
    yield f"{_OFFICE}/markup-compatibility/2006", "mc"
    yield f"{_OFFICE}/package/2006/content-types", "ct"
    yield "http://purl.org/dc/elements/1.1/", "dc"


PREFIXES: Mapping[str, str] = dict(_prefixes())
_CHART = "application/vnd.openxmlformats-officedocument.drawingml.chart+xml"
_DRAWINGS = (
    _CHART,
    "application/vnd.openxmlformats-officedocument.drawingml.diagramData+xml",
    "application/vnd.ms-office.drawingml.diagramDrawing+xml",
    "application/vnd.openxmlformats-officedocument.drawing+xml",
    "application/vnd.openxmlformats-officedocument.drawingml.chartshapes+xml",
)
_BREAKS = re.compile(r"((?:_x000D_)?\n|_x000D_|[\t\v])")
"""Tabs and line breaks; Excel writes carriage returns in this way."""
_PROPERTIES = "application/vnd.openxmlformats-package.core-properties+xml"


@dataclass(frozen=True)
class RunNames:
    """What the parts of a run are called."""

    properties: str
    text: str
    ignored: frozenset[str] = frozenset()
    """Properties that do not change how text looks, such as its language for spelling."""


def run_format(run: Node, names: RunNames, source: Source, extra: str = "", written: str | None = None) -> TextFormat:
    """The format of a run; `extra` goes into the tag of the text, and `written` replaces its properties."""
    properties = run.find(names.properties)
    key = ""
    if properties is not None:
        kept = [each for each in properties.elements if each.name not in names.ignored]
        attributes = sorted(each for each in properties.attributes.items() if each[0] not in names.ignored)
        key = "".join([*(f"{name}={value} " for name, value in attributes)] if kept or attributes else [])
        key += "".join(source.text(each.start, each.end) for each in kept)
        written = source.text(properties.start, properties.end) if written is None else written
    tag = source.text(run.start, run.inner_start).removesuffix("/>").removesuffix(">").rstrip()
    name = tag.split(None, 1)[0][1:]
    text = name.removesuffix(name.rpartition(":")[2]) + names.text
    return TextFormat((key,) if key else (), f"{tag}>{written or ''}<{text}{extra}>", f"</{text}></{name}>")


def around(run: Node, child: Node, properties: Node | None, source: Source) -> str:
    """The source of one part of a run as a run of its own."""
    head = source.text(run.start, run.inner_start)
    if properties is not None:
        head += source.text(properties.start, properties.end)
    return head + source.text(child.start, child.end) + source.text(run.inner_end, run.end)


def split_text(text: str, form: TextFormat) -> Iterator[Item]:
    """Runs of the parts of a text between tabs and line breaks, which are kept."""
    for number, part in enumerate(_BREAKS.split(text)):
        if number % 2:
            yield Kept(form.write(part), splits=part == "\t", line_break=part != "\t")
        elif part:
            yield TextRun(part, form)


def split_paragraph(node: Node) -> ParagraphText:
    """The text of an element that has no runs, divided at tabs and line breaks."""
    return ParagraphText(node.inner_start, node.inner_end, list(split_text(node.text, TextFormat())))


class PlainScheme(XmlScheme):
    """Elements with text that has no runs, such as the properties of a document and remarks."""

    def __init__(
        self, *blocks: str, read: Callable[[Node], ParagraphText], prefixes: Mapping[str, str] = PREFIXES
    ) -> None:
        self.blocks, self.prefixes, self._read = frozenset(blocks), prefixes, read

    def texts(self, block: Node, _: Source) -> Iterator[EditableText]:
        yield self._read(block)


def parts_of(archive: Archive) -> dict[str, str]:
    """The content types of the parts of a package by their names, in the archive's order."""
    name = "[Content_Types].xml"
    found = {
        each.attributes.get("PartName", "").lstrip("/"): each.attributes.get("ContentType", "")
        for each in find_nodes(archive.read(name), PREFIXES, frozenset(("ct:Override",)), name)
    }
    return {name: found[name] for name in archive.names if name in found}


def open_package(content: bytes, kind: str, main: str) -> Archive:
    """Open a package; `main` matches the content type of its main part."""
    archive = Archive(content, kind)
    if not any(re.search(rf"{main}.*\.main\+xml$", each) for each in parts_of(archive).values()):
        raise DocumentError(f"not a valid {kind} file: it has no main part")
    return archive


def read_parts(archive: Archive, schemes: Mapping[str, XmlScheme], drawings: XmlScheme) -> dict[str, Document]:
    """Read the parts for which there is a scheme, and drawings and properties.

    Parts are read in the order of the schemes, so that texts come in reading order.
    """
    types = parts_of(archive)
    readable = PlainScheme("dc:title", "dc:subject", "dc:description", read=plain_text)
    every = {**schemes, **dict.fromkeys(_DRAWINGS, drawings), _PROPERTIES: readable}
    return {
        name: XmlDocument(archive.read(name), scheme, name)
        for wanted, scheme in every.items()
        for name in sorted((each for each in types if types[each] == wanted), key=_in_order)
    }


def _in_order(name: str) -> tuple[int, str]:
    """slide2.xml before slide10.xml."""
    digits = "".join(filter(str.isdigit, name))
    return int(digits[-9:] or 0), name


class DrawingScheme(XmlScheme):
    """Paragraphs of DrawingML: slides, text in shapes, charts and diagrams."""

    prefixes = PREFIXES
    names = RunNames("a:rPr", "t", frozenset(("lang", "altLang", "dirty", "err", "noProof", "smtClean", "bmk")))

    def __init__(self, options: ReadingOptions, prompts: bool = True) -> None:
        """`prompts`: whether to translate placeholders, which in masters are prompts."""
        self._target = options.target
        blocks = ["a:p", "c:strCache", "c:multiLvlStrCache"]
        blocks += ["p:cNvPr", "xdr:cNvPr"] if options.attributes else []
        blocks += [] if prompts else ["p:sp"]
        self.blocks = frozenset(blocks)

    def texts(self, block: Node, source: Source) -> Iterator[EditableText]:
        if block.name == "p:sp" and any(each.name == "p:ph" for each in block.walk()):
            return
        for node in block.walk():
            if node.name == "a:p":
                text = self._read(node, source)
                if self._target and text.segments:
                    yield from self._direction(node, source)
                yield text
            elif node.name in self.blocks and node.name.endswith("cNvPr"):
                yield AttributeText(node, "descr", source)
            elif node.name == "c:v":
                yield plain_text(node)

    def _read(self, paragraph: Node, source: Source) -> ParagraphText:
        items: list[Item] = []
        start, end = paragraph.inner_start, paragraph.inner_end
        for part in paragraph.elements:
            match part.name:
                case "a:pPr":
                    start = part.end
                case "a:endParaRPr":
                    end = part.start
                case "a:r":
                    text = part.find("a:t")
                    if text is not None:
                        form = run_format(part, self.names, source, "", self._written(part, source))
                        items += split_text(text.text, form)
                case "a:br":
                    items.append(Kept(source.text(part.start, part.end), line_break=True))
                case _:  # fields and formulas
                    items.append(Kept(source.text(part.start, part.end), placeholder=True))
        return ParagraphText(start, end, items)

    def _written(self, run: Node, source: Source) -> str | None:
        """The properties of a run in the target language."""
        properties = run.find("a:rPr")
        if properties is None or not self._target:
            return None
        start, end = find_attribute(properties, "lang", source)
        tag = with_region(self._target) if start < end else ""
        return source.text(properties.start, start) + tag + source.text(end, properties.end)

    def _direction(self, paragraph: Node, source: Source) -> Iterator[EditableText]:
        """The edit that gives a paragraph the direction of the target language, if it has another."""
        properties = paragraph.find("a:pPr")
        old = dict(properties.attributes) if properties is not None else {}
        rtl = is_right_to_left(self._target)
        if rtl == (old.get("rtl") in ("1", "true")):
            return
        side = old.get("algn", "l" if rtl else "r")
        new = {**old, "rtl": str(int(rtl)), "algn": {"l": "r", "r": "l"}.get(side, side)}
        written = " ".join(f'{name}="{escape(value)}"' for name, value in new.items())
        if properties is None:
            name = source.text(paragraph.start, paragraph.inner_start).split(None, 1)[0].rstrip(">")
            yield FixedText(paragraph.inner_start, paragraph.inner_start, f"{name}Pr {written}/>")
        elif b"xmlns" not in source.content[properties.start : properties.inner_start]:
            tag = source.text(properties.start, properties.inner_start)
            ending = "/>" if tag.endswith("/>") else ">"
            head = tag.split()[0].rstrip("/>")
            yield FixedText(properties.start, properties.inner_start, f"{head} {written}{ending}")
