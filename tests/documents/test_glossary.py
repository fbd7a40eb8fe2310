"""Glossaries in files, and the count of terms that hold."""

from pathlib import Path

import pytest

from hark.documents.glossary import TermUse, count_terms, read_glossary_files, summarise
from hark.errors import UserError
from hark.text.terms import Terms


def test_files(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("\ufeffhouse\tGebäude\n\nold tree\talter Baum\n", encoding="utf-8")
    (tmp_path / "a.csv").write_text('house,"Gebäude, groß",en,de\r\n', encoding="utf-8")
    (tmp_path / "keep.txt").write_text("Hark\n\n  Red Hat \n", encoding="utf-8")
    terms = read_glossary_files(tmp_path / "a.tsv", tmp_path / "keep.txt")
    assert terms == Terms([("house", "Gebäude"), ("old tree", "alter Baum")], ["Hark", "Red Hat"])
    assert read_glossary_files(tmp_path / "a.csv", None) == Terms([("house", "Gebäude, groß")])
    assert read_glossary_files(None, None) is None


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", b"house\n", "a.tsv: entry 1: expected a source and a target"),
        ("a.tsv", b"a\tb\na\tc\n", "a.tsv: entry 2: the source term is there twice"),
        ("a.tsv", b"a\t\n", "a.tsv: entry 1: a term must have"),
        ("a.csv", b'"a', "a.csv: the CSV is invalid"),
        ("a.tsv", b"\xff\t\xfe", "a.tsv: not UTF-8"),
        ("a.xls", b"a\tb", "must be a .tsv or .csv"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        read_glossary_files(tmp_path / name, None)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: No such file"):
        read_glossary_files(None, tmp_path / "none")


def test_terms_are_counted_with_their_endings() -> None:
    terms = Terms([("bill", "Rechnung"), ("bills", "Rechnung"), ("dog", "Hund")], kept=["Hark"])
    texts = [
        ("A bill, two Bills and a dog.", "Eine Rechnung, zwei Rechnungen und ein Tier."),
        ("Hark has a bill. The bill!", "Horch hat eine Rechnung. Die Rechnungsnummer!"),
        ("nothing", "Rechnung"),
    ]
    assert count_terms(terms, texts) == [
        TermUse("bill", "Rechnung", 3, 2, [2]),
        TermUse("bills", "Rechnung", 1, 1, []),
        TermUse("dog", "Hund", 1, 0, [1]),
        TermUse("hark", "Hark", 1, 0, [2]),
    ]
    assert summarise(count_terms(terms, texts)) == "terms held: 3 of 6"


@pytest.mark.parametrize(
    ("language", "translation", "checked"),
    [
        ("de", "Die Kaffeeautomat ist kaputt.", True),  # the model wrote "Die Kaffeemaschine"
        ("de", "Ich sah eine sehr alte Kaffeeautomat.", True),
        ("de-DE", "Am Kaffeeautomat, bitte.", True),
        ("de", "Kaffeeautomat mit Mahlwerk", False),
        ("de", "Das ist gut, Kaffeeautomat und alles.", False),
        ("en", "The Kaffeeautomat is broken.", False),
        ("fr", "La belle Kaffeeautomat", True),
        ("it", "della Kaffeeautomat", True),
        ("es", "aquella Kaffeeautomat", True),
        ("pt", "às Kaffeeautomat", True),
        ("nl", "het Kaffeeautomat", True),
    ],
)
def test_a_term_after_an_article_is_held_but_to_be_checked(language: str, translation: str, checked: bool) -> None:
    terms = Terms([("coffee machine", "Kaffeeautomat")])
    uses = count_terms(terms, [("The coffee machine is broken.", translation)], language)
    assert uses == [TermUse("coffee machine", "Kaffeeautomat", 1, 1, [], [1] if checked else [])]
    assert summarise(uses) == "terms held: 1 of 1" + ("; check the article of 1" if checked else "")


def test_a_term_that_ends_in_a_sign() -> None:
    assert count_terms(Terms([("sharp", "C#")]), [("sharp sharp", "C# und C#.")])[0].held == 2
    assert count_terms(Terms([("see", "sea")]), [("see", "overseas")])[0].held == 0
