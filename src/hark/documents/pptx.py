"""PPTX: slides with their tables, groups, charts and diagrams, speaker notes and comments.

The XML is edited in place (see `xml_document`) instead of by python-pptx, which does not reach diagrams and comments,
and writes every part again. The prompts of masters and layouts ("Click to edit") are kept; other text there is
translated.
"""

from hark.documents.archives import ArchiveDocument
from hark.documents.formats import Document, ReadingOptions
from hark.documents.ooxml import DrawingScheme, PlainScheme, open_package, read_parts, split_paragraph
from hark.documents.xml_document import XmlScheme

_TYPE = "application/vnd.openxmlformats-officedocument.presentationml"


def read(content: bytes, options: ReadingOptions) -> Document:
    archive = open_package(content, "PPTX", "(presentationml|powerpoint)")
    slides, masters = DrawingScheme(options), DrawingScheme(options, prompts=False)
    schemes: dict[str, XmlScheme] = {
        f"{_TYPE}.slide+xml": slides,
        f"{_TYPE}.notesSlide+xml": slides,
        f"{_TYPE}.comments+xml": PlainScheme(
            "p:text", read=split_paragraph
        ),  # comments, as PowerPoint wrote them until 2021
        "application/vnd.ms-powerpoint.comments+xml": slides,
        f"{_TYPE}.slideLayout+xml": masters,
        f"{_TYPE}.slideMaster+xml": masters,
    }
    return ArchiveDocument(archive, read_parts(archive, schemes, slides))
