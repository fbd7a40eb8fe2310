"""Word documents come back with their texts translated and everything else as it was."""

import gc
import re
from io import BytesIO
from zipfile import ZipFile

import docx as python_docx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hark.documents import docx
from hark.documents.formats import DocumentError, ReadingOptions
from hark.documents.ooxml import PREFIXES
from hark.documents.xml_document import Node, find_nodes
from tests.documents.office import HEADER, W, archive, backwards, keep, member, package, shout, texts, translated

TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml"
SPACES = (
    f'{W} xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    ' xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:v="urn:schemas-microsoft-com:vml"'
)


def packed(body: str, **others: str) -> bytes:
    """A document with a body; other parts by their kind: footnotes, header, styles."""
    roots = {"footnotes": "footnotes", "comments": "comments", "header": "hdr", "styles": "styles"}
    parts = {
        f"word/{kind}.xml": (f"{TYPE}.{kind}+xml", f"{HEADER}<w:{roots[kind]} {SPACES}>{inner}</w:{roots[kind]}>")
        for kind, inner in others.items()
    }
    main = f"{HEADER}<w:document {SPACES}><w:body>{body}</w:body></w:document>"
    return package({"word/document.xml": (f"{TYPE}.document.main+xml", main), **parts})


def read(content: bytes) -> docx.Document:
    return docx.read(content, ReadingOptions())


def run(text: str, properties: str = "") -> str:
    return f'<w:r>{properties and f"<w:rPr>{properties}</w:rPr>"}<w:t xml:space="preserve">{text}</w:t></w:r>'


def p(*content: str) -> str:
    return f"<w:p>{''.join(content)}</w:p>"


def body(content: bytes) -> str:
    found = re.search("<w:body>(.*)</w:body>", member(content, "word/document.xml"), re.DOTALL)
    assert found
    return found[1]


def shouted(source: str, translate: object = shout, **others: str) -> str:
    return body(translated(read(packed(source, **others)), translate))  # type: ignore[arg-type]


FIELD = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'


def field(instruction: str, result: str) -> str:
    parts = (FIELD.format(kind) for kind in ("begin", "separate", "end"))
    begin, separate, end = parts
    return f"{begin}<w:r><w:instrText> {instruction} </w:instrText></w:r>{separate}{result}{end}"


NOTE = '<w:r><w:rPr><w:rStyle w:val="FootnoteReference"/></w:rPr><w:footnoteReference w:id="2"/></w:r>'
BOLD = "<w:b/>"
LINK = '<w:hyperlink r:id="rId4">{}</w:hyperlink>'


