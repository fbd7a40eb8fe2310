"""Pictures of figures: well-formed, with every name and value in them."""

from itertools import combinations
from xml.etree import ElementTree

from hark.pages.attention import HeadView, draw_heads
from hark.pages.bars import BarRow, draw_bars
from hark.pages.cells import draw_cells
from hark.pages.loglog import LogPanel, draw_panels
from hark.pages.scatter import Dot, draw_scatter, place_labels

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def count(svg: str, tag: str) -> int:
    return len(list(ElementTree.fromstring(svg).iter(SVG + tag)))


def test_bars_point_to_both_sides() -> None:
    svg = draw_bars("Title", ("paper", "ours"), [BarRow("a < b", (-1.5, 2.0)), BarRow("none", (0.5, None))])
    assert {"Title", "paper", "ours", "a < b", "-1.5", "+2.0", "+0.5", "-"} <= set(texts(svg))
    rects = [
        each for each in ElementTree.fromstring(svg).iter(f"{SVG}rect") if "fill:var(--run" in each.get("style", "")
    ]
    bars = {each.get("style"): float(each.get("width", 0)) for each in rects if each.get("height") == "8"}
    assert len(bars) == 2


def test_equal_values_can_be_drawn() -> None:
    assert "+0.0" in texts(draw_bars("Title", ("ours",), [BarRow("a", (0.0,))]))
    draw_scatter("Title", "x", "y", ("s",), [Dot("a", 10.0, 5.0, 0)])


def test_dots_lie_in_the_order_of_their_values() -> None:
    svg = draw_scatter("Title", "cost", "BLEU", ("s",), [Dot("a", 1e18, 20.0, 0), Dot("b", 1e20, 28.0, 1)])
    a, b = ElementTree.fromstring(svg).iter(f"{SVG}circle")
    assert float(a.get("cx", 0)) < float(b.get("cx", 0))
    assert float(a.get("cy", 0)) > float(b.get("cy", 0))
    assert {"a", "b", "1e18", "cost"} <= set(texts(svg))


def test_lines_connect_words_with_weight() -> None:
    weights = [[0.9, 0.1, 0.0], [0.2, 0.2, 0.6], [0.0, 0.0, 1.0]]
    view = HeadView("head", [weights])
    assert count(draw_heads("Title", ["a", "b", "c"], [view]), "line") == 2 + 3 + 1
    assert count(draw_heads("Title", ["a", "b", "c"], [view, view], looking=0), "line") == 2 * 2


def test_cells_near_the_middle_are_left_empty() -> None:
    svg = draw_cells("Title", "row", "column", [[-1.0, 0.0], [0.001, 0.5]], -1.0, 1.0)
    kinds = [each.get("class") for each in ElementTree.fromstring(svg).iter(f"{SVG}rect")]
    assert sorted(filter(None, kinds)) == ["card", "m", "p"]


def test_panels_have_a_curve_for_each_name() -> None:
    svg = draw_panels(("a", "b"), [LogPanel("Time", "ms", "n", [[(8, 1.0), (16, 4.0)], [(8, 2.0), (16, 4.0)]])], "CPU")
    assert count(svg, "path") == 2
    assert count(svg, "circle") == 4


def test_labels_of_close_dots_do_not_overlap() -> None:
    dots = [Dot(f"a long name {i}", 1e18 * (1 + i / 10), 20.0 + i / 50, 0) for i in range(4)]
    places = [(100.0 + 9 * i, 100.0 - i) for i in range(4)]
    boxes = place_labels(dots, places)
    assert not any(one.meets(other) for one, other in combinations(boxes, 2))


def test_a_label_stands_right_of_its_dot_if_nothing_is_in_the_way() -> None:
    dots = [Dot("a", 1e18, 20.0, 0), Dot("b", 1e20, 28.0, 0)]
    assert [box.x for box in place_labels(dots, [(100.0, 90.0), (300.0, 50.0)])] == [108.0, 308.0]
