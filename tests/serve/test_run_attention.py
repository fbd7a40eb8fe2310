"""Attention at checkpoints over HTTP, and in the page."""

from collections.abc import Callable
from typing import Any

import pytest

from hark.rundir import RunDir
from tests.monitor.made_run import write_sample
from tests.serve import stubs
from tests.serve.conftest import StartServer, TestServer
from tests.serve.opened_page import opened


@pytest.fixture
def watching(trained: Callable[..., RunDir], start_server: StartServer) -> TestServer:
    run = trained("run", "train.steps=8", "train.save_steps=4", "train.eval_steps=4")
    write_sample(run, 4, "ein", source="the cat")
    return start_server(stubs.service("en-de", runs=run.path.parent))


def test_weights_of_a_sample_and_refusals(watching: TestServer) -> None:
    found = watching.get("/api/v1/runs/attention?run=run&step=4&sentence=0").json()
    assert (found["step"], found["source"], found["target"]) == (4, ["the", "cat"], ["ein", "Hund"])
    assert [round(sum(row), 1) for row in found["weights"]] == [1.0, 1.0]
    for wrong, status in (
        ("run=other&step=4&sentence=0", 404),
        ("run=run&step=5&sentence=0", 404),
        ("run=run&step=4&sentence=1", 404),
        ("run=run&step=-4&sentence=0", 400),
        ("run=run&step=²&sentence=0", 400),
        ("run=run", 400),
    ):
        assert watching.get(f"/api/v1/runs/attention?{wrong}").status_code == status, wrong


def test_the_page_shows_every_checkpoint(browser: Any, watching: TestServer) -> None:
    with opened(browser, watching) as page:
        page.goto("runs", ".charts canvas")
        page.page.click("button.attention")
        page.page.wait_for_selector(".thumbnails[aria-busy=false] .thumbnail >> nth=1")
        assert page.page.locator(".thumbnail").all_inner_texts() == ["Step 4", "Step 8"]
        assert page.page.locator(".weights tbody th").all_inner_texts() == ["ein", "Hund"]
        last = page.page.locator(".weights td").evaluate_all("(all) => all.map((each) => each.title)")
        page.page.click(".thumbnail >> nth=0")
        page.page.wait_for_selector(".thumbnail[aria-pressed=true]:has-text('Step 4')")  # drawn with the next frame
        first = page.page.locator(".weights td").evaluate_all("(all) => all.map((each) => each.title)")
        assert len(first) == len(last)
        assert page.wrong == []
