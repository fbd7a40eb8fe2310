"""TOML: string values are translated; keys, numbers and layout stay byte for byte."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.documents.formats import DocumentError, ReadingOptions
from tests.documents.translators import constant, is_unchanged, line_ends, texts, translate

MESSAGES = r'''# A comment with "a string"
title = "Welcome to the shop"
'quoted key' = 'It is a literal \n' # "comment"
price = 19.99
when = 1979-05-27T07:32:00Z
escaped = "He said \"hi\" \u2026 and left"
dotted."the key".name = "Hello, {name}!"
id = "not-language"
url = "https://example.org/a"
greetings = ["Good morning", 'Good night', 3, [ "deep down" ], # "x"
  "the last",
]
point = { x = 1, label = "The first point", inner = { text = "Inside it" } }
long = """
Roses are red,
violets are \
    blue."""
raw = \'\'\'
Nothing is "escaped" here \d+\'\'\'

[table.sub]
text = "In a table"
[[items]]
text = "First of all"
[[items]]
text = "Second of all"
[items.more]
text = "More of it"
'''.replace(r"\'", "'")


@pytest.mark.parametrize("content", [each for each in line_ends(MESSAGES) if b"\n" in each])
def test_round_trip(content: bytes) -> None:
    assert is_unchanged("a.toml", content)


def test_texts() -> None:
    assert texts("a.toml", MESSAGES) == [
        "Welcome to the shop",
        r"It is a literal \n",
        'He said "hi" … and left',
        "Hello, {name}!",
        "Good morning",
        "Good night",
        "deep down",
        "the last",
        "The first point",
        "Inside it",
        "Roses are red,\nviolets are blue.",
        'Nothing is "escaped" here \\d+',
        "In a table",
        "First of all",
        "Second of all",
        "More of it",
    ]


def upper(value: Any) -> Any:
    """What `shout` makes of the values of a file."""
    match value:
        case str():
            return " ".join(w if any(s in w for s in "{}%\\") else w.upper() for w in value.split(" "))
        case list():
            return [upper(each) for each in value]
        case dict():
            return {key: each if key in ("id", "url") else upper(each) for key, each in value.items()}
    return value


@pytest.mark.parametrize("content", [MESSAGES, MESSAGES.replace("\n", "\r\n")])
def test_tomllib_reads_the_translations_under_the_same_keys(content: str) -> None:
    assert tomllib.loads(translate("a.toml", content).decode()) == upper(tomllib.loads(content))


def test_strings_by_path() -> None:
    def at(*paths: str) -> list[str]:
        return texts("a.toml", MESSAGES, ReadingOptions(paths=paths))

    assert at("items[*].text") == ["First of all", "Second of all"]
    assert at("items[1].more.text") == ["More of it"]
    assert at("greetings[3][0]", "point.inner.text") == ["deep down", "Inside it"]
    assert at("dotted.the key.name", "url") == ["Hello, {name}!", "https://example.org/a"]
    with pytest.raises(DocumentError, match=r"^a\.toml: no string is at none; write paths as"):
        at("none")


def test_a_lost_placeholder_keeps_the_source() -> None:
    assert translate("a.toml", 'a = "Hello {name}"', constant("Hallo")) == b'a = "Hello {name}"'


@pytest.mark.parametrize("source", ["a = ", "price = 19,99", 'a = "x', "[a\n", "=", "a = [" * 3000])
def test_other_files_are_refused(source: str) -> None:
    with pytest.raises(DocumentError, match=r"^a\.toml: the (file is not valid TOML: .+|TOML is nested too deep)$"):
        texts("a.toml", source)


@given(
    st.text("ab \"'\\\n\té;#[]=\x00\x7f", min_size=1, max_size=30),
    st.sampled_from(
        ["'Hello there'", '"Hello there"', '"""Hello there"""', "'''Hello there'''", '"""\nHello there"""']
    ),
)
def test_any_translation_can_be_read_back(text: str, value: str) -> None:
    written = translate("a.toml", f"a = {value} # b\nb = 1", constant(text)).decode()
    assert tomllib.loads(written) == {"a": text, "b": 1}
