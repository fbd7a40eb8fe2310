"""`hark runs`: every run in a folder with its state."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hark.cli.runs import runs, show_table
from hark.errors import UserError
from hark.monitor.overview import size_on_disk
from hark.rundir import RunDir
from tests.train.records import dev, make_run, resume, start, stop, train

HOLD = (
    "import sys\nfrom pathlib import Path\nfrom hark.rundir import RunDir, RunLock\n"
    "with RunLock(RunDir(Path(sys.argv[1]))):\n    print('held', flush=True)\n    sys.stdin.read()\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_run(tmp_path / "finished", start(), train(100), dev(100, 24.5, best=True), stop(100))
    make_run(tmp_path / "early", start(), train(90), stop(90, "early"))
    make_run(tmp_path / "sweep" / "interrupted", start(), train(80), dev(80, best=True), stop(80, "interrupted"))
    make_run(tmp_path / "failed", start(), train(70), stop(70, "failed", "out of memory"))
    make_run(tmp_path / "killed", start(), train(60), stop(60, "interrupted"), resume(60), train(61))
    make_run(tmp_path / "running", start(), train(50))
    (tmp_path / "dataset").mkdir()
    (tmp_path / "dataset" / "config.toml").touch()
    return tmp_path


def listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, list[str]]:
    runs(folder)
    return {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines()}


def test_every_run_is_listed_with_its_state_newest_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    held = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder / "running")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert held.stdout
        assert held.stdout.readline() == b"held\n"
        table = listed(folder, capsys)
    finally:
        held.kill()
        held.communicate()
    states = {name: row[1] for name, row in table.items() if name != "run"}
    assert states == {
        "finished": "finished",
        "early": "finished",
        "sweep/interrupted": "interrupted",
        "failed": "failed",
        "killed": "killed",
        "running": "running",
    }
    assert list(states) == ["finished", "early", "sweep/interrupted", "failed", "killed", "running"]
    assert listed(folder, capsys)["running"][1] == "killed"


def test_a_row_has_step_loss_score_and_size(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = listed(folder, capsys)
    assert table["run"] == ["run", "state", "step", "loss", "best", "tokens/s", "age", "size"]
    assert table["finished"][:7] == ["finished", "finished", "100/100", "0.100", "bleu", "24.50", "513k"]
    assert table["sweep/interrupted"][4:6] == ["nll", "2.000"]
    assert table["early"][4] == "-"


def test_json_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs(folder, as_json=True)
    found = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert found["finished"]["best"] == {"name": "bleu", "value": 24.5, "set": "dev", "step": 100}
    assert found["failed"]["message"] == "out of memory"
    assert (found["killed"]["step"], found["killed"]["steps"]) == (61, 100)
    assert found["killed"]["path"] == str(folder / "killed")
    assert found["killed"]["bytes"] > 100


def test_a_run_itself_may_be_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert set(listed(folder / "failed", capsys)) == {"run", "failed"}


def test_a_run_without_valid_records_is_still_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(tmp_path / "new")
    make_run(tmp_path / "broken")
    (tmp_path / "broken" / "metrics.jsonl").unlink()
    (tmp_path / "broken" / "metrics.jsonl").mkdir()
    table = listed(tmp_path, capsys)
    assert table["new"][1:4] == ["killed", "0", "-"]
    assert table["broken"][1] == "unreadable"


def test_a_folder_without_permission_hides_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        make_run(tmp_path / name, start(), train(1))
    exists = RunDir.exists.fget
    assert exists is not None

    def refuse_b(run: RunDir) -> bool:  # permissions do not bind root, as which tests may run
        if run.path.name == "b":
            raise PermissionError
        return exists(run)

    monkeypatch.setattr(RunDir, "exists", property(refuse_b))
    assert {"a", "b", "c"} & set(listed(tmp_path, capsys)) == {"a", "c"}


def test_no_runs_is_one_line_with_a_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs(tmp_path)
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert "hark train" in shown.err
    runs(tmp_path, as_json=True)
    assert json.loads(capsys.readouterr().out) == []
    with pytest.raises(UserError, match="no such folder; name the folder of your runs"):
        runs(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="not a folder"):
        runs(tmp_path / "file")


def test_on_a_terminal_names_are_not_markup_and_narrow_windows_show_less(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = ("[red]name[/red]", "killed", "1/2", "3.000", "-", "513k", "1 min", "7 MB")
    monkeypatch.setenv("COLUMNS", "120")
    show_table([row])
    wide = capsys.readouterr().out
    assert all(each in wide for each in row)
    monkeypatch.setenv("COLUMNS", "60")
    show_table([row])
    narrow = capsys.readouterr().out
    assert "3.000" in narrow
    assert "7 MB" not in narrow
    assert max(len(line) for line in narrow.splitlines()) <= 60


def test_hard_links_are_counted_once(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "weights").write_bytes(b"x" * 1000)
    os.link(tmp_path / "deep" / "weights", tmp_path / "best")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    assert 1000 <= size_on_disk(tmp_path) < 1500
