"""DrawingML, the text of slides, shapes, charts and diagrams in Microsoft's formats."""

from collections.abc import Iterator
from html import escape

from hark.documents.document import ReadingOptions
from hark.documents.ooxml import PREFIXES, RunNames, run_format, split_text
from hark.documents.paragraph_piece import Item, Kept, ParagraphText, plain_text
from hark.documents.xml_document import AttributeText, EditableText, FixedText, XmlScheme, find_attribute
from hark.documents.xml_nodes import Node, Source
from hark.text.language_names import is_right_to_left, with_region


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
        for each in block.walk():
            if each.name == "a:p":
                text = self._read(each, source)
                if self._target and text.segments:
                    yield from self._direction(each, source)
                yield text
            elif each.name in self.blocks and each.name.endswith("cNvPr"):
                yield AttributeText(each, "descr", source)
            elif each.name == "c:v":
                yield plain_text(each)

    def _read(self, paragraph: Node, source: Source) -> ParagraphText:
        items: list[Item] = []
        start, end = paragraph.inner_start, paragraph.inner_end
        for each in paragraph.elements:
            match each.name:
                case "a:pPr":
                    start = each.end
                case "a:endParaRPr":
                    end = each.start
                case "a:r":
                    text = each.find("a:t")
                    if text is not None:
                        form = run_format(each, self.names, source, "", self._written(each, source))
                        items += split_text(text.text, form)
                case "a:br":
                    items.append(Kept(source.text(each.start, each.end), line_break=True))
                case _:  # fields and formulas
                    items.append(Kept(source.text(each.start, each.end), placeholder=True))
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
