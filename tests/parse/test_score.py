"""Bracketing scores: equal to evalb's, and to a brute-force count."""

import re
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hark.parse.score import (
    BracketScore,
    LengthScore,
    draw_curve,
    length_table,
    score_by_length,
    score_pair,
    score_trees,
)
from hark.text.trees import TOP, Tree, format_tree, parse_tree
from tests.text.test_trees import TREES

GOLDEN = Path(__file__).parents[1] / "golden" / "evalb.tsv"
"""300 pairs of random trees with the counts of evalb (Sekine and Collins, version of 2008 with COLLINS.prm): gold tree,
predicted tree, matched brackets, gold brackets, predicted brackets."""
EVALB = {
    "sentences": 300,
    "precision": 28.70,
    "recall": 28.49,
    "f1": 28.59,
    "complete_match": 22.33,
    "tag_accuracy": 100.0,
}
"""Its summary of all pairs, which have the same tags on both sides."""
SCORES = [LengthScore(1, 10, BracketScore(9, 10, 10, 4, 2)), LengthScore(11, 20, BracketScore(3, 4, 4, 1, 0))]


def golden() -> list[tuple[Tree, Tree, tuple[int, ...]]]:
    rows = [line.split("\t") for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
    return [(parse_tree(row[0]), parse_tree(row[1]), tuple(map(int, row[2:]))) for row in rows]


def test_every_sentence_scores_as_in_evalb() -> None:
    pairs = golden()
    assert len(pairs) == 300
    found = [score_pair(gold, predicted).counts[:3] for gold, predicted, _ in pairs]
    assert found == [counts for *_, counts in pairs]


def test_the_corpus_scores_as_in_evalb() -> None:
    assert score_trees((gold, predicted) for gold, predicted, _ in golden()).to_tree() == EVALB


def spans(tree: Tree) -> Counter[tuple[str, int, int]]:
    """The brackets of a tree by the published definition, read off its text."""
    found: Counter[tuple[str, int, int]] = Counter()
    text = format_tree(tree)
    for start, character in enumerate(text):
        if character != "(":
            continue
        depth, end = 0, start
        while not (depth == 1 and text[end] == ")"):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        label = text[start + 1 : end].split()[0]
        tags = [re.findall(r"\((\S+) [^()\s]+\)", part) for part in (text[:start], text[start : end + 1])]
        before, inside = ([tag for tag in each if tag not in (",", ":", "``", "''", ".")] for each in tags)
        is_word = not text[start + 1 :].split(" ", 1)[1].startswith("(")
        if inside and label != "TOP" and not is_word:
            found["ADVP" if label == "PRT" else label, len(before), len(before) + len(inside)] += 1
    return found


@settings(max_examples=25)
@given(TREES, st.randoms(use_true_random=False))
def test_scores_equal_the_brute_force(gold: Tree, chance: object) -> None:
    other = rearranged(gold, chance)
    expected, found = spans(gold), spans(other)
    counts = ((expected & found).total(), expected.total(), found.total(), 1, int(expected == found))
    words = sum(leaf.label not in (",", ":", "``", "''", ".") for leaf in gold.leaves())
    assert score_pair(gold, other).counts == (*counts, words, words)


def rearranged(tree: Tree, chance: object) -> Tree:
    """Another tree over the same words: groups of neighbours, some of them under a new label."""
    children = tree.leaves()
    while len(children) > 1 and chance.random() < 0.8:  # type: ignore[attr-defined]
        at = chance.randrange(len(children) - 1)  # type: ignore[attr-defined]
        label = chance.choice(["S", "NP", "VP", "PRT", "ADVP"])  # type: ignore[attr-defined]
        children[at : at + 2] = [Tree(label, tuple(children[at : at + 2]))]
    return Tree(TOP, tuple(children))


def test_a_tree_matches_itself_whatever_its_tags() -> None:
    gold = parse_tree("(TOP (S (NP (DT The) (NN cat)) (VP (VBD sat) (PRT (RP down))) (. .)))")
    other = parse_tree("(S1 (S (NP (XX The) (XX cat)) (VP (XX sat) (ADVP (XX down))) (XX .)))")
    assert score_pair(gold, other) == BracketScore(4, 4, 4, 1, 1)
    assert "tag_accuracy" not in score_pair(gold, other).to_tree()


def test_tags_are_scored_if_predicted() -> None:
    gold = parse_tree("(TOP (S (NP (DT The) (NN cat)) (VP (VBD sat) (PRT (RP down))) (. .)))")
    other = parse_tree("(TOP (S (NP (DT The) (NN cat)) (VP (VBN sat) (PRT (RP down))) (: .)))")
    untagged = parse_tree("(TOP (S (NP (XX The) (XX cat)) (XX sat) (XX down) (XX .)))")
    assert score_pair(gold, other) == BracketScore(4, 4, 4, 1, 1, words=4, tagged=3)
    assert score_trees([(gold, other), (gold, untagged)]).to_tree()["tag_accuracy"] == 75


def test_unlabelled_scores_ignore_labels() -> None:
    gold, other = parse_tree("(TOP (S (NP (X a) (X b)) (X c)))"), parse_tree("(TOP (NP (VP (X a) (X b)) (X c)))")
    assert score_pair(gold, other).f1 == 0
    assert score_pair(gold, other, labelled=False).f1 == 100


def test_different_numbers_of_words_are_an_error() -> None:
    with pytest.raises(ValueError, match="1 words in the gold tree, but 2"):
        score_pair(parse_tree("(S (X a))"), parse_tree("(S (X a) (X b))"))


def test_scores_by_length_add_up() -> None:
    pairs = [(gold, predicted) for gold, predicted, _ in golden()]
    groups = score_by_length(pairs, step=5)
    assert [(each.first, each.last) for each in groups] == [(1, 5), (6, 10), (11, 15)]
    assert sum((each.score for each in groups), start=BracketScore()) == score_trees(pairs)


def test_an_empty_corpus_scores_zero() -> None:
    assert score_trees([]).f1 == 0


def test_the_table_has_a_row_per_range() -> None:
    assert [line.split() for line in length_table(SCORES)] == [
        ["words", "sentences", "F1", "complete"],
        ["1-10", "4", "90.00", "50.00"],
        ["11-20", "1", "75.00", "0.00"],
    ]


def test_the_picture_has_a_point_per_range_and_parser() -> None:
    root = ElementTree.fromstring(draw_curve({"ours": SCORES, "<other>": SCORES[:1]}))
    titles = [each.text for each in root.iter("{http://www.w3.org/2000/svg}title")][1:]
    assert titles == ["90.0", "75.0", "90.0"]
    assert "<other>" in [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
