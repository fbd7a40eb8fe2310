"""The right-branching baseline: what a parser scores that knows only that English branches to the right."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hark.text.trees import TOP, UNTAGGED, Tree, events


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
