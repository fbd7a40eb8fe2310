"""Reading and writing metrics.jsonl: round trips, and records that a kill or a resume makes void."""

import json
import math
import subprocess
import sys
from importlib import util
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hark.errors import HarkError, MissingExtraError, UserError
from hark.monitor.panel import Board, scalars
from hark.monitor.view import RunningMean
from hark.train.metrics import History, MetricsWriter, read_metrics, read_samples, to_json
from hark.train.records import Record, SaveRecord, TranslationSample
from tests.train.records import dev, resume, start, stop, train


def line(record: Record | TranslationSample) -> bytes:
    return json.dumps(to_json(record)).encode() + b"\n"


def test_records_round_trip(tmp_path: Path) -> None:
    records = (
        start(),
        train(1, memory_gib=1.5, utilisation=0.4),
        dev(1, bleu=12.5, best=True),
        dev(1, name="other"),
        SaveRecord(1, 0.5, 1234, 5.0),
        stop(1, "failed", "disk\nfull"),
    )
    with MetricsWriter(tmp_path / "metrics.jsonl") as writer:
        for record in records:
            writer.write(record)
    assert read_metrics(tmp_path / "metrics.jsonl") == History(records)
    assert (tmp_path / "metrics.jsonl").read_bytes().count(b"\n") == len(records)


def test_every_line_is_strict_json_and_written_at_once(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    writer = MetricsWriter(path)
    writer.write(train(1, loss=math.nan, grad_norm=math.inf))
    values = json.loads(path.read_text(), parse_constant=pytest.fail)
    assert (values["kind"], values["loss"], values["memory_gib"]) == ("train", None, None)
    last = read_metrics(path).last
    assert last is not None
    assert math.isnan(last.loss)
    assert last.memory_gib is None
    writer.close()


def test_history_properties() -> None:
    records = (start(50), train(10), dev(10, 20.0, best=True), train(20), dev(20, 19.0), stop(20, "interrupted"))
    history = History(records)
    assert (history.step, history.steps, history.last, history.best) == (20, 50, records[3], records[2])
    assert history.stopped == records[5]
    assert history.time == records[5].time
    assert History((*records, resume(20))).stopped is None
    assert (History().step, History().last, History().best, History().stopped, History().time) == (0,) + (None,) * 4


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 40)), min_size=1, max_size=6))
def test_the_history_is_unbroken_after_any_kills_and_resumes(
    tmp_path_factory: pytest.TempPathFactory, sessions: list[tuple[int, int]]
) -> None:
    """Each session takes some steps, saves every 5, and is killed while it writes its last line."""
    path = tmp_path_factory.mktemp("run") / "metrics.jsonl"
    saved, truth = 0, dict[int, float]()
    for session, (steps, cut) in enumerate(sessions):
        truth = {step: loss for step, loss in truth.items() if step <= saved}
        with MetricsWriter(path) as writer:
            writer.write(resume(saved) if session else start())
            for step in range(saved + 1, saved + steps + 1):
                truth[step] = 100.0 * session + step  # no two sessions tell the same
                if step % 5 == 0:
                    writer.write(SaveRecord(step, 1.0, 10, float(step)))
                writer.write(train(step, truth[step]))
                writer.write(dev(step, truth[step]))
        if steps:
            path.write_bytes(path.read_bytes()[: -cut or None])
        saved = (saved + steps) // 5 * 5
    history = read_metrics(path)
    assert {each.step: each.loss for each in history.train} == truth
    assert [each.step for each in history.train] == sorted(truth)
    torn = set(truth) - {each.step for each in history.dev}  # the last line of each session may be lost
    assert all(each.scores["bleu"] == truth[each.step] for each in history.dev)
    assert len(torn) <= len(sessions)


