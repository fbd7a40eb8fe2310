"""Converting Marian's weights to ours and back, resuming its run, and counting only training time."""

import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
from benchmarks.quality_curves import STEEP, Clock, Row, System, TestScore, draw, read_lines, rows_of, table

from benchmarks import peers
from hark import configfile
from hark.config import Config, CorpusConfig
from hark.data.prepare import prepare
from hark.rundir import RunDir
from hark.train.metrics import History
from hark.train.records import DevRecord, ResumeRecord, SaveRecord, StartRecord, StopRecord, TrainRecord
from hark.train.session import run_training
from hark.train.start import open_dataset, resolve
from tests.benchmarks.conftest import run_benchmark
from tests.data.material import pairs, write
from tests.model.oracle import build
from tests.modules import ROOT

CPU = torch.device("cpu")
SMALL = [
    "model.d_model=16", "model.d_ff=32", "model.n_heads=2", "model.n_encoder_layers=1", "model.n_decoder_layers=2",
    "model.max_positions=50", "batches.batch_tokens=200", "batches.max_length=40", "data.vocab_size=420",
    "train.warmup_steps=10", "train.device=cpu", "decode.max_extra=3",
    "train.log_steps=2", "train.eval_steps=2", "train.save_steps=2", "train.steps=4", "train.save_minutes=99",
]  # fmt: skip


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("text")
    sets = {
        use: (CorpusConfig(*write(folder, use, pairs(count, seed)), use),)
        for seed, (use, count) in enumerate({"train": 80, "dev": 12, "test": 6}.items())
    }
    config = configfile.load(None, [*SMALL, "data.clean.language=1"])
    prepare(replace(config, data=replace(config.data, **sets)), folder / "dataset", processes=1)
    return folder / "dataset"


def settings(dataset: Path) -> Config:
    config = configfile.load(None, [*SMALL, f"data.dataset={dataset}"])
    return resolve(config, open_dataset(config.data))


@pytest.fixture
def marian() -> peers.Marian:
    pytest.importorskip("transformers")
    torch.manual_seed(3)
    made = peers.Marian(build(vocab_size=60).config).eval()
    with torch.no_grad():
        for weight in made.parameters():
            if weight.ndim == 1:
                weight.add_(torch.randn_like(weight) * 0.2)
    return made


def test_marians_weights_in_our_model_give_its_logits(marian: peers.Marian) -> None:
    from benchmarks.marian_weights import to_ours

    from hark.model import padded_layout

    ours = build(vocab_size=60)
    values = to_ours(marian, dict(marian.named_parameters()))
    ours.load_state_dict(values)
    source_BS, target_BT = torch.randint(4, 60, (3, 9)), torch.randint(4, 60, (3, 7))
    real_BS = torch.arange(9) < torch.tensor([9, 5, 2])[:, None]
    layout = padded_layout(torch.tensor([9, 5, 2]), torch.tensor([7, 7, 7]))
    theirs_BTV = marian.logits(marian.hidden(source_BS, real_BS, target_BT))
    torch.testing.assert_close(ours(source_BS, target_BT, layout), theirs_BTV, atol=1e-4, rtol=1e-4)


def test_weights_round_trip(marian: peers.Marian) -> None:
    from benchmarks.marian_weights import to_ours, to_theirs

    values = {name: weight for name, weight in marian.named_parameters() if weight.requires_grad}
    back = to_theirs(marian, to_ours(marian, values))
    assert back.keys() == values.keys()
    assert all(back[name].equal(values[name]) for name in values)


