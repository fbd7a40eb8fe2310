"""`hark models`: the list of installed models and where they are searched."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hark.cli.models import models
from hark.models import choose, list_models, named_folder
from tests.cli.running import fake_terminal
from tests.decode.bundles import make_bundle


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "hark", "models", *words], capture_output=True, text=True, check=False)


def test_the_table_and_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HARK_MODELS", str(tmp_path / "mine"))
    make_bundle(tmp_path / "mine" / "en-de-small")
    broken = make_bundle(tmp_path / "data/hark/models/broken")
    (broken / "facts.json").write_text('{"format": 1, "pairs": [["en"]]}')
    done = run()
    assert done.returncode == 0
    first, second, *_ = done.stdout.splitlines()
    size = sum(path.stat().st_size for path in (tmp_path / "mine" / "en-de-small").iterdir())
    assert first.split(maxsplit=6) == ["en-de-small", "en", "to", "de", f"{size / 1e6:.1f}", "MB", "For tests."]
    assert second.startswith("broken ")
    assert "unusable: " in second
    assert "facts.json: pairs[0]: must have 2 items, not 1" in second
    assert done.stderr == ""  # not a terminal
    rows = json.loads(run("--json").stdout)
    assert rows[0] == {
        "name": "en-de-small",
        "pairs": [["en", "de"]],
        "folder": str(tmp_path / "mine/en-de-small"),
        "bytes": size,
        "summary": "For tests.",
    }
    assert "must have 2 items" in rows[1]["problem"]


def test_the_card_of_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARK_MODELS", str(tmp_path))
    bundle = make_bundle(tmp_path / "small")
    done = run("small")
    assert (done.stdout, done.stderr) == ((bundle / "card.md").read_text(), "")
    wrong = run("smal")
    assert wrong.returncode == 2
    assert "did you mean small?" in wrong.stderr


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation without models, neither shipped nor the user's own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("HARK_MODELS", raising=False)
    monkeypatch.setattr("hark.models.__file__", str(tmp_path / "hark" / "models.py"))
    return tmp_path / "hark"


@pytest.mark.usefixtures("package")
def test_no_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models()
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("no models installed\n")
    assert f"  {tmp_path}/data/hark/models  (your own models)\n" in err
    models(as_json=True)
    assert capsys.readouterr().out == "[]\n"


def test_models_that_come_with_hark(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_terminal(monkeypatch)
    monkeypatch.setenv("HARK_MODELS", str(tmp_path / "others"))
    make_bundle(package / "models_data" / "de-en", "de", "en")
    make_bundle(package / "models_data" / "en-de")
    make_bundle(tmp_path / "data/hark/models/mine")
    models()
    out, err = capsys.readouterr()
    assert [line.split()[0] for line in out.splitlines()] == ["mine", "de-en", "en-de"]
    assert (
        f"  {tmp_path}/others  (from HARK_MODELS)\n"
        f"  {tmp_path}/data/hark/models  (your own models)\n"
        f"  {package}/models_data  (comes with hark)\n"
    ) in err
    # The user's own model of a pair takes precedence over the shipped one.
    assert [each.name for each in choose("en", "de", list_models())] == ["mine", "en-de"]
    assert named_folder("en-de") == package / "models_data" / "en-de"
