"""YAML: string values are translated; keys, anchors, tags, comments and layout stay byte for byte."""

import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hark.documents.formats import DocumentError, ReadingOptions
from hark.documents.messages import read_message
from tests.documents.translators import constant, is_unchanged, line_ends, texts, translate

MESSAGES = r"""%YAML 1.1
---
# A comment: not translated
en:
  title: Welcome to the shop   # nor this
  'quoted key': 'It''s here'
  "other key": "He said \"hi\"\u2026 and left"
  empty:
  nothing: ~
  count: 12
  price: 19.99
  day: 2024-05-03
  time: 12:30
  yes: no
  quoted: "yes and no"
  url: https://example.org/a?b=c
  id: not-language
  greeting: Hello, %{name}! You have {{count}} messages.
  html: Click <b>here</b> now
  anchored: &anchor The anchored text
  alias: *anchor
  tagged: !secret My password
  string: !!str A string with a tag
  plain: A long text that goes on
    in the next line

    and after an empty one
  double: "A text in quotes that goes on
    in the next line"
  below:
    The value stands below its key
  literal: |
    Dear reader,

      an indented line: with a colon
    yours
  folded: >-
    A paragraph that is folded
    over two lines.

    Another # paragraph.
  indented: |2
      Two spaces more
    than here
  run: |
    echo "do not translate"
  list:
    - First entry
    - name: Nested entry
      other: Second value
    -   - Deep entry
  same:
  - At the same column
  - "another one"
  flow: {a: The first, "b": 'The second', c: [The third, 4, "The fourth, too"], d: *anchor, e}
  ? complex key
  : complex value
...
"""
SHOP = [
    "Welcome to the shop",
    "It's here",
    'He said "hi"… and left',
    "yes and no",
    "Hello, %{name}! You have {{count}} messages.",
    "Click here now",
    "The anchored text",
    "A string with a tag",
    "A long text that goes on in the next line\nand after an empty one",
    "A text in quotes that goes on in the next line",
    "The value stands below its key",
    "Dear reader,\n\n  an indented line: with a colon\nyours",
    "A paragraph that is folded over two lines.",
    "Another # paragraph.",
    "Two spaces more\nthan here",
    "First entry",
    "Nested entry",
    "Second value",
    "Deep entry",
    "At the same column",
    "another one",
    "The first",
    "The second",
    "The third",
    "The fourth, too",
]


class Loader(yaml.SafeLoader):
    """Reads tags of any kind."""


Loader.add_multi_constructor("!", lambda _loader, _suffix, node: node.value)  # type: ignore[no-untyped-call]


def load(text: str | bytes) -> Any:
    return yaml.load(text, Loader)  # a safe loader


@pytest.mark.parametrize("content", line_ends(MESSAGES))
def test_round_trip(content: bytes) -> None:
    assert is_unchanged("a.yaml", content)


@pytest.mark.parametrize("content", line_ends(MESSAGES))
def test_texts(content: bytes) -> None:
    assert texts("a.yml", content) == SHOP


def test_a_yaml_library_reads_the_translations_under_the_same_keys() -> None:
    before, after = load(MESSAGES), load(translate("a.yaml", MESSAGES))
    shop = after["en"]
    assert shop.pop("title") == "WELCOME TO THE SHOP"
    assert shop["html"] == "CLICK <b>HERE</b> NOW"
    assert shop["alias"] == shop["anchored"] == "THE ANCHORED TEXT"
    assert shop["literal"] == "DEAR READER,\n\n  AN INDENTED LINE: WITH A COLON\nYOURS\n"
    assert shop["folded"] == "A PARAGRAPH THAT IS FOLDED OVER TWO LINES.\nANOTHER # PARAGRAPH."
    assert shop["plain"] == before["en"]["plain"].upper()
    assert shop["flow"] == {
        "a": "THE FIRST",
        "b": "THE SECOND",
        "c": ["THE THIRD", 4, "THE FOURTH, TOO"],
        "d": "THE ANCHORED TEXT",
        "e": None,
    }
    for key in ("empty", "nothing", "count", "price", "day", "time", "url", "id", "tagged", "run", "complex key"):
        assert shop[key] == before["en"][key]
    assert list(shop) == [key for key in before["en"] if key != "title"]


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("a: Hello there", "Achtung: jetzt", "a: 'Achtung: jetzt'"),
        ("a: Hello there", "yes", "a: 'yes'"),
        ("a: Hello there", "3.10", "a: '3.10'"),
        ("a: Hello there", "- ja", "a: '- ja'"),
        ("a: Hello there", "Zimmer #3", "a: 'Zimmer #3'"),
        ("a: Hello there", "Zimmer#3", "a: Zimmer#3"),
        ("a: Hello there", "c'est #1", 'a: "c\'est #1"'),
        ("a: Hello there", "l'ami", "a: l'ami"),
        ("a: 'Hello there'", "l'ami", "a: 'l''ami'"),
        ('a: "Hello there"', 'sag "ja"\\', 'a: "sag \\"ja\\"\\\\"'),
        ('a: "Hello\\u2026 there"', "Öl 😀", 'a: "\\xd6l \\U0001f600"'),
        ("a: [Hello there, 1]", "eins, zwei", "a: ['eins, zwei', 1]"),
        ("a: Hello there", "zwei\nZeilen", 'a: "zwei\\nZeilen"'),
        ("a: |\n  Hello there\n  you\n", "eins\nzwei", "a: |\n  eins\n  zwei\n"),
    ],
)
def test_quoting(source: str, translation: str, expected: str) -> None:
    assert translate("a.yaml", source, constant(translation)).decode() == expected
    assert load(expected)


