"""Constituency trees: reading and writing brackets, and trees as sequences of symbols (Vinyals et al., 2015).

A sequence has a symbol for each opening bracket with its label, the part-of-speech tag of each word, and one symbol for
all closing brackets: `(S (NP DT NN ) (VP VBD ) . )`. The words are those of the sentence, in order. In Vinyals et al.,
every tag is XX. The label of a closing bracket follows from its opening one. The root (TOP, ROOT or S1) is left out if
it has a single child, as it nearly always has; so a sequence is one constituent, or one word.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hark.errors import UserError

TREES = "trees"
"""The language code of linearised trees, as the target of a dataset and a model."""
CLOSE = ")"
UNTAGGED = "XX"
"""The tag of every word, if a parser does not predict tags."""
TOP = "TOP"
ROOTS = frozenset({"", "TOP", "ROOT", "S1"})
EMPTY = "-NONE-"
"""The tag of traces and other empty elements."""
BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
"""Words of the Penn Treebank for brackets."""
ESCAPED = re.compile("|".join(BRACKETS) + r"|\\([/*])")
TOKEN = re.compile(r"[()]|[^\s()]+")
BARE_LABEL = re.compile(r"(-[^-]+-|[^-=|]*).*")


@dataclass(frozen=True, slots=True)
class Tree:
    """A constituent, or a word with its part-of-speech tag as the label."""

    label: str
    children: tuple["Tree", ...] = ()
    word: str | None = None

    def leaves(self) -> "list[Tree]":
        """The words with their tags, from left to right."""
        return [tree for tree, opens in events(self) if opens and tree.word is not None]

    def words(self) -> list[str]:
        return [leaf.word or "" for leaf in self.leaves()]


def events(tree: Tree) -> Iterator[tuple[Tree, bool]]:
    """Yield each node when it begins (True) and ends (False), from left to right. Trees may be deeper than Python's
    stack."""
    waiting = [(tree, True)]
    while waiting:
        node, opens = waiting.pop()
        yield node, opens
        if opens:
            waiting.append((node, False))
            waiting.extend((child, True) for child in reversed(node.children))


def read_trees(lines: Iterable[str], name: str) -> Iterator[Tree]:
    """Read bracketed trees, each on one line or on several, as they are; errors call the file `name`."""
    builder = TreeBuilder()
    number = 0
    for number, line in enumerate(lines, start=1):
        for token in TOKEN.findall(line):
            try:
                tree = builder.add(token)
            except ValueError as error:
                raise UserError(f"{name}:{number}: {error}") from None
            if tree is not None:
                yield tree
    if builder.depth:
        raise UserError(f"{name}:{number}: the last tree is incomplete: {builder.depth} brackets are not closed")


def parse_tree(text: str) -> Tree:
    """Read a single bracketed tree; raise ValueError if the text is not exactly one."""
    builder, tree = TreeBuilder(), None
    for token in TOKEN.findall(text):
        if tree is not None:
            raise ValueError("text after the end of the tree")
        tree = builder.add(token)
    if tree is None:
        raise ValueError(f"{builder.depth} brackets are not closed" if builder.depth else "no tree")
    return tree


class TreeBuilder:
    """Builds trees from brackets, labels and words."""

    def __init__(self) -> None:
        self.open: list[tuple[str, list[Tree], list[str]]] = []
        """Label, children and words of each open bracket; the first list of words holds at most one."""
        self.after_bracket = False

    @property
    def depth(self) -> int:
        return len(self.open)

    def add(self, token: str) -> Tree | None:
        """Add a token; return the tree that it completes. Raise ValueError if it does not fit."""
        after_bracket, self.after_bracket = self.after_bracket, token == "("
        if token == "(":
            if self.open and self.open[-1][2]:
                raise ValueError(f"a constituent beside the word {self.open[-1][2][0]}, which has no tag of its own")
            self.open.append(("", [], []))
            return None
        if not self.open:
            raise ValueError(f"{token} outside of any tree")
        label, children, words = self.open[-1]
        if token != CLOSE:
            if after_bracket:
                self.open[-1] = (token, children, words)
            elif children or words:
                raise ValueError(f"the word {token} has no tag of its own")
            else:
                words.append(unescape(token))
            return None
        self.open.pop()
        if not children and not words:
            raise ValueError("empty brackets")
        tree = Tree(label, tuple(children), words[0] if words else None)
        if not self.open:
            return tree
        self.open[-1][1].append(tree)
        return None


def simplify(tree: Tree) -> Tree | None:
    """Return the tree that a parser learns and is scored on, with the root TOP: without empty elements, constituents
    that contain nothing else, and function tags (NP-SBJ-1 becomes NP). None if nothing is left."""
    levels: list[list[Tree]] = [[]]
    for node, opens in events(tree):
        if opens:
            if node.word is None:
                levels.append([])
            continue
        if node.word is not None:
            if node.label != EMPTY:
                levels[-1].append(node)
            continue
        children = levels.pop()
        if children and node is tree and node.label in ROOTS:
            levels[-1].extend(children)
        elif children:
            levels[-1].append(Tree(bare_label(node.label), tuple(children)))
    return Tree(TOP, tuple(levels[0])) if levels[0] else None


def bare_label(label: str) -> str:
    """A label without function tags and indices: NP for NP-SBJ-1 or NP=2, ADVP for ADVP|PRT."""
    match = BARE_LABEL.fullmatch(label)
    return (match[1] if match else "") or label or "X"


def linearise(tree: Tree, tag: str | None = None) -> list[str]:
    """Return the symbols of a simplified tree, if given with `tag` for every word instead of its own."""
    symbols = []
    for node, opens in events(tree):
        if node is tree and len(tree.children) == 1:
            continue
        if node.word is None:
            symbols.append(f"({node.label}" if opens else CLOSE)
        elif opens:
            symbols.append(tag or node.label)
    return symbols


def build_tree(symbols: Iterable[str], words: Sequence[str]) -> Tree:
    """Build the tree of a sequence over the words; raise ValueError if it is not one."""
    left = iter(words)
    open_: list[tuple[str, list[Tree]]] = [(TOP, [])]
    for symbol in symbols:
        if is_word(symbol):
            word = next(left, None)
            if word is None:
                raise ValueError(f"more than {len(words)} words")
            open_[-1][1].append(Tree(symbol, word=word))
        elif symbol == CLOSE:
            label, children = open_.pop()
            if not open_ or not children:
                raise ValueError("empty brackets" if open_ else "a closing bracket too many")
            open_[-1][1].append(Tree(label, tuple(children)))
        elif is_opening(symbol):
            open_.append((symbol[1:], []))
        else:
            raise ValueError(f"{symbol}: not a symbol of a tree")
    if len(open_) > 1 or next(left, None) is not None:
        raise ValueError("brackets are not closed" if len(open_) > 1 else f"fewer than {len(words)} words")
    topmost = open_[0][1]
    return topmost[0] if len(topmost) == 1 and topmost[0].label == TOP else Tree(TOP, tuple(topmost))


def is_opening(symbol: str) -> bool:
    return len(symbol) > 1 and symbol[0] == "("


def is_word(symbol: str) -> bool:
    return symbol[0] not in "()"


def format_tree(tree: Tree) -> str:
    """Write a tree as brackets on one line, with -LRB- and -RRB- for brackets in words."""
    parts: list[str] = []
    for node, opens in events(tree):
        if not opens:
            parts.append(CLOSE)
            continue
        space = " " if parts else ""
        parts.append(f"{space}({node.label}" + (f" {escape(node.word)}" if node.word is not None else ""))
    return "".join(parts)


def as_source(words: Iterable[str]) -> str:
    """The words as the text that a parser reads: the treebank's `` and '' are plain quotation marks."""
    return " ".join('"' if word in ("``", "''") else word for word in words)


def unescape(word: str) -> str:
    return ESCAPED.sub(lambda match: match[1] or BRACKETS[match[0]], word)


def escape(word: str) -> str:
    return word.replace("(", "-LRB-").replace(")", "-RRB-")
