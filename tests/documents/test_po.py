"""PO files: missing and fuzzy translations are filled in, everything else stays byte for byte."""

import polib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.documents.formats import DocumentError, ReadingOptions, SegmentTranslation
from hark.documents.messages import _FORMS, numbers_by_form, plural_rule
from hark.documents.po import escape, unescape
from tests.documents.translators import constant, dictionary, is_unchanged, line_ends, read, texts, translate

PO = r"""# German translation.
#
msgid ""
msgstr ""
"Project-Id-Version: hark\n"
"Language: de\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

#. a comment
#: src/a.c:12
#, c-format
msgid "Cannot open %s: \"%d\" errors\n"
msgstr ""

msgctxt "menu"
msgid "Open"
msgstr "Öffnen"

#, fuzzy, python-format
#| msgid "Old message"
msgid "A message that is longer than a line of eighty characters, and "
"therefore wrapped: %(name)s"
msgstr "Alte Übersetzung"

#, fuzzy
msgid "Close"
msgstr "Schliesen"

#, c-format
msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""

msgid "Click <a href=\"%s\">here</a> to go on"
msgstr ""

msgid "{count, plural, one {# file} other {# files}}"
msgstr ""

#~ msgid "obsolete"
#~ msgstr "überflüssig"
"""


@pytest.mark.parametrize("content", line_ends(PO)[:5])
def test_round_trip(content: bytes) -> None:
    assert is_unchanged("de.po", content)
    assert is_unchanged("de.po", content.rstrip())


def test_only_what_is_missing_is_translated() -> None:
    assert texts("de.po", PO) == [
        'Cannot open %s: "%d" errors',
        "A message that is longer than a line of eighty characters, and therefore wrapped: %(name)s",
        "Close",
        "%d file",
        "%d files",
        "Click here to go on",
    ]


def entries(content: bytes) -> dict[str, polib.POEntry]:
    return {entry.msgid: entry for entry in polib.pofile(content.decode())}


def test_translation() -> None:
    found = entries(translate("de.po", PO))
    assert found['Cannot open %s: "%d" errors\n'].msgstr == 'CANNOT OPEN %s: "%d" ERRORS\n'
    assert found["Open"].msgstr == "Öffnen"
    assert found["%d file"].msgstr_plural == {0: "%d FILE", 1: "%d FILES"}
    assert found['Click <a href="%s">here</a> to go on'].msgstr == 'CLICK <a href="%s">HERE</a> TO GO ON'
    assert found["{count, plural, one {# file} other {# files}}"].msgstr == ""


def test_fuzzy_is_removed_with_the_previous_message() -> None:
    written = translate("de.po", PO)
    found = entries(written)
    wrapped = next(entry for name, entry in found.items() if name.startswith("A message"))
    assert wrapped.flags == ["python-format"]
    assert wrapped.previous_msgid is None
    assert wrapped.msgstr.endswith("WRAPPED: %(name)s")
    assert found["Close"].flags == []
    assert b"#, fuzzy" not in written
    assert all(len(line) <= 80 for line in written.decode().splitlines())
    assert b'#~ msgid "obsolete"\n' in written


def test_lines_that_are_not_translated_stay() -> None:
    before, after = PO.splitlines(), translate("de.po", PO).decode().splitlines()
    assert [line for line in before if line.startswith(("#:", "#.", "msgid", "#~", '"Pro'))] == [
        line for line in after if line.startswith(("#:", "#.", "msgid", "#~", '"Pro'))
    ]


def test_a_lost_placeholder_makes_an_entry_fuzzy() -> None:
    found = entries(translate("de.po", PO, constant("Verloren")))
    assert found['Cannot open %s: "%d" errors\n'].fuzzy
    assert found['Cannot open %s: "%d" errors\n'].flags.count("c-format") == 1
    assert not found["Close"].fuzzy


RUSSIAN = r"""msgid ""
msgstr ""
"Content-Type: text/plain; charset=CHARSET\n"
"Language: \n"
"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\n"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""
"""


def test_plural_forms_are_translated_with_a_number() -> None:
    options = ReadingOptions(target="ru")
    assert texts("ru.pot", RUSSIAN, options) == ["%d file", "%d files", "22 files", "13 files"]
    russian = {"%d file": "%d файл", "%d files": "%d файлы", "22 files": "22 файла", "13 files": "13 файлов"}
    written = translate("ru.pot", RUSSIAN, dictionary(russian), options)
    assert entries(written)["%d file"].msgstr_plural == {0: "%d файл", 1: "%d файла", 2: "%d файлов"}
    parsed = polib.pofile(written.decode())
    assert not parsed.metadata_is_fuzzy
    assert parsed.metadata["Language"] == "ru"
    assert parsed.metadata["Content-Type"] == "text/plain; charset=UTF-8"
    assert parsed.metadata["Plural-Forms"].startswith("nplurals=3;")
    russian["22 files"] = "двадцать два файла"
    written = translate("ru.pot", RUSSIAN, dictionary(russian), options)
    assert entries(written)["%d file"].msgstr_plural[1] == "%d файлы"


def test_a_language_without_plurals() -> None:
    written = translate("ja.pot", RUSSIAN, dictionary({"%d files": "%d個"}), ReadingOptions(target="ja"))
    assert entries(written)["%d file"].msgstr_plural == {0: "%d個"}


def test_a_template_without_a_language_keeps_its_forms() -> None:
    assert texts("a.pot", RUSSIAN) == ["%d file", "%d files"]
    assert is_unchanged("a.pot", RUSSIAN)


def test_other_encodings() -> None:
    content = PO.replace("UTF-8", "ISO-8859-1").encode("latin-1")
    assert is_unchanged("de.po", content)
    assert "Größe".encode("latin-1") in translate("de.po", content, dictionary({"Close": "Größe"}))
    written = translate("de.po", content, dictionary({"Close": "закрыть"}))
    assert "charset=UTF-8" in written.decode()
    assert 'msgstr "закрыть"' in written.decode()


def test_long_messages_on_one_line_stay_on_one_line() -> None:
    source = f'msgid "{"word " * 30}end"\nmsgstr ""\n'
    assert translate("a.po", source).decode().splitlines()[1] == f'msgstr "{"WORD " * 30}END"'


def test_what_is_not_po_is_refused() -> None:
    with pytest.raises(DocumentError, match=r"^a\.po: line 2 is not PO: msgstr unquoted"):
        texts("a.po", 'msgid "a"\nmsgstr unquoted\n')


@given(st.text('ab"\\\n\t\x07é語x01', max_size=30))
def test_escapes(text: str) -> None:
    assert unescape(escape(text)) == text


@pytest.mark.parametrize("language", _FORMS)
def test_every_plural_rule_is_valid(language: str) -> None:
    count, rule = plural_rule(language).removeprefix("nplurals=").split("; plural=")
    assert all(numbers_by_form(int(count), rule.rstrip(";")))


@given(st.text('ab%d"\\\n{}<i></i>é', min_size=1, max_size=120))
def test_any_translation_can_be_read_back(text: str) -> None:
    document = read("a.po", 'msgid "Hello"\nmsgstr ""\n')
    [entry] = polib.pofile(document.write([SegmentTranslation(text)]).decode())
    assert entry.msgstr == (text if text != "Hello" else "")
