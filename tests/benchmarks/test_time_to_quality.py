"""The published figures are those of the logs, and only training time counts."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from benchmarks.time_to_quality import STEEP, Clock, Row, System, TestScore, draw, rows_of, table

from hark.train.metrics import History
from hark.train.records import DevRecord, ResumeRecord, SaveRecord, StartRecord, StopRecord, TrainRecord
from tests.benchmarks.conftest import run_benchmark
from tests.modules import ROOT


def test_what_is_published_is_what_its_logs_tell(tmp_path: Path) -> None:
    results = ROOT / "docs" / "results"
    shown = run_benchmark("time_to_quality", "--draw", tmp_path / "again.svg")
    assert shown.stdout == (results / "logs" / "time-to-quality" / "time-to-quality.txt").read_text()
    assert (tmp_path / "again.svg").read_text() == (results / "time-to-quality.svg").read_text()


def test_one_run_of_ours_has_no_name() -> None:
    shown = run_benchmark("time_to_quality", ROOT / "docs" / "results" / "logs" / "time-to-quality" / "speedrun")
    assert "hark first measured at least as good" in shown.stdout


def train_record(step: int, time: float) -> TrainRecord:
    return TrainRecord(step, 0.0, 5.0, 5.0, 1e-3, 1.0, 100 * step, 0.0, 1.0, -1.0, time)


def dev_record(step: int, time: float) -> DevRecord:
    return DevRecord(step, "dev", 5.0 + step, 4.0 + step, 1.0, False, -1.0, time)


def test_the_clock_excludes_evaluating_and_saving() -> None:
    start = StartRecord(0, 1000.0, 0, "GPU", 1, 1, 100)
    records = [
        start, train_record(10, 1010.0), dev_record(10, 1013.0), SaveRecord(10, 2.0, 1, 1015.0),
        train_record(20, 1025.0), train_record(30, 1035.0), dev_record(30, 1039.0), train_record(40, 1049.0),
    ]  # fmt: skip
    history = History(tuple(records))
    assert [Clock(history).seconds(step) for step in (0, 10, 15, 20, 30, 40)] == [0, 10, 15, 20, 30, 40]
    assert [(row.seconds, row.steps, row.target_tokens, row.nll) for row in rows_of(history)] == [
        (10, 10, 1000, 14.0), (30, 30, 3000, 34.0),
    ]  # fmt: skip


def test_a_checkpoint_between_records_counts_as_training() -> None:
    start = StartRecord(0, 0.0, 0, "GPU", 1, 1, 100)
    history = History((start, train_record(10, 10.0), SaveRecord(15, 3.0, 1, 18.0), train_record(20, 23.0)))
    assert Clock(history).seconds(20) == 23


def test_the_clock_continues_after_the_last_train_record() -> None:
    start = StartRecord(0, 0.0, 0, "GPU", 1, 1, 100)
    records = (start, train_record(10, 10.0), dev_record(10, 12.0), dev_record(14, 17.0), StopRecord(14, "", "", 18.0))
    assert [(row.seconds, row.target_tokens) for row in rows_of(History(records))] == [(10, 1000), (15, 1400)]


def test_a_resume_continues_the_clock_of_the_checkpoint() -> None:
    start, stop = StartRecord(0, 0.0, 0, "GPU", 1, 1, 100), StopRecord(15, "interrupted", "", 16.5)
    resume = ResumeRecord(15, 500.0, 1500, "GPU", 1, 1, 100)
    records = (start, train_record(10, 10.0), SaveRecord(15, 1.0, 1, 16.0), stop, resume, train_record(20, 505.0))
    clock = Clock(History(records))
    assert clock.seconds(15) == 16
    assert clock.seconds(20) == 21


def systems() -> Iterator[System]:
    theirs = [Row(60.0 * m, 100 * m, 1000 * m, 6.0 - m / 10, 5.0 - m / 10) for m in range(1, 21)]
    mine = [Row(60.0 * m, 300 * m, 3000 * m, 6.0 - m / 2, 5.0 - m / 2) for m in range(1, 6)]
    yield System(
        "Marian", theirs, [TestScore(600, 1000, "news", 20.0, 9, "sig"), TestScore(1200, 2000, "news", 22.0, 9, "sig")]
    )
    yield System(
        "hark", mine, [TestScore(120, 600, "news", 21.0, 9, "sig"), TestScore(240, 1200, "news", 22.5, 9, "sig")]
    )


def test_the_table_states_when_one_caught_up_with_the_other() -> None:
    shown = table(list(systems()))
    assert "BLEU news: Marian had 22.00 after 20.0 minutes; hark first measured at least as good after 4.0" in shown
    assert "dev nll: Marian had 3.000 after 20.0 minutes; hark first measured at least as good after 4.0" in shown
    assert "BLEU news: hark had 22.50 after 4.0 minutes; Marian did not reach it in 20.0" in shown
    assert "dev nll: hark had 2.500 after 5.0 minutes; Marian did not reach it in 20.0" in shown
    backwards = table(list(systems())[::-1])
    assert "Marian did not reach it in 20.0" in backwards
    assert "22.50" in backwards


def test_the_plot_has_every_curve() -> None:
    picture = draw(list(systems()))
    ElementTree.fromstring(picture)
    assert picture.count('class="curve') == 4
    assert "BLEU, news" in picture
    assert "Dev loss" in picture


def test_a_single_measurement_is_in_the_plot() -> None:
    marian, hark = systems()
    picture = draw([marian, replace(hark, rows=[], scores=hark.scores[1:])])
    dots = [each.get("style") for each in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}circle")]
    assert dots.count("fill:var(--run1)") == 1
    near = [row for row in marian.rows if row.nll < min(each.nll for each in marian.rows) + STEEP]
    assert dots.count("fill:var(--run0)") == len(near) + len(marian.scores)
