"""Tags and emphasis in a translation, placed by the alignment."""

import pytest

import hark
from hark.text.protect import Item, find, find_terms
from hark.text.terms import Terms
from hark.translate.align import Link, word_spans
from hark.translate.load import Loaded
from hark.translate.marks import pair_up, place, place_terms
from hark.translate.piece import Options


def marks_of(text: str) -> list[Item]:
    return [item for item in find(text, lambda _: "♥") if item.mark]


def links(source: str, translation: str, *pairs: tuple[str, str]) -> list[Link]:
    """Links between words, by the words."""
    found = []
    for word, translated in pairs:
        start, target = source.index(word), translation.index(translated)
        found.append(Link((start, start + len(word)), (target, target + len(translated)), 1.0))
    return found


@pytest.mark.parametrize(
    ("source", "translation", "pairs", "expected"),
    [
        (
            "the <b>big</b> house",
            "das große Haus",
            [("the", "das"), ("big", "große"), ("house", "Haus")],
            "das <b>große</b> Haus",
        ),
        (
            "I **have** it <i>today</i>.",
            "Heute habe ich es.",
            [("today", "Heute"), ("have", "habe"), ("I", "ich"), ("it", "es.")],
            "<i>Heute</i> **habe** ich es.",
        ),
        (  # a tag around two words whose translations are apart
            "<u>I <b>see</b> you</u> now",
            "Jetzt sehe ich dich",
            [("now", "Jetzt"), ("see", "sehe"), ("I", "ich"), ("you", "dich")],
            "Jetzt <u><b>sehe</b> ich dich</u>",
        ),
        ("one ♥ two", "eins zwei", [("one", "eins"), ("two", "zwei")], "eins ♥ zwei"),
        ("one<br/>two", "eins zwei", [("one", "eins"), ("two", "zwei")], "eins<br/> zwei"),
        ("(see ♥)", "(siehe)", [("(see", "(siehe)")], "(siehe) ♥"),
    ],
)
def test_marks_are_placed_by_the_alignment(
    source: str, translation: str, pairs: list[tuple[str, str]], expected: str
) -> None:
    placed = place(translation, source, marks_of(source), links(source, translation, *pairs))
    assert placed is not None
    assert placed.after == expected


def test_a_word_without_a_link_is_placed_by_its_position() -> None:
    source, translation = "click <b>here</b> now", "klick hier jetzt"
    found = place(
        translation, source, marks_of(source), links(source, translation, ("click", "klick"), ("now", "jetzt"))
    )
    assert found is not None
    assert found.after.count("<b>") == found.after.count("</b>") == 1


def test_without_links_marks_are_not_placed() -> None:
    assert place("klick hier", "click <b>here</b>", marks_of("click <b>here</b>"), []) is None


def test_crossing_marks_are_not_placed() -> None:
    source, translation = "<b>one two</b> <i>three four</i>", "eins drei zwei vier"
    crossed = links(source, translation, ("one", "eins"), ("two", "zwei"), ("three", "drei"), ("four", "vier"))
    assert place(translation, source, marks_of(source), crossed) is None


def test_pairs_and_single_marks() -> None:
    pairs, single = pair_up(marks_of("<a href='x'>one <br> two</a> *three* </i>"))
    assert [(opening.text, closing.text) for opening, closing in pairs] == [("<a href='x'>", "</a>"), ("*", "*")]
    assert [mark.text for mark in single] == ["<br>", "</i>"]


def write(source: str, text: str, pairs: list[tuple[int, float]], **terms: str) -> tuple[str, list[str]]:
    """`pairs` are, for each word of the translation, its source word and the weight of the link."""
    words = word_spans(source)
    links = [Link(words[word], span, weight) for span, (word, weight) in zip(word_spans(text), pairs, strict=True)]
    rewriting, lost = place_terms(text, source, find_terms(source, Terms(terms.items())), links)
    return rewriting.after, [item.text for item in lost]


def test_the_aligned_word_is_replaced_without_its_punctuation() -> None:
    assert write("the dog, a cat", "der Hund, eine Katze", [(0, 1), (1, 1), (2, 1), (3, 1)], dog="Vierbeiner") == (
        "der Vierbeiner, eine Katze",
        [],
    )


def test_an_article_that_is_aligned_with_the_noun_stays() -> None:
    assert write("dog barks", "der Hund bellt", [(0, 0.9), (0, 0.9), (1, 1)], dog="Rüde") == (
        "der Rüde bellt",
        [],
    )


def test_a_weak_link_of_another_word_is_ignored() -> None:
    text = "die Rechnung zahlen."
    assert write("pay the bill.", text, [(1, 0.5), (2, 0.9), (2, 0.6)], bill="Faktura") == (
        "die Faktura zahlen.",
        [],
    )


def test_a_form_of_the_term_that_the_model_chose_stays() -> None:
    links = [(0, 0.9), (1, 0.9)]
    assert write("two bills", "zwei Rechnungen", links, bills="Rechnung") == ("zwei Rechnungen", [])
    assert write("two bills", "zwei Fakturen", links, bills="Rechnung") == ("zwei Rechnung", [])
    assert write("two bills", "zwei rechnungen", links, bills="Rechnung") == ("zwei Rechnung", [])


def test_doubtful_places_are_reported() -> None:
    # no word is aligned with it
    assert write("a dog", "ein Tier", [(0, 1), (0, 1)], dog="Hund") == ("ein Tier", ["dog"])
    # its words are apart
    assert write("shut up now", "mach jetzt zu", [(0, 0.9), (2, 0.9), (0, 0.9)], shut="sperr") == (
        "mach jetzt zu",
        ["shut"],
    )
    # a compound: "life" has no word of its own and would be lost
    assert write("battery life", "Batterielaufzeit", [(0, 0.7)], battery="Akku") == (
        "Batterielaufzeit",
        ["battery"],
    )


def test_a_word_that_attends_to_nothing_else_is_no_compound() -> None:
    assert write("dog sleeps", "Hund", [(0, 0.97)], dog="Rüde") == ("Rüde", [])


def test_two_terms_of_one_word_are_not_written_over_each_other() -> None:
    text, lost = write("big dogs run", "Doggen rennen", [(0, 0.9), (2, 0.9)], big="groß", dogs="Hunde")
    assert lost
    assert "rennen" in text


def test_a_term_at_the_start_gets_a_capital() -> None:
    assert write("Der Hund bellt", "Dogs bark", [(1, 1), (2, 1)], Hund="hound") == ("Hound bark", [])


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
