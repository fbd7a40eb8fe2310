"""Terms of a glossary replace the words that are aligned with them."""

import pytest

import hark
from hark.decode.align import Link, word_spans
from hark.decode.load import Loaded
from hark.decode.piece import Options
from hark.decode.term_places import place_terms
from hark.text.protect import find_terms
from hark.text.terms import Terms


def place(source: str, text: str, pairs: list[tuple[int, float]], **terms: str) -> tuple[str, list[str]]:
    """`pairs` are, for each word of the translation, its source word and the weight of the link."""
    words = word_spans(source)
    links = [Link(words[word], span, weight) for span, (word, weight) in zip(word_spans(text), pairs, strict=True)]
    rewriting, lost = place_terms(text, source, find_terms(source, Terms(terms.items())), links)
    return rewriting.after, [item.text for item in lost]


def test_the_aligned_word_is_replaced_without_its_punctuation() -> None:
    assert place("the dog, a cat", "der Hund, eine Katze", [(0, 1), (1, 1), (2, 1), (3, 1)], dog="Vierbeiner") == (
        "der Vierbeiner, eine Katze",
        [],
    )


def test_an_article_that_is_aligned_with_the_noun_stays() -> None:
    assert place("dog barks", "der Hund bellt", [(0, 0.9), (0, 0.9), (1, 1)], dog="Rüde") == ("der Rüde bellt", [])


def test_a_weak_link_of_another_word_is_ignored() -> None:
    text = "die Rechnung zahlen."
    assert place("pay the bill.", text, [(1, 0.5), (2, 0.9), (2, 0.6)], bill="Faktura") == ("die Faktura zahlen.", [])


def test_a_form_of_the_term_that_the_model_chose_stays() -> None:
    links = [(0, 0.9), (1, 0.9)]
    assert place("two bills", "zwei Rechnungen", links, bills="Rechnung") == ("zwei Rechnungen", [])
    assert place("two bills", "zwei Fakturen", links, bills="Rechnung") == ("zwei Rechnung", [])
    assert place("two bills", "zwei rechnungen", links, bills="Rechnung") == ("zwei Rechnung", [])


def test_doubtful_places_are_reported() -> None:
    # no word is aligned with it
    assert place("a dog", "ein Tier", [(0, 1), (0, 1)], dog="Hund") == ("ein Tier", ["dog"])
    # its words are apart
    assert place("shut up now", "mach jetzt zu", [(0, 0.9), (2, 0.9), (0, 0.9)], shut="sperr") == (
        "mach jetzt zu",
        ["shut"],
    )
    # a compound: "life" has no word of its own and would be lost
    assert place("battery life", "Batterielaufzeit", [(0, 0.7)], battery="Akku") == ("Batterielaufzeit", ["battery"])


def test_a_word_that_attends_to_nothing_else_is_no_compound() -> None:
    assert place("dog sleeps", "Hund", [(0, 0.97)], dog="Rüde") == ("Rüde", [])


def test_two_terms_of_one_word_are_not_written_over_each_other() -> None:
    text, lost = place("big dogs run", "Doggen rennen", [(0, 0.9), (2, 0.9)], big="groß", dogs="Hunde")
    assert lost
    assert "rennen" in text


def test_a_term_at_the_start_gets_a_capital() -> None:
    assert place("Der Hund bellt", "Dogs bark", [(1, 1), (2, 1)], Hund="hound") == ("Hound bark", [])


@pytest.fixture(scope="module")
def models() -> dict[str, Loaded]:
    return {"de": hark.load("en-de", threads=1), "en": hark.load("de-en", threads=1)}


GLOSSARIES = {
    "de": {
        "battery": "Stromspeicher",
        "invoice": "Faktura",
        "user": "Anwender",
        "dog": "Vierbeiner",
        "machine learning": "ML",
    },
    "en": {"Akku": "battery pack", "Hund": "hound", "Benutzer": "member"},
}


@pytest.mark.parametrize(
    ("target", "source", "terms"),
    [
        ("de", "The battery is empty.", ["Stromspeicher"]),
        ("de", "BATTERY", ["Stromspeicher"]),
        ("de", "My dog likes your dog.", ["Vierbeiner", "Vierbeiner"]),
        (
            "de",
            "I sent the invoice, but the user never paid the invoice.",
            ["Faktura", "Faktura", "Anwender"],
        ),
        ("de", "Machine Learning is fun, said the user.", ["ML", "Anwender"]),
        ("de", "The user wrote to me@example.com about the battery life of 12.5 hours.", ["Anwender", "Stromspeicher"]),
        ("en", "Der Akku ist leer. Mein HUND schläft.", ["battery pack", "hound"]),
        ("en", "Gestern hat der Hund den Akku zerbissen.", ["hound", "battery pack"]),
    ],
)
def test_shipped_models_write_the_terms(models: dict[str, Loaded], target: str, source: str, terms: list[str]) -> None:
    glossary = GLOSSARIES[target]
    with_terms = models[target].translator.translate(source, Options(terms=Terms(glossary.items()))).text
    words = with_terms.lower()
    for term in set(terms):
        assert words.count(term.lower()) == terms.count(term), with_terms
    if "@" in source:
        assert "me@example.com" in with_terms
    assert models[target].translator.translate(source).text != with_terms


def test_terms_win_over_the_phrase_table(models: dict[str, Loaded]) -> None:
    translator = models["de"].translator
    assert translator.translate("Cancel").text == "Abbrechen"
    assert translator.translate("Cancel", Options(terms=Terms([("cancel", "Verwerfen")]))).text == "Verwerfen"
    assert translator.translate("Cancel", Options(terms=Terms([("save", "Sichern")]))).text == "Abbrechen"