@pytest.mark.parametrize(
    ("source", "expected", "segments"),
    [
        (p(run("Hello world.")), p(run("HELLO WORLD.")), ["Hello world."]),
        (p(run("a &lt; b &amp; c")), p(run("A &lt; B &amp; C")), ["a < b & c"]),
        (p(run("12.5 %")), p(run("12.5 %")), []),
        ("<w:p/>", "<w:p/>", []),
        # runs that look the same are one
        (
            p('<w:r w:rsidR="1"><w:t>Hel</w:t></w:r><w:proofErr w:type="x"/><w:r w:rsidR="2"><w:t>lo</w:t></w:r>'),
            p('<w:r w:rsidR="1"><w:t xml:space="preserve">HELLO</w:t></w:r>'),
            ["Hello"],
        ),
        (
            p(run("one ", '<w:lang w:val="de"/>') + run("two")),
            p(run("ONE TWO", '<w:lang w:val="de"/>')),
            ["one two"],
        ),
        # formats, links and notes inside a sentence
        (
            p(run("The ") + run("red", BOLD) + run(" house")),
            p(run("THE ") + run("RED", BOLD) + run(" HOUSE")),
            ["The red house"],
        ),
        (
            p(run("See ") + LINK.format(run("the site", "<w:u/>")) + run(".") + NOTE),
            p(run("SEE ") + LINK.format(run("THE SITE", "<w:u/>")) + run(".") + NOTE),
            ["See the site."],
        ),
        (
            p(run("A") + "<w:r><w:tab/></w:r>" + run("b") + "<w:r><w:br/></w:r>" + run("C")),
            p(run("A") + "<w:r><w:tab/></w:r>" + run("B") + "<w:r><w:br/></w:r>" + run("C")),
            ["A", "b", "C"],
        ),
        (
            p("<w:r><w:t>One</w:t><w:tab/><w:t>two</w:t></w:r>"),
            p(run("ONE") + "<w:r><w:tab/></w:r>" + run("TWO")),
            ["One", "two"],
        ),
        (  # a sentence goes on after a line break
            p(run("a long") + "<w:r><w:br/></w:r>" + run("title")),
            p(run("A LONG") + "<w:r><w:br/></w:r>" + run("TITLE")),
            ["a long title"],
        ),
        (  # a blank to fill in
            p(run("Name: ") + run("      ", "<w:u/>") + run("Date")),
            p(run("NAME: ") + run("      ", "<w:u/>") + run("DATE")),
            ["Name:", "Date"],
        ),
        # fields
        (
            p(run("Page ") + field("PAGE", run("3")) + run(" of ") + field("NUMPAGES", run("9"))),
            p(run("PAGE ") + field("PAGE", run("3")) + run(" OF ") + field("NUMPAGES", run("9"))),
            ["Page {{x1}} of {{x2}}"],
        ),
        (
            p(run("See ") + field('HYPERLINK "http://a.b"', run("this page", "<w:u/>")) + run(" now")),
            p(run("SEE ") + field('HYPERLINK "http://a.b"', run("THIS PAGE", "<w:u/>")) + run(" NOW")),
            ["See this page now"],
        ),
        (
            p(run("on ") + f'<w:fldSimple w:instr=" DATE ">{run("May 5")}</w:fldSimple>'),
            p(run("ON ") + f'<w:fldSimple w:instr=" DATE ">{run("May 5")}</w:fldSimple>'),
            ["on {{x1}}"],
        ),
        (  # a table of contents begins here and ends in another paragraph
            p(
                FIELD.format("begin") + "<w:r><w:instrText>TOC</w:instrText></w:r>" + FIELD.format("separate")
                + LINK.format(run("1. Start") + "<w:r><w:tab/></w:r>" + field("PAGEREF _Toc1", run("7")))
            ),
            p(
                FIELD.format("begin") + "<w:r><w:instrText>TOC</w:instrText></w:r>" + FIELD.format("separate")
                + LINK.format(run("1. START") + "<w:r><w:tab/></w:r>" + field("PAGEREF _Toc1", run("7")))
            ),
            ["1. Start"],
        ),
        # tracked changes, hidden text, code
        (
            p(
                run("The ") + '<w:del w:id="1"><w:r><w:delText>old</w:delText></w:r></w:del>'
                + f'<w:ins w:id="2">{run("new")}</w:ins>' + run(" text")
            ),
            p(
                run("THE ") + '<w:del w:id="1"><w:r><w:delText>old</w:delText></w:r></w:del>'
                + f'<w:ins w:id="2">{run("NEW")}</w:ins>' + run(" TEXT")
            ),
            ["The new text"],
        ),
        (
            p(run("seen ") + run("hidden", "<w:vanish/>") + run("too", '<w:vanish w:val="0"/>')),
            p(run("SEEN ") + run("hidden", "<w:vanish/>") + run("TOO", '<w:vanish w:val="0"/>')),
            ["seen too"],
        ),
        (
            p(run("call ") + run("main", '<w:rStyle w:val="VerbatimChar"/>')),
            p(run("CALL ") + run("main", '<w:rStyle w:val="VerbatimChar"/>')),
            ["call {{x1}}"],
        ),
        # ranges around words, content controls, formulas, right to left
        (
            p('<w:bookmarkStart w:id="0" w:name="b"/>' + run("one") + '<w:bookmarkEnd w:id="0"/>' + run(" two")),
            p('<w:bookmarkStart w:id="0" w:name="b"/>' + run("ONE") + '<w:bookmarkEnd w:id="0"/>' + run(" TWO")),
            ["one two"],
        ),
        (
            p(run("a ") + f"<w:sdt><w:sdtPr><w:id/></w:sdtPr><w:sdtContent>{run('b')}</w:sdtContent></w:sdt>"),
            p(run("A ") + f"<w:sdt><w:sdtPr><w:id/></w:sdtPr><w:sdtContent>{run('B')}</w:sdtContent></w:sdt>"),
            ["a b"],
        ),
        (
            p(run("where ") + "<m:oMath><m:r><m:t>x</m:t></m:r></m:oMath>" + run(" is")),
            p(run("WHERE ") + "<m:oMath><m:r><m:t>x</m:t></m:r></m:oMath>" + run(" IS")),
            ["where {{x1}} is"],
        ),
        (
            "<w:p><w:pPr><w:bidi/></w:pPr>" + run("שלום world", "<w:rtl/>") + "</w:p>",
            "<w:p><w:pPr><w:bidi/></w:pPr>" + run("שלום WORLD", "<w:rtl/>") + "</w:p>",
            ["שלום world"],
        ),
        (
            "<w:tbl><w:tr><w:tc>" + p(run("cell")) + "</w:tc></w:tr></w:tbl>",
            "<w:tbl><w:tr><w:tc>" + p(run("CELL")) + "</w:tc></w:tr></w:tbl>",
            ["cell"],
        ),
        (  # a text box, and the same for old programs
            p(
                run("anchor")
                + f"<w:r><mc:AlternateContent><mc:Choice><w:txbxContent>{p(run('box'))}</w:txbxContent></mc:Choice>"
                + f"<mc:Fallback><v:textbox>{p(run('box'))}</v:textbox></mc:Fallback></mc:AlternateContent></w:r>"
            ),
            p(
                run("ANCHOR")
                + f"<w:r><mc:AlternateContent><mc:Choice><w:txbxContent>{p(run('BOX'))}</w:txbxContent></mc:Choice>"
                + f"<mc:Fallback><v:textbox>{p(run('BOX'))}</v:textbox></mc:Fallback></mc:AlternateContent></w:r>"
            ),
            ["box", "box", "anchor"],
        ),
    ],
)  # fmt: skip
def test_paragraphs(source: str, expected: str, segments: list[str]) -> None:
    content = packed(source)
    document = read(content)
    assert texts(document) == segments
    assert translated(document, keep) == content
    assert body(translated(document)) == expected


