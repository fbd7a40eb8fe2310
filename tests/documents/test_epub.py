"""Books come back with their chapters, tables of contents and metadata translated, and links intact."""

import pytest

from hark.documents import epub
from hark.documents.formats import Document, DocumentError, ReadingOptions
from tests.documents.office import archive, backwards, keep, member, shout, texts, translated

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
PACKAGE = """<?xml version='1.0' encoding='utf-8'?>
<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/" version="3.0">
<metadata><dc:title id="t">A book</dc:title><dc:creator>Ann Author</dc:creator><dc:language>en-GB</dc:language>
<dc:description>&lt;p&gt;A &lt;b&gt;good&lt;/b&gt; book&lt;/p&gt;</dc:description></metadata>
<manifest><item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="two" href="text/ch%202.xhtml" media-type="application/xhtml+xml"/>
<item id="one" href="text/ch1.xhtml" media-type="application/xhtml+xml"/>
<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>
<item id="gone" href="gone.xhtml" media-type="application/xhtml+xml"/>
<item id="out" href="../../etc/passwd" media-type="application/xhtml+xml"/>
<item id="css" href="style.css" media-type="text/css"/></manifest>
<spine toc="ncx"><itemref idref="one"/><itemref idref="two"/></spine>
<guide><reference type="cover" title="Cover" href="text/ch1.xhtml"/></guide></package>"""
CHAPTER = (
    '<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en" lang="en"><head><title>{0}</title>'
    '<script/></head><p id="p1">The <b>red</b> {0} &#8212; <a href="ch%202.xhtml#p1">next</a></p><hr/></html>'
)
NAV = '<html xmlns="http://www.w3.org/1999/xhtml"><nav><ol><li><a href="text/ch1.xhtml">one</a></li></ol></nav></html>'
NCX = """<?xml version="1.0"?><!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://www.daisy.org/ncx.dtd">
<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><docTitle><text>A book</text></docTitle>
<docAuthor><text>Ann Author</text></docAuthor>
<navMap><navPoint><navLabel><text>one</text></navLabel><content src="text/ch1.xhtml"/></navPoint></navMap></ncx>"""


def packed(**others: str) -> bytes:
    return archive(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": CONTAINER,
            "OEBPS/book.opf": PACKAGE,
            "OEBPS/nav.xhtml": NAV,
            "OEBPS/toc.ncx": NCX,
            "OEBPS/text/ch 2.xhtml": CHAPTER.format("two"),
            "OEBPS/text/ch1.xhtml": CHAPTER.format("one"),
            "OEBPS/style.css": "p { }",
            **{name.replace("__", "/").replace("_", "."): content for name, content in others.items()},
        }
    )


def read(content: bytes, target: str = "") -> Document:
    return epub.read(content, ReadingOptions(target=target))


def test_a_book_in_reading_order() -> None:
    content = packed()
    document = read(content)
    assert texts(document) == [
        "A book", "A good book", "Cover",
        "one", "The red one — next",
        "two", "The red two — next",
        "one", "A book", "one",
    ]  # fmt: skip
    assert translated(document, keep) == content
    written = translated(document)
    assert written[30:58] == b"mimetypeapplication/epub+zip"
    package = member(written, "OEBPS/book.opf")
    assert '<dc:title id="t">A BOOK</dc:title><dc:creator>Ann Author</dc:creator><dc:language>en-GB<' in package
    assert "&lt;p&gt;A &lt;b&gt;GOOD&lt;/b&gt; BOOK&lt;/p&gt;" in package
    assert 'title="COVER" href="text/ch1.xhtml"' in package
    chapter = member(written, "OEBPS/text/ch1.xhtml")
    assert '<p id="p1">THE <b>RED</b> ONE &#8212; <a href="ch%202.xhtml#p1">NEXT</a></p><hr/></html>' in chapter
    contents = member(written, "OEBPS/toc.ncx")
    assert "<docAuthor><text>Ann Author</text>" in contents
    assert '<navLabel><text>ONE</text></navLabel><content src="text/ch1.xhtml"/>' in contents
    assert '<a href="text/ch1.xhtml">ONE</a>' in member(written, "OEBPS/nav.xhtml")
    assert member(written, "OEBPS/style.css") == "p { }"


def test_the_language_is_the_target() -> None:
    written = translated(read(packed(), "de"), shout)
    assert "<dc:language>de</dc:language>" in member(written, "OEBPS/book.opf")
    assert ' xml:lang="de" lang="de">' in member(written, "OEBPS/text/ch1.xhtml")


def test_pages_are_turned_round() -> None:
    arabic = translated(read(packed(), "ar"), shout)
    assert ' xml:lang="ar" lang="ar" dir="rtl">' in member(arabic, "OEBPS/text/ch1.xhtml")
    back = translated(read(arabic, "de"), backwards)  # a page in which nothing changes keeps its language
    assert ' xml:lang="de" lang="de" dir="ltr">' in member(back, "OEBPS/text/ch1.xhtml")


@pytest.mark.parametrize("target", ["ar", "de"])
def test_nothing_changes_where_nothing_is_translated(target: str) -> None:
    content = packed()
    assert translated(read(content, target), keep) == content
    turned = packed(OEBPS__nav_xhtml=NAV.replace("<html", "<html dir='rtl'"))
    document = read(turned, target)
    kept = [keep(each) if each.text == "one" else shout(each) for each in document.segments]
    assert "<html dir='rtl'" in member(document.write(kept), "OEBPS/nav.xhtml")  # all of its text is kept


def test_copy_protection_is_named() -> None:
    lock = '<encryption xmlns:e="http://www.w3.org/2001/04/xmlenc#"><e:CipherReference URI="{}"/></encryption>'
    name = "META-INF__encryption_xml"
    with pytest.raises(DocumentError, match="copy-protected"):
        read(packed(**{name: lock.format("OEBPS/text/ch%202.xhtml")}))
    assert texts(read(packed(**{name: lock.format("OEBPS/font.otf")})))


def test_damaged_books_are_refused() -> None:
    with pytest.raises(DocumentError, match=r"has no META-INF/container\.xml"):
        read(archive({"a": ""}))
    with pytest.raises(DocumentError, match="no package document"):
        read(archive({"META-INF/container.xml": CONTAINER}))
    with pytest.raises(DocumentError, match="no chapters"):
        read(archive({"META-INF/container.xml": CONTAINER, "OEBPS/book.opf": PACKAGE}))
    bomb = '<!DOCTYPE a [<!ENTITY a "b">]><a/>'
    with pytest.raises(DocumentError, match="declares entities"):
        read(packed(OEBPS__toc_ncx=bomb))
