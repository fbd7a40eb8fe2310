"""The training curves: thinning, smoothing, the page and the picture."""

import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.monitor import plot
from hark.monitor.curves import POINTS, Run, charts_of, place, smooth, thin
from hark.monitor.overview import describe_run
from hark.pages import charts
from hark.pages import charts as axes
from hark.rundir import RunDir
from hark.train.metrics import History
from hark.train.records import Record
from tests.inspect.browser import PATIENCE
from tests.train.records import dev, start, stop, train

EVIL = "</script><img src=x onerror=alert(1)>&"


def run_of(name: str, *records: Record) -> Run:
    history = History((start(), *records))
    return Run(describe_run(RunDir(Path("nowhere")), name, history), history)


def two_runs() -> list[Run]:
    first = [train(step) for step in range(10, 101, 10)]
    second = [train(step, loss=20 / step) for step in range(5, 51, 5)]
    return [
        run_of("first", *first, dev(50, 20.0), dev(100, 22.0, best=True), stop(100)),
        run_of(EVIL, *second, dev(50, 25.0, best=True, name="other")),
    ]


def data_in(page: str) -> dict[str, list[dict[str, object]]]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    data: dict[str, list[dict[str, object]]] = json.loads(found[1])
    return data


@given(st.lists(st.floats(), max_size=300), st.integers(4, 50))
def test_thinning_keeps_the_ends_and_the_extremes(values: list[float], limit: int) -> None:
    kept = thin(values, limit)
    assert len(kept) <= limit
    assert kept == sorted(set(kept))
    if values:
        assert (kept[0], kept[-1]) == (0, len(values) - 1)
    finite = [each for each in values if math.isfinite(each)]
    if finite:
        remaining = [values[i] for i in kept if math.isfinite(values[i])]
        assert (min(remaining), max(remaining)) == (min(finite), max(finite))


def test_a_short_run_keeps_all_points() -> None:
    assert thin(range(POINTS)) == list(range(POINTS))


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=50))
def test_smoothing_stays_between_the_values_and_begins_with_the_first(values: list[float]) -> None:
    smoothed = smooth(range(1, len(values) + 1), values, 5.0)
    assert len(smoothed) == len(values)
    assert smoothed[0] == pytest.approx(values[0])
    assert min(values) - 1e-6 <= min(smoothed)
    assert max(smoothed) <= max(values) + 1e-6


def test_smoothing_does_not_depend_on_how_often_a_run_logs() -> None:
    often = smooth(range(1, 1001), [7.0 if step > 500 else 9.0 for step in range(1, 1001)], 50.0)
    seldom = smooth(range(10, 1001, 10), [7.0 if step > 500 else 9.0 for step in range(10, 1001, 10)], 50.0)
    assert often[599] == pytest.approx(seldom[59], abs=0.05)


def test_dev_scores_are_placed_between_training_records() -> None:
    history = History((train(10), train(20)))
    assert place(history, 15) == (15_000, 7.5)
    assert place(history, 5) == (10_000, 5.0)
    assert place(history, 99) == (20_000, 10.0)
    assert place(History(), 5) == (0, 0.0)


def test_every_run_and_every_quantity_has_a_curve() -> None:
    charts = {chart.title: chart for chart in charts_of(two_runs())}
    assert list(charts) == ["Training loss", "Dev bleu", "Dev loss", "Learning rate", "Gradient norm", "Speed"]
    raw = [curve for curve in charts["Training loss"].curves if curve.faint]
    assert [curve.run for curve in raw] == [0, 1]
    assert raw[0].values == tuple(10 / step for step in range(10, 101, 10))
    assert raw[0].tokens == tuple(range(10_000, 100_001, 10_000))
    assert [(curve.run, curve.set, curve.best) for curve in charts["Dev bleu"].curves] == [
        (0, "dev", 100),
        (1, "other", 50),
    ]


def steady_run() -> Run:
    """A run with a speed that varies by one percent."""
    return run_of("steady", *(train(step, tokens_per_second=100_000 + 500 * (step % 3)) for step in range(1, 30)))


