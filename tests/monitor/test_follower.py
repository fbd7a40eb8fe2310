"""Following runs while they grow."""

from pathlib import Path

import pytest

from hark.errors import UserError
from hark.monitor.follower import RunFollower, RunList
from hark.monitor.overview import overviews
from hark.train.metrics import read_metrics
from tests.monitor.made_run import dev, make_run, resume, train, write, write_sample


def test_news_are_whole_at_first_and_then_only_what_is_new(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    follower = RunFollower(run, "run")
    first = follower.news()
    assert first is not None
    assert first.whole
    assert first.history == read_metrics(run.metrics)
    assert follower.news() is None
    write(run, train(4), dev(4, 12.5))
    second = follower.news()
    assert second is not None
    assert not second.whole
    assert second.added == (train(4), dev(4, 12.5))
    assert second.history == read_metrics(run.metrics)
    assert second.overview.step == 4


def test_half_a_line_is_read_when_it_is_whole(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    follower = RunFollower(run, "run")
    follower.news()
    before = run.metrics.read_bytes()
    write(run, train(4))
    line = run.metrics.read_bytes()[len(before) :]
    run.metrics.write_bytes(before + line[:20])
    assert follower.news() is None
    with run.metrics.open("ab") as file:
        file.write(line[20:])
    news = follower.news()
    assert news is not None
    assert news.added == (train(4),)
    assert news.history.unreadable == 0


def test_a_resume_makes_later_records_void(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", steps=5)
    follower = RunFollower(run, "run")
    follower.news()
    write(run, resume(3), train(4, loss=9.0))
    news = follower.news()
    assert news is not None
    assert news.whole
    assert [(each.step, each.loss) for each in news.history.train][-2:] == [(3, 4.97), (4, 9.0)]
    assert news.history == read_metrics(run.metrics)


def test_a_new_file_is_read_from_its_start(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", steps=5)
    follower = RunFollower(run, "run")
    follower.news()
    run.metrics.unlink()
    make_run(run.path, steps=1)
    news = follower.news()
    assert news is not None
    assert news.whole
    assert news.history.step == 1


def test_garbage_is_counted(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    with run.metrics.open("ab") as file:
        file.write(b'garbage\n{"kind": "train"}\n\xff\xfe\n[1]\n')
    news = RunFollower(run, "run").news()
    assert news is not None
    assert news.history.unreadable == 4
    assert news.history.step == 3


def test_a_vanished_run_is_one_line_without_its_path(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    follower = RunFollower(run, "run")
    follower.news()
    run.metrics.unlink()
    with pytest.raises(UserError, match=r"^run: the run was moved or deleted$"):
        follower.news()


def test_samples_come_again_only_when_there_are_new_ones(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    follower = RunFollower(run, "run")
    assert follower.new_samples() is None
    write_sample(run, 10, "ein Hund Hund")
    assert [each.translation for each in follower.new_samples() or ()] == ["ein Hund Hund"]
    assert follower.new_samples() is None
    write_sample(run, 20, "ein Hund")
    assert [each.step for each in follower.new_samples() or ()] == [10, 20]


def test_the_list_reads_only_what_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, _ = make_run(tmp_path / "one"), make_run(tmp_path / "sub" / "two", steps=7)
    runs = RunList(tmp_path)
    assert runs.read() == overviews(tmp_path)
    read: list[str] = []
    import hark.monitor.follower as module

    real = module.read_overview
    monkeypatch.setattr(module, "read_overview", lambda run, folder: (read.append(run.name), real(run, folder))[1])
    assert runs.read() == overviews(tmp_path)
    assert read == []
    write(one, train(4))
    assert runs.read() == overviews(tmp_path)
    assert read == ["one"]
