"""Other names and numbers in pairs: on both sides the same, in place of what was one, and varied."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.config import AugmentConfig
from hark.data.augment import Augmenter
from hark.data.swaps import NUMBER, WORD, Renamer, find_names, renumber

PAIRS = [
    ("Have you seen Tom?", "Hast du Tom gesehen?"),
    ("We met Anna Schmidt in Bonn.", "Wir trafen Anna Schmidt in Bonn."),
    ("I know Jürgen.", "Ich kenne Jürgen."),
    ("She wrote to Kowalczyk.", "Sie schrieb an Kowalczyk."),
    ("It rains.", "Es regnet."),
    ("Room 12 is free.", "Zimmer 12 ist frei."),
]
SOURCES, TARGETS = map(list, zip(*PAIRS, strict=True))


def renamer(seed: int = 1) -> Renamer:
    return Renamer(find_names(PAIRS), np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Have you seen {}?", "Hast du {} gesehen?"),
        ("{} is my brother.", "{} ist mein Bruder."),  # at the beginning, where every word has a capital
        ("Yesterday {} wrote that {} is ill.", "Gestern schrieb {}, dass {} krank ist."),
        ("Ask {}, the baker (not {})!", "Frag {}, den Bäcker (nicht {})!"),
    ],
)
def test_both_sides_have_the_same_other_name(source, target):
    change, drawn = renamer(), set()
    for _ in range(50):
        made = change(source.replace("{}", "Tom"), target.replace("{}", "Tom"))
        if made is None:  # Tom was drawn for Tom
            continue
        words = [word for word in WORD.findall(made[0]) if word not in WORD.findall(source)]
        name = " ".join(words[: len(words) // source.count("{}")])
        assert name != "Tom"
        assert made == (source.replace("{}", name), target.replace("{}", name))
        drawn.add(name)
    known = {"Anna Schmidt", "Jürgen", "Kowalczyk"}
    assert drawn & known  # of other pairs
    assert drawn - known  # and made up
    assert all(name[0].isupper() for name in drawn)


def test_made_up_names_have_parts_of_other_words():
    change = Renamer(find_names(PAIRS), np.random.default_rng(1), ["Xylophon", "laufen", "Ei"])
    drawn = [change.draw() for _ in range(300)]
    assert any(name.startswith("Xy") and name != "Xylophon" for name in drawn)
    assert not any("lauf" in name.lower() for name in drawn)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("It rains.", "Es regnet."),
        ("Was it good?", "Was ist gut?"),  # two words that are written alike
        ("Tom says that Tom is ill.", "Tom sagt, er sei krank."),  # "er" would stand for the other one
        ("Toms are cats.", "Kater sind Katzen."),
        ("", ""),
    ],
)
def test_what_has_no_name_stays(source, target):
    change = renamer()
    assert all(change(source, target) is None for _ in range(20))


def test_neither_numbers_nor_lists_are_names():
    pairs = [
        ("See A5-0006 and Rom, Paris, please.", "Siehe A5-0006 und Rom, Paris, bitte."),
        ("See Bonn.", "Siehe Bonn."),
        ("I like Bonn.", "Ich mag Bonn."),
    ]
    found = find_names(pairs)
    assert found == {"Bonn": 2}
    assert Renamer(found, np.random.default_rng(1))(*pairs[0]) is None


@given(st.lists(st.tuples(st.text(), st.text()), max_size=5), st.integers(0, 9))
def test_any_text_may_come(lines, seed):
    change = Renamer(find_names(lines), np.random.default_rng(seed))
    for pair in lines:
        made = change(*pair)
        assert made is None or made != pair


def test_a_part_of_a_word_is_no_name():
    change = renamer()
    made = [change("I saw Tom and Tom's car.", "Ich sah Tom und Tom's Auto.") for _ in range(20)]
    assert all(pair is None or all("Tom's" in side for side in pair) for pair in made)


def test_without_any_name_there_is_nothing_to_draw():
    assert Renamer([], np.random.default_rng(1))("Is it Tom?", "Ist es Tom?") is None


def test_what_is_written_depends_on_seed_and_chunk_alone():
    config = AugmentConfig(renamed=1.0, renumbered=1.0)
    sources, targets = SOURCES * 20, TARGETS * 20
    names = sorted(find_names(PAIRS))
    made = Augmenter(config, 1, names)(5, sources, targets)
    assert made == Augmenter(config, 1, names)(5, sources, targets)
    assert made.sources != Augmenter(config, 1, names)(6, sources, targets).sources
    assert made.sources != Augmenter(config, 2, names)(5, sources, targets).sources
    assert 50 < made.counts["renamed"] <= 80
    assert made.counts.total() == len(made.sources) == len(made.targets)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("I have 15 books.", "Ich habe 15 Bücher."),
        ("It was on 3 May 2024.", "Es war am 3. Mai 2024."),
        ("Page 7 of 7, not 19!", "Seite 7 von 7, nicht 19!"),
        ("He was born on July 28th, 1988.", "Er ist am 28. Juli 1988 geboren."),
    ],
)
def test_both_sides_have_the_same_other_numbers(source, target):
    rng, drawn = np.random.default_rng(1), set()
    for _ in range(30):
        made = renumber(source, target, rng)
        if made is None:  # the same ones were drawn
            continue
        drawn.add(made[0])
        before, ours, theirs = ([found[1] for found in NUMBER.finditer(side)] for side in (source, *made))
        assert sorted(ours) == sorted(theirs)
        assert [len(each) for each in ours] == [len(each) for each in before]
        assert not any(each.startswith("0") for each in ours)
        assert NUMBER.sub("", made[0]) == NUMBER.sub("", source)
        assert NUMBER.sub("", made[1]) == NUMBER.sub("", target)
    assert len(drawn) > 5


def test_days_keep_their_ending():
    rng, endings = np.random.default_rng(1), {}
    for day in ["5. Mai", "15. Mai"] * 1000:
        made = renumber(f"Am {day}.", f"On May {day[:-5]}th.", rng)
        if made is not None:
            number, ending = re.search(r"(\d+)([a-z]+)", made[1]).groups()
            assert made[0] == f"Am {number}. Mai."
            endings[int(number)] = ending
    assert [endings[each] for each in (1, 2, 3, 4, 11, 12, 13, 14)] == ["st", "nd", "rd", *["th"] * 5]
    assert {endings[each] for each in endings if each > 20 and each % 10 == 2} == {"nd"}


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("I have 3 eggs.", "Ich habe drei Eier."),
        ("It weighs 12.5 kg.", "Es wiegt 12,5 kg."),
        ("At 7:45.", "Um 7:45."),
        ("The A320 and R2D2.", "Der A320 und R2D2."),
        ("1,250 people.", "1.250 Leute."),
        ("5 of 5.", "5 von 6."),
        ("None.", "Keine."),
    ],
)
def test_numbers_that_differ_or_are_written_in_ways_of_a_language_stay(source, target):
    assert renumber(source, target, np.random.default_rng(1)) is None
