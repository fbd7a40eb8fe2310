"""Apple's strings files and plural rules: texts are translated, everything else stays byte for byte."""

import plistlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.documents.formats import DocumentError
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
PLURALS = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
    <key>found in folders</key>
    <dict>
        <key>NSStringLocalizedFormatKey</key>
        <string>Found %#@files@ &amp; more</string>
        <key>files</key>
        <dict>
            <key>NSStringFormatSpecTypeKey</key>
            <string>NSStringPluralRuleType</string>
            <key>NSStringFormatValueTypeKey</key>
            <string>d</string>
            <key>one</key>
            <string>%d file</string>
            <key>other</key>
            <string>%d files</string>
        </dict>
    </dict>
</dict>
</plist>
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


@pytest.mark.parametrize("content", [each for each in line_ends(PLURALS) if not each.startswith((b"\xff", b"\xfe"))])
def test_round_trip_of_plurals(content: bytes) -> None:
    assert is_unchanged("a.stringsdict", content)


def test_translation_of_plurals() -> None:
    assert texts("a.stringsdict", PLURALS) == ["Found {{x1}} & more", "%d file", "%d files"]
    before, after = plistlib.loads(PLURALS.encode()), plistlib.loads(translate("a.stringsdict", PLURALS))
    entry = before["found in folders"]
    entry["NSStringLocalizedFormatKey"] = "FOUND %#@files@ & MORE"
    entry["files"] |= {"one": "%d FILE", "other": "%d FILES"}
    assert after == before


def test_a_lost_placeholder_keeps_the_source_of_plurals() -> None:
    assert translate("a.stringsdict", PLURALS, constant("Dateien")) == PLURALS.encode()
