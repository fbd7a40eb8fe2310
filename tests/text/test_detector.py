"""Guessing the language of a text among candidates."""

import pytest

from hark.text.detector import ALPHABETS, everyday_words, guess_language, other_language, rank


def test_guesses_the_most_likely_candidate() -> None:
    assert guess_language("Wo ist bitte der nächste Bahnhof?\nIch suche ihn schon lange.", ["de", "en"]) == "de"
    assert guess_language("WHERE IS THE NEAREST STATION, PLEASE?", ["de", "en-GB"]) == "en-GB"
    assert guess_language("Onde fica a estação mais próxima, por favor?", ["es", "pt-BR", "en"]) == "pt-BR"


def test_no_guess_without_evidence() -> None:
    assert guess_language("", ["de", "en"]) is None
    assert guess_language("Где находится ближайший вокзал?", ["tlh", "xx"]) is None


SEVEN = ("en", "de", "fr", "es", "it", "nl", "pt")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Hallo", "de"),  # the detector has no features of it
        ("Tack", "sv"),
        ("Tak", "pl"),
        ("Mange tak", "da"),
        ("Teşekkürler", "tr"),
        ("İSTASYON NEREDE?", "tr"),
        ("ありがとう", "ja"),
        ("駅はどこですか", "ja"),
        ("你好", "zh"),
        ("Спасибо", "ru"),
        ("Доброго ранку, як ваші справи?", "uk"),
        ("Ευχαριστώ", "el"),
        ("감사합니다", "ko"),
        ("Where is the station?", "en"),
        ("Es un día muy bonito.", "es"),
    ],
)
def test_the_likeliest_language(text: str, language: str) -> None:
    assert rank(text, SEVEN).best == language


def test_shares_are_probabilities_best_first() -> None:
    ranking = rank("Danke", SEVEN)
    shares = [share for _, share in ranking.shares]
    assert sum(shares) == pytest.approx(1.0)
    assert shares == sorted(shares, reverse=True)
    assert ranking.share(["de", "nl"]) == pytest.approx(ranking.share(["de"]) + ranking.share(["nl"]))
    assert ranking.among(["nl", "de"])[0] == (shares[0], "de")


@pytest.mark.parametrize("text", ["", " \n", "12345 !!!", "info@example.org", "/etc/hosts", "{name}: 5%"])
def test_what_is_in_no_language(text: str) -> None:
    ranking = rank(text, SEVEN)
    assert (ranking.best, ranking.shares) == (None, ())
    assert ranking.share(SEVEN) == 0.0


def test_expected_languages_are_likelier_where_nothing_is_known() -> None:
    assert {code for code, _ in rank("hotel", SEVEN).shares[:7]} == set(SEVEN)
    assert rank("hotel", ["pl"]).best == "pl"


def test_a_letter_of_another_alphabet_counts() -> None:
    assert rank("på", SEVEN).share(SEVEN) < rank("pa", SEVEN).share(SEVEN)


def test_everyday_words_are_lower_case_and_written_with_their_alphabet() -> None:
    words = everyday_words()
    assert len(words) > 3000
    for word, codes in words.items():
        assert word == word.lower()
        odd = {code for code in codes for each in word if each.isalpha() and not each.isascii()
               and code in ALPHABETS and each not in ALPHABETS[code]}  # fmt: skip
        assert odd == set(), word


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Das ist ein deutscher Satz, den niemand übersetzen muss.", "de"),
        ("C'est une phrase française que personne ne comprend.", "fr"),
        ("No sé qué decirte, amigo mío.", "es"),
        ("This is an English sentence with a name, Jürgen Müller, in it.", None),
        ("Hallo", None),  # too short to decide
        ("12.5 kg, 13 kg, 14 kg", None),
        ("", None),
    ],
)
def test_detects_other_languages_in_an_english_text(text: str, expected: str | None) -> None:
    assert other_language(text, "en", "de") == expected


def test_the_source_language_may_have_a_region() -> None:
    assert other_language("This is an English sentence of some length.", "en-GB", "de") is None