class Ticks:
    """A clock that advances by a quarter of a second with each call."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 0.25
        return self.now


@pytest.fixture
def train_steps(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, int], None]:
    """A function that makes a `MarianRun` train for some steps, and evaluate after each."""
    pytest.importorskip("transformers")
    from benchmarks import marian_run

    monkeypatch.setattr(marian_run, "time", Ticks())

    def train(run: marian_run.MarianRun, steps: int) -> None:
        # A step takes a quarter of a second of this clock, and an evaluation another.
        due = [(run.progress.seconds + 0.2 + 0.5 * step) / 60 for step in range(steps)]
        run.train(due[-1] - run.progress.seconds / 60, due[:-1], [], None)

    return train


def test_a_run_resumes_where_it_stopped(dataset: Path, tmp_path: Path, train_steps: Callable[[Any, int], None]) -> None:
    """Compares weights and position in the data, not times."""
    from benchmarks.marian_run import MarianRun

    config = settings(dataset)

    def run_steps(folder: Path, count: int) -> MarianRun:
        run = MarianRun(folder, config, open_dataset(config.data), CPU, "eager", "ours")
        train_steps(run, count)
        return run

    whole, halves = run_steps(tmp_path / "whole", 3), tmp_path / "halves"
    run_steps(halves, 1)
    resumed = run_steps(halves, 2)
    assert resumed.progress.steps == 3
    assert resumed.progress.target_tokens == whole.progress.target_tokens
    for name, weight in whole.training.weights.items():
        assert weight.equal(resumed.training.weights[name]), name
    assert [row.nll for row in resumed.rows] == [row.nll for row in whole.rows]
    assert [row.steps for row in read_lines(halves / "rows.jsonl", Row)] == [1, 2, 3]


def test_starts_with_our_weights_and_the_loss_of_our_run(dataset: Path, tmp_path: Path) -> None:
    """The initial loss of Marian equals that of an untrained model in `hark train`."""
    pytest.importorskip("transformers")
    from benchmarks.marian_run import MarianRun

    config = settings(dataset)
    config = replace(config, train=replace(config.train, steps=1, eval_steps=1, log_steps=1, rate_scale=1e-12))
    run_training(config, RunDir(tmp_path / "ours"), open_dataset(config.data), resumed=False)
    (row,) = rows_of(history_of(tmp_path / "ours"))
    theirs = MarianRun(tmp_path / "hf", config, open_dataset(config.data), CPU, "eager", "ours")
    theirs.train(1e-9, [], [], None)
    assert theirs.rows[0].nll == pytest.approx(row.nll, rel=1e-6)
    assert theirs.rows[0].loss == pytest.approx(row.loss, rel=1e-6)


def test_takes_the_same_steps_as_ours(dataset: Path, tmp_path: Path, train_steps: Callable[[Any, int], None]) -> None:
    """Without dropout, which differs between systems, all measurements are the same."""
    from benchmarks.marian_run import MarianRun

    config = settings(dataset)
    model = replace(config.model, dropout=0.0)
    config = replace(config, model=model, train=replace(config.train, steps=4, warmup_steps=4, eval_steps=1))
    run_training(config, RunDir(tmp_path / "ours"), open_dataset(config.data), resumed=False)
    ours = rows_of(history_of(tmp_path / "ours"))
    assert ours[-1].nll < ours[0].nll - 0.1
    for groups in (1, 3):
        folder = tmp_path / f"hf{groups}"
        theirs = MarianRun(folder, config, open_dataset(config.data), CPU, "eager", "ours")
        theirs.groups = groups
        train_steps(theirs, 4)
        assert [row.nll for row in theirs.rows] == pytest.approx([row.nll for row in ours], rel=1e-4)


def test_the_fastest_number_of_groups_is_chosen_without_changing_weights(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers")
    from benchmarks import marian_run

    config = settings(dataset)
    run = marian_run.MarianRun(tmp_path / "hf", config, open_dataset(config.data), CPU, "eager", "ours")
    before = {name: weight.detach().clone() for name, weight in run.training.weights.items()}
    times = iter([0.0, 5.0, 10.0, 12.0, 20.0, 24.0])  # start and end of each
    monkeypatch.setattr(marian_run, "GROUPS", (2, 4, 8))
    monkeypatch.setattr(marian_run, "IDLE", 1)
    monkeypatch.setattr(marian_run, "TIMED", 2)
    monkeypatch.setattr(marian_run.time, "perf_counter", lambda: next(times))
    assert run.fastest() == 4
    assert all(weight.equal(before[name]) for name, weight in run.training.weights.items())
    assert all(weight.grad is None for weight in run.marian.parameters())


def test_compilation_while_the_clock_is_running_is_reported(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("transformers")
    from benchmarks import marian_run

    config = settings(dataset)
    run = marian_run.MarianRun(tmp_path / "hf", config, open_dataset(config.data), CPU, "eager", "ours")
    built = iter([7, 7, 9])  # after the warm-up, and at two evaluations
    monkeypatch.setattr(marian_run, "compiled", lambda: next(built))
    monkeypatch.setattr(marian_run, "time", Ticks())
    run.train(1 / 60, [0.5 / 60], [], None)
    checked, warmed, first, second, checked_again = capsys.readouterr().out.splitlines()
    assert all(each.startswith("gradient") for each in (checked, checked_again))
    assert "7 graphs compiled" in warmed
    assert "while the clock was running" not in first
    assert second.endswith("2 graphs compiled while the clock was running")


def history_of(folder: Path) -> History:
    from hark.train.metrics import read_metrics

    return read_metrics(RunDir(folder).metrics)


def test_another_variant_is_refused(dataset: Path, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    words = ["--tiny", "--dataset", dataset, *SMALL, "--folder", tmp_path / "hf", "--minutes", "1e-6", "--variant"]
    assert run_benchmark("time_to_quality", *words, "eager").returncode == 0
    refused = run_benchmark("time_to_quality", *words, "bf16")
    assert refused.returncode == 1
    assert "other settings" in refused.stderr


def test_saved_weights_of_both_are_scored_and_drawn(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks.score_kept import find_saved, score_folder

    config, ours, theirs = settings(dataset), tmp_path / "ours", tmp_path / "hf"
    run_training(config, RunDir(ours), open_dataset(config.data), resumed=False)
    scores = list(score_folder(ours, None, [], CPU))
    assert [(each.steps, each.set, each.sentences) for each in scores] == [(4, "test", 6), (2, "test", 6)]
    assert all(math.isfinite(each.bleu) and "tok:13a" in each.signature for each in scores)
    assert scores[0].seconds > scores[1].seconds
    assert [each.steps for each in read_lines(ours / "test_scores.jsonl", TestScore)] == [2, 4]
    assert list(score_folder(ours, None, [], CPU)) == []  # all of them have scores
    shown = ["--ours", str(ours)]
    if peers_has_transformers():
        from benchmarks import marian_run

        # A clock that no load can slow down: 10 ms pass whenever it is read, once or twice per step.
        ticks = count()
        monkeypatch.setattr(marian_run, "time", SimpleNamespace(monotonic=lambda: next(ticks) / 100, time=time.time))
        run = marian_run.MarianRun(theirs, config, open_dataset(config.data), CPU, "eager", "ours")
        run.train(2e-3, [1e-3], [1e-3, 2e-3], None)
        kept = find_saved(theirs)
        assert [each.weights.parent.name for each in kept] == ["minute-0.001", "minute-0.002"]
        assert [each.seconds for each in kept] == [row.seconds for row in run.rows]
        assert len(list(score_folder(theirs, None, ["test"], CPU))) == 2
        shown += ["--folder", str(theirs)]
    run_it = run_benchmark("time_to_quality", *shown, "--draw", tmp_path / "both.svg")
    assert run_it.returncode == 0, run_it.stderr
    assert "BLEU test" in run_it.stdout
    assert {line.split()[0] for line in run_it.stdout.splitlines()} >= {"hark"}
    ElementTree.fromstring((tmp_path / "both.svg").read_text())


def test_what_is_published_is_what_its_logs_tell(tmp_path: Path) -> None:
    results = ROOT / "docs" / "results"
    logs = results / "logs" / "time-to-quality"
    words = ["--folder", logs / "marian", "--ours", logs / "paper-recipe", logs / "speedrun"]
    shown = run_benchmark("time_to_quality", *words, "--draw", tmp_path / "again.svg")
    assert shown.stdout == (logs / "time-to-quality.txt").read_text()
    assert (tmp_path / "again.svg").read_text() == (results / "time-to-quality.svg").read_text()


def peers_has_transformers() -> bool:
    from importlib.util import find_spec

    return find_spec("transformers") is not None


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


def test_rows_round_trip_as_json_lines(tmp_path: Path) -> None:
    from benchmarks.quality_curves import write_lines

    row = Row(60.0, 100, 1000, 6.0, 5.0)
    write_lines(tmp_path / "rows.jsonl", [row])
    assert json.loads((tmp_path / "rows.jsonl").read_text())["steps"] == 100
    assert read_lines(tmp_path / "rows.jsonl", Row) == [row]
    assert read_lines(tmp_path / "none.jsonl", Row) == []
