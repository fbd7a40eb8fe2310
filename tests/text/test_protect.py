"""Protected items are found in the source and restored in the translation."""

import pytest

from hark.text.protect import find, has_words, restore
from hark.text.rewrite import Rewriting
from hark.text.vocabulary import Coder
from hark.translate.attempts import mask
from tests.translate.stub import tokenizer

UNKNOWN = Coder(tokenizer(), tokenizer()).unknown


def items(text: str) -> list[str]:
    return [item.text for item in find(text, UNKNOWN)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Nothing to see here, is there?", []),
        ("Click {name} to open https://example.com/a?b=c.", ["{name}", "https://example.com/a?b=c"]),
        ("(see http://a.b/c_(d) or www.hark.de!)", ["http://a.b/c_(d", "www.hark.de"]),
        ("Mail jane.doe+x@mail.example.org, or @jane_d.", ["jane.doe+x@mail.example.org", "@jane_d"]),
        ("%1$s files of %d (%s, %(name)s, %.2f, 100%%)", ["%1$s", "%d", "%s", "%(name)s", "%.2f", "%%"]),
        ("{0} {0:.2f} {{user.name}} ${HOME} {}", ["{0}", "{0:.2f}", "{{user.name}}", "${HOME}", "{}"]),
        ("{n, plural, one {# file} other {# files}} left", ["{n, plural, one {# file} other {# files}}"]),
        ('<x id="1"/>Save<x id="2"/> <b>now</b>&nbsp;', ['<x id="1"/>', '<x id="2"/>', "<b>", "</b>", "&nbsp;"]),
        ("It is 12.5 kg, 3 km/h, 20 °C, 5% or 1\u00a0000 m", ["12.5 kg", "3 km/h", "20 °C", "5%", "1\u00a0000 m"]),
        ("It cost $4.50, 17.30 €, not $90 million", ["$4.50", "17.30 €", "$90"]),
        ("100 people, 12 months, 3 cats in 2 rooms", []),
        ("In 2014, 1,250 people at 10:30", ["2014", "1,250"]),
        ("5 mice and 3 letters, 10 A.M.", []),
        ("Run `pip install x` now", ["`pip install x`"]),
        ("I like it 👍🏽 and 🇩🇪", ["👍🏽", "🇩🇪"]),
        ("the 777Ж and £1.5million, 5Ж", ["777Ж", "£1.5", "5Ж"]),
        ("15 000 or 12 345 of them, „so“ – ›ja‹ ₴", ["12 345"]),
        ("at 10 pm, Artikel 142 um", ["142"]),
        ("Lech Wałęsa met Горбачёв-младший, naïf", ["Wałęsa", "Горбачёв-младший"]),  # a loanword is translated
        ("a < b and c > d, 50 % of them", ["a < b", "c > d", "50 %"]),
        ("Ba\u0308r, ba\u0142, 1990s", ["1990"]),  # a letter and its accent may compose to a known one
    ],
)
def test_items(text: str, expected: list[str]) -> None:
    assert items(text) == expected
    for item in find(text, UNKNOWN):
        assert text[item.start : item.end] == item.text


def test_has_words() -> None:
    for text in ("{name}", "12.5 kg", "www.a.de, 2014!", "👍", "– 3 –", "Привет 👋", "..."):
        assert not has_words(text, find(text, UNKNOWN)), text
    for text in ("{name} is", "a", "2014 cats"):
        assert has_words(text, find(text, UNKNOWN)), text


