"""Apple strings files: values are translated, everything else stays byte for byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.documents.document import DocumentError
from hark.documents.strings import unescape
from tests.documents.translators import constant, is_unchanged, line_ends, texts, translate

MESSAGES = r"""/* A comment with "a" = "b"; */
"title" = "Welcome, %@!";
// another
NSKey   =   "He said \"hi\"\nand \U201Cleft\U201D" ;
"url"="https://example.org/a";"two" = "Two files %1$d";
"only";
"rtl" = "שלום עולם";
"""


@pytest.mark.parametrize("content", line_ends(MESSAGES))
def test_round_trip(content: bytes) -> None:
    assert is_unchanged("a.strings", content)


def test_texts() -> None:
    assert texts("a.strings", MESSAGES) == [
        "Welcome, %@!",
        'He said "hi"\nand “left”',
        "Two files %1$d",
        "שלום עולם",
    ]


def test_translation() -> None:
    written = translate("a.strings", MESSAGES.encode("utf-16")).decode("utf-16")
    assert '"title" = "WELCOME, %@!";' in written
    assert r'NSKey   =   "HE SAID \"HI\"\nAND “LEFT”" ;' in written
    assert '"url"="https://example.org/a";"two" = "TWO FILES %1$d";' in written


def test_a_lost_placeholder_keeps_the_source() -> None:
    assert translate("a.strings", '"a" = "Hello %@";', constant("Hallo")) == b'"a" = "Hello %@";'


@pytest.mark.parametrize("source", ['"a" = "b"', '\n"a" "b";', '"a" = "b;\n', "{}"])
def test_other_files_are_refused(source: str) -> None:
    with pytest.raises(DocumentError, match=r'^a\.strings: line \d is not "key" = "value";$'):
        texts("a.strings", source)


@given(st.text('ab "\\\n\té;/*', min_size=1, max_size=30))
def test_any_translation_can_be_read_back(text: str) -> None:
    written = translate("a.strings", '"a" = "Hello there";', constant(text)).decode()
    assert unescape(written.removeprefix('"a" = "').removesuffix('";')) == text
