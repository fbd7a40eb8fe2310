"""make_facts adds measurements to the facts and the card, keeps other facts, and leaves a valid bundle."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hark.bundle import Bundle, write_facts
from hark.facts import AlignmentFacts, MakingFacts, ParentModel, TextFacts
from hark.models import describe_model
from hark.train.metrics import MetricsWriter
from hark.train.records import TrainRecord
from tests.evaluate.material import small_evaluation
from tests.modules import run_module
from tests.translate.bundles import make_bundle

HEADS = AlignmentFacts(0, (1,), "reads", 0.3)


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
    tree: dict[str, Any] = json.loads(small_evaluation(20).to_json())
    (tmp_path / "scores.json").write_text(json.dumps(tree))
    report = {
        "corpora": [{"name": "europarl", "kept": 1234567}],
        "clean": {"held_out": True},
        "held_out": [{"name": tree["sets"][0]["name"]}],
    }
    (tmp_path / "report.json").write_text(json.dumps(report))
    return tree


def test_all_measurements_are_added(model: Path, evaluation: dict[str, Any], tmp_path: Path) -> None:
    words = ("--evaluation", str(tmp_path / "scores.json"), "--report", str(tmp_path / "report.json"))
    done = make(str(model), *words)
    assert (done.returncode, done.stderr) == (0, "")
    bundle = Bundle.open(model)  # which verifies it
    card = bundle.card
    (of_set,) = evaluation["sets"]
    bleu = of_set["systems"][0]["scores"]["bleu"]["score"]
    assert f"| {bleu:.1f} ±" in card
    assert all(f"`{evaluation['signatures'][name]}`" in card for name in ("bleu", "chrf2", "ter"))
    assert "1,234,567" in card
    assert "The training text contains no sentence of the test sets below" in card
    assert card.count("CC BY 2.0 FR") == 1
    assert "Source: European Parliament" in card
    assert "- Weights: step 7" in card
    assert "not measured" not in card
    assert f"{bleu:.1f}" in describe_model(model).summary

    facts = bundle.facts
    assert facts.alignment == HEADS  # what is not measured here stays
    assert facts.scores is not None
    assert [each.scores["bleu"].score for each in facts.scores.sets] == [bleu]  # to the last digit
    assert facts.scores.held_out
    assert [(each.name, each.pairs) for each in facts.text] == [("europarl", 1234567), ("tatoeba", 99)]
    assert (facts.making.variants, facts.licence) == ({"lower": 0.04}, "Apache-2.0")
    assert make(str(model), *words).returncode == 0
    assert Bundle.open(model).card == card
    assert make(str(model), *words[:2]).returncode == 0
    assert "no sentence of the test sets" not in Bundle.open(model).card  # no report states it


def test_evaluations_are_joined_and_the_best_known_sets_come_first(
    model: Path, evaluation: dict[str, Any], tmp_path: Path
) -> None:
    of_set = evaluation["sets"][0]
    for file, name in (("one", "prose"), ("other", "newstest2014"), ("third", "europarl-test")):
        (tmp_path / f"{file}.json").write_text(json.dumps({**evaluation, "sets": [{**of_set, "name": name}]}))
    done = make(str(model), "--evaluation", *(str(tmp_path / f"{file}.json") for file in ("one", "other", "third")))
    assert done.returncode == 0, done.stderr
    scores = Bundle.open(model).facts.scores
    assert scores is not None
    assert [each.name for each in scores.sets] == ["europarl-test", "newstest2014", "prose"]
    assert (set(scores.signatures), scores.resamples) == ({"bleu", "chrf2", "ter"}, 20)


def test_a_new_corpus_is_described_in_a_file(model: Path, evaluation: dict[str, Any], tmp_path: Path) -> None:
    assert evaluation["sets"]
    bundle = Bundle.open(model)
    write_facts(bundle, replace(bundle.facts, text=(TextFacts("plays", 12), TextFacts("tatoeba"))))
    scores, about = ("--evaluation", str(tmp_path / "scores.json")), tmp_path / "corpora.toml"
    assert "trained on plays, whose licence is not known; describe it with" in make(str(model), *scores).stderr
    about.write_text("[plays]\nwhat = 'Plays'\nlicence = 'public domain'\nattribution = 'Shakespeare'\n")
    done = make(str(model), *scores, "--corpora", str(about))
    assert done.returncode == 0, done.stderr
    assert "| plays | 12 | Plays | Source: Shakespeare; public domain |" in Bundle.open(model).card


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
    names = ("tatoeba-taught", "tatoeba", "europarl")
    write_facts(bundle, replace(bundle.facts, text=tuple(map(TextFacts, names))))
    assert evaluation["sets"]
    assert make(str(model), "--evaluation", str(tmp_path / "scores.json")).returncode == 0
    card = Bundle.open(model).card
    assert "- Trained on: europarl, tatoeba, tatoeba-taught\n" in card
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
        ((str(other), "--evaluation", scores), "trained on secret, whose licence is not known; "),
        (
            (str(tuned), "--evaluation", scores),
            "trained on the text of theirs, whose licence is not known; ",
        ),
        ((str(silent), "--evaluation", scores), "trained on text that its facts do not name"),
        ((str(model), "--evaluation", str(tmp_path / "report.json")), "not a hark evaluation"),
        ((str(model), "--evaluation", str(tmp_path / "gone.json")), "cannot be read"),
    ):
        done = make(*words)
        assert done.returncode == 1
        assert message in done.stderr
        assert "Traceback" not in done.stderr
