"""Kept results: what is measured again, and what is not."""

import json
from pathlib import Path

import pytest

from hark.reproduce.cost import TWO_CORES, Cost
from hark.reproduce.scales import TINY
from hark.reproduce.work import Report, Row, Target, TargetPart, Work, missing_parts, run_parts, write_report


class Counted:
    """A target of three parts that counts its measurements, and may be interrupted before one of them."""

    def __init__(self, settings: str = "a", stop_at: str = "") -> None:
        self.measured: list[str] = []
        self.settings, self.stop_at = settings, stop_at

    def part(self, name: str) -> TargetPart:
        def measure(work: Work, advance: object) -> Row:  # noqa: ARG001
            if name == self.stop_at:
                raise KeyboardInterrupt
            self.measured.append(name)
            run = work.run_folder(name)
            run.mkdir(parents=True)
            (run / "metrics.jsonl").write_text("{}\n")
            return {"value": len(name)}

        return TargetPart(name, name, Cost(fast_flops=2e10, runs=1), self.settings, measure)

    @property
    def target(self) -> Target:
        return Target(
            "counted",
            "",
            lambda _scale, _steps: [self.part(name) for name in ("one", "three", "fifteen")],
            lambda _work, rows: Report(
                "".join(f"{name} {row['value']}\n" for name, row in rows.items()), {"x": "<svg/>"}
            ),
            needs="nothing",
        )


def test_an_interrupted_target_continues_where_it_stopped(tmp_path: Path) -> None:
    work = Work(TINY, tmp_path)
    first, second = Counted(stop_at="fifteen"), Counted()
    with pytest.raises(KeyboardInterrupt):
        run_parts(first.target, work)
    assert [part.name for part in missing_parts(second.target, work)] == ["fifteen"]
    rows = run_parts(second.target, work)
    assert (first.measured, second.measured) == (["one", "three"], ["fifteen"])
    files = write_report(second.target, work, rows)
    assert [file.name for file in files] == ["counted.md", "counted.json", "x.svg"]
    assert files[0].read_text() == "one 3\nthree 5\nfifteen 7\n"
    assert json.loads(files[1].read_text())["rows"]["three"] == {"value": 5}


def test_other_settings_are_measured_again(tmp_path: Path) -> None:
    work = Work(TINY, tmp_path)
    run_parts(Counted("a").target, work)
    again = Counted("b")
    run_parts(again.target, work)
    assert again.measured == ["one", "three", "fifteen"]


def test_a_damaged_row_is_measured_again(tmp_path: Path) -> None:
    work = Work(TINY, tmp_path)
    run_parts(Counted().target, work)
    (tmp_path / "rows" / "three.json").write_text('{"key": ')
    again = Counted()
    run_parts(again.target, work)
    assert again.measured == ["three"]


def test_only_the_metrics_of_a_run_are_kept(tmp_path: Path) -> None:
    work = Work(TINY, tmp_path)
    run_parts(Counted().target, work)
    assert (tmp_path / "rows" / "one.metrics.jsonl").read_text() == "{}\n"
    assert not work.run_folder("one").exists()


def test_costs_add_up() -> None:
    assert TWO_CORES.seconds(Counted().target.cost(TINY)) == 3 * (1 + TWO_CORES.around)
