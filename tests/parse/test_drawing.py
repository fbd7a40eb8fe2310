"""Drawn trees: every node is there, nothing overlaps, and the picture is valid XML."""

from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given, settings

from hark.parse.drawing import MARGIN, draw_trees, place, text_width
from hark.text.trees import Tree, events, parse_tree
from tests.text.test_trees import TREES

CAT = parse_tree("(TOP (S (NP (XX The) (XX cat)) (VP (XX sat)) (XX .)))")
SVG = "{http://www.w3.org/2000/svg}"


def test_labels_and_words_are_drawn_without_root_and_empty_tags() -> None:
    root = ElementTree.fromstring(draw_trees([CAT]))
    texts = [(each.get("class"), each.text) for each in root.iter(f"{SVG}text")]
    assert sorted(texts) == sorted(
        [("constituent", label) for label in ("S", "NP", "VP")]
        + [("word", word) for word in ("The", "cat", "sat", ".")]
    )
    assert len(list(root.iter(f"{SVG}path"))) == 6  # one line from each constituent to each of its children


def test_tags_are_drawn_if_there_are_any() -> None:
    root = ElementTree.fromstring(draw_trees([parse_tree("(TOP (NP (DT a) (NN <b>&)))")]))
    assert [each.text for each in root.iter(f"{SVG}text") if each.get("class") == "tag"] == ["DT", "NN"]
    assert "<b>&" in [each.text for each in root.iter(f"{SVG}text")]


def test_several_trees_are_below_each_other() -> None:
    heights = [float(ElementTree.fromstring(draw_trees([CAT] * count)).get("height", "")) for count in (1, 2)]
    assert heights[1] == 2 * heights[0]


@settings(max_examples=25)
@given(TREES)
def test_nothing_overlaps(tree: Tree) -> None:
    roots, width = place(tree)
    nodes = []
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        waiting.extend(node.children)
        assert all(child.height < node.height for child in node.children)
        for one, other in pairwise(node.children):
            assert one.x < other.x
    assert len(nodes) == sum(opens for _, opens in events(tree)) - 1
    words = sorted((each for each in nodes if each.node.word is not None), key=lambda each: each.x)
    assert [each.node for each in words] == tree.leaves()
    for one, other in pairwise(words):
        assert one.x + text_width(one.node.word or "") / 2 < other.x - text_width(other.node.word or "") / 2
    assert all(MARGIN <= each.x <= width - MARGIN for each in nodes)
    labels = [(each.x, each.height) for each in nodes if each.node.word is None]
    assert len(set(labels)) == len(labels)
