"""Phrase tables: the bundled ones, how lines match them, and user tables."""

from pathlib import Path
from typing import Any

import pytest

from hark.errors import HarkWarning, UserError
from hark.text.phrases import BUNDLED, Phrases, find_table, open_phrases, read_phrases

PAIRS = [("en", "de"), ("de", "en")]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_bundled_table(source: str, target: str) -> None:
    path = find_table(BUNDLED, source, target)
    assert path is not None
    table = read_phrases(path)
    phrases = Phrases([table])
    assert len(table) == len(phrases) >= 400
    for phrase, translation in table.items():
        assert phrases.lookup(phrase) == translation
        assert phrases.lookup(f"  {phrase} ") == translation


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_every_phrase_occurs_once_in_a_section(source: str, target: str) -> None:
    path = find_table(BUNDLED, source, target)
    assert path is not None
    head, *sections = path.read_text(encoding="utf-8").split("\n\n")
    assert all(line.startswith("# ") for line in head.split("\n"))
    titles = [section.split("\n")[0] for section in sections]
    assert all(title.startswith("# ") for title in titles)
    assert len(set(titles)) == len(titles) >= 8
    rows = [row for section in sections for row in section.rstrip("\n").split("\n")[1:]]
    assert all(row.count("\t") == 1 and not row.startswith("#") for row in rows)
    sources = [row.split("\t")[0] for row in rows]
    assert len(set(sources)) == len(sources) == len(read_phrases(path))


@pytest.mark.parametrize(
    ("pair", "line", "translation"),
    [
        ("en-de", "Kind regards", "Mit freundlichen Grüßen"),
        ("en-de", "Kind regards,", "Mit freundlichen Grüßen"),  # German has no comma there
        ("en-de", "Dear Sir or Madam,", "Sehr geehrte Damen und Herren,"),
        ("en-de", "Cheers!", "Prost!"),
        ("en-de", "add to  cart", "In den Warenkorb"),
        ("en-de", "ADD TO CART", "IN DEN WARENKORB"),
        ("en-de", "You’re welcome.", "Gern geschehen."),
        ("en-de", "Loading…", "Wird geladen…"),
        ("en-de", "Yesterday", "Gestern"),
        ("de-en", "Prost!", "Cheers!"),
        ("de-en", "prost", "Cheers"),
        ("de-en", "MIT FREUNDLICHEN GRÜSSEN", "KIND REGARDS"),
        ("de-en", "montag", "Monday"),
        ("de-en", "Morgen", "Morning"),
        ("de-en", "morgen", "tomorrow"),
        ("de-en", "Bitte!", "Please!"),
        ("de-en", "Bitte?", "Pardon?"),
        ("de-en", "MFG", "Kind regards"),
        ("de-en", "Wie geht´s?", "How are you?"),
        ("de-en", "Wie gehts?", "How are you?"),
        ("de-en", "Mit freundlichen Gruessen", "Kind regards"),
        ("en-de", "Youre welcome.", "Gern geschehen."),
    ],
)
def test_lines_match_as_typed(pair: str, line: str, translation: str) -> None:
    assert open_phrases(*pair.split("-")).lookup(line) == translation


SMALL = Phrases([{"Prost!": "Cheers!", "Na?": "Well?", "ja": "yes", "OK": "okay", "Ja, bitte": "Yes, please"}])


@pytest.mark.parametrize(
    ("line", "translation"),
    [
        ("Prost", "Cheers"),
        ("Prost.", "Cheers."),
        ("Prost !!", "Cheers!!"),
        ("Prost?", None),
        ("Na", "Well"),
        ("na?!", "Well?!"),
        ("Na!", None),
        ("JA!", "YES!"),
        ("Ja", "Yes"),
        ("ja?", "yes?"),
        ("OK", "okay"),
        ("JA, BITTE:", "YES, PLEASE:"),
        ("Prost ist ein Wort", None),
        ("?", None),
        ("", None),
        ("ja" + " " * 1000, None),
    ],
)
def test_case_and_final_punctuation(line: str, translation: str | None) -> None:
    assert SMALL.lookup(line) == translation


def test_later_tables_take_precedence() -> None:
    phrases = Phrases([{"Save": "Speichern", "Close": "Schließen"}, {"save": "Sichern"}, {"Save!": "Rette!"}])
    assert phrases.lookup("Save") == "Rette"
    assert Phrases([{"Save": "Speichern"}, {"save": "sichern"}]).lookup("Save") == "Sichern"
    assert phrases.lookup("Close") == "Schließen"


def test_user_tables_override_bundled_ones(tmp_path: Path) -> None:
    rows = "\ufeff# ours\r\nCancel\tVerwerfen\tinterface\nBrexit\tAustritt\r\n\r\n"
    (tmp_path / "en-de.tsv").write_text(rows, encoding="utf-8")
    phrases = open_phrases("en-GB", "de", folder=tmp_path)
    assert phrases.lookup("cancel") == "Verwerfen"
    assert phrases.lookup("Brexit") == "Austritt"
    assert phrases.lookup("Save") == "Speichern"
    assert open_phrases("en", "de", folder=tmp_path / "nowhere").lookup("Cancel") == "Abbrechen"
    assert len(open_phrases("en", "fr")) == 0
    (tmp_path / "en-GB-de.tsv").write_text("Lift\tLift\n", encoding="utf-8")
    assert find_table(tmp_path, "en-GB", "de") == tmp_path / "en-GB-de.tsv"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\tb\nno tab here\n", r"phrases.tsv:2: 1 columns; expected source, tab, target"),
        (b"a\tb\tc\td\n", r":1: 4 columns"),
        (b"# x\n\n \tb\n", r":3: no words in the source \(first column\)"),
        (b"!?\tb\n", r":1: no words in the source \(first column\)"),
        (b"a\t \n", r":1: empty target \(second column\)"),
        (b"a\tb\n\na \tc\n", r":3: 'a' is translated as 'b' in line 1; keep only one"),
        ("\nGrüße\tx\n".encode("latin-1"), r":2: not UTF-8"),
    ],
)
def test_errors_in_a_table_name_the_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "phrases.tsv"
    path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        read_phrases(path)


def test_a_user_table_that_cannot_be_read_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "en-de.tsv"
    own.write_text("Hello\tMoin\n")
    open_file = Path.open

    def refuse(path: Path, *given: Any, **named: Any) -> object:
        if path == own:
            raise PermissionError(13, "Permission denied", str(path))
        return open_file(path, *given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refuse)
        with pytest.warns(HarkWarning, match=f"{own}: cannot be read: Permission denied"):
            bundled = open_phrases("en", "de", tmp_path).lookup("Hello")
    assert bundled == open_phrases("en", "de").lookup("Hello") != "Moin"
    assert open_phrases("en", "de", tmp_path).lookup("Hello") == "Moin"


def test_a_missing_table_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere.tsv: cannot be read: No such file"):
        read_phrases(tmp_path / "nowhere.tsv")


def test_a_phrase_may_occur_twice_with_the_same_translation(tmp_path: Path) -> None:
    path = tmp_path / "phrases.tsv"
    path.write_text("a\tb\na\tb\nA\tB\n", encoding="utf-8")
    assert read_phrases(path) == {"a": "b", "A": "B"}
