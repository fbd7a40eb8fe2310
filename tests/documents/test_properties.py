"""Java properties: values are translated, everything else stays byte for byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.documents.properties import unescape
from tests.documents.translators import constant, dictionary, is_unchanged, line_ends, texts, translate

MESSAGES = r"""# A comment
! another = one
title=Welcome to the shop
menu.open : Open file\u2026
menu.close Close it

greeting = Hello {0}, it''s {1,date}
path=C:\\temp
long = A sentence that is so long \
       that it goes on \
       in the next lines
escaped\ key\:x = a\:b is \= c
empty=
indented = \  two spaces
quote=Use '{0}' here
"""


@pytest.mark.parametrize("content", line_ends(MESSAGES))
def test_round_trip(content: bytes) -> None:
    assert is_unchanged("a.properties", content)


def test_texts() -> None:
    assert texts("a.properties", MESSAGES) == [
        "Welcome to the shop",
        "Open file…",
        "Close it",
        "Hello {0}, it's {1,date}",
        "A sentence that is so long that it goes on in the next lines",
        "a:b is = c",
        "two spaces",
    ]


def test_translation() -> None:
    written = translate("a.properties", MESSAGES).decode()
    assert "menu.open : OPEN FILE\\u2026\n" in written
    assert "menu.close CLOSE IT\n" in written
    assert "greeting = HELLO {0}, IT''S {1,date}\n" in written
    assert "long = A SENTENCE THAT IS SO LONG \\\n       THAT IT GOES ON IN THE NEXT \\\n       LINES\n" in written
    assert "= A\\:B IS \\= C\n" in written
    assert "path=C:\\\\temp\n" in written
    assert "quote=Use '{0}' here\n" in written


def test_apostrophes_of_messages_with_arguments_are_doubled() -> None:
    french = dictionary({"Hello {0}": "L'ami {0}", "Hello there": "L'ami"})
    assert translate("a.properties", "a=Hello {0}\nb=Hello there\n", french) == b"a=L''ami {0}\nb=L'ami\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (b"a=Hello there", rb"a=\u00d6l \ud83d\ude00"),  # ASCII: any version of Java reads it
        ("a=Grüß dich".encode(), "a=Öl 😀".encode()),
        ("a=Grüß dich".encode("latin-1"), rb"a=\u00d6l \ud83d\ude00"),
    ],
)
def test_other_characters(source: bytes, expected: bytes) -> None:
    assert is_unchanged("a.properties", source)
    assert translate("a.properties", source, constant("Öl 😀")) == expected


def test_a_lost_placeholder_keeps_the_source() -> None:
    assert translate("a.properties", "a=Hello {0}", constant("Hallo")) == b"a=Hello {0}"


@given(st.text("aB =:#!\\\n\r\tu00e9é'", max_size=80))
def test_anything_comes_back(source: str) -> None:
    assert is_unchanged("a.properties", source)


@given(
    st.text("ab \\\n\té=:#'😀", min_size=1, max_size=30),
    st.sampled_from(["Hello there", "Hello \\\n  there", "H\\u00e9 a"]),
)
def test_any_translation_can_be_read_back(text: str, source: str) -> None:
    written = translate("a.properties", f"a={source}\nb=1", constant(text)).decode()
    value = written.removeprefix("a=").removesuffix("\nb=1")
    assert unescape(value) == text
