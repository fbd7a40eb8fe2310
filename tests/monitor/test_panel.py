"""What a person sees: plain lines where there is no terminal, one panel that fits where there is."""

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


def spoken(*records: Record | TranslationSample, history: History | None = None) -> list[str]:
    stream = io.StringIO()
    with Panel("base", history, stream) as panel:
        for record in records:
            panel.update(record)
    return stream.getvalue().splitlines()


def seen(view: View, width: int = 100, **how: bool) -> str:
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(draw(view, width, EPOCH + 600, **how))
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


def test_plain_lines_say_what_happened() -> None:
    lines = spoken(
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


def test_plain_lines_are_told_at_intervals_with_the_first_and_the_last() -> None:
    lines = spoken(start(30), *(train(step) for step in range(1, 31)))  # a record a second
    assert [line.split()[1] for line in lines[1:]] == ["1/30", "6/30", "11/30", "16/30", "21/30", "26/30", "30/30"]


def test_the_time_left_follows_the_pace_of_late() -> None:
    slow = [train(step, seconds=step * 100.0) for step in range(1, 10)]
    fast = [train(step, seconds=900.0 + step) for step in range(10, 50)]
    view = view_of([start(100), *slow, *fast])
    assert view.seconds_left == pytest.approx(51)
    assert view_of([start(100), train(1)]).seconds_left is None
    assert view_of([start(2), train(1), train(2)]).seconds_left is None


def test_a_pause_between_two_lives_of_a_run_is_not_counted_into_the_time_left() -> None:
    view = view_of([start(100), train(1, seconds=1.0), resume(1), train(2, seconds=500.0), train(3, seconds=501.0)])
    assert view.seconds_left == pytest.approx(97)


def test_a_resumed_run_goes_on_with_its_curve_and_its_best() -> None:
    told = (start(), train(1, loss=9.0), dev(1, 20.0, best=True), train(2, loss=99.0), dev(2, 30.0, best=True))
    history = History((*told, stop(2, "failed")))
    panel = Panel("base", history, io.StringIO())
    panel.update(resume(1))
    panel.update(train(2, loss=7.0))
    assert panel.view.losses.values == (9.0, 7.0)
    assert panel.view.best == dev(1, 20.0, best=True)
    assert panel.view.stopped is None
    panel.update(start())
    assert panel.view.losses.values == ()


def test_how_long_it_will_take_is_told_before_the_first_step() -> None:
    begun = replace(start(7200), step_seconds=0.5)
    words = "a step takes about 0.5 s, all of them about 1 h 00 min; Ctrl-C saves and ends"
    assert words in spoken(begun)
    assert "waiting for the first figures ... (a step takes about 0.5 s" in seen(view_of([begun]))


def test_a_failure_is_told_by_the_command_line_alone() -> None:
    assert spoken(start(), stop(3, "failed", "disk is full"))[-1] == "failed at step 3"


def test_pairs_that_are_never_trained_on_are_told_at_the_start() -> None:
    def told(too_long: int, pairs: int) -> list[str]:
        return spoken(replace(start(), pairs=pairs, too_long=too_long, max_length=250))[1:]

    assert told(0, 1_700_000) == []
    assert told(1234, 1_700_000) == [
        "1,234 of 1,700,000 pairs (0.073%) are longer than batches.max_length 250 and are skipped"
    ]
    assert told(1, 1_700_000) == [
        "1 of 1,700,000 pairs (0.000059%) is longer than batches.max_length 250 and is skipped"
    ]
    shown = seen(view_of([replace(start(), pairs=200, too_long=3, max_length=250), train(1)]))
    assert "too long 1.5% of pairs" in shown
    assert "too long" not in seen(FULL)


def test_pairs_of_a_dev_set_that_were_not_measured_are_told() -> None:
    assert spoken(replace(dev(1200, 24.5, best=True), skipped_pairs=3)) == [
        "dev dev at step 1200  bleu 24.50  nll 2.000  perplexity 7.39  3 pairs skipped  best"
    ]


def test_the_panel_shows_everything() -> None:
    text = seen(FULL)
    for words in ("base", "step 40 of 100", "40%", "30 s left", "loss 0.250", "smoothed", "513k tokens/s", "2.1e-04"):
        assert words in text
    for words in ("gradient 0.82", "98.9%", "14.2 GiB", "45.1%", "bleu 24.30", "bleu 24.50", "at 20", "cpu, 63.1M"):
        assert words in text
    for words in ("the [bold]station[/bold]?", "Wo ist der Bahnhof?", "Wo ist die Station?", "757 MB", "3 min ago"):
        assert words in text
    assert set(text) & set(BLOCKS)
    assert "skipped" not in text
    assert "2 steps" in seen(FULL.after(train(41, skipped=2)))
    assert "12 pairs" in seen(FULL.after(train(41, skipped_pairs=12)))


@pytest.mark.parametrize("width", [10, 20, 30, 38, 56, 60, 80, 120, 200])
@pytest.mark.parametrize("view", [View("a name that is long " * 9), FULL, FULL.after(stop(40, "failed", "x" * 300))])
def test_the_panel_fits_any_window(view: View, width: int) -> None:
    lines = seen(view, width).splitlines()
    assert {len(line) for line in lines} <= {0, width}
    if width >= 30 and view is FULL:
        assert "loss 0.250" in "\n".join(lines)


def test_a_low_window_keeps_what_matters() -> None:
    panel = Panel("base", stream=io.StringIO())
    panel.view = FULL
    full = len(seen(FULL).splitlines())
    for height in range(12, full + 2):
        console = Console(width=100, height=height, file=io.StringIO(), record=True)
        console.print(Screen(lambda: panel.view))
        text = console.export_text()
        assert len(text.splitlines()) < height
        assert "loss 0.250" in text
        assert "best" in text
        assert ("Bahnhof" in text) == (height > full)


def test_a_terminal_without_unicode_gets_none() -> None:
    text = seen(FULL, plain=True)
    assert not set(text) & set(BLOCKS + "━")


def test_in_a_terminal_the_panel_is_live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with Panel("base", stream=stream) as panel:
        panel.update(start(100))
        panel.update(train(1, loss=9.876))
        panel.update(stop(1, "interrupted", "go on with hark train --resume base"))
    assert "9.876" in stream.getvalue()
    assert stream.getvalue().endswith("interrupted at step 1: go on with hark train --resume base\n")
    monkeypatch.setenv("TERM", "dumb")
    assert Panel("base", stream=Terminal()).live is None


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e6), max_size=700), st.integers(1, 120))
@example([2.2e-309, 0.0, 1.0], 3)  # all but nothing between them: its inverse is no number
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
