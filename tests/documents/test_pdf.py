"""The text of PDF files comes out as paragraphs and headings, in files of another format."""

import warnings

import pytest

from hark.documents import pdf
from hark.documents.formats import Document, DocumentError, ReadingOptions
from hark.errors import HarkWarning
from tests.documents.office import keep, member, shout, texts, translated
from tests.documents.pdfs import lines, made

pytest.importorskip("pypdfium2", reason="pypdfium2 is in the extra documents")


def read(content: bytes, output: str = "") -> Document:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HarkWarning)
        return pdf.read(content, ReadingOptions(output=output))


FULL = "This is a line of text that fills the width of the page to the end"


def test_paragraphs_and_headings() -> None:
    page = [
        (50, 760, 24, "A title"),
        (50, 730, 14, "A chapter"),
        *lines(FULL, "and goes on here.", FULL, "in a second paragraph that is not short at all, or is it."),
        *lines("After a gap.", start=630),
    ]  # fmt: skip
    document = read(made([page]))
    assert texts(document)[1:] == [
        "A title",
        "A chapter",
        f"{FULL} and goes on here.",
        f"{FULL} in a second paragraph that is not short at all, or is it.",
        "After a gap.",
    ]
    written = translated(document).decode()
    assert "<title>A TITLE</title>" in written
    assert "<h1>A TITLE</h1>\n<h2>A CHAPTER</h2>\n<p>THIS IS" in written


def test_hyphens_are_mended() -> None:
    page = lines(
        FULL.replace("end", "transla-"), "tion of a well-known book about the Nether-", "Lands and a well-",
        "known author.",
    )  # fmt: skip
    assert texts(read(made([page])))[-1] == (
        FULL.replace("end", "translation") + " of a well-known book about the Nether-Lands and a well-known author."
    )


def test_running_titles_and_page_numbers_are_dropped() -> None:
    pages = [
        [
            (50, 780, 8, "A Book" if number % 2 else "Chapter one"),
            *lines(f"{FULL} {'abcdef'[number]}", "and ends here."),
            (300, 20, 8, f"Page {number + 1}"),
        ]
        for number in range(6)
    ]
    assert texts(read(made(pages))) == [f"{FULL} {letter} and ends here." for letter in "abcdef"]
    assert "A Book" in texts(read(made(pages[1:2])))[0]  # one page says nothing about what repeats


def test_tables_of_contents() -> None:
    page = lines("1 Start . . . . . . . . . . . . 7", "2 Middle ........................ 12", "3 End . . . . . . ix")
    assert texts(read(made([page]))) == ["1 Start … 7", "2 Middle … 12", "3 End … ix"]


def test_paragraphs_go_on_on_the_next_page() -> None:
    pages = [lines(FULL, FULL), lines("and ends on the next page.", "Another one.")]
    assert texts(read(made(pages)))[0] == f"{FULL} {FULL} and ends on the next page."


def test_lists_and_styles() -> None:
    page = lines("Some text:", "• one thing", "• another", "1. first", "*All bold*", "_slanted_")
    document = read(made([page]))
    assert texts(document) == ["Some text:", "• one thing", "• another", "1. first", "All bold", "slanted"]
    written = translated(document, keep).decode()
    assert "<b>All bold</b>" in written
    assert "<i>slanted</i>" in written


def test_as_docx() -> None:
    content = made([[(50, 760, 24, "A title"), *lines(FULL, "*bold & more*")]], "The book")
    document = read(content, "docx")
    assert texts(document) == ["A title", f"{FULL} bold & more", "The book"]
    written = translated(document, shout)
    assert '<w:pStyle w:val="Heading1"/>' in member(written, "word/document.xml")
    assert "<w:rPr><w:b/><w:bCs/></w:rPr>" in member(written, "word/document.xml")
    assert "<dc:title>THE BOOK</dc:title>" in member(written, "docProps/core.xml")
    with pytest.raises(DocumentError, match="written as html or docx, not as pdf"):
        read(content, "pdf")


def test_it_says_that_the_layout_is_not_kept() -> None:
    with pytest.warns(HarkWarning, match="layout of PDF files is not kept"):
        pdf.read(made([lines("Text")]), ReadingOptions())


def test_files_without_text_and_damaged_ones_are_refused() -> None:
    with pytest.raises(DocumentError, match="may be scanned"):
        read(made([[]]))
    with pytest.raises(DocumentError, match="not a valid PDF file"):
        read(b"text")
    with pytest.raises(DocumentError, match="not a valid PDF file"):
        read(b"")
