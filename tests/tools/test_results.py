"""A results page has the figures of the logs and evaluations."""

import json
import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

from hark.rundir import RunDir
from hark.train.metrics import read_metrics
from tests.evaluate.material import GOOD, POOR, SET, small_evaluation
from tests.modules import run_module


def write_page(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run_module("tools.results", *words, "-o", folder / "small.md")


def test_a_page_of_two_seeds(trained: Callable[..., RunDir], tmp_path: Path) -> None:
    runs = [trained(f"seed-{seed}", f"train.seed={seed}", "train.steps=4", "train.eval_steps=2") for seed in (1, 2)]
    (tmp_path / "scores.json").write_text(small_evaluation(20).to_json())
    words = ["--title", "Small", "--command", "hark train small.toml", "--evaluation", str(tmp_path / "scores.json")]
    words += ["--subject", "toy", "--published", f"lower_bleu:{SET.name}=41", "--published-by", "somebody"]
    done = write_page(tmp_path, *(str(run.path) for run in runs), *words)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "small.md").read_text()
    assert "| command | `hark train small.toml` |" in page
    assert "| seed | 1, 2 |" in page
    assert "| steps | 4 (" in page
    assert "runs differ in" not in page
    best = [read_metrics(run.metrics).best for run in runs]
    assert f"{statistics.mean(each.nll for each in best if each):.3f} ±" in page
    tree = json.loads((tmp_path / "scores.json").read_text())
    values = [system["scores"]["bleu"]["score"] for system in tree["sets"][0]["systems"]]
    assert f"{statistics.mean(values):.1f} ± {statistics.stdev(values):.1f} " in page
    assert f"{SET.name} ({len(GOOD)})" in page
    assert "| 41.0 |" in page
    assert "Published: somebody." in page
    assert all(signature in page for signature in tree["signatures"].values())
    assert len(POOR) == len(GOOD)
    for run in runs:
        name = f"small-{run.name}.jsonl"
        assert f"](logs/toy/{name})" in page
        assert (tmp_path / "logs" / "toy" / name).read_bytes() == run.metrics.read_bytes()
    assert "[small-scores.json](logs/toy/small-scores.json)" in page
    assert json.loads((tmp_path / "logs" / "toy" / "small-scores.json").read_text()) == tree
    ElementTree.fromstring((tmp_path / "small.svg").read_text())


def test_differing_settings_are_listed(trained: Callable[..., RunDir], tmp_path: Path) -> None:
    runs = [trained(f"warm-{steps}", "train.steps=2", f"train.warmup_steps={steps}") for steps in (5, 9)]
    assert write_page(tmp_path, *(str(run.path) for run in runs)).returncode == 0
    assert "| runs differ in | `train.warmup_steps` |" in (tmp_path / "small.md").read_text()
    assert sorted(each.name for each in (tmp_path / "logs" / "small").iterdir()) == [
        "small-warm-5.jsonl",
        "small-warm-9.jsonl",
    ]


def test_scores_with_different_signatures_are_refused(trained: Callable[..., RunDir], tmp_path: Path) -> None:
    run = trained("one", "train.steps=2")
    first = small_evaluation(0).to_json()
    (tmp_path / "a.json").write_text(first)
    (tmp_path / "b.json").write_text(first.replace("tok:13a|smooth:exp", "tok:intl|smooth:exp"))
    files = ["--evaluation", str(tmp_path / "a.json"), "--evaluation", str(tmp_path / "b.json")]
    done = write_page(tmp_path, str(run.path), *files)
    assert done.returncode == 1
    assert "has a different signature" in done.stderr
    assert "Traceback" not in done.stderr
    wrong = write_page(tmp_path, str(run.path), "--published", "bleu=3")
    assert "MEASURE:SET=VALUE" in wrong.stderr
