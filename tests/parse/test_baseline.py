"""The right-branching baseline."""

from hypothesis import given

from hark.parse.baseline import RightBranching
from hark.text.trees import TOP, Tree, format_tree, parse_tree
from tests.text.test_trees import TREES


def test_it_branches_to_the_right_with_the_most_frequent_labels() -> None:
    gold = parse_tree("(TOP (S (NP (DT The) (NN cat)) (VP (VBD saw) (NP (DT a) (NN dog))) (. .)))")
    baseline = RightBranching.learn([gold])
    assert baseline == RightBranching("S", "NP")
    assert format_tree(baseline.build(gold.words())) == (
        "(TOP (S (XX The) (NP (XX cat) (NP (XX saw) (NP (XX a) (XX dog)))) (XX .)))"
    )


@given(TREES)
def test_it_has_the_same_words(tree: Tree) -> None:
    assert RightBranching("S", "NP").build(tree.words()).words() == tree.words()


def test_without_constituents_to_learn_from() -> None:
    assert RightBranching.learn([Tree(TOP, (Tree("UH", word="Yes"),))]) == RightBranching("S", "S")
