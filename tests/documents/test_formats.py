"""The reader of a file is chosen by its name."""

import subprocess
import sys

import pytest

from hark.documents.formats import FORMATS, DocumentError, find_outputs, find_reader, read_document


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_has_a_reader(suffix: str) -> None:
    assert callable(find_reader(f"Some File{suffix.upper()}"))


@pytest.mark.parametrize("name", ["a.exe", "a", ".txt", "a.txt/", "a.html.bak"])
def test_other_files_are_refused(name: str) -> None:
    if name == "a.txt/":  # a path that ends in a slash still names a file
        assert find_reader(name)
        return
    with pytest.raises(DocumentError, match=r"files of this type cannot be translated; supported are \.txt, "):
        find_reader(name)


@pytest.mark.parametrize(
    ("name", "other"), [("a.doc", ".docx"), ("a.RTF", ".docx"), ("a.xls", ".xlsx"), ("a.ppt", ".pptx")]
)
def test_files_that_other_programs_can_convert(name: str, other: str) -> None:
    with pytest.raises(
        DocumentError, match=rf"^{name}: files of this type cannot be translated; save it as \{other} first$"
    ):
        find_reader(name)


def test_translations_of_pdf_files_are_other_files() -> None:
    assert find_outputs("a.DOCX") == (".docx",)
    assert find_outputs("a.pdf") == (".html", ".docx")


def test_errors_name_the_file() -> None:
    with pytest.raises(DocumentError, match=r"^folder/a\.txt: the file is not text"):
        read_document("folder/a.txt", b"\0\1\2")


def test_the_list_of_formats_imports_no_reader() -> None:
    code = "import sys, hark.documents.formats; print([n for n in sys.modules if n in ('lxml', 'torch', 'polib')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_office_files_need_no_extra() -> None:
    readers = "docx, epub, odf, pdf, pptx, xlsx"
    heavy = ("charset_normalizer", "docx", "lxml", "openpyxl", "pptx", "pypdfium2", "torch")
    code = f"import sys; from hark.documents import {readers}; print([n for n in sys.modules if n in {heavy}])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
