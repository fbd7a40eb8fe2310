"""LibreOffice opens what hark writes, and finds the translations in it."""

import os
import shutil
import subprocess
import warnings
from io import BytesIO
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest

from hark.documents.formats import ReadingOptions, read_document
from hark.errors import HarkWarning
from tests.documents.office import shout, translated
from tests.documents.pdfs import lines
from tests.documents.pdfs import made as make_pdf

pytestmark = pytest.mark.slow
WORDS = ("A heading", "with bold words", "in a cell")
GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture
def soffice() -> str:
    """The command of LibreOffice. Without one the test is skipped, or fails if HARK_OFFICE is "required"; `make test`
    installs it if possible."""
    found = shutil.which("soffice") or shutil.which("libreoffice")
    if found is None:
        missing = pytest.fail if os.environ.get("HARK_OFFICE") == "required" else pytest.skip
        missing("LibreOffice is not installed: apt-get install libreoffice-writer-nogui and its -calc- and -impress-")
    return found


def convert(soffice: str, paths: list[Path], kind: str, folder: Path) -> list[bytes]:
    """Convert files to another kind; the profile is a fresh one, so that nobody's open LibreOffice is disturbed."""
    profile = f"-env:UserInstallation=file://{folder}/profile"
    command = [soffice, profile, "--headless", "--convert-to", kind, "--outdir", str(folder / "out"), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    written = [folder / "out" / f"{path.stem}.{kind}" for path in paths]
    assert all(each.exists() for each in written), done.stdout + done.stderr
    return [each.read_bytes() for each in written]


def text_of(content: bytes) -> str:
    pdfium = pytest.importorskip("pypdfium2", reason="pypdfium2 is in the extra documents")
    with pdfium.PdfDocument(content) as pdf:
        return "\n".join(page.get_textpage().get_text_bounded() for page in pdf)


def word_file() -> bytes:
    made = docx.Document()
    made.add_heading(WORDS[0])
    paragraph = made.add_paragraph("with ")
    paragraph.add_run("bold").bold = True
    paragraph.add_run(" words")
    made.add_table(1, 1).cell(0, 0).text = WORDS[2]
    made.save(output := BytesIO())
    return output.getvalue()


def sheet_file() -> bytes:
    made = openpyxl.Workbook()
    sheet = made.active
    assert sheet is not None
    sheet.column_dimensions["A"].width = 40  # or the text is cut off
    for text in WORDS:
        sheet.append([text, 1.5, "=SUM(B1:B1)"])
    made.save(output := BytesIO())
    return output.getvalue()


def slide_file() -> bytes:
    made = pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[1])
    slide.shapes.title.text = WORDS[0]
    slide.placeholders[1].text = WORDS[1]
    slide.shapes.add_table(1, 1, 0, 0, 3_000_000, 500_000).table.cell(0, 0).text = WORDS[2]
    made.save(output := BytesIO())
    return output.getvalue()


def test_translations_open_in_libreoffice(soffice: str, tmp_path: Path) -> None:
    """Files of Microsoft's formats, the same files as LibreOffice writes them, and one that was a PDF.

    All are opened by one process, because it takes seconds to start.
    """
    made = {"docx": word_file(), "xlsx": sheet_file(), "pptx": slide_file()}
    made |= {kind: (GOLDEN / f"libreoffice.{kind}").read_bytes() for kind in ("odt", "ods", "odp")}
    made["pdf"] = make_pdf([[(50, 700, 20, WORDS[0]), *lines(*WORDS[1:], start=650)]])
    paths = []
    for kind, content in made.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HarkWarning)  # the layout of PDF files is not kept
            document = read_document(f"a.{kind}", content, ReadingOptions(source="en", target="de", output="docx"))
        paths.append(tmp_path / f"translated-{kind}.{'docx' if kind == 'pdf' else kind}")
        paths[-1].write_bytes(translated(document, shout))
    for path, content in zip(paths, convert(soffice, paths, "pdf", tmp_path), strict=True):
        text = " ".join(text_of(content).split())
        for words in WORDS:
            assert words.upper() in text, path
            assert words not in text, path
