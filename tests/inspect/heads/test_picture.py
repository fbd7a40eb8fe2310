"""The pictures: valid, self-contained SVG that shows the results."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from hark.inspect.attention import KINDS, Head
from hark.inspect.heads.alignment import STEPS, Alignment, Combination
from hark.inspect.heads.finder import FoundHead, HeadReport, Importance
from hark.inspect.heads.importance import HeadEffect, Point
from hark.inspect.heads.picture import CELL_WIDTH, draw, draw_curve
from hark.inspect.heads.roles import TITLES, NamedRole
from hark.inspect.heads.table import notes, rows

SVG = "{http://www.w3.org/2000/svg}"
BEST = Combination("reads", (Head("cross", 1, 0), Head("cross", 1, 2)), 0.271, 0.283)


def report(with_all: bool = True, layers: int = 2, heads: int = 3) -> HeadReport:
    roles = list(TITLES)
    found = [
        FoundHead(
            Head(kind, layer, number),
            {"previous": 0.5, "evenness": 0.3, "entropy": 1.25, "distance": 2.0},
            NamedRole(roles[(layer * heads + number) % len(roles)], 0.93),
            {"predicts": 0.42, "reads": 0.31} if kind == "cross" and with_all else {},
            HeadEffect(0.01 * number - 0.005, 0.002) if with_all else None,
        )
        for kind in KINDS
        for layer in range(layers)
        for number in range(heads)
    ]
    table = dict.fromkeys(STEPS, np.full((layers, heads), 0.4))
    alignment = Alignment(508, table, dict.fromkeys(STEPS, np.full(layers, 0.5)), table, BEST, BEST)
    importance = Importance(60, 1.7, (Point(0, 1.7), Point(9, 2.5), Point(18, 6.0)))
    return HeadReport(
        'a <model> & "more"',
        "val",
        300,
        2,
        tuple(found),
        alignment if with_all else None,
        importance if with_all else None,
    )


def texts(svg: str) -> list[str]:
    tree = ElementTree.fromstring(svg)
    assert tree.tag == f"{SVG}svg"
    assert not re.search(r"(?:href|src|url\(|@import|<script)", svg)  # no external resources
    assert "prefers-color-scheme: dark" in svg
    return ["".join(each.itertext()) for each in tree.iter(f"{SVG}text")]


@pytest.mark.parametrize("with_all", [True, False])
def test_every_head_is_drawn_with_its_role_and_share(with_all: bool) -> None:
    found = texts(draw(report(with_all)))
    assert found[0] == 'What the heads of a <model> & "more" look at'
    names = [each for each in found if re.fullmatch(r"\d:\d", each)]
    assert names == ["1:1", "1:2", "1:3", "2:1", "2:2", "2:3"] * 3
    assert found.count("0.93") == 18
    for title in list(TITLES.values())[:6]:
        assert found.count(title) >= 3  # twice in the grids, once in the legend
    assert found.count("AER 0.31, reads") == (6 if with_all else 0)
    best = "Best alignment: heads 2:1, 2:3, at the step that reads a word: error rate 0.271"
    assert any(best in each for each in found) == with_all


def test_alignment_heads_are_outlined_and_bars_are_to_scale() -> None:
    svg = draw(report())
    assert svg.count('class="chosen"') == 2
    bars = [float(each) for each in re.findall(r'class="worth"[^>]*? width="([\d.]+)"', svg)]
    full = CELL_WIDTH - 16
    assert bars == [pytest.approx(max(0, 10 * number - 5) / 15 * full, abs=0.06) for number in range(3)] * 6
    assert 'class="chosen"' not in draw(report(with_all=False))


def test_tooltips_have_all_measures_of_a_head() -> None:
    tree = ElementTree.fromstring(draw(report()))
    tooltips = [each.text or "" for each in tree.iter(f"{SVG}title")][1:]
    assert len(tooltips) == 18
    assert tooltips[0].startswith("encoder 1:1: previous token, 0.93 (previous 0.50, evenness 0.30")
    assert tooltips[-1].endswith("AER 0.420 (predicts), AER 0.310 (reads), effect +0.0150 ± 0.0020)")


def test_text_in_cells_has_the_base_size() -> None:
    """The style shared by all pictures must not enlarge it: cells are sized for it."""
    drawn = draw(report())
    sizes = dict(re.findall(r"\.([a-z]+) {[^}]*font-size: (\d+px)", drawn))
    cells = {
        name
        for cell in re.findall(r"<g[^>]*><title>.*?</g>", drawn)
        for name in re.findall(r'text class="(\w+)"', cell)
    }
    assert cells == {"detail", "share", "role"}
    assert not cells & sizes.keys()


@pytest.mark.parametrize("heads", [1, 2, 16])
def test_nothing_is_outside_the_picture(heads: int) -> None:
    tree = ElementTree.fromstring(draw(report(heads=heads)))
    width, height = (float(tree.attrib[name]) for name in ("width", "height"))
    assert tree.attrib["viewBox"] == f"0 0 {width:.0f} {height:.0f}"

    def walk(element: ElementTree.Element, left: float, top: float) -> None:
        if place := re.fullmatch(r"translate\(([\d.]+) ([\d.]+)\)", element.get("transform", "")):
            left, top = left + float(place[1]), top + float(place[2])
        if element.tag == f"{SVG}rect":
            assert 0 <= left + float(element.get("x", 0)) + float(element.attrib["width"]) <= width
            assert 0 <= top + float(element.get("y", 0)) + float(element.attrib["height"]) <= height
        if element.tag == f"{SVG}text":
            assert 0 <= top + float(element.get("y", 0)) <= height
            if element.get("class") != "share":  # at 6.2 units per letter
                assert left + float(element.get("x", 0)) + 6.2 * len(element.text or "") <= width + 8
        for child in element:
            walk(child, left, top)

    walk(tree, 0, 0)


def test_the_curve() -> None:
    points = [Point(0, 1.7, 39.0), Point(9, 2.5, 20.5), Point(18, 6.0, 0.0)]
    found = texts(draw_curve(report(), points))
    assert {"Loss, nats per target token", "BLEU", "heads removed, of 18"} <= set(found)
    assert any(each.startswith("60 sentence pairs of val") for each in found)
    only = draw_curve(report(), [replace(point, score=None) for point in points])
    assert "BLEU" not in texts(only)
    ((path),) = re.findall(r'<path class="curve[^>]* d="M([^"]+)"', only)
    places = [tuple(map(float, each.split())) for each in path.split("L")]
    (left, _), (middle, _), (right, _) = places
    assert middle == pytest.approx((left + right) / 2, abs=0.1)
    assert places[0][1] > places[1][1] > places[2][1]  # a higher loss is higher up
    assert "9 removed: 2.500" in only


def test_the_table() -> None:
    header, *found = rows(report())
    assert header == ["head", "looks at", "share", "entropy", "distance", "AER predicts", "AER reads", "effect"]
    assert found[0] == ["encoder 1:1", "previous token", "0.93", "1.25", "2.0", "", "", "-0.0050 ±0.0020"]
    assert found[-1] == ["cross 2:3", "punctuation", "0.93", "1.25", "2.0", "0.420", "0.310", "+0.0150 ±0.0020"]
    words = "\n".join(notes(report()))
    assert "300 sentence pairs of val (2 more skipped: empty or too long)" in words
    assert "2:1, 2:3, reading a word: AER 0.271 (held out: 0.283)" in words
    header, *_ = rows(report(with_all=False))
    assert header == ["head", "looks at", "share", "entropy", "distance"]
