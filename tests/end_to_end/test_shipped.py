"""The model that comes with hark: found by its languages, offline, without torch."""

import gc
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import pytest

from hark.bundle import Bundle
from hark.card import render
from hark.cli.recipe import load_recipe
from hark.engine.interface import AlignmentHeads
from hark.models import InstalledModel, list_models, shipped_folder
from tests.cli.running import make_runner

LARGEST = 95_000_000
"""The maximum size in bytes of the model in the package."""
SEVEN = ("de", "en", "es", "fr", "it", "nl", "pt")
ASKED = {
    ("-t", "de", "Where is the nearest train station?"): "wo bahnhof",
    ("-m", "en-de", "Where is the nearest train station?"): "wo bahnhof",
    ("-t", "en", "Wo ist der nächste Bahnhof?"): "where station",
    ("Wo ist der nächste Bahnhof?",): "where station",
    ("-t", "de", "see you tomorrow"): "bis morgen",
    ("-t", "en", "bis morgen"): "see you tomorrow",
    ("-t", "fr", "The file could not be saved because the disk is full."): "fichier disque enregistré",
    ("-t", "es", "Wo ist der nächste Bahnhof?"): "dónde estación",
    ("-t", "pt", "Bonjour, où est la gare ?"): "onde estação",
    ("¿Dónde está la estación, por favor?",): "where station",
}
"""Options and a sentence, and words that every good translation of it contains."""
WITHOUT_TORCH = """
import json, os, socket, sys
sys.modules["torch"] = None  # importing it fails as in a plain install
def refuse(*_):
    raise OSError("no network here")
socket.socket.connect = socket.getaddrinfo = refuse
from hark.cli import main
for number, words in enumerate(json.loads(sys.argv[1])):
    sys.argv, status = ["hark", *words], None
    for stream, name in ((sys.stdout, "out"), (sys.stderr, "err")):
        os.dup2(os.open(f"{number}.{name}", os.O_WRONLY | os.O_CREAT), stream.fileno())
    try:
        main()
    except SystemExit as left:
        status = left.code
    sys.stdout.flush()
    with open(f"{number}.json", "w") as file:
        json.dump(status, file)
"""


def shipped() -> InstalledModel:
    (model,) = list_models([shipped_folder()])
    return model


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    status: int
    out: str
    err: str


Commands = dict[tuple[str, ...], Done]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Commands:
    """Commands by their words, run by a user without torch, network and other models, one after the other."""
    home = tmp_path_factory.mktemp("home")
    commands = [*(("translate", *words) for words in ASKED), ("models", "--json"), ("models",)]
    environment = {"HOME": str(home), "PATH": "", "PYTHONPATH": str(shipped_folder().parents[1])}
    environment |= {name: os.environ[name] for name in ("OMP_NUM_THREADS",) if name in os.environ}
    program = [sys.executable, "-c", WITHOUT_TORCH, json.dumps(commands)]
    ran = subprocess.run(program, cwd=home, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert ran.returncode == 0, ran.stderr
    found = {}
    for number, words in enumerate(commands):
        status = json.loads((home / f"{number}.json").read_text())
        found[words] = Done(status, (home / f"{number}.out").read_text(), (home / f"{number}.err").read_text())
    return found


def test_the_bundle_is_valid() -> None:
    known = shipped()
    assert (known.problem, sorted(known.pairs)) == ("", sorted(permutations(SEVEN, 2)))
    assert known.size <= LARGEST
    bundle = Bundle.open(known.folder)  # verifies every file
    data, train = bundle.config.data, bundle.config.train
    assert (data.dataset, data.tokenizer, train.from_) == ("", "", "")  # no paths of the machine that made it
    assert not any(Path(each.source).is_absolute() for each in (*data.train, *data.dev, *data.test))
    AlignmentHeads.of_facts(bundle.facts.alignment, bundle.config.model)  # raises if the model has no such heads


def test_the_card_has_licences_scores_and_limits() -> None:
    bundle = Bundle.open(shipped().folder)
    assert bundle.card == render(bundle.facts, bundle.config.model)
    for words in (
        "in all 42 directions", "## Scores", "tok:13a", "## Limits", "CC BY 2.0 FR", "Source: European Parliament",
        "Apache-2.0",
    ):  # fmt: skip
        assert words in bundle.card
    assert all(each.licence and each.attribution for each in bundle.facts.text)


@pytest.mark.parametrize("asked", ASKED)
def test_a_first_translation(asked: tuple[str, ...], done: Commands) -> None:
    found = done["translate", *asked]
    assert (found.status, found.err) == (0, "")
    assert found.out.count("\n") == 1
    assert set(ASKED[asked].split()) <= set(re.findall(r"\w+", found.out.lower())), found.out


def hide_other_models(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("HOME", str(home))
    for name in ("HARK_MODELS", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)


def test_the_recipe_of_the_demo_fine_tunes_the_shipped_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    known = shipped()
    hide_other_models(monkeypatch, tmp_path)
    config = load_recipe("fine-tune", [])
    assert config.train.from_ == str(known.folder)
    assert config.model == Bundle.open(known.folder).config.model
    assert config.data.tokenizer == str(known.folder / "tokenizer.model")
    assert (config.data.source, config.data.target) == ("en", "de")


def test_the_shipped_model_is_listed(done: Commands) -> None:
    known = shipped()
    (row,) = json.loads(done["models", "--json"].out)
    assert (row["name"], Path(row["folder"])) == (known.name, known.folder)
    assert row["pairs"] == [list(pair) for pair in known.pairs]
    assert row["bytes"] == known.size > 1_000_000
    assert row["summary"]
    assert [line.split()[0] for line in done["models",].out.splitlines()] == [known.name]


def test_a_preset_finds_the_model_of_its_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    hide_other_models(monkeypatch, tmp_path)
    monkeypatch.setattr(gc, "freeze", lambda: None)  # this process also holds the tests' objects
    done = make_runner("look", tmp_path, {}, monkeypatch, capfd)("--preset", "anaphora", "--changes", "0", "--no-open")
    assert (done.returncode, done.stdout) == (0, "look.html\n"), done.stderr
    assert "<title>The dog slept under the tree" in (tmp_path / "look.html").read_text(encoding="utf-8")
