"""Heat maps of language pairs."""

import re

from hark.pages.cells import heat_map

VALUES = {("en", "de"): 10.0, ("en", "fr"): 30.0, ("fr", "de"): 20.0}


def rows(html: str) -> list[list[str]]:
    return [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)]


def test_rows_are_sources_and_columns_are_targets() -> None:
    html = heat_map(VALUES, lambda pair: f"{VALUES[pair]:.0f}", "-".join)
    assert rows(html) == [["", "de", "fr"], ["en", "10", "30"], ["fr", "20", ""]]


def test_higher_values_have_a_stronger_colour() -> None:
    html = heat_map(VALUES, lambda pair: f"{VALUES[pair]:.0f}", "-".join)
    colours = {text: int(share) for share, text in re.findall(r"var\(--good\) (\d+)%[^>]*>(\d+)<", html)}
    assert colours["10"] < colours["20"] < colours["30"]


def test_text_is_escaped() -> None:
    html = heat_map({("<i>", "&"): 1.0}, lambda _: "<b>", lambda _: '"><script>')
    assert "<i>" not in html
    assert "<b>" not in html
    assert "<script>" not in html


def test_equal_values_have_one_colour() -> None:
    html = heat_map(dict.fromkeys(VALUES, 5.0), str, str)
    assert len(set(re.findall(r"var\(--good\) (\d+)%", html))) == 1
