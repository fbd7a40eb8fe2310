"""The models that come with hark: found by their languages, offline, without torch."""

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
from hark.decode.alignment_heads import AlignmentHeads
from hark.models import InstalledModel, list_models, shipped_folder
from tests.cli.running import make_runner

LARGEST, LARGEST_GENERAL, ALL = 25_000_000, 45_000_000, 95_000_000
"""The maximum size in bytes of a model of one pair in the package, of the one of several, and of all together."""
SEVEN = ("de", "en", "es", "fr", "it", "nl", "pt")
PAIRS = ("en-de", "de-en")
LOGS = Path(__file__).parents[2] / "docs" / "results" / "logs" / "models"
ASKED = {
    "en-de": ("Where is the nearest train station?", "wo bahnhof"),
    "de-en": ("Wo ist der nächste Bahnhof?", "where station"),
}
"""A sentence, and words that every good translation of it contains."""
OTHERS = {
    ("-t", "fr", "The file could not be saved because the disk is full."): "fichier disque plein",
    ("-t", "es", "Wo ist der nächste Bahnhof?"): "dónde estación",
    ("-t", "pt", "Bonjour, où est la gare ?"): "onde estação",
    ("¿Dónde está la estación, por favor?",): "where station",
}
"""Options and a sentence that only the model of seven languages can translate, with such words."""
WITHOUT_TORCH = """
import json, os, socket, sys
sys.modules["torch"] = None  # importing it fails as in a plain install
def refuse(*_):
    raise OSError("no network here")
socket.socket.connect = socket.getaddrinfo = refuse
from hark.bundle import Bundle
from hark.cli import main
open_bundle, opened = Bundle.open.__func__, []
Bundle.open = classmethod(lambda cls, folder: opened.append(os.path.basename(folder)) or open_bundle(cls, folder))
for number, words in enumerate(json.loads(sys.argv[1])):
    sys.argv, status = ["hark", *words], None
    opened.clear()
    for stream, name in ((sys.stdout, "out"), (sys.stderr, "err")):
        os.dup2(os.open(f"{number}.{name}", os.O_WRONLY | os.O_CREAT), stream.fileno())
    try:
        main()
    except SystemExit as left:
        status = left.code
    sys.stdout.flush()
    with open(f"{number}.json", "w") as file:
        json.dump([status, opened], file)
"""


def shipped(pair: str) -> InstalledModel:
    for each in list_models([shipped_folder()]):
        if each.name == pair:
            return each
    raise AssertionError(f"{pair} is not in the package")


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    status: int
    out: str
    err: str
    opened: list[str]
    """The names of the bundles it opened."""


