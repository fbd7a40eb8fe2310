"""PDF: its text, with paragraphs and headings, as HTML or DOCX. The layout of the pages is not kept.

A PDF file places letters on pages. So its text is first written as a file of another format, which is then read like
any other: columns, tables, pictures and links are lost. Scanned pages have no text.
"""

import warnings

from hark.documents import docx
from hark.documents import markup_document as html
from hark.documents.document import Document, DocumentError, ReadingOptions
from hark.documents.new_files import write_docx, write_html
from hark.documents.pdf_paragraphs import find_paragraphs, read_lines
from hark.errors import HarkWarning

LAYOUT = "the layout of PDF files is not kept: only text, paragraphs and headings"


def read(content: bytes, options: ReadingOptions) -> Document:
    """Read a PDF file; it is written as `options.output` says: html, which is also the default, or docx."""
    if options.output not in ("", "html", "docx"):
        raise DocumentError(f"PDF files are written as html or docx, not as {options.output}")
    text = read_lines(content)
    paragraphs = find_paragraphs(text)
    if not any(any(map(str.isalpha, each.text)) for each in paragraphs):
        raise DocumentError(
            "this PDF file has no text: it may be scanned, and hark does not recognise pictures of text"
        )
    warnings.warn(LAYOUT, HarkWarning, stacklevel=2)
    heading = next((each.text for each in paragraphs if each.level), "")
    title = text.title.strip() or heading.strip()
    if options.output == "docx":
        return docx.read(write_docx(title, paragraphs), options)
    return html.read(write_html(title, paragraphs), options)
