"""Workbooks come back with their texts translated and everything else as it was."""

import re
from io import BytesIO

import openpyxl
import pytest
from openpyxl.comments import Comment
from openpyxl.worksheet.table import Table

from hark.documents import xlsx
from hark.documents.formats import Document, DocumentError, ReadingOptions, SegmentTranslation
from tests.documents.office import HEADER, archive, backwards, keep, member, package, texts, translated

TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
SPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def packed(strings: str, sheet: str = "", **others: tuple[str, str]) -> bytes:
    return package(
        {
            "xl/workbook.xml": (f"{TYPE}.sheet.main+xml", f"<workbook {SPACE}/>"),
            "xl/worksheets/sheet1.xml": (f"{TYPE}.worksheet+xml", f"{HEADER}<worksheet {SPACE}>{sheet}</worksheet>"),
            "xl/sharedStrings.xml": (f"{TYPE}.sharedStrings+xml", f"{HEADER}<sst {SPACE}>{strings}</sst>"),
            **{f"xl/{name}.xml": (kind, f"{HEADER}{inner}") for name, (kind, inner) in others.items()},
        }
    )


def read(content: bytes) -> Document:
    return xlsx.read(content, ReadingOptions())


def strings(content: bytes) -> str:
    found = re.search("<sst[^>]*>(.*)</sst>", member(content, "xl/sharedStrings.xml"), re.DOTALL)
    assert found
    return found[1]


BOLD = '<r><rPr><b/></rPr><t xml:space="preserve">{}</t></r>'
PLAIN = '<r><t xml:space="preserve">{}</t></r>'


@pytest.mark.parametrize(
    ("marked", "segments"),
    [
        ("<si><t>[Green pears]</t></si>", ["Green pears"]),
        ('<si><t xml:space="preserve"> [a] &lt; [b] </t></si>', ["a < b"]),
        ("<si><t>12.5</t></si><si><t/></si><si/>", []),
        ("<si><t>[One.]\n[Two.]</t></si>", ["One.", "Two."]),
        ("<si><t>[A long]\n[title]</t></si>", ["A long title"]),
        ("<si><t>[Old.]_x000D_\n[Way]</t></si>", ["Old.", "Way"]),
        (f"<si>{PLAIN.format('[the ]')}{BOLD.format('[red]')}{PLAIN.format('[ house]')}</si>", ["the red house"]),
    ],
)
def test_strings(marked: str, segments: list[str]) -> None:
    content = packed(re.sub(r"[\[\]]", "", marked))
    document = read(content)
    assert texts(document) == segments
    assert translated(document, keep) == content
    assert strings(translated(document)) == re.sub(r"\[(.*?)\]", lambda text: text[1].upper(), marked)


def test_formats_follow_their_words() -> None:
    source = f"<si>{PLAIN.format('the ')}{BOLD.format('red')}{PLAIN.format(' house')}</si>"
    assert strings(translated(read(packed(source)), backwards)) == (
        f"<si>{PLAIN.format('HOUSE ')}{BOLD.format('RED')}{PLAIN.format(' THE')}</si>"
    )


def test_readings_of_japanese_are_dropped_with_the_text() -> None:
    source = '<si><t>tokyo</t><rPh sb="0" eb="2"><t>to</t></rPh><phoneticPr fontId="1"/></si>'
    assert texts(read(packed(source))) == ["tokyo"]
    assert strings(translated(read(packed(source)))) == "<si><t>TOKYO</t></si>"
    assert strings(translated(read(packed(source)), keep)) == source


def test_cells_of_a_sheet() -> None:
    sheet = (
        '<sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>inline</t></is></c><c r="B1"><v>3</v></c>'
        '<c r="C1" t="str"><f>IF(B1&gt;1,"many","few")</f><v>many</v></c></row></sheetData>'
    )
    document = read(packed("", sheet))
    assert texts(document) == ["inline"]
    written = member(translated(document), "xl/worksheets/sheet1.xml")
    assert sheet.replace("<t>inline", "<t>INLINE") in written


