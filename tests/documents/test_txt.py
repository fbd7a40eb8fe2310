"""Plain text: paragraphs are joined and wrapped again; everything else comes back byte for byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.documents.formats import DocumentError
from tests.documents.translators import constant, is_unchanged, line_ends, texts, translate

LETTER = """\
Dear Sir or Madam,

I am writing to you about the parcel that was delivered to our office on
Monday morning. It was addressed to somebody who has not been working here
for more than three years.

  * one
  * two

\tשלום עולם
> As you wrote in your last letter, the delivery was planned for the second
> week of the month, and nobody told us about the change of plan.

```
code = "stays"
```
-- \n\
"""


@pytest.mark.parametrize("content", line_ends(LETTER))
def test_round_trip(content: bytes) -> None:
    assert is_unchanged("letter.txt", content)


def test_wrapped_paragraphs_are_one_segment() -> None:
    found = texts("letter.txt", LETTER)
    assert found[0] == "Dear Sir or Madam,"
    assert found[1].startswith("I am writing")
    assert found[1].endswith("three years.")
    assert "\n" not in found[1]
    assert not any("code" in text for text in found)


def test_translations_are_wrapped_at_the_same_width() -> None:
    lines = translate("letter.txt", LETTER).decode().splitlines()
    assert lines[2].startswith("I AM WRITING")
    assert all(len(line) <= 74 for line in lines[2:5])
    assert [line[:6] for line in lines[10:12]] == ["> AS Y", "> WEEK"]


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_new_lines_end_as_the_others(end: str) -> None:
    content = LETTER.replace("\n", end).encode()
    written = translate("letter.txt", content)
    assert written.count(end.encode()) == content.count(end.encode())
    assert written.replace(end.encode(), b"").count(b"\n") == 0


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "Die Straße führt über die Brücke – »schön«, sagte er."),
        ("cp1251", "Привет, мир! Это проверка кодировки файла."),
        ("cp932", "これはテストです。日本語の文章。"),
        ("utf-16-le", "A file from Windows without a mark"),
        ("cp1250", "Zażółć gęślą jaźń, proszę państwa. Łódź."),
    ],
)
def test_other_encodings(encoding: str, text: str) -> None:
    content = text.encode(encoding)
    assert texts("a.txt", content) == [text]
    assert is_unchanged("a.txt", content)
    assert translate("a.txt", content, constant(text[::-1])) == text[::-1].encode(encoding)


def test_a_translation_that_the_encoding_cannot_write_becomes_utf_8() -> None:
    assert translate("a.txt", "Größe".encode("cp1252"), constant("размер")) == "размер".encode()


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\xff\xfeA", b"PK\x03\x04\0\0"])
def test_binary_files_are_refused(content: bytes) -> None:
    with pytest.raises(DocumentError, match=r"^a\.txt: the file is not"):
        texts("a.txt", content)


def test_old_texts_with_control_characters() -> None:
    assert texts("a.txt", b"N\x08NAME of the command\r\n\x1a") == ["N\x08NAME of the command"]


def test_empty_files() -> None:
    assert translate("a.txt", b"") == b""
    assert translate("a.txt", b" \n\n") == b" \n\n"


@given(st.text("aB .\r\n\t>*-`é\u2028\x85", max_size=200))
def test_any_text_comes_back(text: str) -> None:
    assert is_unchanged("a.txt", text)
