"""JSON: strings are translated, layout and escapes stay."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.documents.formats import DocumentError, ReadingOptions, SegmentTranslation
from hark.documents.json import MAX_DEPTH
from tests.documents.translators import constant, is_unchanged, line_ends, read, texts, translate

MESSAGES = r"""{
  "title" : "Welcome, {name}!",
  "id": "Not this",
  "menu": {"open":"Open","html":"<b>Click<\/b> \"here\"", "empty": ""},
	"items": [
    {"title": "First one", "url": "https://example.org/a", "n": 1.5e3},
    {"title": "Second \u00e9 one\n", "icon": "arrow-left", "ok": true, "colour": null}
  ],
  "count": "{n, plural, one {# file} other {# files}}",
  "mixed": "You have {n, plural, one {# file} other {# files {x}}} now",
  "key_name": "some_key", "hex": "#ff00aa", "rtl": "שלום"
}
"""


@pytest.mark.parametrize("content", line_ends(MESSAGES))
def test_round_trip(content: bytes) -> None:
    assert is_unchanged("a.json", content)


def test_texts() -> None:
    assert texts("a.json", MESSAGES) == [
        "Welcome, {name}!",
        "Open",
        'Click "here"',
        "First one",
        "Second é one",
        "You have {{x1}} now",
        "שלום",
    ]


def test_translation() -> None:
    written = translate("a.json", MESSAGES).decode()
    values = json.loads(written)
    assert values["title"] == "WELCOME, {name}!"
    assert values["menu"]["html"] == '<b>CLICK</b> "HERE"'
    assert r"<b>CLICK<\/b>" in written
    assert values["items"][1]["title"] == "SECOND É ONE\n"
    assert values["mixed"] == "YOU HAVE {n, plural, one {# file} other {# files {x}}} NOW"
    assert values["id"] == "Not this"
    assert '\t"items": [\n' in written


def test_ascii_files_stay_ascii() -> None:
    assert translate("a.json", r'{"a": "caf\u00e9 here"}', constant("Größe")) == rb'{"a": "Gr\u00f6\u00dfe"}'
    assert translate("a.json", '{"a": "some text"}', constant("Größe")) == '{"a": "Größe"}'.encode()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("items[*].title", ["First one", "Second é one"]),
        ("$.items[0].title", ["First one"]),
        ("menu.*", ["Open", 'Click "here"']),
        ("**.title", ["Welcome, {name}!", "First one", "Second é one"]),
        ("id", ["Not this"]),
    ],
)
def test_paths(path: str, expected: list[str]) -> None:
    assert texts("a.json", MESSAGES, ReadingOptions(paths=(path,))) == expected


def test_a_path_without_a_string() -> None:
    with pytest.raises(DocumentError, match=r"^a\.json: no string is at items\.title; write paths as"):
        texts("a.json", MESSAGES, ReadingOptions(paths=("items.title",)))


def test_a_lost_placeholder_keeps_the_source() -> None:
    source = '{"a": "Hello {name}", "b": "Hello you"}'
    assert translate("a.json", source, constant("Hallo")) == b'{"a": "Hello {name}", "b": "Hallo"}'


def test_metadata_of_arb() -> None:
    assert texts("a.arb", '{"@@locale": "en us", "hi": "Hello you", "@hi": {"description": "A greeting"}}') == [
        "Hello you"
    ]


def test_json_lines() -> None:
    source = '{"text": "One thing"}\n{"text": "Another"}\n'
    assert texts("a.jsonl", source) == ["One thing", "Another"]


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ('{"a": }', 1),
        ('{\n"a" "b"}', 2),
        ("[1,]", 1),
        ('{"a": "b"', 1),
        ('["a\n"]', 1),
        ("{'a': 1}", 1),
        ("[}", 1),
        ("]", 1),
    ],
)
def test_what_is_not_json_is_refused(source: str, line: int) -> None:
    with pytest.raises(DocumentError, match=rf"^a\.json: line {line} is not valid JSON$"):
        texts("a.json", source)


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(DocumentError, match="nested more than"):
        texts("a.json", "[" * (MAX_DEPTH + 1))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('ab "\\/\n{}é語😀', max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('ab".é', max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, st.sampled_from([None, 2, "\t"]), st.booleans())
def test_any_value(value: object, indent: int | str | None, ascii_only: bool) -> None:
    source = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert is_unchanged("a.json", source)
    document = read("a.json", source)
    written = document.write([SegmentTranslation('é"\\\n語') for _ in document.segments])
    assert type(json.loads(written)) is type(value)
