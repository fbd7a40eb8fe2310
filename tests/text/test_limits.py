"""Comparison of words of limit, order and negation in a source and its translation."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.text.limit_words import WORDS
from hark.text.limits import SIDES, compare_limits


def changes(pair: str, source: str, translation: str) -> list[tuple[str | None, str | None]]:
    return [(each.source, each.translation) for each in compare_limits(source, translation, *pair.split("-"))]


@pytest.mark.parametrize(
    ("pair", "translation", "word"),
    [
        ("en-it", "Prendi almeno 4 g in 24 ore.", "almeno"),
        ("en-nl", "Neem ten minste 4 g in 24 uur.", "ten minste"),
        ("en-pt", "Tome pelo menos 4 g em 24 horas.", "pelo menos"),
        ("en-es", "Tome al menos 4 g en 24 horas.", "al menos"),
        ("en-fr", "Prenez au moins 4 g en 24 heures.", "au moins"),
        ("en-de", "Nehmen Sie mindestens 4 g in 24 Stunden ein.", "mindestens"),
    ],
)
def test_at_most_4_g_in_24_hours_does_not_become_at_least(pair: str, translation: str, word: str) -> None:
    assert changes(pair, "Take at most 4 g in 24 hours.", translation) == [("at most", word)]
    language = pair.split("-")[1]
    assert changes(f"{language}-en", translation, "Take at most 4 g in 24 hours.") == [(word, "at most")]


AT_MOST = {
    "en": ["Take at most 4 g a day.", "Take no more than 4 g a day.", "Do not exceed 4 g a day.", "Up to 4 g a day."],
    "de": ["Höchstens 4 g am Tag.", "Nicht mehr als 4 g am Tag.", "Überschreiten Sie 4 g am Tag nicht.", "Bis zu 4 g."],
    "fr": ["Au plus 4 g par jour.", "Pas plus de 4 g par jour.", "Ne dépassez pas 4 g par jour.", "4 g au maximum."],
    "es": ["Como máximo 4 g al día.", "No más de 4 g al día.", "No supere los 4 g al día.", "Hasta 4 g al día."],
    "it": ["Al massimo 4 g al giorno.", "Non più di 4 g al giorno.", "Non superare 4 g al giorno.", "Fino a 4 g."],
    "nl": ["Hooguit 4 g per dag.", "Niet meer dan 4 g per dag.", "Maximaal 4 g per dag.", "Uiterlijk 4 dagen."],
    "pt": ["No máximo 4 g por dia.", "Não mais de 4 g por dia.", "Não exceder 4 g por dia.", "Até 4 g por dia."],
}  # fmt: skip
AT_LEAST = {
    "en": "Take at least 4 g a day.",
    "de": "Nehmen Sie mindestens 4 g am Tag.",
    "fr": "Prenez au moins 4 g par jour.",
    "es": "Tome al menos 4 g al día.",
    "it": "Prenda almeno 4 g al giorno.",
    "nl": "Neem minstens 4 g per dag.",
    "pt": "Tome pelo menos 4 g por dia.",
}


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(AT_MOST, 2)))
def test_upper_bounds_have_many_forms_and_none_is_a_lower_bound(one: str, other: str) -> None:
    for source in AT_MOST[one]:
        assert [text for text in AT_MOST[other] if changes(f"{one}-{other}", source, text)] == []
        assert changes(f"{one}-{other}", source, AT_LEAST[other])
        assert changes(f"{other}-{one}", AT_LEAST[other], source)


TURNED = [
    ("en-de", "Take it before meals.", "Nehmen Sie es nach dem Essen ein.", ("before", "nach dem")),
    ("de-en", "Nehmen Sie es vor dem Essen ein.", "Take it after meals.", ("vor dem", "after")),
    ("en-fr", "Rinse before use.", "Rincez après usage.", ("before", "après")),
    ("es-it", "Después de abrir, consumir en 3 días.", "Prima di aprire, consumare in 3 giorni.", ("Después", "Prima")),
    ("en-nl", "Children under 3 years", "Kinderen ouder dan 3 jaar", ("under", "ouder dan")),
    ("fr-pt", "plus de 18 ans", "menos de 18 anos", ("plus de", "menos de")),
    ("en-it", "Do not use without a prescription.", "Non usare con una prescrizione.", ("without", "con")),
    ("en-de", "Coffee without sugar", "Kaffee mit Zucker", ("without", "mit")),
    ("en-de", "Take it without water.", "Nehmen Sie es ein.", ("without", None)),
    ("en-pt", "Do not open the door.", "Abra a porta.", ("not", None)),
    ("it-en", "Aprire la porta.", "Never open the door.", (None, "Never")),
    (
        "en-it",
        "One hour before and at most 2 hours after meals",
        "Un'ora prima e 2 ore dopo i pasti",
        ("at most", None),
    ),
]


@pytest.mark.parametrize(("pair", "source", "translation", "change"), TURNED)
def test_turned_and_missing_words_are_found(
    pair: str, source: str, translation: str, change: tuple[str | None, str | None]
) -> None:
    assert changes(pair, source, translation) == [change]


KEPT = [
    ("en-de", "We do not open before 8.", "Wir öffnen erst nach 8."),
    ("en-de", "It was not until 10 that he came.", "Erst um 10 kam er."),
    ("en-fr", "I have only 3 euros.", "Je n'ai que 3 euros."),
    ("en-de", "No later than Friday", "Spätestens am Freitag"),
    ("en-es", "Before Friday at the latest", "A más tardar el viernes"),
    ("de-en", "Ab 18 Jahren", "18 and over"),
    ("en-de", "It is up to you.", "Das liegt bei dir."),
    ("en-de", "After all, he looks after the children.", "Schließlich kümmert er sich um die Kinder."),
    ("en-de", "I bought it three years ago.", "Ich habe es vor drei Jahren gekauft."),
    ("en-de", "He went to Berlin.", "Er ging nach Berlin."),
    ("en-de", "The game is over.", "Das Spiel ist aus."),
    ("en-de", "a book about birds", "ein Buch über Vögel"),
    ("en-nl", "This is for you.", "Dit is voor jou."),
    ("en-de", "I have been here before.", "Ich war schon einmal hier."),
    ("en-es", "It is impossible.", "No es posible."),
    ("de-en", "Das ist nicht erlaubt.", "That is forbidden."),
    ("en-fr", "You're coming, aren't you?", "Tu viens ?"),
    ("en-de", "not only cheap but good", "billig und gut"),
    ("en-pt", "without doubt the best", "certamente o melhor"),
    ("en-fr", "The card no longer works.", "La carte ne fonctionne plus."),
    ("fr-en", "un premier pas", "a first step"),
    ("en-nl", "It is not possible.", "Dat is onmogelijk."),
    ("en-fr", "He did not like the town.", "La ville lui déplaisait."),
    ("de-nl", "ein hoffnungsloser Fall", "een geval zonder hoop"),
    ("en-es", "The insulin can be kept for no longer than 28 days.", "No puede conservarse en casa más de 28 días."),
    ("en-ru", "Take at most 4 g.", "Принимайте не менее 4 г."),
]  # fmt: skip


@pytest.mark.parametrize(("pair", "source", "translation"), KEPT)
def test_other_senses_and_paraphrases_are_no_changes(pair: str, source: str, translation: str) -> None:
    assert changes(pair, source, translation) == []


def test_no_comma_and_space_cuts_an_expression() -> None:
    """They separate the items, so `{4, }` would become two."""
    lists = [" ".join(listed.split()).split(", ") for words in WORDS.values() for listed in words.values()]
    for item in itertools.chain.from_iterable(lists):
        assert all(item.count(one) == item.count(other) for one, other in ("()", "[]", "{}")), item


def test_every_kind_of_word_is_known_and_every_language_has_the_clear_ones() -> None:
    assert {kind for words in WORDS.values() for kind in words} <= SIDES.keys()
    for language, words in WORDS.items():
        assert {"most", "least", "over", "under", "before", "after", "without", "not"} <= words.keys(), language


@given(st.sampled_from([*AT_MOST]), st.text(alphabet="no tmrea4-.,'\n", max_size=200))
def test_copied_text_has_no_changes(language: str, text: str) -> None:
    assert changes(f"{language}-{language}", text, text) == []
