"""Bracketed trees: reading, simplifying, linearising, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.errors import UserError
from hark.text.trees import (
    TOP,
    Tree,
    as_source,
    bare_label,
    build_tree,
    format_tree,
    is_word,
    linearise,
    parse_tree,
    read_trees,
    simplify,
)

TRACED = """
( (S (NP-SBJ-1 (NNP Rudolph) )
     (VP (VBD was)
       (VP (VBN named)
         (S (NP-SBJ (-NONE- *-1) ) (NP-PRD (DT a) (NN director))
           (SBAR (-NONE- 0) (S (-NONE- *T*-2))))))
     (ADVP|PRT (RB once)) (. .)))
"""
LABELS = st.sampled_from(["S", "NP", "VP", "PP", "SBAR", "WHNP", "X"])
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Z", "C")), min_size=1, max_size=8).filter(
    lambda word: "-" not in word and "\\" not in word
)
TAGS = st.sampled_from(["NN", "DT", "-LRB-", ",", ".", "``", "PRP$"])
LEAVES = st.builds(Tree, TAGS, word=WORDS)
CONSTITUENTS = st.recursive(
    LEAVES, lambda inner: st.builds(Tree, LABELS, st.lists(inner, min_size=1, max_size=4).map(tuple)), max_leaves=12
)
TREES = st.lists(CONSTITUENTS, min_size=1, max_size=3).map(lambda children: Tree(TOP, tuple(children)))


@given(TREES)
def test_brackets_round_trip(tree: Tree) -> None:
    assert parse_tree(format_tree(tree)) == tree
    assert list(read_trees([format_tree(tree), format_tree(tree)], "x")) == [tree, tree]


@given(TREES)
def test_symbols_round_trip(tree: Tree) -> None:
    symbols = linearise(tree)
    assert build_tree(symbols, tree.words()) == tree
    assert " ".join(symbols).split() == symbols
    assert [symbol for symbol in symbols if is_word(symbol)] == [leaf.label for leaf in tree.leaves()]


@given(TREES)
def test_one_tag_for_all_words(tree: Tree) -> None:
    symbols = linearise(tree, "XX")
    assert symbols == ["XX" if is_word(symbol) else symbol for symbol in linearise(tree)]
    built = build_tree(symbols, tree.words())
    assert built.words() == tree.words()
    assert linearise(built) == symbols


@given(TREES)
def test_a_simple_tree_stays_as_it_is(tree: Tree) -> None:
    assert simplify(tree) == tree


def test_traces_and_function_tags_are_removed() -> None:
    (tree,) = read_trees(TRACED.splitlines(), "x")
    simple = simplify(tree)
    assert simple is not None
    assert format_tree(simple) == (
        "(TOP (S (NP (NNP Rudolph)) (VP (VBD was) (VP (VBN named) (S (NP (DT a) (NN director))))) (ADVP (RB once)) "
        "(. .)))"
    )
    assert " ".join(linearise(simple)) == "(S (NP NNP ) (VP VBD (VP VBN (S (NP DT NN ) ) ) ) (ADVP RB ) . )"


def test_a_tree_of_traces_alone_is_nothing() -> None:
    assert simplify(parse_tree("(S (NP (-NONE- *)) (VP (-NONE- *)))")) is None


@pytest.mark.parametrize(
    ("label", "bare"),
    [("NP-SBJ-1", "NP"), ("NP=2", "NP"), ("ADVP|PRT", "ADVP"), ("-LRB-", "-LRB-"), ("S", "S"), ("", "X"), ("-", "-")],
)
def test_bare_labels(label: str, bare: str) -> None:
    assert bare_label(label) == bare


def test_roots_are_all_the_same() -> None:
    texts = ["( (S (X a)))", "(ROOT (S (X a)))", "(TOP (S (X a)))", "(S1 (S (X a)))", "(S (X a))"]
    assert {simplify(parse_tree(text)) for text in texts} == {Tree(TOP, (Tree("S", (Tree("X", word="a"),)),))}
    assert linearise(Tree(TOP, (Tree("UH", word="Yes"),))) == ["UH"]


def test_a_root_with_several_children_is_kept() -> None:
    tree = parse_tree("(TOP (NP (NN a)) (. .))")
    assert linearise(tree) == ["(TOP", "(NP", "NN", ")", ".", ")"]
    assert build_tree(linearise(tree), ["a", "."]) == tree


def test_escaped_words() -> None:
    tree = parse_tree("(NP (-LRB- -LRB-) (NN 1\\/2) (NN :-RRB-) (-RRB- -RSB-) (`` ``))")
    assert tree.words() == ["(", "1/2", ":)", "]", "``"]
    assert as_source(tree.words()) == '( 1/2 :) ] "'
    assert format_tree(tree) == "(NP (-LRB- -LRB-) (NN 1/2) (NN :-RRB-) (-RRB- ]) (`` ``))"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NN a)", "x:2: the last tree is incomplete: 1 brackets"),
        ("(S (NN a)))", "x:2: \\) outside of any tree"),
        ("hello", "x:2: hello outside"),
        ("(S (NN a) b)", "x:2: the word b has no tag"),
        ("(S a (NN b))", "x:2: a constituent beside the word a"),
        ("(S (NP ))", "x:2: empty brackets"),
        ("(S ())", "x:2: empty brackets"),
    ],
)
def test_malformed_trees_are_reported_with_their_line(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        list(read_trees(["(S (NN a))", text], "x"))


@pytest.mark.parametrize("text", ["", "(S (NN a)", "(S (NN a)) (S (NN b))"])
def test_a_single_tree_is_exactly_one(text: str) -> None:
    with pytest.raises(ValueError, match=r"tree|closed"):
        parse_tree(text)


@pytest.mark.parametrize("symbols", ["(S XX", "XX XX )", "XX", "XX XX XX", "(S ) XX XX", "(S XX ((S XX )", "( XX XX )"])
def test_malformed_symbols_are_refused(symbols: str) -> None:
    with pytest.raises(ValueError, match=r"brackets?|words|symbol"):
        build_tree(symbols.split(), ["a", "b"])


def test_very_deep_trees() -> None:
    """Deeper than Python's stack."""
    text = "(S " * 5000 + "(NN a)" + ")" * 5000
    simple = simplify(parse_tree(text))
    assert simple is not None
    assert len(linearise(simple)) == 10_001
    assert format_tree(simple).count("(S") == 5000
