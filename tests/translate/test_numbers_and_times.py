"""Numbers and times in the translations of the model that comes with hark: they stay what they were."""

import re
from functools import cache

import pytest

from hark.models import shipped_folder
from hark.translate.load import Loaded


@cache
def model() -> Loaded:
    return Loaded(shipped_folder() / "seven")


def translate(text: str, pair: str) -> str:
    source, target = pair.split("-")
    return model().translate(text, source=source, target=target, check=False).text


@pytest.mark.parametrize(
    ("pair", "text", "times"),
    [
        ("en-de", "He arrived at 10:00 and left at 22:00.", ["10:00", "22:00"]),
        ("en-fr", "The bus leaves at 9:15 and at 21:15.", ["9 h 15", "21 h 15"]),
        ("en-nl", "The bus leaves at 9:15 and at 21:15.", ["9.15", "21.15"]),
        ("en-es", "The bus leaves at 9:15 and at 21:15.", ["9:15", "21:15"]),
        ("en-it", "The bus leaves at 9:15 and at 21:15.", ["9:15", "21:15"]),
        ("en-pt", "The bus leaves at 9:15 and at 21:15.", ["9h15", "21h15"]),
        ("de-en", "Am 3.5.2024 um 18:45 Uhr beginnt das Konzert.", ["18:45"]),
        ("de-en", "Wir haben von 8:00 Uhr bis 20:00 Uhr geöffnet.", ["8:00", "20:00"]),
        ("de-en", "Geöffnet von 8:00 Uhr bis 20:00 Uhr.", ["8:00", "20:00"]),
        ("de-en", "Er kam um 10:00 Uhr an und ging um 22:00 Uhr.", ["10:00", "22:00"]),
        ("fr-en", "Le bus part à 9 h 15 et à 21 h 15.", ["9:15", "21:15"]),
    ],
)
def test_two_times_stay_two_times(pair: str, text: str, times: list[str]) -> None:
    answer = translate(text, pair).replace("\u00a0", " ")
    assert re.findall(r"\d+(?::| h |h|(?<!\d\.)\.(?=\d\d uur))\d\d", answer) == times
    assert not re.search(r"\.\.|\b[ap]\.?m\b", answer)


@pytest.mark.parametrize(
    ("pair", "text", "kept"),
    [
        ("en-de", "Python 3.10 or Windows 8.1 is needed.", ["3.10", "8.1"]),
        ("en-de", "Use a USB 3.0 port with iOS 17.2.", ["USB 3.0", "iOS 17.2"]),
        ("en-de", "See section 4.2 of the manual.", ["Abschnitt 4.2"]),
        ("de-en", "Siehe Abschnitt 4.2 im Handbuch.", ["4.2"]),
        ("en-de", "The photo is licensed under CC BY 2.0.", ["CC BY 2.0"]),
        ("en-de", '<?xml version="1.0" encoding="UTF-8"?>', ['<?xml version="1.0"']),
        ("en-de", "price = 19.99", ["= 19.99"]),
        ("en-de", "Lunch is served 12.30-1.15 pm.", ["12.30-1.15"]),
        ("en-de", "The box weighs 12.5 kg.", ["12,5 kg"]),
        ("en-de", "It rose by 7.4% to €1,250.50.", ["7,4 %", "1.250,50 €"]),
    ],
)
def test_digits_stay_as_typed_unless_they_are_a_quantity(pair: str, text: str, kept: list[str]) -> None:
    answer = translate(text, pair)
    assert [each for each in kept if each not in answer] == []


@pytest.mark.parametrize(
    ("pair", "text", "written"),
    [
        ("en-de", "Let's meet at half past three.", "halb vier"),
        ("en-fr", "Let's meet at half past three.", "3 h 30"),
        ("en-es", "Let's meet at half past three.", "3:30"),
        ("en-it", "Let's meet at half past three.", "3:30"),
        ("en-nl", "Let's meet at half past three.", "3.30 uur"),
        ("en-pt", "Let's meet at half past three.", "3h30"),
        ("de-en", "Wir treffen uns um halb vier oder um Viertel nach vier.", "half past three"),
        ("de-fr", "Wir treffen uns um halb vier.", "3 h 30"),
        ("en-de", "The train leaves at 6:45 pm.", "18:45 Uhr"),
    ],
)
def test_times_in_words_and_of_half_a_day(pair: str, text: str, written: str) -> None:
    assert written in translate(text, pair).replace("\u00a0", " ")