def test_formats_follow_their_words() -> None:
    source = p(run("The ") + run("red", BOLD) + NOTE + run(" house ") + LINK.format(run("here")))
    assert shouted(source, backwards) == p(
        LINK.format(run("HERE")) + run(" HOUSE ") + run("RED", BOLD) + NOTE + run(" THE")
    )


def test_bold_lead_is_not_the_format_of_the_paragraph() -> None:
    document = read(packed(p(run("Note:", BOLD) + run(" this is a long remark."))))
    written = body(document.write([type(keep(document.segments[0]))("Eine lange Bemerkung")]))
    assert written.count("<w:b/>") == 1
    assert re.sub("<[^>]+>", "", written) == "Eine lange Bemerkung"


def test_other_parts() -> None:
    content = packed(
        p(run("text")),
        footnotes=f'<w:footnote w:id="2">{p("<w:r><w:footnoteRef/></w:r>" + run(" a note"))}</w:footnote>',
        comments=f'<w:comment w:id="0" w:author="Ann">{p(run("a remark"))}</w:comment>',
        header=p(run("a header")),
        styles='<w:style w:styleId="Secret"><w:rPr><w:vanish/></w:rPr></w:style>',
    )
    document = read(content)
    assert texts(document) == ["text", "a note", "a remark", "a header"]
    written = translated(document)
    assert "<w:footnoteRef/></w:r>" + run(" A NOTE") in member(written, "word/footnotes.xml")
    assert 'w:author="Ann"' in member(written, "word/comments.xml")
    assert member(written, "word/styles.xml") == member(content, "word/styles.xml")


