"""`hark models`: the list of installed models and where they are searched."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from hark.bundle import Bundle
from hark.cli.models import models
from hark.models import choose, list_models, named_folder
from tests.cli.running import fake_terminal, figures, make_runner, refused
from tests.translate.bundles import make_bundle


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
        "licence": "",
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


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder without models, and no way to open a socket."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("HARK_MODELS", raising=False)
    monkeypatch.setenv("HARK_OFFLINE", "1")
    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return tmp_path / "data/hark/models"


def test_search_shows_sizes_and_licences_without_a_network(
    home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    hark = make_runner("models", home.parents[2], {}, monkeypatch, capfd)
    line, *_ = [each for each in hark("--search", "de").stdout.splitlines() if each.startswith("opus-mt-en-de ")]
    assert line.split(maxsplit=7) == [
        "opus-mt-en-de",
        "en",
        "to",
        "de",
        "about",
        "300",
        "MB",
        "CC-BY-4.0",
    ]
    (tree,) = figures(hark("--search", "en-de", "--json"))
    assert (tree["address"], tree["approximate_bytes"]) == ("Helsinki-NLP/opus-mt-en-de", 300_000_000)
    assert "no public model" in refused(hark("--search", "xx"))
    assert "cannot be combined" in refused(hark("en-de", "--search", "de"))


def test_add_and_remove(home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    hark = make_runner("models", home.parents[2], {}, monkeypatch, capfd)
    original = make_bundle(home.parents[2] / "made" / "mine")
    added = hark("add", str(original))
    assert (added.returncode, added.stdout) == (0, f"{home / 'mine'}\n")
    assert "MB, licence: not stated" in added.stderr
    assert named_folder("mine") == home / "mine"
    Bundle.open(home / "mine")
    assert "already exists" in refused_after_note(hark("add", str(original)))
    assert hark("add", str(original), "--force").returncode == 0
    assert "among your own models already" in refused_after_note(hark("add", str(home / "mine")))
    assert "no such model" in refused(hark("remove", "other"))
    assert "not one of your own models" in refused(hark("remove", "seven"))
    assert hark("remove", "mine").stdout == f"{home / 'mine'}: removed\n"
    assert list(home.iterdir()) == []
    assert original.is_dir()


def test_a_damaged_model_is_not_added(
    home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    hark = make_runner("models", home.parents[2], {}, monkeypatch, capfd)
    damaged = make_bundle(home.parents[2] / "mine")
    (damaged / "model.safetensors").write_bytes(b"")
    assert "damaged" in refused_after_note(hark("add", str(damaged)))
    assert not (home / "mine").exists()


def test_get_shows_size_and_licence_first(
    home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    hark = make_runner("models", home.parents[2], {}, monkeypatch, capfd)
    fetched: list[Path] = []
    monkeypatch.setattr("hark.exchange.catalogue.fetch", lambda entry, folder, force, say: fetched.append(folder))  # noqa: ARG005
    done = hark("get", "opus-mt-en-fr")
    assert (done.returncode, done.stdout, fetched) == (0, f"{home / 'opus-mt-en-fr'}\n", [home / "opus-mt-en-fr"])
    assert "Helsinki-NLP/opus-mt-en-fr: about 300 MB, licence: Apache-2.0" in done.stderr
    assert "not in the catalogue" in refused(hark("get", "opus-mt-en-klingon"))
    assert "name a model" in refused(hark("get"))
    assert "unexpected" in refused(hark("en-de", "more"))


def refused_after_note(done: subprocess.CompletedProcess[str]) -> str:
    """The error of a command that printed the size and licence of a model first."""
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    _, error = done.stderr.splitlines()
    return error
