"""Sentence alignment: joined, split, missing and crossed sentences, by length and by words."""

import random

import pytest

from hark.documents import alignment
from hark.documents.alignment import (
    Aligner,
    Evidence,
    SharedWords,
    TextSentence,
    align_sentences,
    pair_corrected,
    pair_documents,
)
from tests.documents.made_documents import CONDITIONS, count, make_document
from tests.documents.plain import Lines

WORDS = [f"{first}{second}" for first in "bdfgklmnprstvz" for second in ("alo", "emir", "ipu", "orent", "usk", "aedi")]


def sentences(number: int, chance: random.Random) -> list[str]:
    return [" ".join(chance.choices(WORDS, k=chance.randint(3, 14))) + "." for _ in range(number)]


def foreign(text: str) -> str:
    """Another language, in which every word is a little longer."""
    return " ".join("x" + word[::-1] for word in text.split())


def shapes(source: list[str], target: list[str], **options: object) -> list[tuple[list[int], list[int]]]:
    sides = [[TextSentence(each) for each in texts] for texts in (source, target)]
    return [(list(each.source), list(each.target)) for each in Aligner(sides[0], sides[1], **options).align()]  # type: ignore[arg-type]


ORIGINAL = sentences(8, random.Random(1))
TRANSLATED = [foreign(each) for each in ORIGINAL]


def test_equal_texts() -> None:
    assert shapes(ORIGINAL, TRANSLATED, lexical=False) == [([each], [each]) for each in range(8)]


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (["A B", "C"], ["a", "b", "c"], [([0], [0, 1]), ([1], [2])]),
        (["A", "B", "C"], ["a", "b c"], [([0], [0]), ([1, 2], [1])]),
        (["A", "B", "C"], ["a", "c"], [([0], [0]), ([1], []), ([2], [1])]),
        (["A", "C"], ["a", "b", "c"], [([0], [0]), ([], [1]), ([1], [2])]),
        (["A B C", "D"], ["a", "b", "c", "d"], [([0], [0, 1, 2]), ([1], [3])]),
        (["A", "B", "C", "D"], ["a", "c", "b", "d"], [([0], [0]), ([1, 2], [1, 2]), ([3], [3])]),
        ([], ["a"], [([], [0])]),
        (["A"], [], [([0], [])]),
        ([], [], []),
    ],
)
def test_shapes(source: list[str], target: list[str], expected: object) -> None:
    texts = dict(zip("ABCDEFGH", ORIGINAL, strict=True))
    originals = [" ".join(texts[letter] for letter in each.split()) for each in source]
    others = [foreign(" ".join(texts[letter.upper()] for letter in each.split())) for each in target]
    assert shapes(originals, others, translations=[foreign(each) for each in originals]) == expected


def test_paragraphs_are_not_joined() -> None:
    texts = ["aaaa bbbb cccc", "dddd"]
    whole = [TextSentence(texts[0], True), TextSentence(texts[1], True)]
    split = [TextSentence("eeee", False), TextSentence("ffff gggg", True), TextSentence("hhhh", True)]
    beads = Aligner(whole, split, lexical=False).align()
    assert [(list(each.source), list(each.target)) for each in beads] == [([0], [0, 1]), ([1], [2])]


def test_a_long_text_is_aligned_within_a_band_around_sure_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment, "MAX_SHIFT", 5)
    chance = random.Random(2)
    original = sentences(150, chance)
    target = [*sentences(60, chance), *map(foreign, original)]  # far from the diagonal
    found = shapes(original, target, translations=list(map(foreign, original)))
    assert [each for each in found if each[0]] == [([place], [place + 60]) for place in range(150)]


def test_words_beat_lengths_where_sentences_are_missing() -> None:
    chance = random.Random(3)
    pairs = [(each, foreign(each)) for each in sentences(80, chance)]
    source, target, gold = make_document(pairs, pairs, CONDITIONS[3], chance)
    assert len(source) != len(target)
    by_length = count(gold, Aligner(source, target, lexical=False).align())
    by_words = count(gold, Aligner(source, target, [foreign(each.text) for each in source]).align())
    assert by_words[0] / by_words[2] > 0.95
    assert by_words[0] > by_length[0]


def test_a_pair_whose_borders_are_doubtful_is_low() -> None:
    """A fragment that may belong to the sentence before or after it: both look like translations."""
    chance = random.Random(5)
    first, second = sentences(2, chance)
    original = [TextSentence(each) for each in (*sentences(3, chance), first, second, *sentences(3, chance))]
    texts = [foreign(each.text) for each in original]
    texts.insert(4, "xyz.")  # three letters without a link to anything
    beads = Aligner(original, [TextSentence(each) for each in texts], [foreign(each.text) for each in original]).align()
    beside = [each for each in beads if each.source and set(each.target) & {3, 4, 5}]
    others = [each for each in beads if each.source and not set(each.target) & {3, 4, 5}]
    assert any(each.low for each in beside)
    assert not any(each.low for each in others)


def test_scores_tell_translations_from_other_text() -> None:
    chance = random.Random(4)
    [text] = sentences(1, chance)
    good = Aligner([TextSentence(text)], [TextSentence(foreign(text))], [foreign(text)]).align()[0]
    assert good.score > 0.95
    assert not good.low
    bad = Aligner([TextSentence("a b c d")], [TextSentence("wholly other words here")], ["not the same"]).align()
    assert all(each.low or not each.source or not each.target for each in bad)


def test_the_weight_of_words() -> None:
    words = SharedWords(["the rare word", "the the"], ["rare the", "nothing"])
    [(one, _), (other, _)] = words.coverage(0, 1, 0, 1)
    assert 0 < one < 1
    assert other == 1.0
    assert [share for share, _ in words.coverage(0, 1, 1, 2)] == [0.0, 0.0]


def test_a_model_of_the_opposite_direction_serves_as_well() -> None:
    sides = [[TextSentence(each) for each in texts] for texts in (ORIGINAL, TRANSLATED[1:])]

    def translate(texts: list[str]) -> list[str]:
        return [" ".join(word[1:][::-1] for word in each.split()) for each in texts]

    beads = align_sentences(sides[0], sides[1], Evidence(translate, reverse=True))
    found = [(list(each.source), list(each.target)) for each in beads]
    assert found == [([0], []), *(([place], [place - 1]) for place in range(1, 8))]


def test_documents() -> None:
    source, target = Lines("One here. Two here.\n\nThree 333."), Lines("Eins hier. Zwei hier.\n\nDrei 333.\nMehr.")
    paired = pair_documents(source, target, ("en", "de"), Evidence())
    assert [(each.source, each.target) for each in paired.units] == [
        ("One here.", "Eins hier."),
        ("Two here.", "Zwei hier."),
        ("Three 333.", "Drei 333."),
    ]
    assert paired.alone == (0, 1)


def test_a_corrected_document_is_paired_by_its_segments() -> None:
    source, corrected = Lines("One. Two.\nThree."), Lines("Eins. Zwei.\nEtwas ganz anderes als drei.")
    pairs, dropped = pair_corrected(source, corrected, ("en", "de"), Evidence())
    assert pairs == [
        ("One. Two.", "Eins. Zwei."),
        ("One.", "Eins."),
        ("Two.", "Zwei."),
        ("Three.", "Etwas ganz anderes als drei."),
    ]
    assert dropped == 0