def test_styles_can_hide_text() -> None:
    styles = (
        '<w:style w:styleId="Secret"><w:rPr><w:vanish/></w:rPr></w:style>'
        '<w:style w:styleId="Child"><w:basedOn w:val="Secret"/></w:style>'
        '<w:style w:styleId="Seen"><w:basedOn w:val="Secret"/><w:rPr><w:vanish w:val="false"/></w:rPr></w:style>'
        '<w:style w:styleId="Loop"><w:basedOn w:val="Loop"/></w:style>'
    )
    content = packed(
        '<w:p><w:pPr><w:pStyle w:val="Child"/></w:pPr>' + run("secret") + "</w:p>"
        + p(run("one ") + run("two", '<w:rStyle w:val="Secret"/>') + run("three", '<w:rStyle w:val="Seen"/>')),
        styles=styles,
    )  # fmt: skip
    assert texts(read(content)) == ["one three"]


def test_any_prefix_and_encoding() -> None:
    space = W.replace("xmlns:w", "xmlns:q")
    inner = "<q:p ><q:r ><q:t>grün</q:t></q:r></q:p>"
    text = f'<?xml version="1.0" encoding="UTF-16"?><q:document {space}>{inner}</q:document>'
    for encoding in ("utf-16", "utf-16-be"):
        bytes_ = ("\ufeff" * (encoding == "utf-16-be") + text).encode(encoding)
        content = package({"word/document.xml": (f"{TYPE}.document.main+xml", "")}, {"word/main.xml": bytes_})
        with ZipFile(BytesIO(content)) as opened:
            listed = opened.read("[Content_Types].xml").decode().replace("/word/document.xml", "/word/main.xml")
        content = archive({"[Content_Types].xml": listed, "word/main.xml": bytes_})
        document = read(content)
        assert texts(document) == ["grün"]
        assert translated(document, keep) == content
        with ZipFile(BytesIO(translated(document))) as opened:
            written = opened.read("word/main.xml").decode("utf-16")
        assert '<q:p ><q:r><q:t xml:space="preserve">GRÜN</q:t></q:r></q:p>' in written


def test_a_file_of_python_docx() -> None:
    made = python_docx.Document()
    made.add_heading("A heading", 1)
    paragraph = made.add_paragraph("Plain and ")
    paragraph.add_run("bold").bold = True
    paragraph.add_run(" and ").italic = True
    made.add_table(1, 2).cell(0, 1).text = "in a cell"
    made.sections[0].footer.paragraphs[0].text = "the footer"
    made.core_properties.title = "The title"
    output = BytesIO()
    made.save(output)
    document = read(output.getvalue())
    assert {"A heading", "Plain and bold and", "in a cell", "the footer", "The title"} <= set(texts(document))
    assert translated(document, keep) == output.getvalue()
    again = python_docx.Document(BytesIO(translated(document)))
    assert [each.text for each in again.paragraphs] == ["A HEADING", "PLAIN AND BOLD AND "]
    assert [(each.text, each.bold) for each in again.paragraphs[1].runs][1] == ("BOLD", True)
    assert again.tables[0].cell(0, 1).text == "IN A CELL"
    assert again.core_properties.title == "THE TITLE"


@pytest.mark.parametrize(
    ("main", "message"),
    [
        ('<!DOCTYPE d [<!ENTITY a "b">]><d>&a;</d>', "declares entities"),
        ('<!DOCTYPE d [<!ENTITY a SYSTEM "file:///etc/passwd">]><d>&a;</d>', "declares entities"),
        ("<d>" * 400 + "</d>" * 400, "nested more than"),
        ("<d><e></d>", "damaged file: word/document.xml"),
        ("", "damaged file: word/document.xml"),
    ],
)
def test_unsafe_xml_is_refused(main: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message) as caught:
        read(package({"word/document.xml": (f"{TYPE}.document.main+xml", main)}))
    assert "\n" not in str(caught.value)


