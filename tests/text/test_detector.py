"""Guessing the language of a text among candidates."""

from hark.text.detector import guess_language


def test_guesses_the_most_likely_candidate() -> None:
    assert guess_language("Wo ist bitte der nächste Bahnhof?\nIch suche ihn schon lange.", ["de", "en"]) == "de"
    assert guess_language("WHERE IS THE NEAREST STATION, PLEASE?", ["de", "en-GB"]) == "en-GB"
    assert guess_language("Onde fica a estação mais próxima, por favor?", ["es", "pt-BR", "en"]) == "pt-BR"


def test_no_guess_without_evidence() -> None:
    assert guess_language("", ["de", "en"]) is None
    assert guess_language("Где находится ближайший вокзал?", ["tlh", "xx"]) is None
