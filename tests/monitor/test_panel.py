"""The live panel and the log lines."""

import io
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.console import Console

from hark.monitor.panel import Panel
from hark.monitor.screen import BLOCKS, Screen, draw, sparkline
from hark.monitor.view import Trace, View
from hark.train.metrics import History
from hark.train.records import Record, SaveRecord, TranslationSample
from tests.train.records import EPOCH, dev, resume, start, stop, train


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


SAMPLE = TranslationSample(
    20, "Where is\nthe [bold]station[/bold]?", "Wo ist der Bahnhof?", "Wo ist die Station?", EPOCH
)


def logged(*records: Record | TranslationSample, history: History | None = None) -> list[str]:
    stream = io.StringIO()
    with Panel("base", history, stream) as panel:
        for record in records:
            panel.update(record)
    return stream.getvalue().splitlines()


def drawn(view: View, width: int = 100, **options: bool) -> str:
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(draw(view, width, EPOCH + 600, **options))
    return console.export_text()


def view_of(records: Iterable[Record | TranslationSample]) -> View:
    view = View("base")
    for record in records:
        view = view.after(record)
    return view


FULL = view_of(
    [start(100)]
    + [train(step, memory_gib=14.2, utilisation=0.451) for step in range(1, 41)]
    + [dev(20, 24.5, best=True), dev(40, 24.3), SaveRecord(40, 1.21, 757_000_000, EPOCH + 420), SAMPLE]
)


def test_every_record_has_log_lines() -> None:
    lines = logged(
        start(1200),
        train(600, loss=3.4123),
        train(1200, loss=3.25, memory_gib=14.2, skipped=2, skipped_pairs=1),
        dev(1200, 24.5, best=True),
        SaveRecord(1200, 1.21, 757_000_000, EPOCH),
        SAMPLE,
        stop(1200),
    )
    assert lines == [
        "started base at step 0/1200  cpu, 63.1M weights",
        "step 600/1200  loss 3.412  rate 2.1e-04  grad 0.82  513k tokens/s  fill 98.9%",
        "step 1200/1200  loss 3.250  rate 2.1e-04  grad 0.82  513k tokens/s  fill 98.9%  memory 14.2 GiB  "
        "2 steps skipped  1 pair skipped",
        "dev dev at step 1200  bleu 24.50  nll 2.000  perplexity 7.39  best",
        "saved step 1200  757 MB in 1.2 s",
        "sample at step 20",
        "  source       Where is the [bold]station[/bold]?",
        "  reference    Wo ist der Bahnhof?",
        "  translation  Wo ist die Station?",
        "finished at step 1200",
    ]


def test_training_is_logged_at_intervals_with_the_first_and_the_last_step() -> None:
    lines = logged(start(30), *(train(step) for step in range(1, 31)))  # one record per second
    assert [line.split()[1] for line in lines[1:]] == ["1/30", "6/30", "11/30", "16/30", "21/30", "26/30", "30/30"]


def test_the_time_left_follows_the_recent_speed() -> None:
    slow = [train(step, seconds=step * 100.0) for step in range(1, 10)]
    fast = [train(step, seconds=900.0 + step) for step in range(10, 50)]
    view = view_of([start(100), *slow, *fast])
    assert view.seconds_left == pytest.approx(51)
    assert view_of([start(100), train(1)]).seconds_left is None
    assert view_of([start(2), train(1), train(2)]).seconds_left is None


def test_a_pause_before_a_resume_does_not_count_towards_the_time_left() -> None:
    view = view_of([start(100), train(1, seconds=1.0), resume(1), train(2, seconds=500.0), train(3, seconds=501.0)])
    assert view.seconds_left == pytest.approx(97)


def test_a_resumed_run_continues_its_curve_and_keeps_its_best() -> None:
    records = (start(), train(1, loss=9.0), dev(1, 20.0, best=True), train(2, loss=99.0), dev(2, 30.0, best=True))
    history = History((*records, stop(2, "failed")))
    panel = Panel("base", history, io.StringIO())
    panel.update(resume(1))
    panel.update(train(2, loss=7.0))
    assert panel.view.losses.values == (9.0, 7.0)
    assert panel.view.best == dev(1, 20.0, best=True)
    assert panel.view.stopped is None
    panel.update(start())
    assert panel.view.losses.values == ()


def test_the_estimated_duration_is_shown_before_the_first_step() -> None:
    record = replace(start(7200), step_seconds=0.5)
    assert "about 0.5 s per step, 1 h 00 min in total; Ctrl-C saves and stops" in logged(record)
    assert "waiting for the first record ... (about 0.5 s per step" in drawn(view_of([record]))


def test_the_message_of_a_failure_is_left_to_the_command_line() -> None:
    assert logged(start(), stop(3, "failed", "disk is full"))[-1] == "failed at step 3"