def test_other_archives_are_refused() -> None:
    with pytest.raises(DocumentError, match="not a valid DOCX file"):
        read(archive({"a.xml": "<a/>"}))
    with pytest.raises(DocumentError, match="not a valid DOCX file: it has no main part"):
        read(package({}))


runs = st.builds(
    run,
    st.text("ab c&.", min_size=1, max_size=6).map(lambda text: text.replace("&", "&amp;")),
    st.sampled_from(["", BOLD, "<w:i/>", BOLD + "<w:i/>", '<w:lang w:val="de"/>']),
)
marks = st.sampled_from([NOTE, "<w:r><w:tab/></w:r>", "<w:r><w:br/></w:r>", field("PAGE", run("1"))])
inline = st.recursive(
    runs | marks,
    lambda inner: st.lists(inner, max_size=4).map(lambda parts: LINK.format("".join(parts))),
    max_leaves=12,
)


@settings(max_examples=40, deadline=None)
@given(st.lists(inline, max_size=8), st.sampled_from([shout, backwards]))
def test_random_paragraphs(parts: list[str], translate: object) -> None:
    """Notes, fields and links come out once, in well-formed XML, and no text is lost."""
    source = p(*parts)
    content = packed(source)
    assert translated(read(content), keep) == content
    written = shouted(source, translate)
    for tag in ("<w:footnoteReference ", "<w:tab/>", "<w:br/>", "<w:instrText>", "<w:hyperlink ", "</w:hyperlink>"):
        assert written.count(tag) == source.count(tag)
    assert texts(read(packed(written))) is not None  # parses
    letters = [sorted(re.sub("<[^>]+>|amp;| ", "", each).upper()) for each in (source, written)]
    assert letters[0] == letters[1]


def test_descriptions_of_pictures_are_an_option() -> None:
    space = 'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'
    drawing = f'<w:r><w:drawing><wp:inline {space}><wp:docPr id="1" descr="a cat"/></wp:inline></w:drawing></w:r>'
    content = packed(p(run("see ") + drawing))
    assert texts(read(content)) == ["see"]
    document = docx.read(content, ReadingOptions(attributes=True))
    assert texts(document) == ["a cat", "see"]
    assert body(translated(document)) == p(run("SEE ") + drawing.replace("a cat", "A CAT"))


def test_a_long_document_needs_memory_for_a_piece_only() -> None:
    """300 pages: of its elements, only those of one piece of the XML are in memory."""
    paragraph = p(run("Many words of a long page. " * 12) + run("Bold words. ", BOLD) + NOTE)
    content = packed(paragraph * 300 * 5)
    main = member(content, "word/document.xml").encode()
    alive = []
    for number, _ in enumerate(find_nodes(main, PREFIXES, frozenset(("w:p",)), "main")):
        if number % 500 == 499:
            alive.append(sum(type(each) is Node for each in gc.get_objects()))
    assert len(alive) == 3
    assert max(alive) < 3000  # all together are 16,500
    assert len(read(content).segments) == 1500


MARK = '<w:bookmark{0} w:id="{1}"/>'
DEEP = 3_000
BREAK = "<w:r><w:br/></w:r>"


@pytest.mark.parametrize(
    ("source", "segments"),
    [
        pytest.param(
            "".join(MARK.format("Start", each) for each in range(DEEP))
            + run("text")
            + "".join(MARK.format("End", each) for each in reversed(range(DEEP))),
            ["text"],
            id="nested ranges",
        ),
        pytest.param(
            (FIELD.format("begin") + FIELD.format("separate")) * DEEP + run("text") + FIELD.format("end") * DEEP,
            ["text"],
            id="nested fields",
        ),
        pytest.param((run("A") + BREAK) * DEEP, ["A"] * DEEP, id="line breaks"),
    ],
)
def test_what_nobody_writes_neither_fails_nor_takes_long(source: str, segments: list[str]) -> None:
    content = packed(p(source))
    document = read(content)
    assert translated(document, keep) == content
    assert texts(document) == segments


