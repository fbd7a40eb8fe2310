"""TMX: units without the target language get a translation."""

from pathlib import Path

import pytest

from hark.data.compression import ByteStream
from hark.data.tmx import parse_tmx
from hark.documents.formats import DocumentError, ReadingOptions
from hark.documents.xml import check_xml
from tests.documents.translators import dictionary, is_unchanged, line_ends, texts, translate

MEMORY = """\
<?xml version="1.0"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4">
  <header creationtool="a" srclang="en-US" segtype="sentence" datatype="plaintext"/>
  <body>
    <!-- <tu><tuv xml:lang="en"><seg>In a comment</seg></tuv></tu> -->
    <tu tuid="1">
      <note>n</note>
      <tuv xml:lang="en-US" creationid="me">
        <prop type="x">p</prop>
        <seg>The <bpt i="1">&lt;b></bpt>red<ept i="1">&lt;/b></ept> house &amp; garden</seg>
      </tuv>
      <tuv xml:lang="fr"><seg>La maison</seg></tuv>
    </tu>
    <tu><tuv xml:lang="en"><seg>Done</seg></tuv><tuv xml:lang="de-AT"><seg>Fertig</seg></tuv></tu>
    <tu><tuv lang="EN"><seg>Open <ph>%s</ph></seg></tuv></tu>
    <tu><tuv xml:lang="fr"><seg>Bonjour</seg></tuv></tu>
  </body>
</tmx>
"""
GERMAN = ReadingOptions(target="de")


@pytest.mark.parametrize("content", line_ends(MEMORY)[:5])
def test_round_trip(content: bytes) -> None:
    assert is_unchanged("a.tmx", content, GERMAN)


def test_translation() -> None:
    assert texts("a.tmx", MEMORY, GERMAN) == ["The red house & garden", "Open {{x1}}"]
    written = translate("a.tmx", MEMORY, options=GERMAN).decode()
    check_xml(written)
    assert (
        '      <tuv xml:lang="de" creationid="me">\n'
        '        <seg>THE <bpt i="1">&lt;b></bpt>RED<ept i="1">&lt;/b></ept> HOUSE &amp; GARDEN</seg>\n'
        "      </tuv>\n"
        '      <tuv xml:lang="fr">'
    ) in written
    assert '<tuv lang="de"><seg>OPEN <ph>%s</ph></seg></tuv></tu>' in written
    assert written.count('xml:lang="de') == 2


def test_another_source_language() -> None:
    assert texts("a.tmx", MEMORY, ReadingOptions(source="fr", target="de")) == ["La maison", "Bonjour"]


def test_languages_must_be_known() -> None:
    with pytest.raises(DocumentError, match=r"^a\.tmx: TMX files have several languages: say which"):
        texts("a.tmx", MEMORY)
    with pytest.raises(DocumentError, match=r"does not say in which language its texts are"):
        texts("a.tmx", MEMORY.replace('srclang="en-US"', 'srclang="*all*"'), GERMAN)
    with pytest.raises(DocumentError, match=r"the file is not TMX"):
        texts("a.tmx", "<a/>", GERMAN)


def test_the_corpus_reader_reads_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    house = dictionary({"The red house & garden": "Das rote Haus & der Garten"})
    path.write_bytes(translate("a.tmx", MEMORY, house, GERMAN))
    assert list(parse_tmx(ByteStream(path), "en", "de")) == [
        ("The red house & garden", "Das rote Haus & der Garten"),
        ("Done", "Fertig"),
    ]
