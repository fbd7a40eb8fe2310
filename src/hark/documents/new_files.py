"""New HTML and DOCX files for text that comes from a format which cannot be written, such as PDF."""

from collections.abc import Iterator, Sequence
from html import escape
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from hark.documents.pdf_paragraphs import MAX_LEVELS, PdfParagraph, StyledText
from hark.documents.xml_nodes import CONTROL

_DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_OFFICE = "http://schemas.openxmlformats.org"
_WORD = f'xmlns:w="{_OFFICE}/wordprocessingml/2006/main"'
_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml"


def write_html(title: str, paragraphs: Sequence[PdfParagraph]) -> bytes:
    lines = "\n".join(_html_lines(paragraphs))
    head = f'<meta charset="utf-8">\n<title>{_escape(title)}</title>'
    return f"<!DOCTYPE html>\n<html>\n<head>\n{head}\n</head>\n<body>\n{lines}\n</body>\n</html>\n".encode()


def _html_lines(paragraphs: Sequence[PdfParagraph]) -> Iterator[str]:
    for paragraph in paragraphs:
        tag = f"h{paragraph.level}" if paragraph.level else "p"
        plain = bool(paragraph.level)  # headings are bold anyway
        yield f"<{tag}>{''.join(_html_part(part, plain) for part in paragraph.parts)}</{tag}>"


def _html_part(part: StyledText, plain: bool) -> str:
    whole = _escape(part.text)
    text = whole.rstrip()
    if not text or plain:
        return whole
    space = whole[len(text) :]
    text = f"<i>{text}</i>" if part.italic else text
    return (f"<b>{text}</b>" if part.bold else text) + space


def write_docx(title: str, paragraphs: Sequence[PdfParagraph]) -> bytes:
    body = "".join(_word_paragraph(each) for each in paragraphs)
    types = {"word/document.xml": f"{_TYPE}.document.main+xml", "word/styles.xml": f"{_TYPE}.styles+xml"}
    types["docProps/core.xml"] = "application/vnd.openxmlformats-package.core-properties+xml"
    overrides = "".join(f'<Override PartName="/{name}" ContentType="{kind}"/>' for name, kind in types.items())
    default = '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    space = f"{_OFFICE}/package/2006"
    kinds = {
        "word/document.xml": f"{_OFFICE}/officeDocument/2006/relationships/officeDocument",
        "docProps/core.xml": f"{space}/relationships/metadata/core-properties",
    }
    main = _relations(space, kinds)
    styles = _relations(space, {"styles.xml": f"{_OFFICE}/officeDocument/2006/relationships/styles"})
    members = {
        "[Content_Types].xml": f'<Types xmlns="{space}/content-types">{default}{overrides}</Types>',
        "_rels/.rels": main,
        "word/document.xml": f"<w:document {_WORD}><w:body>{body}<w:sectPr/></w:body></w:document>",
        "word/_rels/document.xml.rels": styles,
        "word/styles.xml": f"<w:styles {_WORD}>{''.join(_styles())}</w:styles>",
        "docProps/core.xml": (
            f'<cp:coreProperties xmlns:cp="{space}/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/">'
            f"<dc:title>{_escape(title)}</dc:title></cp:coreProperties>"
        ),
    }
    output = BytesIO()
    with ZipFile(output, "w", ZIP_DEFLATED) as archive:
        for name, content in members.items():
            info = ZipInfo(name)
            info.compress_type = ZIP_DEFLATED
            archive.writestr(info, _DECLARATION + content)
    return output.getvalue()


def _relations(space: str, kinds: dict[str, str]) -> str:
    listed = "".join(
        f'<Relationship Id="rId{number}" Type="{kind}" Target="{name}"/>'
        for number, (name, kind) in enumerate(kinds.items(), 1)
    )
    return f'<Relationships xmlns="{space}/relationships">{listed}</Relationships>'


def _styles() -> Iterator[str]:
    yield '<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/>'
    yield '<w:pPr><w:spacing w:after="120"/></w:pPr></w:style>'
    for level in range(1, MAX_LEVELS + 1):
        yield f'<w:style w:type="paragraph" w:styleId="Heading{level}"><w:name w:val="heading {level}"/>'
        yield f'<w:basedOn w:val="Normal"/><w:pPr><w:keepNext/><w:outlineLvl w:val="{level - 1}"/></w:pPr>'
        size = 38 - 4 * level
        yield f'<w:rPr><w:b/><w:bCs/><w:sz w:val="{size}"/><w:szCs w:val="{size}"/></w:rPr></w:style>'


def _word_paragraph(paragraph: PdfParagraph) -> str:
    style = f'<w:pPr><w:pStyle w:val="Heading{paragraph.level}"/></w:pPr>' if paragraph.level else ""
    return f"<w:p>{style}{''.join(_word_run(part, bool(paragraph.level)) for part in paragraph.parts)}</w:p>"


def _word_run(part: StyledText, plain: bool) -> str:
    looks = "" if plain else "<w:b/><w:bCs/>" * part.bold + "<w:i/><w:iCs/>" * part.italic
    properties = f"<w:rPr>{looks}</w:rPr>" if looks else ""
    return f'<w:r>{properties}<w:t xml:space="preserve">{_escape(part.text)}</w:t></w:r>'


def _escape(text: str) -> str:
    return escape(CONTROL.sub(" ", text), quote=False)
