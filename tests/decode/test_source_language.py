"""The language of a text among those of the models that come with hark: everyday lines, and other languages."""

from functools import cache
from pathlib import Path

import pytest
from benchmarks.lines import read_lines

from hark.cli.model_choice import find_source
from hark.decode.load import Loaded
from hark.decode.source_language import OtherLanguage, detect_other, likely_other
from hark.models import InstalledModel, choose, list_models, shipped_folder

EVERYDAY = Path(__file__).parents[2] / "benchmarks" / "everyday.toml"
OTHERS = ("es", "fr", "it", "nl", "pt")


@pytest.fixture(autouse=True)
def loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hark.decode.load.Loaded", _loaded)


_loaded = cache(Loaded)


@cache
def shipped(target: str | None = None) -> list[InstalledModel]:
    return choose(None, target, list_models([shipped_folder()]))


def everyday(pair: str) -> list[str]:
    return [line.text for lines in read_lines(EVERYDAY, pair).values() for line in lines]


@pytest.mark.parametrize("pair", ["en-de", "de-en"])
def test_everyday_lines_go_to_the_model_of_one_pair(pair: str) -> None:
    """As without the model of seven languages, for which each of six is possible."""
    source, target = pair.split("-")
    lines = everyday(pair)
    assert len(lines) >= 90
    assert {line: found for line in lines if (found := find_source(line, shipped(target), target)) != source} == {}


@pytest.mark.parametrize("pair", ["en-de", "de-en"])
def test_everyday_lines_without_a_target_are_found_as_without_the_model_of_seven_languages(pair: str) -> None:
    source, _ = pair.split("-")
    bilingual = [each for each in shipped() if each.bilingual]
    before = {line for line in everyday(pair) if find_source(line, bilingual, None) == source}
    after = {line for line in everyday(pair) if find_source(line, shipped(), None) == source}
    assert len(before) >= 85
    assert before <= after


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
    assert find_source(text, shipped("en"), "en") == source


def test_a_text_in_the_target_language_is_left_to_the_model_of_one_pair() -> None:
    """It keeps the sentences as they are: German must not be taken for Dutch."""
    assert find_source("Das Haus ist alt.", shipped("de"), "de") == "en"


def test_detection_prefers_languages_of_models_of_one_pair() -> None:
    assert detect_other("It costs 25 euros.", {"en", "de"}, OTHERS) == OtherLanguage("es", clear=False)
    assert detect_other("Où est la gare la plus proche ?", {"en", "de"}, OTHERS) == OtherLanguage("fr", clear=True)
    assert detect_other("Where is the nearest station?", {"en", "de"}, OTHERS) is None
    assert detect_other("Où est la gare la plus proche ?", {"en", "de"}, ()) is None
    assert detect_other(" \n", {"en", "de"}, OTHERS) is None


def test_another_language_must_be_clearly_more_likely() -> None:
    assert likely_other({"en": 0.3, "es": 3.7}, {"en"}) is None
    assert likely_other({"en": 3.0, "es": 2.5}, {"en"}) is None
    assert likely_other({"en": 3.7, "es": 0.3, "pt": 1.0}, {"en"}) == "es"
    assert likely_other({"es": 0.3, "pt": 1.0}, {"en"}) == "es"
