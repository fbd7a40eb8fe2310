"""Training runs over HTTP: the list, and streams of what is new."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from hark.rundir import RunDir
from hark.serve.runs import MAX_POINTS
from tests.monitor.made_run import dev, make_run, stop, train, write, write_sample
from tests.serve import stubs
from tests.serve.conftest import StartServer, TestServer
from tests.serve.opened_page import opened

pytestmark = pytest.mark.usefixtures("short_pauses")


@pytest.fixture
def watching(start_server: StartServer, tmp_path: Path) -> TestServer:
    (tmp_path / "runs").mkdir()
    return start_server(stubs.service("en-de", runs=tmp_path / "runs"))


@contextmanager
def events(server: TestServer, path: str) -> Iterator[Iterator[tuple[str, Any]]]:
    with httpx.stream("GET", server.url + path, timeout=60, verify=False) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield parse(answer.iter_lines())


def parse(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def until(found: Iterator[tuple[str, Any]], name: str) -> Any:
    return next(data for event, data in found if event == name)


def test_runs_are_listed_without_paths(watching: TestServer, tmp_path: Path) -> None:
    assert watching.get("/api/v1/runs").json() == {"runs": []}
    make_run(tmp_path / "runs" / "first")
    run = make_run(tmp_path / "runs" / "group" / "second", steps=9)
    write(run, dev(9, 20.5), stop(9))
    answer = watching.get("/api/v1/runs")
    assert [(each["name"], each["state"], each["step"]) for each in answer.json()["runs"]] == [
        ("group/second", "finished", 9),
        ("first", "killed", 3),
    ]
    assert answer.json()["runs"][0]["best"] == {"name": "BLEU", "value": 20.5, "set": "dev", "step": 9}
    assert str(tmp_path) not in answer.text


def test_records_and_samples_stream_as_they_are_written(watching: TestServer, tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs" / "group" / "one")
    write_sample(run, 3, "ein")
    with events(watching, "/api/v1/runs/group/one/metrics") as found:
        first = until(found, "history")
        assert first["run"] == "group/one"
        assert first["train"]["step"] == [1, 2, 3]
        assert first["train"]["loss"] == [4.99, 4.98, 4.97]
        assert until(found, "samples")["samples"] == [
            {"source": "a dog", "reference": "ein Hund", "translations": [{"step": 3, "text": "ein"}]}
        ]
        write(run, train(4, loss=float("nan")), dev(4, 12.5))
        new = until(found, "records")
        assert new["train"]["step"] == [4]
        assert new["train"]["loss"] == [None]
        assert new["dev"] == [{"step": 4, "set": "dev", "nll": 2.96, "best": True, "scores": {"BLEU": 12.5}}]


def test_one_stream_carries_several_runs_and_says_which_vanished(watching: TestServer, tmp_path: Path) -> None:
    one, two = make_run(tmp_path / "runs" / "one"), make_run(tmp_path / "runs" / "two", steps=5)
    with events(watching, "/api/v1/runs/watch?run=one&run=two") as found:
        assert len(until(found, "runs")["runs"]) == 2
        assert {until(found, "history")["run"] for _ in range(2)} == {"one", "two"}
        one.metrics.unlink()
        assert until(found, "gone") == {"run": "one", "message": "one: the run was moved or deleted"}
        write(two, train(6))
        assert until(found, "records")["run"] == "two"


def test_a_long_run_is_thinned(watching: TestServer, tmp_path: Path) -> None:
    make_run(tmp_path / "runs" / "long", steps=3 * MAX_POINTS)
    with events(watching, "/api/v1/runs/long/metrics") as found:
        curve = until(found, "history")["train"]
    assert len(curve["step"]) <= MAX_POINTS
    assert (curve["step"][0], curve["step"][-1]) == (1, 3 * MAX_POINTS)


@pytest.mark.parametrize("name", ["nothing", "../runs", "%2e%2e", "/etc", ""])
def test_an_unknown_run_is_refused(watching: TestServer, tmp_path: Path, name: str) -> None:
    make_run(tmp_path / "outside")
    answer = watching.get(f"/api/v1/runs/watch?run={name}")
    assert answer.status_code == 404
    assert answer.json()["error"]["message"].startswith("no run ")


def test_too_many_runs_are_refused(watching: TestServer) -> None:
    assert watching.get("/api/v1/runs/watch?" + "&".join(f"run={i}" for i in range(21))).status_code == 400


def test_without_a_folder_there_are_no_runs(server: TestServer) -> None:
    assert server.get("/api/v1/runs").status_code == 404
    assert 'data-runs="false"' in server.get("/").text


def test_a_stream_does_not_delay_the_shutdown(start_server: StartServer, tmp_path: Path) -> None:
    make_run(tmp_path / "one")
    server = start_server(stubs.service("en-de", runs=tmp_path, shutdown_seconds=10_000.0))
    with events(server, "/api/v1/runs/one/metrics") as found:
        until(found, "history")
        server.server.should_exit = True
        assert list(found) == []  # the stream ends
    server.stop()


@pytest.fixture
def trained_run(trained: Callable[..., RunDir], start_server: StartServer) -> TestServer:
    run = trained("run", "train.steps=8", "train.save_steps=4", "train.eval_steps=4")
    write_sample(run, 4, "ein", source="the cat")
    return start_server(stubs.service("en-de", runs=run.path.parent))


def test_weights_of_a_sample_and_refusals(trained_run: TestServer) -> None:
    found = trained_run.get("/api/v1/runs/attention?run=run&step=4&sentence=0").json()
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
        assert trained_run.get(f"/api/v1/runs/attention?{wrong}").status_code == status, wrong


def test_the_page_shows_every_checkpoint(browser: Any, trained_run: TestServer) -> None:
    with opened(browser, trained_run) as page:
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
