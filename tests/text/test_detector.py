"""Which of some languages a text is in."""

from hark.text.detector import guess_language


def test_the_likeliest_of_some() -> None:
    assert guess_language("Wo ist bitte der nächste Bahnhof?\nIch suche ihn schon lange.", ["de", "en"]) == "de"
    assert guess_language("WHERE IS THE NEAREST STATION, PLEASE?", ["de", "en-GB"]) == "en-GB"
    assert guess_language("Onde fica a estação mais próxima, por favor?", ["es", "pt-BR", "en"]) == "pt-BR"


def test_no_guess_where_nothing_speaks_for_one() -> None:
    assert guess_language("", ["de", "en"]) is None
    assert guess_language("Где находится ближайший вокзал?", ["tlh", "xx"]) is None
