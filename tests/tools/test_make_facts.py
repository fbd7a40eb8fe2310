"""make_facts adds measurements to the facts and the card, keeps other facts, and leaves a valid bundle."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hark.bundle import Bundle, write_facts
from hark.facts import AlignmentFacts, Hits, MakingFacts, ParentModel, TextFacts, load_facts
from hark.models import describe_model
from hark.train.metrics import MetricsWriter
from hark.train.records import TrainRecord
from tests.evaluate.material import small_evaluation
from tests.modules import run_module
from tests.translate.bundles import make_bundle

HEADS = AlignmentFacts(0, (1,), "reads", 0.3)
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
    return run_module("tools.make_facts", *words)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    recipe = "data.train=[{source='another.en',target='another.de'}]"  # which the dataset was not made of
    folder = make_bundle(tmp_path / "model", "en", "de", recipe, "data.augment.lower=0.04")
    bundle = Bundle.open(folder)
    facts = replace(
        bundle.facts,
        text=(TextFacts("europarl"), TextFacts("tatoeba", pairs=99)),
        making=MakingFacts(weights="step 7, the best on the dev sets"),
        alignment=HEADS,
    )
    write_facts(bundle, facts)
    return folder


@pytest.fixture
def evaluation(tmp_path: Path) -> dict[str, Any]:
    """An evaluation of two systems, with made-up speeds."""
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


def test_all_measurements_are_added(model: Path, evaluation: dict[str, Any], tmp_path: Path) -> None:
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
    assert "The training text contains no sentence of the test sets below" in card
    assert "3 + 1 layers" in card
    assert "lower 4%" in card
    assert card.count("CC BY 2.0 FR") == 1
    assert "Source: European Parliament" in card
    assert "- Weights: step 7" in card
    assert "not measured" not in card
    assert f"{bleu[0]:.1f}" in describe_model(model).summary

    facts = bundle.facts
    assert facts.alignment == HEADS  # what is not measured here stays
    assert facts.scores is not None
    assert [each.scores["bleu"].score for each in facts.scores.sets] == [bleu[0]]  # to the last digit
    assert [each.teacher["bleu"].score for each in facts.scores.sets] == [bleu[1]]
    assert facts.scores.held_out
    assert [(each.name, each.pairs) for each in facts.text] == [("europarl", 1234567), ("tatoeba", 99)]
    assert facts.speed is not None
    assert [(each.sentences_per_second, each.teacher) for each in facts.speed.sets] == [(99.0, 22.0)]
    assert facts.everyday is not None
    assert facts.everyday.names == Hits(7, 9)
    assert [(each.role, each.name) for each in facts.making.parents] == [("teacher", "teacher")]
    assert (facts.making.variants, facts.licence) == ({"lower": 0.04}, "Apache-2.0")
    assert make(str(model), "--evaluation", files["scores"], *words).returncode == 0
    assert Bundle.open(model).card == card


def test_output_to_a_folder_leaves_the_bundle_unchanged(
    model: Path, evaluation: dict[str, Any], tmp_path: Path
) -> None:
    del evaluation["cpu"], evaluation["sets"][0]["systems"][1]
    (tmp_path / "scores.json").write_text(json.dumps(evaluation))
    before = Bundle.open(model).facts
    done = make(str(model), "--evaluation", str(tmp_path / "scores.json"), "-o", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert Bundle.open(model).facts == before
    assert load_facts(tmp_path / "facts.json").speed is None
    card = (tmp_path / "card.md").read_text()
    assert "teacher" not in card
    assert "## Speed" not in card
    assert "no sentence of the test sets" not in card  # no report states it


def test_the_text_of_earlier_runs_is_counted(model: Path, evaluation: dict[str, Any], tmp_path: Path) -> None:
    assert evaluation["sets"]
    first, second = (make_bundle(tmp_path / name, "en", "de") for name in ("first", "second"))
    for folder, names, steps, parents in (
        (first, ("medical",), 4000, ()),
        (second, ("europarl", "games"), 500, (ParentModel("start", "first"),)),
        (model, ("tatoeba",), None, (ParentModel("start", "second"),)),
    ):
        bundle = Bundle.open(folder)
        making = MakingFacts(steps=steps, parents=parents)
        write_facts(bundle, replace(bundle.facts, text=tuple(map(TextFacts, names)), making=making))
    scores = ("--evaluation", str(tmp_path / "scores.json"))
    done = make(str(model), *scores, "--start", str(second))
    assert "the text of first, whose licence is not known" in done.stderr
    done = make(str(model), *scores, "--start", str(first), "--start", str(second))
    assert done.returncode == 0, done.stderr
    bundle = Bundle.open(model)
    assert [each.name for each in bundle.facts.text] == ["europarl", "tatoeba", "medical", "games"]
    assert bundle.facts.making.steps == bundle.config.train.steps
    assert "from a model of 0 weights and 500 steps of 0 tokens, made larger" in bundle.card
    metrics = tmp_path / "metrics.jsonl"
    with MetricsWriter(metrics) as writer:
        writer.write(TrainRecord(77, 0.1, 2.0, 1.0, 0.001, 1.0, 7700, 5000.0, 0.9, 77.0, 1077.0))
    done = make(str(model), *scores, "--start", str(first), "--start", str(second), "--metrics", str(metrics))
    assert Bundle.open(model).facts.making.steps == 77, done.stderr
    assert bundle.facts.making.parents == ()


def test_corpora_have_a_fixed_order(model: Path, evaluation: dict[str, Any], tmp_path: Path) -> None:
    bundle = Bundle.open(model)
    names = ("tatoeba-original", "tatoeba", "europarl")
    write_facts(bundle, replace(bundle.facts, text=tuple(map(TextFacts, names))))
    assert evaluation["sets"]
    assert make(str(model), "--evaluation", str(tmp_path / "scores.json")).returncode == 0
    card = Bundle.open(model).card
    assert "- Trained on: europarl, tatoeba, tatoeba-original\n" in card
    assert "Trained on debates of the European Parliament and everyday sentences." in card


def test_a_many_to_many_model(evaluation: dict[str, Any], tmp_path: Path) -> None:
    corpora = [("europarl", "en", "de"), ("europarl", "en", "it"), ("europarl", "it", "nl")]
    corpora += [("manuals-taught", "en", "de"), ("medical", "en", "de"), ("medical", "de", "fr")]
    train = [f"{{name='{name}',languages=['{one}','{other}'],source='a.tsv'}}" for name, one, other in corpora]
    folder = make_bundle(tmp_path / "many", "en", "de", "data.many=true", f"data.train=[{','.join(train)}]")
    bundle = Bundle.open(folder)
    text = tuple(map(TextFacts, ("europarl", "manuals", "medical", "tatoeba")))
    pairs = tuple((one, other) for _, one, other in corpora)
    write_facts(bundle, replace(bundle.facts, text=text, pairs=pairs))
    (of_set,) = evaluation["sets"]
    name = of_set["name"]
    of_set |= {"name": f"{name}.en-it", "languages": ["en", "it"]}
    (tmp_path / "scores.json").write_text(json.dumps(evaluation))
    report = {
        "corpora": [{"name": f"{name}.{one}-{other}", "kept": 100} for name, one, other in corpora],
        "clean": {"held_out": True},
        "held_out": [{"name": name}],
    }
    (tmp_path / "report.json").write_text(json.dumps(report))
    words = ("--evaluation", str(tmp_path / "scores.json"), "--report", str(tmp_path / "report.json"))
    done = make(str(folder), *words)
    assert done.returncode == 0, done.stderr

    facts = Bundle.open(folder).facts
    assert "In Italian and Dutch it has read only debates of the European Parliament; the other" in facts.limits
    assert "In French it has read only medicine; the other" in facts.limits
    assert "English" not in facts.limits
    assert "German" not in facts.limits
    assert {each.name: each.pairs for each in facts.text}["europarl"] == 300  # of all pairs of languages
    assert facts.scores is not None
    assert [(each.name, each.pair) for each in facts.scores.sets] == [(name, ("en", "it"))]
    assert facts.scores.held_out


def test_unknown_text_and_other_files_are_refused(model: Path, evaluation: dict[str, Any], tmp_path: Path) -> None:
    known = "data.train=[{source='europarl.en',target='europarl.de'}]"
    other, tuned, silent = (make_bundle(tmp_path / name, "en", "de", known) for name in ("other", "tuned", "silent"))
    start = MakingFacts(parents=(ParentModel("start", "theirs"),))
    for folder, names, making in ((other, ("europarl", "secret"), MakingFacts()), (tuned, ("tatoeba",), start)):
        bundle = Bundle.open(folder)
        write_facts(bundle, replace(bundle.facts, text=tuple(map(TextFacts, names)), making=making))
    scores = str(tmp_path / "scores.json")
    assert evaluation["kind"] in (tmp_path / "scores.json").read_text()
    for words, message in (
        ((str(other), "--evaluation", scores), "trained on secret, whose licence is not known; known corpora: "),
        (
            (str(tuned), "--evaluation", scores),
            "trained on the text of theirs, whose licence is not known; known corpora: ",
        ),
        ((str(silent), "--evaluation", scores), "trained on text that its facts do not name"),
        ((str(model), "--evaluation", str(tmp_path / "everyday.json")), "not a hark evaluation"),
        ((str(model), "--evaluation", str(tmp_path / "gone.json")), "cannot be read"),
    ):
        done = make(*words)
        assert done.returncode == 1
        assert message in done.stderr
        assert "Traceback" not in done.stderr