def table(*columns: str, extra: str = "") -> tuple[str, str]:
    listed = "".join(f'<tableColumn id="{number}" name="{name}"/>' for number, name in enumerate(columns))
    return (
        f"{TYPE}.table+xml",
        f'<table {SPACE} displayName="Sales" {extra}><tableColumns>{listed}</tableColumns></table>',
    )


HEADERS = "<si><t>Name</t></si><si><t>Total &amp; tax</t></si><si><t>Apples</t></si>"


def test_names_of_columns_follow_their_headers() -> None:
    document = read(packed(HEADERS, tables=table("Name", "Total &amp; tax")))
    assert texts(document) == ["Name", "Total & tax", "Apples"]
    written = translated(document)
    assert 'name="NAME"/>' in member(written, "xl/tables.xml")
    assert 'name="TOTAL &amp; TAX"/>' in member(written, "xl/tables.xml")
    assert strings(written) == HEADERS.replace("Name", "NAME").replace("Total &amp; tax", "TOTAL &amp; TAX").replace(
        "Apples", "APPLES"
    )
    content = packed(HEADERS, tables=table("Name", "Total &amp; tax"))
    assert translated(read(content), keep) == content


@pytest.mark.parametrize(
    ("sheet", "extra"),
    [("<c><f>SUM(Sales[Name])</f></c>", ""), ("", 'tableType="queryTable"')],
)
def test_names_of_columns_that_are_in_use_are_kept(sheet: str, extra: str) -> None:
    document = read(packed(HEADERS, sheet, tables=table("Name", "Total &amp; tax", extra=extra)))
    assert texts(document) == ["Apples"]


def test_names_of_pivot_tables_are_kept() -> None:
    cache = f'<pivotCacheDefinition {SPACE}><cacheFields><cacheField name="Name"/></cacheFields></pivotCacheDefinition>'
    document = read(packed(HEADERS, cache=(f"{TYPE}.pivotCacheDefinition+xml", cache)))
    assert texts(document) == ["Total & tax", "Apples"]


def test_headers_with_the_same_translation_are_kept() -> None:
    document = read(packed(HEADERS, tables=table("Name", "Total &amp; tax")))
    written = document.write([SegmentTranslation("X"), SegmentTranslation("x"), SegmentTranslation("Äpfel")])
    assert strings(written) == HEADERS.replace("Apples", "Äpfel")
    assert member(written, "xl/tables.xml") == HEADER + table("Name", "Total &amp; tax")[1]


def test_threaded_comments() -> None:
    space = "http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"
    kind = "application/vnd.ms-excel.threadedcomments+xml"
    inner = f'<ThreadedComments xmlns="{space}"><threadedComment><text>why?</text></threadedComment></ThreadedComments>'
    document = read(packed("", threads=(kind, inner)))
    assert texts(document) == ["why?"]
    assert "<text>WHY?</text>" in member(translated(document), "xl/threads.xml")


def test_a_file_of_openpyxl() -> None:
    made = openpyxl.Workbook()
    sheet = made.active
    assert sheet is not None
    sheet.title = "Data sheet"
    for row in (["Name", "Amount"], ["Apples", 3], ["Green pears", 4.5], ["=SUM(B2:B3)", "12"]):
        sheet.append(row)
    sheet.add_table(Table(displayName="Fruit", ref="A1:B3"))
    sheet["A2"].comment = Comment("a remark", "Ann")
    output = BytesIO()
    made.save(output)
    document = read(output.getvalue())
    assert set(texts(document)) >= {"Name", "Amount", "Apples", "Green pears", "a remark"}
    assert "Data sheet" not in texts(document)
    assert translated(document, keep) == output.getvalue()
    again = openpyxl.load_workbook(BytesIO(translated(document)))["Data sheet"]
    assert [[cell.value for cell in row] for row in again.rows] == [
        ["NAME", "AMOUNT"],
        ["APPLES", 3],
        ["GREEN PEARS", 4.5],
        ["=SUM(B2:B3)", "12"],
    ]
    assert again["A2"].comment.text == "A REMARK"
    assert again.tables["Fruit"].column_names == ["NAME", "AMOUNT"]


def test_other_files_are_refused() -> None:
    with pytest.raises(DocumentError, match="not a valid XLSX file"):
        read(archive({"a.xml": "<a/>"}))
