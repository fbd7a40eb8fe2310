"""Trees as SVG pictures."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from hark.pages.document import group, picture
from hark.text.trees import ROOTS, UNTAGGED, Tree, events

MARGIN, LEVEL, GAP = 24, 44, 14
"""Around a tree, between two levels, and between two words, in SVG units."""
CHARACTER = 7.4
"""Width of a character in the font of words; wide scripts take twice as much."""
STYLE = """.constituent { fill: var(--run0); font-weight: 600; font-size: 12px; text-anchor: middle; }
.tag { fill: var(--soft); font-size: 11px; text-anchor: middle; }
.word { fill: var(--ink); font-size: 13px; text-anchor: middle; }
.branch { stroke: var(--axis); fill: none; }
"""


@dataclass(frozen=True)
class PlacedNode:
    """A node at its place in the picture."""

    node: Tree
    x: float
    height: int = 0
    """Levels above the words."""
    children: tuple["PlacedNode", ...] = ()


def draw_trees(trees: Sequence[Tree]) -> str:
    """Draw trees below each other, words on one line. The root is left out, and so are tags that are all XX."""
    drawn = [draw_tree(tree) for tree in trees]
    width = max(each[0] for each in drawn)
    parts, height = [], 0.0
    for _, own_height, content in drawn:
        parts.append(group(0, height, content))
        height += own_height
    return picture(" ".join(trees[0].words()), round(width), round(height), "".join(parts), STYLE)


def draw_tree(tree: Tree) -> tuple[float, float, str]:
    """The width, the height and the content of the picture of a tree."""
    roots, width = place(tree)
    bottom = MARGIN + 12 + LEVEL * max(root.height for root in roots)
    parts: list[str] = []
    waiting = list(reversed(roots))
    while waiting:
        each = waiting.pop()
        waiting.extend(reversed(each.children))
        parts.append(draw_node(each, bottom))
    return width, bottom + 15 + MARGIN, "\n".join(parts)


def draw_node(placed: PlacedNode, bottom: float) -> str:
    """A node and the lines to its children. Right angles keep lines from crossing: subtrees are side by side."""
    node, x, y = placed.node, placed.x, bottom - LEVEL * placed.height
    if node.word is None:
        lines = [
            f'<path class="branch" d="M{x:.1f} {y + 5:.1f}v8H{child.x:.1f}V{bottom - LEVEL * child.height - 13:.1f}"/>'
            for child in placed.children
        ]
        return "".join(lines) + f'<text class="constituent" x="{x:.1f}" y="{y:.1f}">{escape(node.label)}</text>'
    word = f'<text class="word" x="{x:.1f}" y="{y:.1f}">{escape(node.word)}</text>'
    if node.label == UNTAGGED:
        return word
    return word + f'<text class="tag" x="{x:.1f}" y="{y + 15:.1f}">{escape(node.label)}</text>'


def place(tree: Tree) -> tuple[tuple[PlacedNode, ...], float]:
    """Place all nodes below the root: words side by side, constituents above the middle of their children. Return the
    topmost ones and the width."""
    x = float(MARGIN)
    levels: list[list[PlacedNode]] = [[]]
    for node, opens in events(tree):
        if node.word is not None:
            if opens:
                shown = node.label if node.label != UNTAGGED else ""
                width = max(text_width(node.word), text_width(shown), 2 * CHARACTER)
                levels[-1].append(PlacedNode(node, x + width / 2))
                x += width + GAP
        elif opens:
            levels.append([])
        else:
            children = tuple(levels.pop())
            if node is tree and node.label in ROOTS:
                levels[-1].extend(children)
            else:
                height = 1 + max(child.height for child in children)
                levels[-1].append(PlacedNode(node, (children[0].x + children[-1].x) / 2, height, children))
    return tuple(levels[0]), x - GAP + MARGIN


def text_width(text: str) -> float:
    return sum(CHARACTER * (1 if ord(each) < 0x1100 else 2) for each in text)
