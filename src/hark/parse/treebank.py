"""Treebanks: reading them from files, their splits, and the right-branching baseline.

The baseline is what a parser scores that knows only that English branches to the right.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from hark.data.compression import ByteStream
from hark.data.corpus import read_lines
from hark.errors import UserError
from hark.text.trees import TOP, UNTAGGED, Tree, events, format_tree, read_trees, simplify

GUM, WSJ_SAMPLE, WSJ = "gum", "wsj_sample", "wsj"
ABOUT = {
    GUM: "GUM, its own split",
    WSJ: "the WSJ treebank: sections 2 to 21 for training, 22 for dev, 23 for testing",
}
ENDINGS = (".trees.xz", ".trees.gz", ".trees", ".mrg")


@dataclass(frozen=True)
class Treebank:
    """A treebank in three parts; its trees are simplified."""

    name: str
    train: Sequence[Tree]
    dev: Sequence[Tree]
    test: Sequence[Tree]
    what: str = ""
    """A description of the text and the split."""

    @cached_property
    def key(self) -> str:
        """Identifies the trees of all parts."""
        digest = hashlib.sha256()
        for part in (self.train, self.dev, self.test):
            for tree in part:
                digest.update(f"{format_tree(tree)}\n".encode())
            digest.update(b"\0")
        return digest.hexdigest()


def read_treebank(path: Path) -> list[Tree]:
    """Read a file of bracketed trees, plain or compressed, and simplify them."""
    with ByteStream(path) as stream:
        trees = [tree for each in read_trees(read_lines(stream), str(path)) if (tree := simplify(each))]
    if not trees:
        raise UserError(f"{path}: no trees")
    return trees


def open_treebank(name: str, folder: Path) -> Treebank:
    """Open a treebank that a folder holds, as `NAME.trees`, or as `NAME-train.trees` with `-dev` and `-test`."""
    if name == WSJ_SAMPLE:
        return split_treebank(WSJ_SAMPLE, read_treebank(find_file(folder, WSJ_SAMPLE)))
    train, dev, test = (read_treebank(find_file(folder, f"{name}-{part}")) for part in ("train", "dev", "test"))
    return Treebank(name, train, dev, test, ABOUT.get(name, ""))


def find_file(folder: Path, name: str) -> Path:
    for ending in ENDINGS:
        if (path := folder / f"{name}{ending}").exists():
            return path
    raise UserError(f"{folder}: no {name}.trees, plain or compressed (.xz, .gz)")


def split_treebank(name: str, trees: Sequence[Tree]) -> Treebank:
    """Split trees in their order: the last 10% are the test set, the 5% before it the dev set."""
    test = len(trees) - len(trees) // 10
    dev = test - len(trees) // 20
    what = "the sample of the WSJ treebank that NLTK distributes; the last 10% for testing, the 5% before it for dev"
    return Treebank(name, trees[:dev], trees[dev:test], trees[test:], what)


@dataclass(frozen=True)
class RightBranching:
    """Makes right-branching trees, with the most frequent label of sentences on top and of constituents below.

    The last word, usually a full stop, is attached to the top."""

    top: str
    inner: str

    @classmethod
    def learn(cls, trees: Iterable[Tree]) -> "RightBranching":
        tops: Counter[str] = Counter()
        inner: Counter[str] = Counter()
        for tree in trees:
            tops.update(child.label for child in tree.children if child.word is None)
            inner.update(node.label for node, opens in events(tree) if opens and node.word is None and node is not tree)
        return cls(*(most_common(each) for each in (tops, inner)))

    def build(self, words: Sequence[str]) -> Tree:
        leaves = [Tree(UNTAGGED, word=word) for word in words]
        last = leaves[-1:] if len(leaves) > 1 else []
        rest = leaves[: len(leaves) - len(last)]
        tree = rest.pop()
        while rest:
            tree = Tree(self.inner, (rest.pop(), tree))
        children = tree.children if tree.word is None else (tree,)
        return Tree(TOP, (Tree(self.top, (*children, *last)),))


def most_common(labels: Counter[str]) -> str:
    return min(labels, key=lambda label: (-labels[label], label), default="S")