def test_records_after_the_resumed_checkpoint_are_void(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with MetricsWriter(path) as writer:
        for record in (start(), train(1), train(2, loss=7.0), dev(2, 99.0, best=True), stop(2, "failed")):
            writer.write(record)
        for record in (resume(1), train(2, loss=5.0), dev(2, 30.0, best=True)):
            writer.write(record)
    history = read_metrics(path)
    assert [each.loss for each in history.train] == [10.0, 5.0]
    assert history.best == dev(2, 30.0, best=True)
    assert history.stopped is None


def test_a_restarted_run_forgets_earlier_records(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with MetricsWriter(path) as writer:
        for record in (start(), train(1), start(), train(1, loss=3.0)):
            writer.write(record)
    assert read_metrics(path) == History((start(), train(1, loss=3.0)))


def test_a_repeated_evaluation_of_a_step_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with MetricsWriter(path) as writer:
        for record in (start(), train(5), dev(5, 1.0), resume(5), dev(5, 2.0), dev(5, 3.0, name="other")):
            writer.write(record)
    assert [each.scores["bleu"] for each in read_metrics(path).dev] == [2.0, 3.0]


@pytest.mark.parametrize("cut", [1, 2, 30, 200])
def test_a_truncated_last_line_does_not_damage_later_ones(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(line(start()) + line(train(1)) + line(train(2))[:-cut])
    torn = 2 if cut > 1 else 3  # without its newline alone, a line is still whole
    assert len(read_metrics(path).records) == torn
    with MetricsWriter(path) as writer:
        writer.write(resume(1))
        writer.write(train(2))
    assert read_metrics(path).records == (start(), train(1), resume(1), train(2))


@pytest.mark.parametrize(
    "damage",
    [
        b"\n",
        b"\x00\x00\xff\n",
        b"[1, 2]\n",
        b'{"kind": "train"}\n',
        b'{"kind": "later version"}\n',
        b'{"kind": []}\n',
        line(train(2)).replace(b'"step": 2', b'"step": true'),
        line(train(2)).replace(b'"fill": 0.989', b'"fill": "x"'),
    ],
)
def test_a_line_that_is_not_a_record_is_ignored(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(line(start()) + damage + line(train(3)))
    assert read_metrics(path).records == (start(), train(3))


def test_keys_of_a_later_version_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text(json.dumps({**to_json(train(3)), "mood": "good"}) + "\n")
    assert read_metrics(path).records == (train(3),)


def test_a_missing_file_is_a_user_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"metrics\.jsonl: no such file"):
        read_metrics(tmp_path / "metrics.jsonl")


def test_an_unwritable_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HarkError, match="cannot be written"):
        MetricsWriter(tmp_path / "nowhere" / "metrics.jsonl")


def test_a_full_disk_is_an_error_and_leaves_a_readable_file(tmp_path: Path) -> None:
    """A limit on file size simulates the full disk: writing stops in the middle of a line."""
    code = (
        "import resource, signal, sys\nfrom pathlib import Path\n"
        "from hark.train.metrics import MetricsWriter\nfrom tests.train.records import train\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "writer = MetricsWriter(Path(sys.argv[1]))\n"
        "for step in range(1, 20):\n    writer.write(train(step))\n"
    )
    path = tmp_path / "metrics.jsonl"
    result = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert f"HarkError: {path}: cannot be written: File too large; free disk space, then resume with" in result.stderr
    assert path.stat().st_size == 1000
    whole = len(read_metrics(path).train)
    assert 1 < whole < 19
    with MetricsWriter(path) as writer:
        writer.write(resume(whole))
        writer.write(train(whole + 1))
    assert [each.step for each in read_metrics(path).train] == list(range(1, whole + 2))


def test_samples_of_a_resumed_run_replace_earlier_ones(tmp_path: Path) -> None:
    def sample(step: int, source: str, translation: str) -> TranslationSample:
        return TranslationSample(step, source, "r", translation, float(step))

    path = tmp_path / "samples.jsonl"
    assert read_samples(path) == ()
    with MetricsWriter(path) as writer:
        for step in (10, 20, 30):
            writer.write(sample(step, "a", "void"))
            writer.write(sample(step, "ä\u2028\ud800", "void"))
        for step in (20, 30):  # resumed from a step between 10 and 20
            writer.write(sample(step, "a", "valid"))
    assert "kind" not in json.loads(path.read_text().splitlines()[0])
    assert [(each.step, each.translation) for each in read_samples(path) if each.source == "a"] == [
        (10, "void"),
        (20, "valid"),
        (30, "valid"),
    ]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.floats(0.0, 0.99))
def test_a_running_mean_lies_between_its_values(values: list[float], keep: float) -> None:
    average = RunningMean()
    for value in values:
        average = average.add(value, keep).add(math.nan, keep)
    slack = 1e-6 * max(1.0, *(abs(each) for each in values))
    assert min(values) - slack <= average.value <= max(values) + slack
    assert RunningMean().add(3.0, 0.9).value == pytest.approx(3.0)


def test_a_missing_tensorboard_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hark.errors.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'hark-translate\[tensorboard\]'"):
        Board(tmp_path)


def test_tensorboard_gets_all_figures() -> None:
    values = dict(scalars(train(1, memory_gib=2.0)))
    assert values["train/loss"] == 10.0
    assert values["train/memory_gib"] == 2.0
    assert "train/utilisation" not in values
    assert dict(scalars(dev(1, bleu=7.0)))["dev/dev/bleu"] == 7.0
    assert dict(scalars(stop(1))) == {}


@pytest.mark.skipif(util.find_spec("tensorboard") is None, reason="the extra is not installed")
def test_tensorboard_drops_records_that_a_resume_makes_void(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # type: ignore[import-not-found]

    for records in ([start(), train(1), train(2, loss=9.0)], [resume(1), train(2, loss=5.0)]):
        with Board(tmp_path) as board:
            for record in records:
                board.write(record)
    events = EventAccumulator(str(tmp_path)).Reload()
    assert [(each.step, each.value) for each in events.Scalars("train/loss")] == [(1, 10.0), (2, 5.0)]
