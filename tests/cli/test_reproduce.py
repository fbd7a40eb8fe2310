"""`hark reproduce`: the list of targets, refusals, and a target from the command line."""

from pathlib import Path

import pytest

from hark.cli.completion import reproducible
from hark.reproduce.scales import SCALES, TINY
from hark.reproduce.targets import TARGETS
from hark.reproduce.trial import StoppedError
from tests.cli.running import Hark, make_runner, refused


@pytest.fixture
def hark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Hark:
    monkeypatch.setitem(SCALES, "small", TINY)  # type: ignore[arg-type]
    return make_runner("reproduce", tmp_path, {}, monkeypatch, capfd)


def test_without_a_name_it_lists_targets_with_their_cost(hark: Hark) -> None:
    done = hark()
    assert done.returncode == 0
    scales, machines, *lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(TARGETS) == [name for name, _ in reproducible()]
    assert scales.split() == ["small", "medium", "full"]
    assert machines.split() == ["seconds", "one", "H200", "one", "H200"]
    assert all(len(line) <= 100 for line in lines)
    assert all(" min " in line or " s " in line for line in lines)


def test_what_is_not_possible_is_refused_in_one_line(hark: Hark, tmp_path: Path) -> None:
    assert "did you mean table3" in refused(hark("tabel3"))
    assert "table4 requires --data FOLDER, with gum-train.trees.xz" in refused(hark("table4"))
    assert "with wsj-train.trees" in refused(hark("table4", "--scale", "full"))
    assert "no such folder" in refused(hark("table4", "--data", "nowhere"))
    assert "--scale medium requires --data FOLDER" in refused(hark("table2", "--scale", "medium"))
    assert "--scale full requires --data DATASET" in refused(hark("table3", "--scale", "full"))
    assert "no such folder" in refused(hark("table3", "--data", "nowhere"))
    (tmp_path / "empty").mkdir()
    assert "neither a dataset nor the text of recipe europarl-en-de" in refused(hark("table3", "--data", "empty"))
    assert "no gum-train.trees, plain or compressed" in refused(hark("table4", "--data", "empty"))


def test_a_table_is_written_once_all_rows_are_there_and_then_kept(hark: Hark, tmp_path: Path) -> None:
    assert "figures has the rows positions, rate, figure3" in refused(hark("figures", "--only", "figure6"))
    some = hark("figures", "--only", "rate", "--only", "positions", "-o", "out", "--device", "cpu")
    assert "2 of 2 parts to measure; about " in some.stderr
    assert "2 rows measured; the table still needs figure3, figure4, figure5" in some.stdout
    assert not (tmp_path / "out/figures/small/figures.md").exists()
    done = hark("figures", "-o", "out", "--device", "cpu")
    assert done.returncode == 0, done.stderr
    assert "3 of 5 parts to measure, 2 kept; about " in done.stderr
    files = done.stdout.splitlines()
    assert files[0] == "out/figures/small/figures.md"
    assert all((tmp_path / file).exists() for file in files)
    again = hark("figures", "-o", "out", "--device", "cpu")
    assert again.stdout == done.stdout
    assert "to measure" not in again.stderr


def test_a_signal_during_training_ends_with_its_exit_code(hark: Hark, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise StoppedError(15)

    monkeypatch.setattr("hark.reproduce.work.run_parts", stop)
    done = hark("table1")
    assert done.returncode == 128 + 15
    assert done.stderr.endswith("stopped and saved; the same command continues\n")
