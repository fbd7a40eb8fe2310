"""XLIFF: missing targets are filled in, and nothing else changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from hark.documents.formats import DocumentError, ReadingOptions, SegmentTranslation
from tests.documents.test_markup import scrambled
from tests.documents.translators import constant, is_unchanged, line_ends, read, texts, translate

OLD = """\
<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
  <file original="a.html" source-language="en" datatype="html">
    <header><note>Not <source>this</source></note></header>
    <body>
      <trans-unit id="1">
        <source>Click <g id="1">here</g> for <x id="2"/> &amp; more</source>
        <note>a note</note>
      </trans-unit>
      <trans-unit id="2"><source>Done</source><target>Fertig</target></trans-unit>
      <trans-unit id="3">
        <source xml:lang="en">Press <bpt id="1">&lt;b&gt;</bpt>the button<ept id="1">&lt;/b&gt;</ept> now</source>
        <target state="needs-translation">Press</target>
        <alt-trans><source>Other</source><target>Andere</target></alt-trans>
      </trans-unit>
      <trans-unit id="4" translate="no"><source>Keep</source></trans-unit>
      <group translate="no"><trans-unit id="5"><source>Keep too</source></trans-unit></group>
      <trans-unit id="6"><source>Empty target</source><target/></trans-unit>
      <trans-unit id="7"><source><![CDATA[Some %s <b> text]]></source><target></target></trans-unit>
      <trans-unit id="8" approved="yes"><source>Approved</source></trans-unit>
      <trans-unit id="9"><source>Segmented. Text.</source>
        <seg-source><mrk mtype="seg" mid="1">Segmented.</mrk> <mrk mtype="seg" mid="2">Text.</mrk></seg-source>
      </trans-unit>
    </body>
  </file>
</xliff>
"""

NEW = """\
<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en">
 <file id="f1">
  <unit id="1">
   <notes><note>No</note></notes>
   <originalData><data id="d1">&lt;br/&gt;</data></originalData>
   <segment id="s1" state="initial">
    <source>Hello <pc id="1" dataRefStart="d1">big <sc id="2"/>old</pc><ph id="3" dataRef="d1"/> world</source>
   </segment>
   <ignorable><source> </source></ignorable>
   <segment state="final"><source>Last</source><target>Letzte</target></segment>
   <segment><source>Then <mrk id="m1" translate="no">Hark</mrk> came</source></segment>
  </unit>
  <unit id="2" translate="no"><segment><source>Keep</source></segment></unit>
 </file>