def test_only_speed_is_drawn_from_zero_in_the_picture() -> None:
    charts = {chart.title: chart for chart in charts_of([steady_run()])}
    assert [title for title, chart in charts.items() if chart.from_zero] == ["Speed"]
    assert axes.value_range(charts["Speed"].curves[0].values, from_zero=True) == (0.0, pytest.approx(106_050))
    assert axes.value_range(charts["Speed"].curves[0].values)[0] > 99_000
    root = ElementTree.fromstring(plot.draw([steady_run()]))
    labels = [[each.text for each in chart.findall("{*}text[@class='end']")][1:] for chart in root.findall("{*}g")]
    assert labels[-1][0] == "0"
    assert labels[-1][-1] == "100k"


def test_only_speed_is_drawn_from_zero_on_the_page(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "curves.html").write_text(plot.render([steady_run()]), encoding="utf-8")
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto((tmp_path / "curves.html").as_uri())

    def lowest(title: str) -> str:
        return str(page.locator(f'svg[aria-label="{title}"] text[text-anchor=end]').first.text_content())

    assert lowest("Speed") == "0"
    assert lowest("Learning rate") != "0"
    page.click("[data-scale=log]")
    assert lowest("Speed") == "100k"  # a log scale has no zero
    page.close()


def test_non_finite_values_are_left_out() -> None:
    run = run_of("one", train(1, loss=math.nan, grad_norm=math.inf), train(2), dev(2, math.nan))
    charts = charts_of([run])
    assert all(math.isfinite(value) for chart in charts for curve in chart.curves for value in curve.values)
    assert data_in(plot.render([run]))


def test_a_long_run_makes_a_small_page_with_its_extremes() -> None:
    losses = [3 + math.sin(step) for step in range(1, 20_001)]
    losses[777] = 99.25
    run = run_of("long", *(train(step, loss=loss) for step, loss in enumerate(losses, start=1)))
    page = plot.render([run])
    curves = [curve for chart in data_in(page)["charts"] for curve in chart["curves"]]  # type: ignore[attr-defined]
    assert max(len(curve["values"]) for curve in curves) <= POINTS
    assert max(curves[0]["values"]) == 99.25
    assert len(page) < 800_000


class Elements(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_contains_all_runs_and_loads_nothing() -> None:
    page = plot.render(two_runs())
    data = data_in(page)
    assert data["runs"] == ["first", EVIL]
    assert {curve["run"] for chart in data["charts"] for curve in chart["curves"]} == {0, 1}  # type: ignore[attr-defined]
    assert "://" not in page
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    elements = Elements(page)
    assert not {"link", "img", "iframe", "object", "embed", "base"} & set(elements.tags)
    assert not {"src", "href", "onerror"} & {name for name, _ in elements.attributes}
    assert elements.text.count(EVIL) == 2  # in the table and in the legend, as text


def test_the_page_offers_each_axis_and_starts_with_the_requested_one() -> None:
    page = plot.render(two_runs(), "tokens")
    assert data_in(page)["axis"] == "tokens"
    for axis in ("step", "tokens", "time"):
        assert f'data-axis="{axis}" aria-pressed="{str(axis == "tokens").lower()}"' in page


def test_a_run_without_records_is_not_an_error() -> None:
    for runs in ([run_of("new")], [run_of("new"), run_of("newer", train(1))]):
        assert "new" in plot.render(runs)
        ElementTree.fromstring(plot.draw(runs))


@pytest.mark.parametrize("axis", ["step", "tokens", "time"])
def test_the_picture_is_valid_and_draws_within_its_frame(axis: plot.Axis) -> None:
    root = ElementTree.fromstring(plot.draw(two_runs(), axis))
    paths = [each.attrib["d"] for each in root.findall(".//{*}path")]
    assert len(paths) == 2 * 2 * 3 + 2 * 2 + 2
    for path in paths:
        for x, y in re.findall(r"([-\d.]+) ([-\d.]+)", path):
            assert charts.LEFT <= float(x) <= float(root.attrib["width"])
            assert charts.TOP - 1 <= float(y) <= charts.HEIGHT
    assert EVIL in list(root.itertext())
