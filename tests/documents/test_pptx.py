"""Presentations come back with their texts translated and everything else as it was."""

import re
from io import BytesIO

import pptx as python_pptx
import pytest
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from hark.documents import pptx
from hark.documents.formats import Document, DocumentError, ReadingOptions
from tests.documents.office import HEADER, backwards, keep, member, package, texts, translated

TYPE = "application/vnd.openxmlformats-officedocument.presentationml"
SPACES = (
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    ' xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
    ' xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)


def packed(slide: str, **others: str) -> bytes:
    parts = {"slide": slide, **others}
    return package(
        {
            "ppt/presentation.xml": (f"{TYPE}.presentation.main+xml", "<p/>"),
            **{
                f"ppt/{kind}s/{kind}1.xml": (f"{TYPE}.{kind}+xml", f"{HEADER}<p:sld {SPACES}>{inner}</p:sld>")
                for kind, inner in parts.items()
            },
        }
    )


def read(content: bytes, options: ReadingOptions | None = None) -> Document:
    return pptx.read(content, options or ReadingOptions())


def slide(content: bytes) -> str:
    found = re.search("<p:sld[^>]*>(.*)</p:sld>", member(content, "ppt/slides/slide1.xml"), re.DOTALL)
    assert found
    return found[1]


def run(text: str, properties: str = '<a:rPr lang="en-US"/>') -> str:
    return f"<a:r>{properties}<a:t>{text}</a:t></a:r>"


BOLD = '<a:rPr lang="en-US" b="1"/>'
LINK = '<a:rPr lang="en-US"><a:hlinkClick r:id="rId2"/></a:rPr>'
NUMBER = '<a:fld id="{1}" type="slidenum"><a:rPr/><a:t>4</a:t></a:fld>'
END = '<a:endParaRPr lang="en-US"/>'


@pytest.mark.parametrize(
    ("marked", "segments"),
    [
        (f"<a:p><a:pPr lvl='1'/>{run('[Hello world]')}{END}</a:p>", ["Hello world"]),
        (f"<a:p>{run('[the ]')}{run('[red]', BOLD)}{run('[ house]')}</a:p>", ["the red house"]),
        (f"<a:p>{run('[see ]')}{run('[this]', LINK)}</a:p>", ["see this"]),
        (f"<a:p>{run('[slide ]')}{NUMBER}</a:p>", ["slide {{x1}}"]),
        (f"<a:p>{run('[One]')}<a:br><a:rPr/></a:br>{run('[Two]')}</a:p>", ["One", "Two"]),
        (f"<a:p>{run('[a name]')}{run(chr(9))}{run('[a value]')}</a:p>", ["a name", "a value"]),
        (f"<a:p>{run('12 %')}</a:p><a:p/>", []),
        (f"<p:grpSp><p:grpSp><p:sp><a:p>{run('[deep]')}</a:p></p:sp></p:grpSp></p:grpSp>", ["deep"]),
        (f"<a:tbl><a:tr><a:tc><a:txBody><a:p>{run('[cell]')}</a:p></a:txBody></a:tc></a:tr></a:tbl>", ["cell"]),
    ],
)
def test_paragraphs(marked: str, segments: list[str]) -> None:
    content = packed(re.sub(r"[\[\]]", "", marked))
    document = read(content)
    assert texts(document) == segments
    assert translated(document, keep) == content
    assert slide(translated(document)) == re.sub(r"\[(.*?)\]", lambda text: text[1].upper(), marked)


def test_runs_that_look_the_same_are_one() -> None:
    checked = '<a:rPr lang="de" dirty="0" err="1"/>'
    source = f"<a:p>{run('Hel')}{run('lo', checked)}</a:p>"
    assert slide(translated(read(packed(source)))) == f"<a:p>{run('HELLO')}</a:p>"


def test_formats_follow_their_words() -> None:
    source = f"<a:p>{run('the ')}{run('red', BOLD)}{run(' house of many words')}</a:p>"
    assert slide(translated(read(packed(source)), backwards)) == (
        f"<a:p>{run('WORDS MANY OF HOUSE ')}{run('RED', BOLD)}{run(' THE')}</a:p>"
    )


def test_other_parts() -> None:
    shape = "<p:sp><p:nvSpPr><p:nvPr>{}</p:nvPr></p:nvSpPr><a:p>{}</a:p></p:sp>"
    content = packed(
        f"<a:p>{run('slide')}</a:p>",
        notesSlide=f"<a:p>{run('notes')}</a:p>",
        comments="<p:cm><p:text>remark &amp; more\nand on</p:text></p:cm>",
        slideMaster=shape.format('<p:ph type="title"/>', run("Click to edit")) + shape.format("", run("confidential")),
    )
    document = read(content)
    assert texts(document) == ["slide", "notes", "remark & more and on", "confidential"]
    assert translated(document, keep) == content
    written = translated(document)
    assert "<p:text>REMARK &amp; MORE\nAND ON</p:text>" in member(written, "ppt/commentss/comments1.xml")


def test_descriptions_of_pictures_are_an_option() -> None:
    source = '<p:pic><p:nvPicPr><p:cNvPr id="4" name="cat.jpg" descr="a cat&amp;dog" /></p:nvPicPr></p:pic>'
    assert texts(read(packed(source))) == []
    written = translated(read(packed(source), ReadingOptions(attributes=True)))
    assert slide(written) == source.replace("a cat&amp;dog", "A CAT&amp;DOG")


def test_a_file_of_python_pptx() -> None:
    made = python_pptx.Presentation()
    page = made.slides.add_slide(made.slide_layouts[1])
    assert page.shapes.title is not None
    page.shapes.title.text = "The title"
    page.placeholders[1].text = "First point\nSecond point"
    page.shapes.add_table(1, 1, 0, 0, Inches(1), Inches(1)).table.cell(0, 0).text = "in a cell"
    page.notes_slide.notes_text_frame.text = "what to say"
    data = CategoryChartData()
    data.categories = ["east"]
    data.add_series("sales", (1,))
    chart = page.shapes.add_chart(XL_CHART_TYPE.PIE, 0, 0, Inches(1), Inches(1), data).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "a chart"
    output = BytesIO()
    made.save(output)
    document = read(output.getvalue())
    expected = ["The title", "First point", "Second point", "in a cell", "what to say", "a chart", "sales", "east"]
    assert texts(document)[: len(expected)] == expected
    assert not any("Click to edit" in text for text in texts(document))
    assert translated(document, keep) == output.getvalue()
    again = python_pptx.Presentation(BytesIO(translated(document))).slides[0]
    assert again.shapes.title.text == "THE TITLE"
    assert again.placeholders[1].text_frame.text == "FIRST POINT\nSECOND POINT"
    assert again.notes_slide.notes_text_frame.text == "WHAT TO SAY"
    assert again.shapes[-1].chart.chart_title.text_frame.text == "A CHART"
    assert list(again.shapes[-1].chart.plots[0].categories) == ["EAST"]


def test_other_packages_are_refused() -> None:
    with pytest.raises(DocumentError, match="not a valid PPTX file"):
        read(package({"word/document.xml": ("application/x-wordprocessingml.document.main+xml", "<a/>")}))


def test_language_and_direction() -> None:
    source = f'<a:p>{run("one")}</a:p><a:p><a:pPr lvl="1" algn="ctr"><a:buNone/></a:pPr>{run("two")}</a:p>'
    document = read(packed(source), ReadingOptions(target="he"))
    hebrew = '<a:rPr lang="he-IL"/>'
    written = slide(translated(document))
    assert written == (
        f'<a:p><a:pPr rtl="1" algn="r"/>{run("ONE", hebrew)}</a:p>'
        f'<a:p><a:pPr lvl="1" algn="ctr" rtl="1"><a:buNone/></a:pPr>{run("TWO", hebrew)}</a:p>'
    )
    back = slide(translated(read(packed(written.replace("ONE", "one")), ReadingOptions(target="de"))))
    assert '<a:pPr rtl="0" algn="l"/>' in back
    assert 'lang="de-DE"' in back
