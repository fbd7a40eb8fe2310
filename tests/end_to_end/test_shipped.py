"""The models that come with hark: found by their languages, offline, without torch."""

import json
import re
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import pytest

from hark.bundle import Bundle
from hark.card import render
from hark.cli.recipe import load_recipe
from hark.decode.alignment_heads import AlignmentHeads
from hark.models import InstalledModel, list_models, shipped_folder

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
Start = tuple[str, ...]
WITHOUT_TORCH = """
import socket, sys
sys.modules["torch"] = None  # importing it fails as in a plain install
def refuse(*_):
    raise OSError("no network here")
socket.socket.connect = socket.getaddrinfo = refuse
sys.argv[0] = "hark"
from hark.cli import main
main()
"""


def shipped(pair: str) -> InstalledModel:
    for each in list_models([shipped_folder()]):
        if each.name == pair:
            return each
    raise AssertionError(f"{pair} is not in the package")


def hark(tmp_path: Path, *words: str, start: Start = ("-c", WITHOUT_TORCH)) -> subprocess.CompletedProcess[str]:
    """Run hark in a new process, for a user without other models and, by default, without torch and network."""
    environment = {"HOME": str(tmp_path), "PATH": "", "PYTHONPATH": str(shipped_folder().parents[1])}
    command = [sys.executable, *start, *words]
    return subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=600
    )


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


@pytest.mark.parametrize(
    ("target", "text", "words"),
    [
        ("fr", "The file could not be saved because the disk is full.", "fichier disque plein"),
        ("es", "Wo ist der nächste Bahnhof?", "dónde estación"),
        ("pt", "Bonjour, où est la gare ?", "onde estação"),
        (None, "¿Dónde está la estación, por favor?", "where station"),
    ],
)
def test_a_translation_between_other_languages(target: str | None, text: str, words: str, tmp_path: Path) -> None:
    done = hark(tmp_path, "translate", *(("-t", target) if target else ()), text)
    assert (done.returncode, done.stderr) == (0, "")
    assert set(words.split()) <= set(re.findall(r"\w+", done.stdout.lower())), done.stdout


@pytest.mark.parametrize("pair", PAIRS)
def test_english_and_german_do_not_load_the_model_of_seven_languages(pair: str, tmp_path: Path) -> None:
    text, _ = ASKED[pair]
    opened = WITHOUT_TORCH.replace(
        "from hark.cli import main", "from hark.bundle import Bundle; from hark.cli import main"
    ).replace("main()\n", "main_and_list()\n")
    listing = """
def main_and_list():
    from contextlib import suppress
    opened, folders = Bundle.open.__func__, []
    Bundle.open = classmethod(lambda cls, folder: folders.append(str(folder)) or opened(cls, folder))
    with suppress(SystemExit):
        main()
    print(*(each.rsplit("/", 1)[1] for each in folders))
"""
    start = ("-c", opened.replace("main_and_list()\n", f"{listing}main_and_list()\n"))
    for target in (("-t", pair[3:]), ()):
        done = hark(tmp_path, "translate", *target, text, start=start)
        first, *others = done.stdout.splitlines()[-1].split()
        assert (first, "seven" in others) == (pair, False), done.stderr  # the reverse model may check the translation


@pytest.mark.parametrize("pair", PAIRS)
def test_a_first_translation(pair: str, tmp_path: Path) -> None:
    known = shipped(pair)
    text, words = ASKED[pair]
    done = hark(tmp_path, "translate", "-t", known.pairs[0][1], text)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1
    assert set(words.split()) <= set(re.findall(r"\w+", done.stdout.lower())), done.stdout


def test_the_recipe_of_the_demo_fine_tunes_the_shipped_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    known = shipped("en-de")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("HARK_MODELS", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    config = load_recipe("fine-tune", [])
    assert config.train.from_ == str(known.folder)
    assert config.model == Bundle.open(known.folder).config.model
    assert config.data.tokenizer == str(known.folder / "tokenizer.model")


def test_shipped_models_are_listed(tmp_path: Path) -> None:
    known = [shipped(pair) for pair in PAIRS]
    rows = {each["name"]: each for each in json.loads(hark(tmp_path, "models", "--json").stdout)}
    for each in known:
        row = rows[each.name]
        assert (row["pairs"], Path(row["folder"])) == ([list(pair) for pair in each.pairs], each.folder)
        assert row["bytes"] == each.size > 1_000_000
        assert row["summary"]
    table = hark(tmp_path, "models")
    assert [line.split()[0] for line in table.stdout.splitlines()] == list(rows)


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


def test_a_preset_finds_the_model_of_its_language(tmp_path: Path) -> None:
    words = ("look", "--preset", "anaphora", "--changes", "0", "--no-open")
    done = hark(tmp_path, *words, start=("-m", "hark"))
    assert (done.returncode, done.stdout) == (0, "look.html\n"), done.stderr
    assert "<title>The dog slept under the tree" in (tmp_path / "look.html").read_text(encoding="utf-8")
