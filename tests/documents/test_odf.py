"""OpenDocument files come back with their texts translated and everything else as it was."""

import re

import pytest

from hark.documents import odf
from hark.documents.formats import Document, DocumentError, ReadingOptions
from tests.documents import translators as plain
from tests.documents.office import archive, backwards, keep, member, texts, translated

SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "table", "presentation", "style")
)
SPACES += (
    ' xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"'
    ' xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"'
    ' xmlns:officeooo="http://openoffice.org/2009/office" xmlns:dc="http://purl.org/dc/elements/1.1/"'
)
STYLES = """<office:automatic-styles>
 <style:style style:name="T1" style:family="text"><style:text-properties fo:x="bold" xmlns:fo="f"/></style:style>
 <style:style style:name="T2" style:family="text"><style:text-properties officeooo:rsid="001"/></style:style>
 <style:style style:name="T3" style:family="text"><style:text-properties text:display="none"/></style:style>
</office:automatic-styles>"""


def packed(body: str, **others: str) -> bytes:
    content = f"<office:d {SPACES}>{STYLES}<office:body>{body}</office:body></office:d>"
    return archive(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f'<?xml version="1.0" encoding="UTF-8"?>\n{content}',
            **{f"{name}.xml": f"<office:d {SPACES}>{inner}</office:d>" for name, inner in others.items()},
            "Pictures/a.png": b"\x89PNG",
        }
    )


def read(content: bytes, options: ReadingOptions | None = None) -> Document:
    return odf.read(content, options or ReadingOptions())


def body(content: bytes) -> str:
    text = member(content, "content.xml")
    return text[text.index("<office:body>") + 13 : text.index("</office:body>")]


SPAN = '<text:span text:style-name="{}">{}</text:span>'
BOLD = SPAN.format("T1", "{}")
LINK = '<text:a xlink:href="http://a.b">{}</text:a>'
NOTE = "<text:note><text:note-citation>1</text:note-citation><text:p>{}</text:p></text:note>"


CELL = '<table:table-cell office:value-type="{}"{}>{}</table:table-cell>'
STRING = ' office:string-value="{}"'


@pytest.mark.parametrize(
    ("marked", "segments"),
    [
        ("<text:h>[A heading]</text:h>", ["A heading"]),
        (f"<text:p>[The ]{BOLD.format('[red]')}[ house] &amp; [co]</text:p>", ["The red house & co"]),
        (f"<text:p>[see ]{LINK.format('[the ]' + BOLD.format('[site]'))}</text:p>", ["see the site"]),
        (f"<text:p>[text]{NOTE.format('[a note]')}[ goes on]</text:p>", ["a note", "text goes on"]),
        ("<text:p>[a]<text:tab/>[b]<text:line-break/>[C]</text:p>", ["a", "b", "C"]),
        ('<text:p>[a]<text:s text:c="4"/>[b]</text:p>', ["a", "b"]),
        (
            "<text:p>[Page ]<text:page-number>3</text:page-number>[ of ]<text:x>b</text:x></text:p>",
            ["Page {{x1}} of {{x2}}"],
        ),
        (f"<text:p>[seen ]{SPAN.format('T3', 'hidden')}[text]</text:p>", ["seen text"]),
        (f"<text:p>[call ]{SPAN.format('Source_20_Text', 'main')}[ now]</text:p>", ["call {{x1}} now"]),
        (
            "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"
            '<text:p>[a ]<text:change-start text:change-id="c"/>[new]<text:change-end text:change-id="c"/>[ text]'
            '<text:change text:change-id="d"/></text:p>',
            ["a new text"],
        ),
        (
            "<text:p>[word]<office:annotation><dc:creator>Ann</dc:creator><text:p>[a remark]</text:p>"
            "</office:annotation></text:p>",
            ["a remark", "word"],
        ),
        (
            "<text:p><draw:frame><draw:text-box><text:p>[box]</text:p></draw:text-box></draw:frame>[anchor]</text:p>",
            ["box", "anchor"],
        ),
        # sheets: only cells of text
        (CELL.format("string", "", "<text:p>[name]</text:p>"), ["name"]),
        (CELL.format("date", "", "<text:p>5 May</text:p>"), []),
        (
            CELL.format(
                "float", "", "<office:annotation><text:p>[why]</text:p></office:annotation><text:p>5 km</text:p>"
            ),
            ["why"],
        ),
        (CELL.format("string", ' table:formula="of:=A1"' + STRING.format("name"), "<text:p>name</text:p>"), []),
        (CELL.format("string", STRING.format("[a] &amp; [b]"), "<text:p>[a]</text:p>"), ["a & b", "a"]),
        # presentations: prompts stay
        ('<draw:frame presentation:placeholder="true"><text:p>Click here</text:p></draw:frame>', []),
        (
            '<draw:page draw:name="p"><draw:frame><text:p>[title]</text:p></draw:frame><presentation:notes><draw:frame>'
            "<text:p>[note]</text:p></draw:frame></presentation:notes></draw:page>",
            ["title", "note"],
        ),
    ],
)
def test_paragraphs(marked: str, segments: list[str]) -> None:
    """What is in brackets is translated, and nothing else changes."""
    content = packed(re.sub(r"[\[\]]", "", marked))
    document = read(content)
    assert texts(document) == segments
    assert translated(document, keep) == content
    assert body(translated(document)) == re.sub(r"\[(.*?)\]", lambda text: text[1].upper(), marked)


