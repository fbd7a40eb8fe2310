"""The benchmark of models of one stack runs, and its peers do the same work."""

import sys

import pytest
import torch
from benchmarks.shapes import PlainModel, batches_of, config_of, main

from hark.model import OneStack


@pytest.mark.slow
def test_every_system_is_measured(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["shapes", "--tiny"])
    main()
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith(("train", "generate"))]
    systems = {(row[0], row[1], name) for row in rows for name in ("hark", "hf", "plain") if name in row}
    train = {("train", recipe, name) for recipe in ("gpt", "bert") for name in ("hark", "hf", "plain")}
    others = {("train", "gpt-rms", "hark"), ("generate", "gpt", "hark"), ("generate", "gpt", "hf")}
    assert systems == train | others


@pytest.mark.parametrize("recipe", ["gpt", "bert"])
def test_the_plain_model_has_as_many_weights(recipe: str) -> None:
    """But for the norm after a post-norm stack, BERT's prediction layer, and the norm of its embeddings."""
    config = config_of(recipe, 32, 128, tiny=True)
    ours, plain = OneStack(config.model), PlainModel(config)
    counts = [sum(weight.numel() for weight in model.parameters()) for model in (ours, plain)]
    assert counts[0] == pytest.approx(counts[1], rel=0.05)


def test_batches_are_full() -> None:
    for batch in batches_of(config_of("gpt", 32, 128, tiny=True)):
        assert batch.n_target_tokens == 128
        assert (torch.from_numpy(batch.streams["target"].labels) >= 3).all()
