"""Comparison with a baseline, an earlier evaluation."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hark.errors import UserError
from hark.evaluate.baseline import Baseline, ScoreChange
from tests.evaluate.material import small_evaluation


def test_an_evaluation_equals_itself(tmp_path: Path) -> None:
    result = small_evaluation(0)
    file = tmp_path / "before.json"
    file.write_text(result.to_json())
    before = Baseline.read(file)
    for measure in result.signatures:
        before.check(["small"], measure)
        (verdict,) = before.compare(result, measure)
        assert verdict.loss == 0
        assert not verdict.exceeds(0)
        assert str(verdict).endswith("the same")


def test_worse_is_lower_except_for_ter() -> None:
    assert ScoreChange("s", "bleu", 30.0, 29.5).exceeds(0.4)
    assert not ScoreChange("s", "bleu", 30.0, 29.5).exceeds(0.5)
    assert not ScoreChange("s", "bleu", 30.0, 31.0).exceeds(0)
    assert ScoreChange("s", "ter", 50.0, 51.0).exceeds(0.5)
    assert not ScoreChange("s", "ter", 50.0, 49.0).exceeds(0)
    assert str(ScoreChange("s", "bleu", 30.0, 30.0001)) == "s: BLEU 30.00, baseline 30.00: the same"
    assert str(ScoreChange("s", "ter", 50.0, 51.0)) == "s: TER 51.00, baseline 50.00: 1.00 worse"


def test_missing_scores_and_other_signatures_are_errors(tmp_path: Path) -> None:
    result = small_evaluation(0)
    file = tmp_path / "before.json"
    file.write_text(result.to_json())
    before = Baseline.read(file)
    with pytest.raises(UserError, match="has no BLEU for other, only small"):
        before.check(["small", "other"], "bleu")
    with pytest.raises(UserError, match="has no COMET for small, only bleu, chrf2"):
        before.check(["small"], "comet")
    changed = replace(result, signatures={**result.signatures, "bleu": "tok:intl"})
    with pytest.raises(UserError, match=r"BLEU was measured with another signature .*; write the baseline again"):
        before.compare(changed, "bleu")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"kind": "hark evaluation", "format": 99}'])
def test_invalid_files_are_errors(tmp_path: Path, text: str) -> None:
    file = tmp_path / "before.json"
    file.write_text(text)
    with pytest.raises(UserError, match="not an evaluation; write one"):
        Baseline.read(file)
    with pytest.raises(UserError, match="cannot be read"):
        Baseline.read(tmp_path / "nowhere.json")
    tree = json.loads(small_evaluation(0).to_json())
    tree["sets"][0]["systems"] = []
    file.write_text(json.dumps(tree))
    with pytest.raises(UserError, match="damaged"):
        Baseline.read(file)
