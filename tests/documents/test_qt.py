"""Qt's messages: unfinished translations are filled in, everything else stays byte for byte."""

import pytest

from hark.documents.formats import DocumentError, ReadingOptions, WrongKindError
from tests.documents.translators import constant, dictionary, is_unchanged, line_ends, texts, translate

TS = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" sourcelanguage="en">
<context>
    <name>MainWindow</name>
    <message>
        <location filename="../main.cpp" line="12"/>
        <source>Open &quot;%1&quot; &amp; close</source>
        <comment>A comment</comment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Done already</source>
        <translation>Schon fertig</translation>
    </message>
    <message>
        <source>An old suggestion</source>
        <translation type="unfinished">Ein alter Vorschlag</translation>
    </message>
    <message>
        <source>It is gone</source>
        <translation type="vanished">Weg</translation>
    </message>
    <message>
        <source>It was empty</source>
        <translation type="unfinished"/>
    </message>
    <message numerus="yes">
        <source>%n file(s) found in %L1</source>
        <translation type="unfinished">
            <numerusform></numerusform>
            <numerusform></numerusform>
        </translation>
    </message>
    <message>
        <source>Click &lt;b&gt;here&lt;/b&gt; now</source>
        <translation type="unfinished"></translation>
    </message>
</context>
</TS>
"""
GERMAN = ReadingOptions(target="de")


@pytest.mark.parametrize("content", [each for each in line_ends(TS) if not each.startswith((b"\xff", b"\xfe"))])
def test_round_trip(content: bytes) -> None:
    assert is_unchanged("a.ts", content, GERMAN)


def test_texts() -> None:
    assert texts("a.ts", TS, GERMAN) == [
        'Open "%1" & close',
        "An old suggestion",
        "It was empty",
        "{{x1}} file found in {{x2}}",
        "{{x1}} files found in {{x2}}",
        "Click here now",
    ]


def test_translation() -> None:
    written = translate("a.ts", TS, options=GERMAN).decode()
    assert '<TS version="2.1" sourcelanguage="en" language="de">' in written
    assert "<comment>A comment</comment>\n        <translation>OPEN &quot;%1&quot; &amp; CLOSE</translation>" in written
    assert "<translation>AN OLD SUGGESTION</translation>" in written
    assert "<translation>IT WAS EMPTY</translation>" in written
    assert "<translation>CLICK &lt;b&gt;HERE&lt;/b&gt; NOW</translation>" in written
    assert (
        "<translation>\n            <numerusform>%n FILE FOUND IN %L1</numerusform>\n"
        "            <numerusform>%n FILES FOUND IN %L1</numerusform>\n        </translation>" in written
    )
    assert '<translation type="vanished">Weg</translation>' in written
    assert "Schon fertig" in written
    assert 'type="unfinished"' not in written
    assert translate("a.ts", written, constant("neu"), GERMAN) == written.encode()  # nothing is left to do


def test_the_number_of_forms_is_that_of_the_language() -> None:
    assert translate("a.ts", TS, options=ReadingOptions(target="ja")).decode().count("<numerusform>") == 1
    assert translate("a.ts", TS, options=ReadingOptions(target="pl")).decode().count("<numerusform>") == 3


def test_a_lost_placeholder_leaves_the_message_unfinished() -> None:
    written = translate("a.ts", TS, dictionary({'Open "%1" & close': "Auf und zu"}), GERMAN)
    assert written == TS.encode()


def test_programs_in_typescript_are_refused() -> None:
    with pytest.raises(WrongKindError, match=r"^a\.ts: the file has no messages of Qt; if it is plain text, use --as"):
        texts("a.ts", 'const a = "Hello there";\n')
    with pytest.raises(DocumentError, match="line 1 is not well-formed XML"):
        texts("a.ts", "<TS><a></TS>")
