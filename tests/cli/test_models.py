"""`hark models`: what there is, and where others are put."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.decode.bundles import make_bundle


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "hark", "models", *words], capture_output=True, text=True, check=False)


def test_a_list_for_people_and_for_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HARK_MODELS", str(tmp_path / "mine"))
    make_bundle(tmp_path / "mine" / "en-de-small")
    broken = make_bundle(tmp_path / "data/hark/models/broken")
    (broken / "config.toml").unlink()
    done = run()
    assert done.returncode == 0
    first, second, *_ = done.stdout.splitlines()
    assert first.split() == ["en-de-small", "en", "to", "de", str(tmp_path / "mine" / "en-de-small")]
    assert second.startswith("broken ")
    assert "no such file" in second
    assert f"put others into {tmp_path}/data/hark/models" in done.stderr
    rows = json.loads(run("--json").stdout)
    assert rows[0] == {
        "name": "en-de-small",
        "source": "en",
        "target": "de",
        "folder": str(tmp_path / "mine/en-de-small"),
    }
    assert "no such file" in rows[1]["problem"]


def test_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hark.decode import models

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("HARK_MODELS", raising=False)
    if models.list_models():
        pytest.skip("hark brings models of its own")
    done = run()
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith(f"no models here yet\nput others into {tmp_path}/hark/models")
    assert run("--json").stdout == "[]\n"
