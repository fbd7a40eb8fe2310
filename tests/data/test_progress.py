"""Progress: bars on a terminal, few lines elsewhere, nothing on stdout."""

import io

import pytest

from hark.data import progress


def work(report):
    report("reading", 0, None)
    for done in range(1, 11):
        report("cleaning", done * 100, done / 10)


def test_lines_without_a_terminal(monkeypatch, capsys):
    clock = iter(range(0, 1000, 5))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(clock)))
    with progress.show_progress() as report:
        work(report)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[:2] == ["reading", "cleaning"]
    assert len(lines) == 5
    assert lines[2] == "cleaning: 40%, 400 pairs, 27 per second, 22 s left"


def test_bars_on_a_terminal(monkeypatch, capsys):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with progress.show_progress() as report:
        work(report)
    assert capsys.readouterr().out == ""
    shown = terminal.getvalue()
    assert "reading" in shown
    assert "pairs/s" in shown
    assert "100%" in shown


def test_exceptions_propagate():
    def fail():
        with progress.show_progress():
            raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"):
        fail()