</xliff>
"""


@pytest.mark.parametrize("text", [OLD, NEW])
def test_round_trip(text: str) -> None:
    for content in line_ends(text)[:5]:
        assert is_unchanged("a.xlf", content, ReadingOptions(target="de"))


def test_texts() -> None:
    assert texts("a.xlf", OLD) == [
        "Click here for {{x1}} & more",
        "Press the button now",
        "Empty target",
        "Some %s <b> text",
        "Segmented. Text.",
    ]
    assert texts("a.xliff", NEW) == ["Hello big old{{x1}} world", "Then {{x1}} came"]


def test_translation_of_version_1() -> None:
    written = translate("a.xlf", OLD, options=ReadingOptions(target="de")).decode()
    assert (
        '        <source>Click <g id="1">here</g> for <x id="2"/> &amp; more</source>\n'
        '        <target>CLICK <g id="1">HERE</g> FOR <x id="2"/> &amp; MORE</target>\n'
    ) in written
    assert "<source>Done</source><target>Fertig</target>" in written
    pressed = 'PRESS <bpt id="1">&lt;b&gt;</bpt>THE BUTTON<ept id="1">&lt;/b&gt;</ept> NOW</target>'
    assert f'<target state="translated">{pressed}' in written
    assert "<source>Empty target</source><target>EMPTY TARGET</target>" in written
    assert "<target><![CDATA[SOME %s <B> TEXT]]></target>" in written
    assert written.count("<target") == 7
    assert 'source-language="en" datatype="html" target-language="de">' in written
    assert "</seg-source><target>SEGMENTED. TEXT.</target>" in written
    etree.fromstring(written.encode())


def test_translation_of_version_2() -> None:
    written = translate("a.xliff", NEW, options=ReadingOptions(target="de")).decode()
    assert (
        '<target>HELLO <pc id="1" dataRefStart="d1">BIG <sc id="2"/>old</pc><ph id="3" dataRef="d1"/> WORLD</target>'
    ) in written
    assert '<segment id="s1" state="translated">' in written
    assert 'THEN <mrk id="m1" translate="no">Hark</mrk> CAME</target></segment>' in written
    assert 'srcLang="en" trgLang="de">' in written
    etree.fromstring(written.encode())


def test_a_lost_placeholder_leaves_the_unit_without_a_target() -> None:
    source = '<xliff version="1.2"><file><body><trans-unit><source>Hello %s</source></trans-unit></body></file></xliff>'
    assert translate("a.xlf", source, constant("Hallo")) == source.encode()


def test_text_is_escaped_as_in_the_source() -> None:
    source = '<xliff version="1.2"><trans-unit><source>&quot;Hi&quot; it&apos;s</source></trans-unit></xliff>'
    written = translate("a.xlf", source, constant('"Es" ist\'s < & >')).decode()
    assert "<target>&quot;Es&quot; ist&apos;s &lt; &amp; &gt;</target>" in written


def test_prefixes_of_namespaces() -> None:
    source = '<x:xliff xmlns:x="u" version="1.2"><x:trans-unit><x:source>Hi there</x:source></x:trans-unit></x:xliff>'
    assert b"<x:source>Hi there</x:source><x:target>HI THERE</x:target>" in translate("a.xlf", source)


def test_what_is_not_xliff_is_refused() -> None:
    with pytest.raises(DocumentError, match=r"^a\.xlf: the file is not XLIFF"):
        texts("a.xlf", "<html/>")


CODES = st.recursive(
    st.sampled_from(
        ["One ", "two", " &lt;3", '<x id="9"/>', '<bpt id="1">a</bpt>', '<ept id="1">b</ept>', '<ph id="2">c</ph>']
    ),
    lambda inner: st.builds(
        lambda name, parts: f"<{name}>{''.join(parts)}</{name}>",
        st.sampled_from(["g", "mrk"]),
        st.lists(inner, max_size=4),
    ),
    max_leaves=12,
)


@given(st.lists(CODES, max_size=5).map("".join), st.integers(0, 99))
def test_every_code_comes_through_once(inner: str, seed: int) -> None:
    source = f'<xliff version="1.2"><trans-unit><source>{inner}</source></trans-unit></xliff>'
    assert is_unchanged("a.xlf", source)
    document = read("a.xlf", source)
    for segment in document.segments:
        text, links = scrambled(segment.text, seed)
        written = document.write([SegmentTranslation(text, links)])
        unit = etree.fromstring(written)[0]
        if len(unit) == 2:  # otherwise a placeholder was lost, and the unit is left alone
            source_codes, target_codes = (sorted(str(each.tag) for each in list(part.iter())[1:]) for part in unit)
            assert target_codes == source_codes


@pytest.mark.parametrize(
    ("attributes", "is_translated"),
    [
        ('approved="no"', True),
        ('approved="yes"', False),
        ('approved="yes" translate="yes"', False),
        ('approved="no" translate="no"', False),
    ],
)
def test_approved_units_are_kept(attributes: str, is_translated: bool) -> None:
    unit = f"<trans-unit id='1' {attributes}><source>Hello</source></trans-unit>"
    text = f"<xliff version='1.2'><file source-language='en'><body>{unit}</body></file></xliff>"
    assert texts("a.xlf", text) == (["Hello"] if is_translated else [])