def test_strings_by_path() -> None:
    def at(*paths: str) -> list[str]:
        return texts("a.yaml", MESSAGES, ReadingOptions(paths=paths))

    assert at("en.title", "en.flow.c[*]") == ["Welcome to the shop", "The third", "The fourth, too"]
    assert at("en.list[1].other", "en.list[2][0]", "en.same[1]") == ["Second value", "Deep entry", "another one"]
    with pytest.raises(DocumentError, match=r"^a\.yaml: no string is at en\.none; write paths as"):
        at("en.none")


def test_a_lost_placeholder_keeps_the_source() -> None:
    assert translate("a.yml", "a: Hello %{name}", constant("Hallo")) == b"a: Hello %{name}"


def test_nesting_is_bounded() -> None:
    with pytest.raises(DocumentError, match="nested more than 500 levels deep"):
        texts("a.yaml", "a: " + "[" * 100_000)
    assert is_unchanged("a.yaml", "- " * 20_000)
    assert is_unchanged("a.yaml", "".join(" " * each + "a:\n" for each in range(2_000)))


LEAF = st.one_of(
    st.text("ab cDé'\"\\:#-,[]{}&*!|>%@`?~\n\t=0.😀", max_size=40),
    st.sampled_from(
        ["yes", "12", "1:30", "2024-01-01", "word " * 40, "a\n\nb", " a", "a ", "a\n b\nc\n", "<<", "\x85"]
    ),
    st.integers(-5, 5),
    st.none(),
    st.booleans(),
)
DATA = st.recursive(
    LEAF,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text("abc: #'1", min_size=1, max_size=5), inner, max_size=4)
    ),
    max_leaves=10,
)
STYLES = st.fixed_dictionaries(
    {
        "default_flow_style": st.sampled_from([None, True, False]),
        "default_style": st.sampled_from([None, "'", '"', "|", ">"]),
        "allow_unicode": st.booleans(),
        "width": st.sampled_from([10, 40, 1000]),
        "indent": st.sampled_from([2, 4]),
    }
)
ALL = ReadingOptions(paths=("**",))


def words(value: Any) -> int:
    """The number of strings with words."""
    match value:
        case dict():
            return sum(map(words, value.values()))
        case list():
            return sum(map(words, value))
    return isinstance(value, str) and read_message(value).translatable


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), DATA, min_size=1, max_size=3), STYLES)
def test_every_string_is_found(data: Any, style: dict[str, Any]) -> None:
    source = yaml.dump(data, **style)
    if not words(data) or style["default_style"] == ">":  # whose paragraphs are translated one by one
        return
    if re.search("[\x85\u2028\u2029]", source):  # PyYAML takes them for line breaks, as YAML 1.1 did and 1.2 does not
        return
    assert len(texts("a.yaml", source, ALL)) == words(load(source))


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), DATA, min_size=1, max_size=3), STYLES)
def test_anything_comes_back(data: Any, style: dict[str, Any]) -> None:
    source = yaml.dump(data, **style)
    if words(data):
        assert is_unchanged("a.yaml", source, ALL)


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=3), DATA, min_size=1, max_size=3),
    STYLES,
    st.text("ab cé'\"\\:#-,[]{}&*!|>%@`?~=0.😀\x00\x85", min_size=1, max_size=30),
)
def test_any_translation_can_be_read_back(data: Any, style: dict[str, Any], new: str) -> None:
    """Of what PyYAML writes, with any translation, PyYAML reads the same structure with only strings changed."""
    source = yaml.dump(data, **style)
    if words(data):
        same_shape(load(source), load(translate("a.yaml", source, constant(new), ALL).decode()))


def same_shape(before: Any, after: Any) -> None:
    assert type(before) is type(after)
    if isinstance(before, dict):
        assert list(before) == list(after)
        for key, value in before.items():
            same_shape(value, after[key])
    elif isinstance(before, list):
        assert len(before) == len(after)
        for one, other in zip(before, after, strict=True):
            same_shape(one, other)
    elif not isinstance(before, str):
        assert before == after
