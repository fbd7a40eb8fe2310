"""PPTX: slides with their tables, groups, charts and diagrams, speaker notes and comments.

The XML is edited in place (see `xml_nodes`) instead of by python-pptx, which does not reach diagrams and comments, and
writes every part again. The prompts of masters and layouts ("Click to edit") are kept; other text there is translated.
"""

from collections.abc import Iterator

from hark.documents.archives import ArchiveDocument
from hark.documents.document import Document, ReadingOptions
from hark.documents.drawing import DrawingScheme
from hark.documents.ooxml import PREFIXES, PlainFormat, open_package, read_parts, split_text
from hark.documents.paragraph_piece import ParagraphText
from hark.documents.xml_document import EditableText, XmlScheme
from hark.documents.xml_nodes import Node, Source

_TYPE = "application/vnd.openxmlformats-officedocument.presentationml"


def read(content: bytes, options: ReadingOptions) -> Document:
    """Read a PPTX file."""
    archive = open_package(content, "PPTX", "(presentationml|powerpoint)")
    slides, masters = DrawingScheme(options), DrawingScheme(options, prompts=False)
    schemes: dict[str, XmlScheme] = {
        f"{_TYPE}.slide+xml": slides,
        f"{_TYPE}.notesSlide+xml": slides,
        f"{_TYPE}.comments+xml": RemarkScheme(),
        "application/vnd.ms-powerpoint.comments+xml": slides,
        f"{_TYPE}.slideLayout+xml": masters,
        f"{_TYPE}.slideMaster+xml": masters,
    }
    return ArchiveDocument(archive, read_parts(archive, schemes, slides))


class RemarkScheme:
    """Comments on slides, as PowerPoint wrote them until 2021."""

    prefixes = PREFIXES
    blocks = frozenset(("p:text",))
    skipped = frozenset[str]()

    def texts(self, block: Node, _: Source) -> Iterator[EditableText]:
        """The text of a comment."""
        yield ParagraphText(block.inner_start, block.inner_end, list(split_text(block.text, PlainFormat())))
