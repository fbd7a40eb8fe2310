"""Scores of labels, against counting by hand and against the definition of spans."""

import random
import re

import numpy as np
import pytest

from hark.evaluate.labels import UNLABELLED, LabelTally, by_text, find_spans
from hark.facts import LabelFacts

TAGS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("B-PER I-PER O B-LOC", {(0, 2, "PER"), (3, 4, "LOC")}),
        ("B-PER B-PER I-PER", {(0, 1, "PER"), (1, 3, "PER")}),
        ("O I-LOC I-LOC I-PER", {(1, 3, "LOC"), (3, 4, "PER")}),  # an I- that continues nothing begins a span
        ("S-LOC B-PER E-PER S-PER", {(0, 1, "LOC"), (1, 3, "PER"), (3, 4, "PER")}),
        ("O O", set()),
        ("", set()),
    ],
)
def test_spans(tags: str, spans: set[tuple[int, int, str]]) -> None:
    assert find_spans(tags.split()) == spans


def test_spans_of_random_tags_are_those_of_a_pattern() -> None:
    """In well-formed BIO, a span is a B- and the I- of its type after it: a regular expression finds the same."""
    letters = {"O": "o", "B-PER": "P", "I-PER": "p", "B-LOC": "L", "I-LOC": "l"}
    rng = random.Random(1)
    for _ in range(300):
        tags = ["O"]
        for _ in range(12):
            tags.append(rng.choice(["O", "B-PER", "B-LOC", *(["I" + tags[-1][1:]] if tags[-1] != "O" else [])]))
        line = "".join(letters[tag] for tag in tags)
        names = {"P": "PER", "L": "LOC"}
        expected = {(each.start(), each.end(), names[each[0][0]]) for each in re.finditer("Pp*|Ll*", line)}
        assert find_spans(tags) == expected


def test_accuracy_and_macro_f1() -> None:
    tally = LabelTally(LabelFacts("text", ("a", "b", "c", "never")))
    right, predicted = [0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 0, 0]
    for one, other in zip(right, predicted, strict=True):
        tally.add([one], [other])
    assert tally.accuracy == pytest.approx(100 * 3 / 6)
    f1 = []
    for label in range(3):
        hits = sum(one == other == label for one, other in zip(right, predicted, strict=True))
        precision, recall = hits / max(1, predicted.count(label)), hits / right.count(label)
        f1.append(100 * 2 * precision * recall / (precision + recall) if hits else 0.0)
    assert tally.f1_V[:3].tolist() == pytest.approx(f1)
    assert np.isnan(tally.f1_V[3])
    assert tally.scores == {"accuracy": pytest.approx(50), "macro F1": pytest.approx(sum(f1) / 3)}


def test_span_f1() -> None:
    tally = LabelTally(LabelFacts("words", TAGS))
    numbers = {tag: number for number, tag in enumerate(TAGS)}
    for right, predicted in (
        ("B-PER I-PER O B-LOC", "B-PER O O B-LOC"),  # one of two spans is right; two are predicted
        ("O B-LOC", "O O"),  # missed
    ):
        tally.add([numbers[tag] for tag in right.split()], [numbers[tag] for tag in predicted.split()])
    precision, recall = 1 / 2, 1 / 3
    assert tally.scores["span F1"] == pytest.approx(100 * 2 * precision * recall / (precision + recall))
    assert not LabelTally(LabelFacts("words", ("NN", "O"))).has_spans
    assert not LabelTally(LabelFacts("text", TAGS)).has_spans


def test_labels_of_each_text_of_a_batch() -> None:
    labels_N = np.array([3, UNLABELLED, 1, UNLABELLED, 2, 0, UNLABELLED])
    texts = by_text(labels_N, np.arange(7), np.array([0, 2, 4, 7, 7]))
    assert [(right.tolist(), predicted.tolist()) for right, predicted in texts] == [
        ([3], [0]), ([1], [2]), ([2, 0], [4, 5]),
    ]  # fmt: skip