def test_pairs_that_are_too_long_are_reported_at_the_start() -> None:
    def report(too_long: int, pairs: int) -> list[str]:
        return logged(replace(start(), pairs=pairs, too_long=too_long, max_length=250))[1:]

    assert report(0, 1_700_000) == []
    assert report(1234, 1_700_000) == [
        "1,234 of 1,700,000 pairs (0.073%) are longer than batches.max_length 250 and are skipped"
    ]
    assert report(1, 1_700_000) == [
        "1 of 1,700,000 pairs (0.000059%) is longer than batches.max_length 250 and is skipped"
    ]
    shown = drawn(view_of([replace(start(), pairs=200, too_long=3, max_length=250), train(1)]))
    assert "too long 1.5% of pairs" in shown
    assert "too long" not in drawn(FULL)


def test_skipped_pairs_of_a_dev_set_are_logged() -> None:
    assert logged(replace(dev(1200, 24.5, best=True), skipped_pairs=3)) == [
        "dev dev at step 1200  bleu 24.50  nll 2.000  perplexity 7.39  3 pairs skipped  best"
    ]


def test_the_panel_shows_everything() -> None:
    text = drawn(FULL)
    for words in ("base", "step 40 of 100", "40%", "30 s left", "loss 0.250", "smoothed", "513k tokens/s", "2.1e-04"):
        assert words in text
    for words in ("gradient 0.82", "98.9%", "14.2 GiB", "45.1%", "bleu 24.30", "bleu 24.50", "at 20", "cpu, 63.1M"):
        assert words in text
    for words in ("the [bold]station[/bold]?", "MFU      45.1%", "757 MB", "3 min ago"):
        assert words in text
    for words in ("reference    Wo ist der Bahnhof?", "translation  Wo ist die Station?"):
        assert words in text
    assert set(text) & set(BLOCKS)
    assert "skipped" not in text
    assert "2 steps" in drawn(FULL.after(train(41, skipped=2)))
    assert "12 pairs" in drawn(FULL.after(train(41, skipped_pairs=12)))


@pytest.mark.parametrize("width", [10, 20, 30, 38, 56, 60, 80, 120, 200])
@pytest.mark.parametrize("view", [View("a name that is long " * 9), FULL, FULL.after(stop(40, "failed", "x" * 300))])
def test_the_panel_fits_any_window(view: View, width: int) -> None:
    lines = drawn(view, width).splitlines()
    assert {len(line) for line in lines} <= {0, width}
    if width >= 30 and view is FULL:
        assert "loss 0.250" in "\n".join(lines)


def test_a_small_window_drops_samples_first() -> None:
    panel = Panel("base", stream=io.StringIO())
    panel.view = FULL
    full = len(drawn(FULL).splitlines())
    for height in range(12, full + 2):
        console = Console(width=100, height=height, file=io.StringIO(), record=True)
        console.print(Screen(lambda: panel.view))
        text = console.export_text()
        assert len(text.splitlines()) < height
        assert "loss 0.250" in text
        assert "best" in text
        assert ("Bahnhof" in text) == (height > full)


def test_a_plain_panel_has_no_block_characters() -> None:
    text = drawn(FULL, plain=True)
    assert not set(text) & set(BLOCKS + "━")


def test_in_a_terminal_the_panel_is_live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with Panel("base", stream=stream) as panel:
        panel.update(start(100))
        panel.update(train(1, loss=9.876))
        panel.update(stop(1, "interrupted", "resume with hark train --resume base"))
    assert "9.876" in stream.getvalue()
    assert stream.getvalue().endswith("interrupted at step 1: resume with hark train --resume base\n")
    monkeypatch.setenv("TERM", "dumb")
    assert Panel("base", stream=Terminal()).live is None


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e6), max_size=700), st.integers(1, 120))
@example([2.2e-309, 0.0, 1.0], 3)  # a tiny difference: its inverse overflows
@example([0.0, 1.0, 2.2e-309], 3)
def test_a_sparkline_is_as_wide_as_it_may_be(values: list[float], width: int) -> None:
    line = sparkline(tuple(values), width)
    assert len(line) == min(width, len(values))
    assert set(line) <= set(BLOCKS)


def test_a_sparkline_falls_with_the_loss() -> None:
    line = sparkline(tuple(10 / step for step in range(1, 101)), 50)
    assert (line[0], line[-1]) == (BLOCKS[-1], BLOCKS[0])
    assert list(line) == sorted(line, reverse=True)


@settings(deadline=None)
@given(st.lists(st.floats(0, 100), max_size=2000))
def test_a_trace_is_bounded_and_keeps_the_mean(values: list[float]) -> None:
    trace = Trace()
    for value in values:
        trace = trace.add(value).add(float("nan"))
    assert len(trace.values) <= Trace.LIMIT
    assert trace.stride * len(trace.values) + trace.count == len(values)
    assert trace.stride * sum(trace.values) + trace.total == pytest.approx(sum(values))


def test_many_dev_sets_share_a_grid() -> None:
    names = [
        f"dev.{one}-{other}" for one in ("de", "en", "es", "fr") for other in ("de", "en", "es", "fr") if one != other
    ]
    scores = {f"BLEU {name}": 10.0 for name in names}
    records = [replace(dev(20), set=name, scores=scores) for name in names]
    shown = drawn(view_of([start(), *records]))
    assert all(name in shown for name in names)
    assert sum("dev." in line for line in shown.splitlines()) == 3  # four to a line
    (line,) = logged(records[0])
    assert line.count("BLEU") == 1
    assert "BLEU dev.de-en 10" in line
