"""Treebanks: reading them from files, and their splits."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hark.data.compression import ByteStream
from hark.data.corpus import read_lines
from hark.errors import UserError
from hark.text.trees import Tree, read_trees, simplify

GUM, WSJ_SAMPLE = "gum", "wsj_sample"


@dataclass(frozen=True)
class Treebank:
    """A treebank in three parts; its trees are simplified."""

    name: str
    train: Sequence[Tree]
    dev: Sequence[Tree]
    test: Sequence[Tree]
    what: str = ""
    """A description of the text and the split."""

    def cut(self, trees: int) -> "Treebank":
        """A smaller treebank for rehearsals: the first trees, with dev and test sets of a fifth of that."""
        few = max(trees // 5, 1)
        return Treebank(self.name, self.train[:trees], self.dev[:few], self.test[:few], f"{self.what}; cut to {trees}")


def read_treebank(path: Path) -> list[Tree]:
    """Read a file of bracketed trees, plain or compressed, and simplify them."""
    with ByteStream(path) as stream:
        trees = [tree for each in read_trees(read_lines(stream), str(path)) if (tree := simplify(each))]
    if not trees:
        raise UserError(f"{path}: no trees")
    return trees


def open_treebank(name: str, folder: Path) -> Treebank:
    """Open one of the treebanks that the recipes are for, in a folder with its files."""
    if name == GUM:
        train, dev, test = (read_treebank(folder / f"gum-{part}.trees.xz") for part in ("train", "dev", "test"))
        return Treebank(GUM, train, dev, test, "GUM, its own split")
    if name == WSJ_SAMPLE:
        return split_treebank(WSJ_SAMPLE, read_treebank(folder / "wsj_sample.trees.xz"))
    raise UserError(f"{name}: no such treebank; use {GUM} or {WSJ_SAMPLE}")


def split_treebank(name: str, trees: Sequence[Tree]) -> Treebank:
    """Split trees in their order: the last 10% are the test set, the 5% before it the dev set."""
    test = len(trees) - len(trees) // 10
    dev = test - len(trees) // 20
    what = "the sample of the WSJ treebank that NLTK distributes; the last 10% for testing, the 5% before it for dev"
    return Treebank(name, trees[:dev], trees[dev:test], trees[test:], what)