def test_spans_that_only_tell_when_text_was_written() -> None:
    document = read(packed(f"<text:p>Hel{SPAN.format('T2', 'lo')}</text:p>"))
    assert texts(document) == ["Hello"]
    assert body(translated(document)) == "<text:p>HELLO</text:p>"


def test_white_space_is_one_space() -> None:
    document = read(packed(f"<text:p>\n a<text:s/>b\n   c{BOLD.format(' d')}</text:p>"))
    assert texts(document) == ["a b c d"]


def test_formats_follow_their_words() -> None:
    source = f"<text:p>The {BOLD.format('red')} house{NOTE.format('n')} {LINK.format('here')}</text:p>"
    assert body(translated(read(packed(source)), backwards)) == (
        f"<text:p>{LINK.format('HERE')} HOUSE{NOTE.format('N')} {BOLD.format('RED')} THE</text:p>"
    )


def test_headers_and_metadata() -> None:
    content = packed(
        "<text:p>text</text:p>",
        styles="<style:master-page><style:header><text:p>header</text:p></style:header>"
        '<draw:frame presentation:class="title"><text:p>Click to edit</text:p></draw:frame></style:master-page>',
        meta="<dc:title>title</dc:title><dc:creator>Ann</dc:creator>",
    )
    document = read(content)
    assert texts(document) == ["text", "header", "title"]
    written = translated(document)
    assert "<dc:title>TITLE</dc:title><dc:creator>Ann</dc:creator>" in member(written, "meta.xml")
    assert written[30:69] == content[30:69]  # the type comes first, not compressed


def test_descriptions_of_pictures_are_an_option() -> None:
    source = "<text:p><draw:frame><draw:image/><svg:desc>a cat</svg:desc></draw:frame></text:p>"
    assert texts(read(packed(source))) == []
    document = read(packed(source), ReadingOptions(attributes=True))
    assert body(translated(document)) == source.replace("a cat", "A CAT")


def test_unsafe_files_are_refused() -> None:
    with pytest.raises(DocumentError, match="declares entities"):
        read(archive({"content.xml": '<!DOCTYPE a [<!ENTITY b "c">]><a/>'}))
    with pytest.raises(DocumentError, match=r"has no content\.xml"):
        read(archive({"a.xml": "<a/>"}))
    with pytest.raises(DocumentError, match="password-protected"):
        read(archive({"content.xml": "", "META-INF/manifest.xml": "<manifest:encryption-data/>"}))


def test_language_and_direction() -> None:
    styles = (
        '<style:page-layout-properties style:writing-mode="lr-tb"/><style:default-style><style:text-properties'
        ' fo:country="US" fo:language="en" style:language-complex="hi" style:country-complex="IN" xmlns:fo="f"/>'
        '<style:paragraph-properties style:writing-mode="page"/></style:default-style>'
    )
    content = packed("<text:p>text</text:p>", styles=styles)
    german = member(translated(read(content, ReadingOptions(target="de"))), "styles.xml")
    assert ' fo:country="DE" fo:language="de" style:language-complex="hi"' in german
    assert 'style:writing-mode="lr-tb"' in german
    arabic = member(translated(read(content, ReadingOptions(target="ar"))), "styles.xml")
    assert 'fo:language="en" style:language-complex="ar" style:country-complex="SA"' in arabic
    assert '<style:page-layout-properties style:writing-mode="rl-tb"/>' in arabic
    assert 'style:writing-mode="page"' in arabic


FLAT = f"""<?xml version="1.0" encoding="UTF-8"?>
<office:document {SPACES} office:mimetype="application/vnd.oasis.opendocument.text">{STYLES}
<office:body><office:text><text:p>The <text:span text:style-name="T1">old</text:span> house</text:p></office:text>
</office:body></office:document>
"""


def test_flat_files() -> None:
    assert plain.is_unchanged("a.fodt", FLAT, ReadingOptions(target="de"))
    assert plain.texts("a.fodt", FLAT) == ["The old house"]
    written = plain.translate("a.fodt", FLAT).decode()
    assert re.sub(r"<[^>]*>", "", written).split() == ["THE", "OLD", "HOUSE"]
    assert re.findall(r"<[^>]*>", written) == re.findall(r"<[^>]*>", FLAT)
    with pytest.raises(DocumentError, match=r"^a\.fodt: the file is not flat OpenDocument"):
        plain.texts("a.fodt", "<office/>")