LANG = '<w:lang w:val="en-US"/>'


def localised(source: str, target: str, **others: str) -> bytes:
    return translated(docx.read(packed(source, **others), ReadingOptions(target=target)))


def test_the_language_is_the_target() -> None:
    source = p(run("one ", LANG) + run("two", f"<w:b/>{LANG}<w:oMath/>"))
    defaults = f"<w:docDefaults><w:rPrDefault><w:rPr>{LANG}</w:rPr></w:rPrDefault></w:docDefaults>"
    written = localised(source, "de", styles=defaults)
    new = LANG.replace("en-US", "de-DE")
    assert body(written) == p(run("ONE ", new) + run("TWO", f"<w:b/>{new}<w:oMath/>"))
    assert defaults.replace("en-US", "de-DE") in member(written, "word/styles.xml")
    assert body(localised(p(run("one", LANG)), "ja")) == p(run("ONE", '<w:lang w:eastAsia="ja-JP"/>'))


def test_every_statement_of_a_language_is_the_target() -> None:
    """Also those of paragraph marks, of text that is not translated, of styles and of text in another language."""
    mark = f"<w:pPr><w:rPr>{LANG}</w:rPr></w:pPr>"
    french = '<w:lang w:val="fr-FR" w:eastAsia="zh-CN" w:bidi="he-IL"/>'
    unchecked = '<w:lang w:val="x-none"/>'
    source = p(mark + run("one", french)) + p(mark) + p(run("1", LANG)) + p(run("2", unchecked))
    styles = (
        f"<w:docDefaults><w:rPrDefault><w:rPr>{LANG}</w:rPr></w:rPrDefault></w:docDefaults>"
        f'<w:style w:styleId="a"><w:rPr>{french}</w:rPr></w:style><w:style w:styleId="b"><w:rPr>'
        '<w:lang w:eastAsia="zh-CN"/></w:rPr></w:style>'
    )
    written = localised(source, "de", styles=styles)
    new = LANG.replace("en-US", "de-DE")
    assert body(written) == p(mark.replace(LANG, new) + run("ONE", new)) + p(mark.replace(LANG, new)) + p(
        run("1", new)
    ) + p(run("2", unchecked))
    assert styles.replace("en-US", "de-DE").replace("fr-FR", "de-DE") in member(written, "word/styles.xml")


def test_a_file_in_which_nothing_is_translated_keeps_its_language_and_direction() -> None:
    defaults = f"<w:docDefaults><w:rPrDefault><w:rPr>{LANG}</w:rPr></w:rPrDefault></w:docDefaults>"
    content = packed(p(run("one ", LANG)), styles=defaults)
    assert translated(docx.read(content, ReadingOptions(target="ar")), keep) == content


def test_from_left_to_right_and_back() -> None:
    properties = '<w:pStyle w:val="a"/>{}<w:jc w:val="both"/>'
    bold = f"<w:b/><w:sz w:val='24'/>{LANG}"
    left = f"<w:p><w:pPr>{properties.format('')}</w:pPr>{run('a ')}{run('b', bold)}</w:p>"
    written = body(localised(left + p(run("c")) + p(run("1")), "ar"))
    cs = "<w:b/><w:bCs/><w:sz w:val='24'/><w:szCs w:val='24'/><w:rtl/><w:lang w:bidi=\"ar-SA\"/>"
    assert written == (
        f"<w:p><w:pPr>{properties.format('<w:bidi/>')}</w:pPr>{run('A ', '<w:rtl/>')}{run('B', cs)}</w:p>"
        + p("<w:pPr><w:bidi/></w:pPr>" + run("C", "<w:rtl/>"))
        + p(run("1"))
    )
    again = body(localised(written.replace(">A ", ">a ").replace(">B", ">b").replace(">C", ">c"), "en"))
    assert "rtl" not in again
    assert "bidi" not in again
