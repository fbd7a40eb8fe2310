"""Damaged files: each is refused, or comes back as it was."""

import random
from collections.abc import Iterator

import pytest

from hark.documents.formats import DocumentError, ReadingOptions, SegmentTranslation
from tests.documents import (
    test_android,
    test_csv,
    test_json,
    test_markdown,
    test_po,
    test_properties,
    test_qt,
    test_rst,
    test_strings,
    test_subtitles,
    test_tmx,
    test_toml,
    test_txt,
    test_xliff,
    test_xml,
    test_yaml,
)
from tests.documents import test_markup_document as test_html
from tests.documents.test_markup import scrambled
from tests.documents.translators import copy, read

FILES = {
    "a.txt": test_txt.LETTER,
    "a.html": test_html.PAGE,
    "a.md": test_markdown.PAGE,
    "a.srt": test_subtitles.SRT,
    "a.vtt": test_subtitles.VTT,
    "a.ass": test_subtitles.ASS,
    "a.po": test_po.PO,
    "a.csv": test_csv.TABLE,
    "a.tsv": test_csv.TABLE.replace(",", "\t"),
    "a.json": test_json.MESSAGES,
    "a.xlf": test_xliff.OLD,
    "b.xlf": test_xliff.NEW,
    "a.tmx": test_tmx.MEMORY,
    "a.xml": test_xml.BOOK,
    "a.properties": test_properties.MESSAGES,
    "a.strings": test_strings.MESSAGES,
    "strings.xml": test_android.STRINGS,
    "a.ts": test_qt.TS,
    "a.stringsdict": test_strings.PLURALS,
    "a.rst": test_rst.PAGE,
    "a.toml": test_toml.MESSAGES,
    "a.yaml": test_yaml.MESSAGES,
    "a.svg": test_xml.PICTURE,
}
ROUNDS = 40


def damage(content: bytes, seed: int) -> Iterator[bytes]:
    chance = random.Random(seed)
    for _ in range(ROUNDS):
        damaged = bytearray(content)
        for _ in range(chance.randint(1, 3)):
            at, size = chance.randrange(len(damaged) or 1), chance.randint(1, 20)
            match chance.randrange(4):
                case 0:
                    del damaged[at : at + size]
                case 1:
                    damaged[at:at] = damaged[: chance.randrange(len(damaged) or 1)][-size:]
                case 2:
                    damaged[at : at + 1] = chance.choices(b"<>\"'{}[]&\\|,;=:-*_\n\r\t\0%\xe9")
                case _:
                    damaged = damaged[: max(1, at)]
        yield bytes(damaged)


@pytest.mark.parametrize("name", FILES)
def test_damaged_files(name: str) -> None:
    options = ReadingOptions(attributes=True, source="en", target="de")
    for number, content in enumerate(damage(FILES[name].encode(), 1)):
        try:
            document = read(name, content, options)
        except DocumentError:
            continue
        assert document.write([copy(segment.text) for segment in document.segments]) == content
        document.write([SegmentTranslation(*scrambled(segment.text, number)) for segment in document.segments])


MANY = 20_000


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.properties", "a" * MANY + "\\"),
        ("a.md", "[" * MANY + "a" + "]" * MANY),
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\n" + "".join(f"<a{each}>" for each in range(MANY)) + "text</b>"),
        ("a.xlf", "<xliff><file>" + "<source>a</source>" * MANY + "</file></xliff>"),
    ],
)
def test_what_nobody_writes_does_not_take_long(name: str, content: str) -> None:
    """Each took minutes or hours by comparing everything with everything."""
    document = read(name, content)
    assert document.write([copy(each.text) for each in document.segments]) == content.encode()
