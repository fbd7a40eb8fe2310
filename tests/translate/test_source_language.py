"""The language of a text among those of the models that come with hark: everyday lines, and other languages."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from benchmarks.lines import read_lines

from hark import models
from hark.errors import UserError
from hark.models import list_models, shipped_folder
from hark.translate.choice import LoadedModels, choose
from hark.translate.source_language import Answer, Draft, Question, find_language, likely_other, no_answer, resolve

EVERYDAY = Path(__file__).parents[2] / "benchmarks" / "everyday.toml"


@cache
def loaded() -> LoadedModels:
    return LoadedModels()


def find(text: str, target: str | None, answer: Callable[[Question], Answer] | None = None) -> str | None:
    """The language of a text, with the models that come with hark."""
    shipped = list_models([shipped_folder()])
    found = resolve(find_language(text, target, models.choose(None, target, shipped), shipped), answer or loaded())
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
    assert find("Abbrechen", "en", no_answer) == "de"


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
    assert find("hotel", "de", no_answer) is None
    assert find("Es gibt 25 Hunde.", "en", no_answer) == "de"


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
