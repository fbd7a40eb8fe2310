"""The parsing experiment end to end, at a scale of seconds."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hark.errors import UserError
from hark.parse.experiment import PAPER, run_parsing
from hark.parse.treebank import Treebank
from hark.rundir import RunDir
from tests.parse.parsers import treebank

TINY = [
    "model.d_model=16", "model.d_ff=32", "model.n_heads=2", "model.n_encoder_layers=1", "model.n_decoder_layers=1",
    "data.vocab_size=300", "data.bpe_variants=1", "batches.batch_tokens=128", "batches.max_length=64",
    "train.steps=4", "train.warmup_steps=2", "train.eval_steps=2", "train.save_steps=2", "train.average_last=2",
    "decode.beam=1",
]  # fmt: skip


def test_the_experiment_runs_and_is_not_repeated(tmp_path: Path) -> None:
    trees = treebank()
    bank = Treebank("toy", trees[:30], trees[30:33], trees[33:], "made-up sentences")
    result = run_parsing(bank, tmp_path, "parse-small", TINY, "cpu")
    figures = json.loads((tmp_path / "result.json").read_text())
    assert figures == result.to_tree()
    assert [gold.words() for gold, _ in result.pairs] == [found.words() for _, found in result.pairs]
    assert (figures["test"]["sentences"], figures["sentences"]["train"], figures["steps"]) == (3, 30, 4)
    assert figures["right_branching_unlabelled"]["f1"] > figures["right_branching"]["f1"] > 0
    assert figures["dev"].keys() == {"best", "average"}
    assert len(figures["by_length"]) == 1
    table = (tmp_path / "table.md").read_text()
    assert all(f"| {name} |" in table and f"| {f1} |" in table for name, _, f1 in PAPER)
    assert "the paper: about 40,000 of the WSJ" in table
    ElementTree.fromstring((tmp_path / "curve.svg").read_text())

    written = RunDir(tmp_path / "run").metrics.read_bytes()
    assert run_parsing(bank, tmp_path, "parse-small", TINY, "cpu").to_tree() == figures
    assert RunDir(tmp_path / "run").metrics.read_bytes() == written  # not trained again
    with pytest.raises(UserError, match="run exists with other settings"):
        run_parsing(bank, tmp_path, "parse-small", [*TINY, "train.seed=2"], "cpu")
