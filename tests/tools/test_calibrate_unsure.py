"""Thresholds for uncertain translations, direction by direction."""

from tools.calibrate_unsure import choose, describe


def test_an_eighth_of_the_right_lines_is_above_the_threshold() -> None:
    scored = [(doubt / 100, 80.0) for doubt in range(100)] + [(2.0, 10.0)] * 50
    threshold = choose(scored)
    assert sum(doubt > threshold for doubt, chrf in scored if chrf == 80.0) in (11, 12)


def test_flagged_translations_are_compared_with_wrong_ones() -> None:
    scored = {"en-de": [(0.9, 20.0), (0.2, 80.0)], "it-nl": [(0.9, 70.0), (0.3, 10.0)]}
    assert describe(scored, {"en-de": 0.5, "it-nl": 0.5}) == (
        "50.0% of 4 flagged; of 2 with a chrF2 below 65, 1 (recall 0.50, precision 0.50)"
    )
    assert "25.0% of 4 flagged" in describe(scored, {"en-de": 0.5, "it-nl": 1.0})
