"""Clock times: found, shown to the model, found in the translation, and written by rule."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.text.clock import ClockTime, StandIn, find_times, pattern, stand_ins, write_time


@pytest.mark.parametrize(
    ("text", "found", "written"),
    [
        ("It's half past three.", "half past three", "halb vier"),
        ("Half past 3 is late.", "Half past 3", "halb 4"),
        ("half past twelve", "half past twelve", "halb eins"),
        ("at a quarter to eight", "a quarter to eight", "Viertel vor acht"),
        ("at quarter past nine", "quarter past nine", "Viertel nach neun"),
        ("a quarter to one", "a quarter to one", "Viertel vor eins"),
        ("at ten past five", "ten past five", "zehn nach fünf"),
        ("Come at ten to five.", "ten to five", "zehn vor fünf"),
        ("Is it already five to twelve?", "five to twelve", "fünf vor zwölf"),
        ("twenty-five past seven", "twenty-five past seven", "fünf vor halb acht"),
        ("twelve minutes past two", "twelve minutes past two", "zwölf Minuten nach zwei"),
        ("It was seven thirty.", "seven thirty", "halb acht"),
        ("at six-thirty", "six-thirty", "halb sieben"),
        ("at two thirty-one", "two thirty-one", "2:31 Uhr"),
        ("The train leaves at 6:45 pm.", "6:45 pm", "18:45 Uhr"),
        ("at 6.45 p.m. today", "6.45 p.m.", "18:45 Uhr"),
        ("We meet at 6 p.m.", "6 p.m", "18 Uhr"),
        ("at 6am", "6am", "6 Uhr"),
        ("at seven PM", "seven PM", "neunzehn Uhr"),
        ("12 am", "12 am", "0 Uhr"),
        ("12:30 a.m. it is", "12:30 a.m.", "0:30 Uhr"),
        ("at 12 pm", "12 pm", "12 Uhr"),
        ("half past three p.m.", "half past three p.m", "15:30 Uhr"),
        ("8 o'clock", "8 o'clock", "8 Uhr"),
        ("at one o’clock", "one o’clock", "ein Uhr"),
        ("at 18:45", "18:45", "18:45 Uhr"),
        ("The 6:45 train", "6:45", "6:45 Uhr"),
        ("opens at 08:30", "08:30", "08:30 Uhr"),
    ],
)
def test_english_to_german(text: str, found: str, written: str) -> None:
    (time,) = find_times(text, "en")
    assert (time.text, text[slice(*time.span)]) == (found, found)
    assert write_time(time, "de") == written
    assert write_time(time, "en") == found


@pytest.mark.parametrize(
    ("text", "found", "written"),
    [
        ("Es ist halb vier.", "halb vier", "half past three"),
        ("um halb 4", "halb 4", "half past 3"),
        ("halb eins", "halb eins", "half past twelve"),
        ("um Viertel nach drei", "Viertel nach drei", "a quarter past three"),
        ("um viertel vor acht", "viertel vor acht", "a quarter to eight"),
        ("um drei viertel acht", "drei viertel acht", "a quarter to eight"),
        ("dreiviertel acht", "dreiviertel acht", "a quarter to eight"),
        ("um viertel acht", "viertel acht", "a quarter past seven"),
        ("fünf vor halb neun", "fünf vor halb neun", "twenty-five past eight"),
        ("fünf nach halb drei", "fünf nach halb drei", "twenty-five to three"),
        ("zehn nach fünf", "zehn nach fünf", "ten past five"),
        ("drei Minuten vor zwölf", "drei Minuten vor zwölf", "three minutes to twelve"),
        ("um 18:45 Uhr", "18:45 Uhr", "18:45"),
        ("um 18.45 Uhr", "18.45 Uhr", "18:45"),
        ("um 18:45", "18:45", "18:45"),
        ("um 8 Uhr 30", "8 Uhr 30", "8:30"),
        ("acht Uhr dreißig", "acht Uhr dreißig", "8:30"),
        ("08:30 Uhr", "08:30 Uhr", "08:30"),
        ("0:15 Uhr", "0:15 Uhr", "0:15"),
        ("um 8 Uhr", "8 Uhr", "8 o'clock"),
        ("um ein Uhr", "ein Uhr", "one o'clock"),
        ("um sechs Uhr ein", "sechs Uhr", "six o'clock"),
        ("siebzehn Uhr", "siebzehn Uhr", "17:00"),
        ("um 24 Uhr", "24 Uhr", "midnight"),
    ],
)
def test_german_to_english(text: str, found: str, written: str) -> None:
    (time,) = find_times(text, "de")
    assert (time.text, text[slice(*time.span)]) == (found, found)
    assert write_time(time, "en") == written


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("He arrived at 10:00 and left at 22:00.", "en-de"),
        ("The bus leaves at 9:15 and at 21:15.", "en-fr"),
        ("von 8:00 Uhr bis 20:00 Uhr", "de-en"),
        ("at 10:00 and again at 10:00, from 11:00 to 22:00", "en-nl"),
        ("The score was 10:15 until 22:15, then 21:15.", "en-de"),
        ("um 0:00 Uhr, um 12:00 Uhr und um 24 Uhr", "de-fr"),
    ],
)
def test_a_stand_in_is_unique_even_on_a_12_hour_clock(text: str, pair: str) -> None:
    source, target = pair.split("-")
    times = find_times(text, source)
    shown = list(stand_ins(times, text, target))
    assert len({(each.hour % 12, each.minute) for each in shown}) == len(times) > 0
    rest = text
    for time in reversed(times):
        rest = rest[: time.span[0]] + rest[time.span[1] :]
    for one in shown:
        found = pattern(one, target)
        assert not found.search(rest)
        assert [bool(found.search(other.shown)) for other in shown] == [other is one for other in shown]


def test_finds_several_times() -> None:
    assert [time.text for time in find_times("from 9:30 to 11:15 and 2 pm", "en")] == ["9:30", "11:15", "2 pm"]
    assert [time.text for time in find_times("von 8:30 bis 9:15 Uhr", "de")] == ["8:30", "9:15 Uhr"]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("half the people, half past", "en"),
        ("a quarter of ten", "en"),
        ("He gave a quarter to ten people.", "en"),
        ("at ten people", "en"),
        ("from ten to five", "en"),
        ("about ten to twelve people", "en"),
        ("twenty to thirty", "en"),
        ("John 3:16 says", "en"),
        ("Genesis 1:26 and 2:10", "en"),
        ("They won 3:1.", "en"),
        ("a ratio of 16:10", "en"),
        ("It took 3:30 minutes.", "en"),
        ("I am six", "en"),
        ("two fifty cars", "en"),
        ("$6 a month", "en"),
        ("halb so viel", "de"),
        ("das Viertel nach dem Krieg", "de"),
        ("ein Viertel der Leute", "de"),
        ("im Viertel zwei", "de"),
        ("eine Uhr und zwei Uhren", "de"),
        ("zehn vor zwei Jahren", "de"),
        ("Johannes 3:16", "de"),
        ("Sie gewannen 3:1.", "de"),
        ("in 3:30 Minuten", "de"),
        ("half past three", "fr"),
    ],
)
def test_text_without_a_time(text: str, language: str) -> None:
    assert find_times(text, language) == ()


@pytest.mark.parametrize(
    ("hour", "minute", "translation", "found"),
    [
        (3, 30, "Der Zug fährt um 3:30 Uhr ab.", "3:30 Uhr"),
        (3, 30, "um 3.30 Uhr", "3.30 Uhr"),
        (3, 30, "Wir trafen uns um 15:30.", "15:30"),
        (3, 30, "um 3 Uhr 30", "3 Uhr 30"),
        (3, 30, "um drei Uhr dreißig", "drei Uhr dreißig"),
        (3, 30, "um halb vier", "halb vier"),
        (1, 30, "um ein Uhr dreißig", "ein Uhr dreißig"),
        (8, 0, "um acht Uhr da", "acht Uhr"),
        (8, 0, "um 20:00 Uhr", "20:00 Uhr"),
        (11, 57, "um 23:57 Uhr", "23:57 Uhr"),
    ],
)
def test_shown_times_are_found_in_german(hour: int, minute: int, translation: str, found: str) -> None:
    match = pattern(StandIn(hour, minute, ""), "de").search(translation)
    assert match is not None
    assert match[0] == found


@pytest.mark.parametrize(
    ("hour", "minute", "translation", "found"),
    [
        (3, 30, "The train leaves at 3:30.", "3:30"),
        (3, 30, "at 3.30 p.m. today", "3.30 p.m."),
        (3, 30, "We met at 3:30 p.m.", "3:30 p.m"),
        (3, 30, "at 15:30 p.m. sharp", "15:30 p.m."),
        (3, 30, "half past three", "half past three"),
        (7, 45, "a quarter to eight", "a quarter to eight"),
        (8, 0, "at 8 o'clock", "8 o'clock"),
        (8, 0, "at eight o'clock", "eight o'clock"),
        (8, 0, "at 8 am", "8 am"),
        (12, 0, "until noon", "noon"),
        (12, 0, "at 12 midnight", "12 midnight"),
    ],
)
def test_shown_times_are_found_in_english(hour: int, minute: int, translation: str, found: str) -> None:
    match = pattern(StandIn(hour, minute, ""), "en").search(translation)
    assert match is not None
    assert match[0] == found


@pytest.mark.parametrize(
    "translation",
    ["13:30:15", "33:30", "3:300", "um 2:30 Uhr", "3.305", "1.3:30", "3:31", "v3:30x", "halb viert", "3 Uhr"],
)
def test_other_figures_do_not_match_the_shown_time(translation: str) -> None:
    assert pattern(StandIn(3, 30, ""), "de").search(translation) is None


@given(st.integers(1, 12), st.integers(0, 59), st.sampled_from(["en", "de"]), st.booleans())
def test_written_phrases_parse_back_to_the_same_time(hour: int, minute: int, language: str, spelled: bool) -> None:
    """A written time is found in a sentence of the target language."""
    target = "de" if language == "en" else "en"
    clock = ClockTime((0, 0), "", language, hour, minute, None, "phrase", spelled)
    sentence = {"de": "Wir kommen um {}.", "en": "We come at {}."}[target].format(write_time(clock, target))
    (found,) = find_times(sentence, target)
    assert (found.hour % 12, found.minute, found.spelled) == (hour % 12, minute, spelled)


@given(st.integers(0, 23), st.integers(0, 59), st.sampled_from(["en", "de"]))
def test_a_copied_shown_time_is_found(hour: int, minute: int, language: str) -> None:
    target = "de" if language == "en" else "en"
    clock = ClockTime((0, 0), "", language, hour, minute, "24h", "digital", False)
    (stand_in,) = stand_ins([clock], "", target)
    figures = stand_in.shown.removesuffix(" Uhr")
    match = pattern(stand_in, target).search(f"x {figures} x")
    assert match is not None
    assert match[0] == figures


@pytest.mark.parametrize(
    ("text", "language", "found"),
    [
        ("Le train part à 18 h 45.", "fr", [(18, 45, "18 h 45")]),
        ("Le train part à 18h45.", "fr", [(18, 45, "18h45")]),
        ("Il est sept heures et demie.", "fr", [(7, 30, "sept heures et demie")]),
        ("Viens vers huit heures moins le quart.", "fr", [(7, 45, "huit heures moins le quart")]),
        ("Je me lève à six heures vingt.", "fr", [(6, 20, "six heures vingt")]),
        ("À 8 heures, il dort.", "fr", [(8, 0, "8 heures")]),
        ("Après 8 heures de travail, il dort 8 heures.", "fr", []),
        ("Nos vemos a las siete y media.", "es", [(7, 30, "siete y media")]),
        ("A la una menos cuarto", "es", [(12, 45, "una menos cuarto")]),
        ("Abre a las 18:45 h.", "es", [(18, 45, "18:45 h")]),
        ("siete y media", "es", []),
        ("Ci vediamo alle sette e mezza.", "it", [(7, 30, "sette e mezza")]),
        ("Sono le otto meno un quarto.", "it", [(7, 45, "otto meno un quarto")]),
        ("Il treno parte alle 18:45.", "it", [(18, 45, "18:45")]),
        ("Het is half acht.", "nl", [(7, 30, "half acht")]),
        ("om vijf voor half één", "nl", [(12, 25, "vijf voor half één")]),
        ("We komen om kwart over negen.", "nl", [(9, 15, "kwart over negen")]),
        ("De trein vertrekt om 18.45 uur.", "nl", [(18, 45, "18.45 uur")]),
        ("Vejo você às sete e meia.", "pt", [(7, 30, "sete e meia")]),
        ("Das 9h às 17h30.", "pt", [(9, 0, "9h"), (17, 30, "17h30")]),
    ],
)
def test_times_in_other_languages(text: str, language: str, found: list[tuple[int, int, str]]) -> None:
    assert [(each.hour, each.minute, each.text) for each in find_times(text, language)] == found


@pytest.mark.parametrize(
    ("text", "pair", "written", "model_wrote"),
    [
        ("at half past three", "en-fr", "3\u00a0h\u00a030", "à 15h30"),
        ("at 6:45 pm", "en-fr", "18\u00a0h\u00a045", "à 18 heures 45"),
        ("at 9 am", "en-fr", "9\u00a0h", "à 9 heures"),
        ("um halb acht", "de-es", "7:30", "a las 7:30"),
        ("um 18 Uhr", "de-it", "18:00", "alle 18:00"),
        ("at 8 o'clock", "en-nl", "8 uur", "om 20:00 uur"),
        ("at 6:45 pm", "en-nl", "18.45 uur", "om 18.45 uur"),
        ("at 6:45 pm", "en-pt", "18h45", "às 18:45"),
        ("om half acht", "nl-en", "half past seven", "at 7:30"),
        ("om half acht", "nl-de", "halb acht", "um 7:30 Uhr"),
        ("a las siete y media", "es-de", "halb acht", "um 7:30 Uhr"),
        ("à 18 h 45", "fr-en", "18:45", "at 18:45"),
        ("à 18 h 45", "fr-nl", "18.45 uur", "om 18.45 uur"),
    ],
)
def test_times_are_written_in_other_languages(text: str, pair: str, written: str, model_wrote: str) -> None:
    source, target = pair.split("-")
    (time,) = find_times(text, source)
    assert write_time(time, target) == written
    hour, minute = map(int, re.findall(r"\d+", model_wrote + " 00")[:2])
    assert pattern(StandIn(hour, minute, ""), target).search(model_wrote)
