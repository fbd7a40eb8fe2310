"""Android's resources: strings, arrays and plurals are translated; everything else stays byte for byte."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.documents.android import _unescape
from hark.documents.formats import ReadingOptions, SegmentTranslation
from tests.documents.translators import constant, dictionary, is_unchanged, line_ends, texts, translate

STRINGS = r"""<?xml version="1.0" encoding="utf-8"?>
<!-- <string name="comment">Not this</string> -->
<!DOCTYPE resources [<!ENTITY app "The App">]>
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
    <string name="welcome">Welcome, <xliff:g id="name" example="Ann">%1$s</xliff:g>!</string>
    <string name="app_name" translatable="false">My Great App</string>
    <string name="escaped">It\'s \"here\"\n&amp; there\u2026 &lt;now&gt;</string>
    <string name="quoted">" It's  quoted "</string>
    <string name="html">Click <b>here</b> now</string>
    <string name="data"><![CDATA[Read <a href="x">the terms</a> & more]]></string>
    <string name="reference">@string/welcome</string>
    <string name="own">Thank you for using &app; today</string>
    <string name="wrapped">
        A long text
        on two lines
    </string>
    <string name="id">some_identifier</string>
    <integer name="size">12</integer>
    <string-array name="days">
        <item>First day</item>
        <item>@string/other</item>
    </string-array>
    <string-array name="keys" translatable="false"><item>Not this one</item></string-array>
    <plurals name="files">
        <item quantity="one">%d file found</item>
        <item quantity="other">%d files found</item>
    </plurals>
</resources>
"""


@pytest.mark.parametrize("content", [each for each in line_ends(STRINGS) if not each.startswith((b"\xff", b"\xfe"))])
def test_round_trip(content: bytes) -> None:
    assert is_unchanged("strings.xml", content)


def test_texts() -> None:
    assert texts("strings.xml", STRINGS) == [
        "Welcome, {{x1}}!",
        'It\'s "here"\n& there… <now>',
        "It's  quoted",
        "Click here now",
        "Read the terms & more",
        "Thank you for using {{x1}} today",
        "A long text on two lines",
        "First day",
        "%d file found",
        "%d files found",
    ]


def test_translation() -> None:
    written = translate("strings.xml", STRINGS).decode()
    assert '>WELCOME, <xliff:g id="name" example="Ann">%1$s</xliff:g>!</string>' in written
    assert r">IT\'S \"HERE\"\n&amp; THERE… &lt;NOW&gt;</string>" in written
    assert """>" IT'S  QUOTED "</string>""" in written
    assert ">CLICK <b>HERE</b> NOW</string>" in written
    assert '<![CDATA[READ <a href="x">THE TERMS</a> & MORE]]>' in written
    assert ">THANK YOU FOR USING &app; TODAY<" in written
    assert "\n        A LONG TEXT ON TWO LINES\n    </string>" in written
    assert "<item>FIRST DAY</item>\n        <item>@string/other</item>" in written
    assert '<item quantity="one">%d FILE FOUND</item>' in written
    for kept in ("My Great App", "Not this one", "some_identifier", "@string/welcome", '"comment">Not this'):
        assert kept in written


def test_apostrophes_and_references() -> None:
    source = "<resources><string name='a'>Hello there</string></resources>"
    french = dictionary({"Hello there": "@l'ami \\ ?"})
    assert b"<string name='a'>\\@l\\'ami \\\\ ?</string>" in translate("strings.xml", source, french)


def test_a_lost_placeholder_keeps_the_source() -> None:
    source = "<resources><string name='a'>Hello %s</string></resources>"
    assert translate("strings.xml", source, constant("Hallo")) == source.encode()


def test_other_files_and_chosen_elements_are_plain_xml() -> None:
    assert texts("a.xml", "<book><resources><string>It\\'s here</string></resources></book>") == ["It\\'s here"]
    assert texts("a.xml", "<resources><string>It\\'s</string></resources>", ReadingOptions(elements=("string",))) == [
        "It\\'s"
    ]


@given(st.text("ab \"'\\@?<&é\n\t>", min_size=1, max_size=30).map(str.strip).filter(bool))
def test_any_translation_can_be_read_back(text: str) -> None:
    source = "<resources><string name='a'>Hello there</string></resources>"
    written = translate("strings.xml", source, lambda _: SegmentTranslation(text))
    value = ElementTree.fromstring(written).findtext("string")
    assert value is not None
    assert _unescape(value.replace("&", "&amp;"), quoted=False).replace("&amp;", "&") == re.sub(" +", " ", text)
    assert value[0] not in "@?"
