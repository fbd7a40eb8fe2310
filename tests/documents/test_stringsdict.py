"""Apple's plural rules: the texts of each form are translated; keys and layout stay byte for byte."""

import plistlib

import pytest

from tests.documents.translators import constant, is_unchanged, line_ends, texts, translate

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


@pytest.mark.parametrize("content", [each for each in line_ends(PLURALS) if not each.startswith((b"\xff", b"\xfe"))])
def test_round_trip(content: bytes) -> None:
    assert is_unchanged("a.stringsdict", content)


def test_translation() -> None:
    assert texts("a.stringsdict", PLURALS) == ["Found {{x1}} & more", "%d file", "%d files"]
    before, after = plistlib.loads(PLURALS.encode()), plistlib.loads(translate("a.stringsdict", PLURALS))
    entry = before["found in folders"]
    entry["NSStringLocalizedFormatKey"] = "FOUND %#@files@ & MORE"
    entry["files"] |= {"one": "%d FILE", "other": "%d FILES"}
    assert after == before


def test_a_lost_placeholder_keeps_the_source() -> None:
    assert translate("a.stringsdict", PLURALS, constant("Dateien")) == PLURALS.encode()
