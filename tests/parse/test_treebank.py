"""Treebanks: files and splits."""

import lzma
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from hark.errors import UserError
from hark.parse.treebank import RightBranching, open_treebank, read_treebank, split_treebank
from hark.text.trees import TOP, Tree, format_tree, parse_tree
from tests.text.test_trees import TREES


def trees(count: int) -> list[Tree]:
    return [Tree(TOP, (Tree("NN", word=str(number)),)) for number in range(count)]


def words(some: object) -> list[str]:
    return [tree.words()[0] for tree in some]  # type: ignore[attr-defined]


def test_a_compressed_treebank_is_read_and_simplified(tmp_path: Path) -> None:
    path = tmp_path / "x.trees.xz"
    with lzma.open(path, "wt") as file:
        file.write("( (NP-SBJ (NN a)))\n( (NP (-NONE- *)))\n((NP\n (NN b)))\n")
    assert [tree.words() for tree in read_treebank(path)] == [["a"], ["b"]]


def test_the_last_tenth_is_the_test_set() -> None:
    bank = split_treebank("x", trees(3914))
    assert (len(bank.train), len(bank.dev), len(bank.test)) == (3328, 195, 391)
    assert words([*bank.train, *bank.dev, *bank.test]) == words(trees(3914))


def test_parts_in_files_of_their_own(tmp_path: Path) -> None:
    for part, ending in (("train", "mrg"), ("dev", "trees"), ("test", "trees")):
        (tmp_path / f"wsj-{part}.{ending}").write_text(f"(TOP (NN {part}))\n")
    bank = open_treebank("wsj", tmp_path)
    assert words([*bank.train, *bank.dev, *bank.test]) == ["train", "dev", "test"]


def test_the_key_tells_treebanks_apart() -> None:
    bank = split_treebank("x", trees(100))
    moved = replace(bank, dev=[bank.train[-1], *bank.dev], train=bank.train[:-1])
    assert bank.key == split_treebank("y", trees(100)).key != moved.key


def test_a_missing_treebank(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no gum-train\.trees, plain or compressed"):
        open_treebank("gum", tmp_path)


def test_a_file_without_trees(tmp_path: Path) -> None:
    (tmp_path / "x.trees").write_text("\n")
    with pytest.raises(UserError, match="no trees"):
        read_treebank(tmp_path / "x.trees")


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