@pytest.mark.parametrize(
    ("source", "translation", "text", "repaired", "lost"),
    [
        ("Click {name} now", "Jetzt {name} klicken", "Jetzt {name} klicken", False, []),
        ("Click {name} now", "Jetzt { Name } klicken", "Jetzt {name} klicken", True, []),
        ("Click {name} now", "Jetzt klicken", "Jetzt klicken", False, ["{name}"]),
        ("Click {name} now", "{name} klicken {name}", "{name} klicken {name}", False, ["{name}"]),
        ("{a} and {a}", "{a} und {a}", "{a} und {a}", False, []),
        ("{a} and {a}", "{a} und", "{a} und", False, ["{a}"]),
        ("{a} and {A}", "{A} und {a}", "{A} und {a}", False, []),
        (
            "at https://a.b or https://a.b/c",
            "auf https://a.b/c, https://a.b",
            "auf https://a.b/c, https://a.b",
            False,
            [],
        ),
        ("see http://a.b/c", "siehe http : / / a.b / c", "siehe http://a.b/c", True, []),
        ("It is 12.5 kg", "Es sind 12,5 kg", "Es sind 12.5 kg", True, []),
        ("It is 12.5\u00a0kg", "Es sind 12.5 kg", "Es sind 12.5\u00a0kg", False, []),
        ("It is 12.5 kg", "Es sind 125 kg", "Es sind 125 kg", False, ["12.5 kg"]),
        ("It is 5%", "Es sind 5 %", "Es sind 5%", True, []),
        ("It is 5%", "Es sind 15 %", "Es sind 15 %", False, ["5%"]),
        ("It cost $4.50", "Es kostete 4,50 Dollar", "Es kostete 4,50 Dollar", False, ["$4.50"]),
        ("1250 years", "1.250 Jahre", "1.250 Jahre", False, []),
        ("12 345 cats", "12.345 Katzen", "12.345 Katzen", False, []),
        ("12 345 kg", "12.345 kg", "12 345 kg", True, []),
        ("1,250 cats", "1.250 Katzen", "1.250 Katzen", False, []),
        ("1,250 cats", "1250 Katzen", "1250 Katzen", False, []),
        ("1,250 cats", "1.350 Katzen", "1.350 Katzen", False, ["1,250"]),
        ("the 1990s", "die 1990er", "die 1990er", False, []),
        ("in 2014", "im Jahr 2014. 2014 war", "im Jahr 2014. 2014 war", False, []),
        ("Lech Wałęsa", "Lech Walesa", "Lech Walesa", False, ["Wałęsa"]),
        ("good 👍", "gut 👍", "gut 👍", False, []),
        ("%d%% of %d", "%d von %d%%", "%d von %d%%", False, []),
    ],
)
def test_restore(source: str, translation: str, text: str, repaired: bool, lost: list[str]) -> None:
    restored = restore(translation, find(source, UNKNOWN))
    assert (restored.text, restored.repaired, [item.text for item in restored.lost]) == (text, repaired, lost)


@pytest.mark.parametrize(
    ("source", "target", "text", "translation", "expected"),
    [
        ("it", "de", "1.500 libri", "1,500 Bücher", "1.500 Bücher"),
        ("it", "de", "1.500 libri", "1.500 Bücher", "1.500 Bücher"),
        ("de", "en", "1.500 Bücher", "1.500 books", "1,500 books"),
        ("it", "de", "48 sedie e 2019", "48 Stühle und 2019", "48 Stühle und 2019"),
    ],
)
def test_separators_of_numbers_are_those_of_the_target(
    source: str, target: str, text: str, translation: str, expected: str
) -> None:
    assert restore(translation, find(text, UNKNOWN, source, target)).text == expected


@pytest.mark.parametrize(
    "text",
    [
        "Python 3.10 or Windows 8.1",
        "a USB 3.0 port",
        "It needs iOS 17.2.",
        "see section 4.2",
        "licensed under CC BY 2.0",
        '<?xml version="1.0" encoding="UTF-8"?>',
        "price = 19.99",
        "from 12.30-1.15 pm",
        "about 3.5 of them",
    ],
)
@pytest.mark.parametrize("target", ["de", "fr", "es", "it", "nl", "pt"])
def test_digits_stay_as_typed(text: str, target: str) -> None:
    items = find(text, UNKNOWN, "en", target)
    assert [item for item in items if item.written not in ("", item.text)] == []
    assert restore(text, items).text == text


def test_figures_that_are_no_quantities_stay_as_typed() -> None:
    for text in (
        "the parameters $1, $2",
        "Satz 10 028 692",
        "Perl 5.005.",
        "an 255.255.255.255 senden",
        '"87.5%"',
        "the section 4.2 points out",
    ):
        language = "en" if "the" in text or "%" in text else "de"
        written = [item.written for item in find(text, UNKNOWN, language, "de" if language == "en" else "en")]
        assert all(each in ("", text) for each in written), text
    (item,) = find("1.250 Menschen", UNKNOWN, "de", "en")
    assert item.written == "1,250"


@pytest.mark.parametrize(
    ("text", "target", "written"),
    [
        ("It weighs 12.5 kg.", "de", "12,5 kg"),
        ("It rose 7.4%.", "fr", "7,4\u00a0%"),
        ("It costs $1,250.50.", "de", "1.250,50 $"),
        ("1,250 people", "es", "1.250"),
        ("A diameter of 11.9 meters.", "de", "11,9"),
        ("UK exports fell 3.5 percent.", "it", "3,5"),
        ("It took 2.5 hours.", "fr", "2,5"),
        ("It costs $1 million.", "de", "1 $"),
    ],
)
def test_quantities_are_written_as_in_the_target_language(text: str, target: str, written: str) -> None:
    (item,) = find(text, UNKNOWN, "en", target)
    assert item.written == written
    assert find(text, UNKNOWN, "en", target, rules=frozenset())[0].written == ""


def test_masks_are_unique() -> None:
    text = "At 10:00 and 22:00, $317 and `428` or 317 of {name} and {name}."
    items = find(text, UNKNOWN, "en", "de")
    for everything in (False, True):
        query = mask(text, 0, items, 317, everything)
        shown = [item.shown for item in query.items if item.shown]
        assert len(set(shown)) == len(shown) >= 6
        rest = Rewriting.of(text, ((item.span, "") for item in items)).after
        assert not any(each in rest for each in shown)
