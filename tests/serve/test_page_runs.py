"""The runs tab in a real browser: curves and samples that grow without a reload."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hark.rundir import RunDir
from tests.inspect.browser import resize
from tests.monitor.made_run import dev, make_run, train, write, write_sample
from tests.serve import stubs
from tests.serve.conftest import TestServer, start, wait_until_ready
from tests.serve.opened_page import OpenedPage, opened

pytestmark = pytest.mark.usefixtures("short_pauses")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestServer]:
    """One for all tests: a browser keeps the files of its page."""
    service = stubs.service("en-de", runs=tmp_path_factory.mktemp("runs"))
    started = start(service=service)
    yield wait_until_ready(started)
    started.stop()


@pytest.fixture
def folder(server: TestServer) -> Path:
    """Its folder of runs, empty."""
    folder = server.service.settings.runs
    assert folder is not None
    for each in folder.iterdir():
        shutil.rmtree(each)
    return folder


@pytest.fixture
def runs(folder: Path) -> Path:
    one = make_run(folder / "one", steps=40)
    write(one, dev(20, 10.0), dev(40, 15.0))
    for step, text in ((20, "ein Hund Hund"), (40, "ein kleiner Hund")):
        write_sample(one, step, text)
    make_run(folder / "two", steps=30)
    return folder


@pytest.fixture
def page(browser: Any, server: TestServer, runs: Path) -> Iterator[OpenedPage]:  # noqa: ARG001
    with opened(browser, server) as page:
        yield page.watch().goto("runs", ".charts canvas")


def figures(page: OpenedPage) -> list[str]:
    return [str(each) for each in page.page.locator(".charts figcaption b").all_inner_texts()]


def curves(page: OpenedPage, title: str) -> int:
    """The number of colours in a chart, to see whether something is drawn."""
    return int(
        page.page.eval_on_selector(
            f"figure[aria-label='{title}'] canvas",
            """(canvas) => new Set(new Uint32Array(
              canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size""",
        )
    )


def test_the_latest_run_is_shown_with_curves_and_samples(page: OpenedPage) -> None:
    page.see(".sampled")
    assert page.page.locator(".run").all_inner_texts() == ["one", "two"]
    assert page.page.locator(".runs tr.on").count() == 1
    assert figures(page) == ["Training loss", "Dev loss", "Dev BLEU", "Learning rate", "Speed"]
    for title in figures(page):
        assert curves(page, title) > 5
    assert page.page.locator(".sample dd").all_inner_texts() == [
        "a dog",
        "ein Hund",
        "ein kleiner Hund",
        "ein Hund Hund",
    ]
    assert page.page.locator(".sample mark").all_inner_texts() == ["kleiner"]
    page.page.hover("figure[aria-label='Dev BLEU'] .u-over")
    page.page.wait_for_selector("figure[aria-label='Dev BLEU'] figcaption span:has-text('step ')")
    assert page.outside() == []
    assert page.wrong == []


def test_new_records_arrive_without_a_reload(page: OpenedPage, runs: Path) -> None:
    one = RunDir(runs / "one")
    write(one, train(41), dev(41, 17.25))
    write_sample(one, 41, "ein Hund")
    page.until("() => document.querySelector('.runs tr.on')?.textContent.includes('17.25')")
    page.until("() => document.querySelector('.sample dd.translation')?.textContent === 'ein Hund'")
    assert page.requests.count(f"{page.server.url}/") == 1
    make_run(runs / "three", steps=2)
    page.page.wait_for_selector(".run >> text=three")
    assert page.wrong == []


def test_several_runs_are_compared(page: OpenedPage) -> None:
    page.page.hover("figure[aria-label='Training loss'] .u-over")
    page.page.locator(".run:has-text('two') input").evaluate("(box) => box.click()")  # the pointer stays in the chart
    page.until("() => document.querySelectorAll('.runs tr.on').length === 2")
    page.until(
        """() => /one .*, two /.test(
          document.querySelector("figure[aria-label='Training loss'] figcaption span")?.textContent)""",
    )
    page.page.uncheck(".run:has-text('one') input")
    page.until("() => document.querySelectorAll('.charts figure').length === 3")  # two has no dev set
    assert page.page.locator(".sampled").count() == 0
    assert page.wrong == []


def test_garbage_and_a_vanished_run_are_one_line_each(page: OpenedPage, runs: Path) -> None:
    with (runs / "one" / "metrics.jsonl").open("ab") as file:
        file.write(b"garbage\n")
    page.see(".problems li")
    assert page.page.locator(".problems li").all_inner_texts() == [
        "one: 1 line of metrics.jsonl could not be read and is left out"
    ]
    (runs / "one" / "metrics.jsonl").unlink()
    page.page.wait_for_selector(".problems li >> text=moved or deleted")
    assert page.page.locator(".problems li").first.inner_text() == "one: the run was moved or deleted"
    assert page.wrong == []


def test_no_stream_stays_open_when_nobody_looks(page: OpenedPage) -> None:
    with page.page.expect_event("requestfailed", lambda request: "watch" in request.url):
        page.page.click("#tab-translate")
    with page.page.expect_request("**/api/v1/runs/watch?*"):
        page.page.click("#tab-runs")
    assert page.wrong == []


def test_an_empty_folder_says_what_to_do(browser: Any, server: TestServer, folder: Path) -> None:  # noqa: ARG001
    with opened(browser, server, viewport={"width": 360, "height": 700}) as page:
        page.goto("runs", "#panel-runs .nothing")
        assert "hark train" in page.page.inner_text("#panel-runs .nothing")
        assert page.overflow() <= 0


def test_runs_fit_on_a_phone(browser: Any, server: TestServer, runs: Path) -> None:  # noqa: ARG001
    with opened(browser, server, viewport={"width": 360, "height": 700}) as page:
        page.goto("runs", ".charts canvas")
        page.see(".sampled")
        assert page.overflow() <= 0
        assert page.wrong == []


def test_names_in_the_list_of_sampled_runs_are_not_cut_off(page: OpenedPage, runs: Path) -> None:
    two = RunDir(runs / "two")
    write(two, dev(30, 12.0))
    write_sample(two, 30, "ein Hund")
    page.page.check(".runs tr:not(.on) input")
    page.see(".sampled header select")
    cut = """() => {
      const select = document.querySelector(".sampled header select");
      select.style.maxWidth = "none";
      const wanted = select.offsetWidth;
      select.style.maxWidth = "";
      return wanted - select.offsetWidth;
    }"""
    for width in (390, 1200):
        resize(page.page, width, 800)
        assert page.page.evaluate(cut) == 0, width
