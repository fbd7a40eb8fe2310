"""A card says what was measured, keeps what a card must keep, and leaves the bundle sound."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hark.bundle import Bundle, with_entry, write_card
from hark.decode.alignment_heads import AlignmentHeads
from hark.decode.models import look_at
from tests.decode.bundles import make_bundle
from tests.evaluate.material import small_evaluation

TOOL = Path(__file__).parents[2] / "tools" / "make_card.py"
EVERYDAY = {
    "kind": "hark everyday",
    "model": "model",
    "lines": {"words": {"hold": 10, "of": 12}, "lower_case": {"hold": 3, "of": 6}},
    "failures": [],
    "test_set": "tatoeba-sample",
    "spellings": [{"name": "CAPITALS", "sentences": 990, "plain": {"bleu": 41.25}, "scores": {"bleu": 39.125}}],
    "signatures": {"bleu": "nrefs:1|tok:13a"},
    "names": {"kept": 7, "of": 9},
}


def make(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(TOOL), *words], capture_output=True, text=True, check=False)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    recipe = "data.train=[{source='another.en',target='another.de'}]"  # which the dataset was not made of
    folder = make_bundle(tmp_path / "model", "en", "de", recipe, "data.augment.lower=0.04")
    bundle = Bundle.open(folder)
    card = with_entry(bundle.card, "- Trained on: europarl, tatoeba")
    card = with_entry(card, "- Weights: step 7, the best on the dev sets")
    card = with_entry(card, "- Scores: not measured yet")
    write_card(bundle, with_entry(card, AlignmentHeads(0, (1,), "reads").line("alignment error rate 0.3")))
    return folder


@pytest.fixture
def evaluation(tmp_path: Path) -> dict[str, Any]:
    """Of two systems; speeds are made up."""
    tree: dict[str, Any] = json.loads(small_evaluation(20).to_json())
    student, teacher = (each["name"] for each in tree["sets"][0]["systems"])
    speeds = {tree["sets"][0]["name"]: {student: 99.0, teacher: 22.0}}
    tree["cpu"] = {"engine": "CTranslate2", "cores": 2, "sentences": 300, "repeats": 3, "sets": speeds}
    (tmp_path / "scores.json").write_text(json.dumps(tree))
    (tmp_path / "everyday.json").write_text(json.dumps(EVERYDAY))
    report = {
        "corpora": [{"name": "europarl", "kept": 1234567}],
        "clean": {"held_out": True},
        "held_out": [{"name": tree["sets"][0]["name"]}],
    }
    (tmp_path / "report.json").write_text(json.dumps(report))
    return tree


def test_all_that_was_measured(model: Path, evaluation: dict[str, Any], tmp_path: Path) -> None:
    make_bundle(tmp_path / "teacher", "en", "de", "model.n_encoder_layers=3")
    files = {name: str(tmp_path / f"{name}.json") for name in ("scores", "everyday", "report")}
    words = ["--everyday", files["everyday"], "--report", files["report"], "--teacher", str(tmp_path / "teacher")]
    done = make(str(model), "--evaluation", files["scores"], *words)
    assert (done.returncode, done.stderr) == (0, "")
    bundle = Bundle.open(model)  # which verifies it
    card = bundle.card
    (of_set,) = evaluation["sets"]
    bleu = [system["scores"]["bleu"]["score"] for system in of_set["systems"]]
    assert f"| {bleu[0]:.1f} ±" in card
    assert f"| {bleu[1] - bleu[0]:.1f} |" in card
    assert all(f"`{evaluation['signatures'][name]}`" in card for name in ("bleu", "chrf2", "ter"))
    assert "| 99 | 22 | 4.5 |" in card
    assert "| lower case | 3 of 6 |" in card
    assert "| **all** | **13 of 18** |" in card
    assert "39.1 (41.2)" in card
    assert "7 of 9 translations keep the name" in card
    assert "1,234,567" in card
    assert "No sentence of the test sets below is in it" in card
    assert "3 + 1 layers" in card
    assert "lower 4%" in card
    assert card.count("CC BY 2.0 FR") == 1
    assert "Source: European Parliament" in card

    # What hark itself reads from a card.
    assert AlignmentHeads.of_card(card, bundle.config.model) == AlignmentHeads(0, (1,), "reads")
    assert "- Weights: step 7" in card
    assert "not measured yet" not in card
    assert f"{bleu[0]:.1f}" in look_at(model).about
    assert make(str(model), "--evaluation", files["scores"], *words).returncode == 0
    assert Bundle.open(model).card == card


def test_into_a_file(model: Path, evaluation: dict[str, Any], tmp_path: Path) -> None:
    del evaluation["cpu"], evaluation["sets"][0]["systems"][1]
    (tmp_path / "scores.json").write_text(json.dumps(evaluation))
    before = Bundle.open(model).card
    done = make(str(model), "--evaluation", str(tmp_path / "scores.json"), "-o", str(tmp_path / "card.md"))
    assert done.returncode == 0, done.stderr
    assert Bundle.open(model).card == before
    card = (tmp_path / "card.md").read_text()
    assert "teacher" not in card
    assert "## Speed" not in card
    assert "No sentence of the test sets" not in card  # no report says so


def test_a_corpus_comes_after_the_one_in_whose_words_it_is_said(
    model: Path, evaluation: dict[str, Any], tmp_path: Path
) -> None:
    bundle = Bundle.open(model)
    write_card(bundle, with_entry(bundle.card, "- Trained on: tatoeba-original, tatoeba, europarl"))
    assert evaluation["sets"]
    assert make(str(model), "--evaluation", str(tmp_path / "scores.json")).returncode == 0
    card = Bundle.open(model).card
    assert "- Trained on: europarl, tatoeba, tatoeba-original\n" in card
    assert "Learnt from debates of the European Parliament and short everyday sentences." in card


def test_what_is_refused(model: Path, evaluation: dict[str, Any], tmp_path: Path) -> None:
    known = "data.train=[{source='europarl.en',target='europarl.de'}]"
    other, tuned, silent = (make_bundle(tmp_path / name, "en", "de", known) for name in ("other", "tuned", "silent"))
    for folder, corpora in ((other, "europarl, secret"), (tuned, "tatoeba, starting from theirs")):
        bundle = Bundle.open(folder)
        write_card(bundle, with_entry(bundle.card, f"- Trained on: {corpora}"))
    scores = str(tmp_path / "scores.json")
    assert evaluation["kind"] in (tmp_path / "scores.json").read_text()
    for words, says in (
        ((str(other), "--evaluation", scores), "trained on secret, whose licence is not known here"),
        ((str(tuned), "--evaluation", scores), "trained on starting from theirs, whose licence is not known here"),
        ((str(silent), "--evaluation", scores), "trained on nothing that its card names"),
        ((str(model), "--evaluation", str(tmp_path / "everyday.json")), "is not a hark evaluation"),
        ((str(model), "--evaluation", str(tmp_path / "gone.json")), "cannot be read"),
    ):
        done = make(*words)
        assert done.returncode == 1
        assert says in done.stderr
        assert "Traceback" not in done.stderr
