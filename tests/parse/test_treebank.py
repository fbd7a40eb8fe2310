"""Treebanks: files and splits."""

import lzma
from pathlib import Path

import pytest

from hark.errors import UserError
from hark.parse.treebank import open_treebank, read_treebank, split_treebank
from hark.text.trees import TOP, Tree


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


def test_a_treebank_cut_short() -> None:
    cut = split_treebank("x", trees(1000)).cut(50)
    assert (len(cut.train), len(cut.dev), len(cut.test)) == (50, 10, 10)


@pytest.mark.parametrize(
    ("name", "message"), [("penn", "no such treebank; use gum or wsj_sample"), ("gum", "no such file")]
)
def test_missing_treebanks(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        open_treebank(name, tmp_path)


def test_a_file_without_trees(tmp_path: Path) -> None:
    (tmp_path / "x.trees").write_text("\n")
    with pytest.raises(UserError, match="no trees"):
        read_treebank(tmp_path / "x.trees")
