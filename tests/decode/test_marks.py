"""Tags and emphasis in a translation, placed by the alignment."""

import pytest

from hark.decode.align import Link
from hark.decode.marks import pair_up, place
from hark.text.protect import Item, find


def marks_of(text: str) -> list[Item]:
    return [item for item in find(text, lambda _: "♥") if item.mark]


def links(source: str, translation: str, *pairs: tuple[str, str]) -> list[Link]:
    """Links between words, by the words."""
    found = []
    for word, translated in pairs:
        start, target = source.index(word), translation.index(translated)
        found.append(Link((start, start + len(word)), (target, target + len(translated)), 1.0))
    return found


@pytest.mark.parametrize(
    ("source", "translation", "pairs", "expected"),
    [
        (
            "the <b>big</b> house",
            "das große Haus",
            [("the", "das"), ("big", "große"), ("house", "Haus")],
            "das <b>große</b> Haus",
        ),
        (
            "I **have** it <i>today</i>.",
            "Heute habe ich es.",
            [("today", "Heute"), ("have", "habe"), ("I", "ich"), ("it", "es.")],
            "<i>Heute</i> **habe** ich es.",
        ),
        (  # a tag around two words whose translations are apart
            "<u>I <b>see</b> you</u> now",
            "Jetzt sehe ich dich",
            [("now", "Jetzt"), ("see", "sehe"), ("I", "ich"), ("you", "dich")],
            "Jetzt <u><b>sehe</b> ich dich</u>",
        ),
        ("one ♥ two", "eins zwei", [("one", "eins"), ("two", "zwei")], "eins ♥ zwei"),
        ("one<br/>two", "eins zwei", [("one", "eins"), ("two", "zwei")], "eins<br/> zwei"),
        ("(see ♥)", "(siehe)", [("(see", "(siehe)")], "(siehe) ♥"),
    ],
)
def test_marks_are_placed_by_the_alignment(
    source: str, translation: str, pairs: list[tuple[str, str]], expected: str
) -> None:
    placed = place(translation, source, marks_of(source), links(source, translation, *pairs))
    assert placed is not None
    assert placed.after == expected


def test_a_word_without_a_link_is_placed_by_its_position() -> None:
    source, translation = "click <b>here</b> now", "klick hier jetzt"
    found = place(
        translation, source, marks_of(source), links(source, translation, ("click", "klick"), ("now", "jetzt"))
    )
    assert found is not None
    assert found.after.count("<b>") == found.after.count("</b>") == 1


def test_without_links_marks_are_not_placed() -> None:
    assert place("klick hier", "click <b>here</b>", marks_of("click <b>here</b>"), []) is None


def test_crossing_marks_are_not_placed() -> None:
    source, translation = "<b>one two</b> <i>three four</i>", "eins drei zwei vier"
    crossed = links(source, translation, ("one", "eins"), ("two", "zwei"), ("three", "drei"), ("four", "vier"))
    assert place(translation, source, marks_of(source), crossed) is None


def test_pairs_and_single_marks() -> None:
    pairs, single = pair_up(marks_of("<a href='x'>one <br> two</a> *three* </i>"))
    assert [(pair.opening.text, pair.closing.text) for pair in pairs] == [("<a href='x'>", "</a>"), ("*", "*")]
    assert [mark.text for mark in single] == ["<br>", "</i>"]
