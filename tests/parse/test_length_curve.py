"""F1 by sentence length."""

from xml.etree import ElementTree

from hark.parse.length_curve import draw_curve, length_table
from hark.parse.score import BracketScore, LengthScore

SCORES = [LengthScore(1, 10, BracketScore(9, 10, 10, 4, 2)), LengthScore(11, 20, BracketScore(3, 4, 4, 1, 0))]


def test_the_table_has_a_row_per_range() -> None:
    assert [line.split() for line in length_table(SCORES)] == [
        ["words", "sentences", "F1", "complete"],
        ["1-10", "4", "90.00", "50.00"],
        ["11-20", "1", "75.00", "0.00"],
    ]


def test_the_picture_has_a_point_per_range_and_parser() -> None:
    root = ElementTree.fromstring(draw_curve({"ours": SCORES, "<other>": SCORES[:1]}))
    titles = [each.text for each in root.iter("{http://www.w3.org/2000/svg}title")][1:]
    assert titles == ["90.0", "75.0", "90.0"]
    assert "<other>" in [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
