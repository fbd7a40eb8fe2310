"""Replacement of names and numbers: the same on both sides, and varied."""

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
        ("{} is my brother.", "{} ist mein Bruder."),  # at the start, where every word is capitalised
        ("Yesterday {} wrote that {} is ill.", "Gestern schrieb {}, dass {} krank ist."),
        ("Ask {}, the baker (not {})!", "Frag {}, den Bäcker (nicht {})!"),
    ],
)
def test_both_sides_get_the_same_new_name(source, target):
    change, drawn = renamer(), set()
    for _ in range(50):
        changed = change(source.replace("{}", "Tom"), target.replace("{}", "Tom"))
        if changed is None:  # Tom was drawn for Tom
            continue
        words = [word for word in WORD.findall(changed[0]) if word not in WORD.findall(source)]
        name = " ".join(words[: len(words) // source.count("{}")])
        assert name != "Tom"
        assert changed == (source.replace("{}", name), target.replace("{}", name))
        drawn.add(name)
    known = {"Anna Schmidt", "Jürgen", "Kowalczyk"}
    assert drawn & known  # from other pairs
    assert drawn - known  # and invented
    assert all(name[0].isupper() for name in drawn)


def test_invented_names_blend_other_words():
    change = Renamer(find_names(PAIRS), np.random.default_rng(1), ["Xylophon", "laufen", "Ei"])
    drawn = [change.draw() for _ in range(300)]
    assert any(name.startswith("Xy") and name != "Xylophon" for name in drawn)
    assert not any("lauf" in name.lower() for name in drawn)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("It rains.", "Es regnet."),
        ("Was it good?", "Was ist gut?"),  # two different words with the same spelling
        ("Tom says that Tom is ill.", "Tom sagt, er sei krank."),  # "er" refers to the other one
        ("Toms are cats.", "Kater sind Katzen."),
        ("", ""),
    ],
)
def test_pairs_without_a_name_are_unchanged(source, target):
    change = renamer()
    assert all(change(source, target) is None for _ in range(20))


def test_numbers_and_lists_are_not_names():
    pairs = [
        ("See A5-0006 and Rom, Paris, please.", "Siehe A5-0006 und Rom, Paris, bitte."),
        ("See Bonn.", "Siehe Bonn."),
        ("I like Bonn.", "Ich mag Bonn."),
    ]
    found = find_names(pairs)
    assert found == {"Bonn": 2}
    assert Renamer(found, np.random.default_rng(1))(*pairs[0]) is None


@given(st.lists(st.tuples(st.text(), st.text()), max_size=5), st.integers(0, 9))
def test_renames_any_text(lines, seed):
    change = Renamer(find_names(lines), np.random.default_rng(seed))
    for pair in lines:
        changed = change(*pair)
        assert changed is None or changed != pair


def test_part_of_a_word_is_not_a_name():
    change = renamer()
    changed = [change("I saw Tom and Tom's car.", "Ich sah Tom und Tom's Auto.") for _ in range(20)]
    assert all(pair is None or all("Tom's" in side for side in pair) for pair in changed)


def test_nothing_is_renamed_without_names():
    assert Renamer([], np.random.default_rng(1))("Is it Tom?", "Ist es Tom?") is None


def test_the_result_depends_only_on_seed_and_chunk():
    config = AugmentConfig(renamed=1.0, renumbered=1.0)
    sources, targets = SOURCES * 20, TARGETS * 20
    names = sorted(find_names(PAIRS))
    changed = Augmenter(config, 1, names)(5, sources, targets)
    assert changed == Augmenter(config, 1, names)(5, sources, targets)
    assert changed.sources != Augmenter(config, 1, names)(6, sources, targets).sources
    assert changed.sources != Augmenter(config, 2, names)(5, sources, targets).sources
    assert 50 < changed.counts["renamed"] <= 80
    assert changed.counts.total() == len(changed.sources) == len(changed.targets)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("I have 15 books.", "Ich habe 15 Bücher."),
        ("It was on 3 May 2024.", "Es war am 3. Mai 2024."),
        ("Page 7 of 7, not 19!", "Seite 7 von 7, nicht 19!"),
        ("He was born on July 28th, 1988.", "Er ist am 28. Juli 1988 geboren."),
    ],
)
def test_both_sides_get_the_same_new_numbers(source, target):
    rng, drawn = np.random.default_rng(1), set()
    for _ in range(30):
        changed = renumber(source, target, rng)
        if changed is None:  # the same numbers were drawn
            continue
        drawn.add(changed[0])
        before, ours, theirs = ([found[1] for found in NUMBER.finditer(side)] for side in (source, *changed))
        assert sorted(ours) == sorted(theirs)
        assert [len(each) for each in ours] == [len(each) for each in before]
        assert not any(each.startswith("0") for each in ours)
        assert NUMBER.sub("", changed[0]) == NUMBER.sub("", source)
        assert NUMBER.sub("", changed[1]) == NUMBER.sub("", target)
    assert len(drawn) > 5


def test_ordinal_endings_match_the_new_number():
    rng, endings = np.random.default_rng(1), {}
    for day in ["5. Mai", "15. Mai"] * 1000:
        changed = renumber(f"Am {day}.", f"On May {day[:-5]}th.", rng)
        if changed is not None:
            number, ending = re.search(r"(\d+)([a-z]+)", changed[1]).groups()
            assert changed[0] == f"Am {number}. Mai."
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
def test_numbers_that_differ_between_sides_are_unchanged(source, target):
    assert renumber(source, target, np.random.default_rng(1)) is None