Commands = dict[tuple[str, ...], Done]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Commands:
    """Commands by their words, run by a user without torch, network and other models, one after the other."""
    home = tmp_path_factory.mktemp("home")
    commands = [("translate", *words) for words in OTHERS]
    for pair, (text, _) in ASKED.items():
        commands += [("translate", "-t", pair[3:], text), ("translate", text)]
    commands += [("models", "--json"), ("models",)]
    environment = {"HOME": str(home), "PATH": "", "PYTHONPATH": str(shipped_folder().parents[1])}
    environment |= {name: os.environ[name] for name in ("OMP_NUM_THREADS",) if name in os.environ}
    program = [sys.executable, "-c", WITHOUT_TORCH, json.dumps(commands)]
    ran = subprocess.run(program, cwd=home, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert ran.returncode == 0, ran.stderr
    found = {}
    for number, words in enumerate(commands):
        status, opened = json.loads((home / f"{number}.json").read_text())
        found[words] = Done(status, (home / f"{number}.out").read_text(), (home / f"{number}.err").read_text(), opened)
    return found


@pytest.mark.parametrize("pair", PAIRS)
def test_the_bundle_is_valid_and_of_its_pair(pair: str) -> None:
    known = shipped(pair)
    assert (known.problem, known.pairs) == ("", (tuple(pair.split("-")),))
    assert known.size <= LARGEST
    bundle = Bundle.open(known.folder)  # verifies every file
    data, train = bundle.config.data, bundle.config.train
    assert (data.dataset, data.tokenizer, train.from_) == ("", "", "")  # no paths of the machine that made it
    assert not any(Path(each.source).is_absolute() for each in (*data.train, *data.dev, *data.test))
    AlignmentHeads.of_facts(bundle.facts.alignment, bundle.config.model)  # raises if the model has no such heads


def test_the_model_of_seven_languages() -> None:
    known = shipped("seven")
    assert (known.problem, sorted(known.pairs)) == ("", sorted(permutations(SEVEN, 2)))
    assert known.size <= LARGEST_GENERAL
    assert sum(each.size for each in list_models([shipped_folder()])) <= ALL
    bundle = Bundle.open(known.folder)  # verifies every file
    assert (bundle.config.data.dataset, bundle.config.data.tokenizer, bundle.config.train.from_) == ("", "", "")
    assert bundle.card == render(bundle.facts, bundle.config.model)
    for words in ("in all 42 directions", "## Scores", "tok:13a", "## Limits", "CC BY 2.0 FR", "Apache-2.0"):
        assert words in bundle.card
    assert all(each.licence and each.attribution for each in bundle.facts.text)


@pytest.mark.parametrize("asked", OTHERS)
def test_a_translation_between_other_languages(asked: tuple[str, ...], done: Commands) -> None:
    found = done["translate", *asked]
    assert (found.status, found.err) == (0, "")
    assert set(OTHERS[asked].split()) <= set(re.findall(r"\w+", found.out.lower())), found.out


@pytest.mark.parametrize("pair", PAIRS)
def test_english_and_german_do_not_load_the_model_of_seven_languages(pair: str, done: Commands) -> None:
    for target in (("-t", pair[3:]), ()):
        found = done["translate", *target, ASKED[pair][0]]
        first, *others = found.opened
        assert (first, "seven" in others) == (pair, False), found.err  # the reverse model may check the translation


@pytest.mark.parametrize("pair", PAIRS)
def test_a_first_translation(pair: str, done: Commands) -> None:
    text, words = ASKED[pair]
    for target in (("-t", pair[3:]), ()):
        found = done["translate", *target, text]
        assert (found.status, found.err) == (0, "")
        assert found.out.count("\n") == 1
        assert set(words.split()) <= set(re.findall(r"\w+", found.out.lower())), found.out


def hide_other_models(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("HOME", str(home))
    for name in ("HARK_MODELS", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)


def test_the_recipe_of_the_demo_fine_tunes_the_shipped_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    known = shipped("en-de")
    hide_other_models(monkeypatch, tmp_path)
    config = load_recipe("fine-tune", [])
    assert config.train.from_ == str(known.folder)
    assert config.model == Bundle.open(known.folder).config.model
    assert config.data.tokenizer == str(known.folder / "tokenizer.model")


def test_shipped_models_are_listed(done: Commands) -> None:
    known = [shipped(pair) for pair in PAIRS]
    rows = {each["name"]: each for each in json.loads(done["models", "--json"].out)}
    for each in known:
        row = rows[each.name]
        assert (row["pairs"], Path(row["folder"])) == ([list(pair) for pair in each.pairs], each.folder)
        assert row["bytes"] == each.size > 1_000_000
        assert row["summary"]
    assert [line.split()[0] for line in done["models",].out.splitlines()] == list(rows)


@pytest.mark.parametrize("pair", PAIRS)
def test_the_card_has_licence_scores_and_limits(pair: str) -> None:
    known = shipped(pair)
    card = Bundle.open(known.folder).card
    for words in ("## Scores", "tok:13a", "## Limits", "CC BY 2.0 FR", "Source: European Parliament", "Apache-2.0"):
        assert words in card
    assert "not measured" not in card


@pytest.mark.parametrize("pair", PAIRS)
def test_facts_match_the_logs_and_the_card_matches_the_facts(pair: str) -> None:
    bundle = Bundle.open(shipped(pair).folder)
    assert bundle.card == render(bundle.facts, bundle.config.model)
    log = json.loads((LOGS / f"student-{pair}.json").read_text())
    assert bundle.facts.scores is not None
    for found, measured in zip(bundle.facts.scores.sets, log["sets"], strict=True):
        for scores, system in ((found.scores, 0), (found.teacher, 1)):
            expected = measured["systems"][system]["scores"]
            assert {name: each.score for name, each in scores.items()} == {
                name: expected[name]["score"] for name in ("bleu", "chrf2", "ter")
            }
    assert all(each.licence and each.attribution and each.pairs for each in bundle.facts.text)
    assert [each.role for each in bundle.facts.making.parents] == ["teacher"]


def test_a_preset_finds_the_model_of_its_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    hide_other_models(monkeypatch, tmp_path)
    monkeypatch.setattr(gc, "freeze", lambda: None)  # this process also holds the tests' objects
    done = make_runner("look", tmp_path, {}, monkeypatch, capfd)("--preset", "anaphora", "--changes", "0", "--no-open")
    assert (done.returncode, done.stdout) == (0, "look.html\n"), done.stderr
    assert "<title>The dog slept under the tree" in (tmp_path / "look.html").read_text(encoding="utf-8")
