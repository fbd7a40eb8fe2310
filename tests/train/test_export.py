"""Bundles exported from runs: loading, verifying, averaging, and fine-tuning from them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import hark
from hark import configfile
from hark.bundle import Bundle
from hark.cli.average import average
from hark.config import CorpusConfig
from hark.data.dataset import Dataset
from hark.data.prepare import prepare
from hark.errors import UserError
from hark.rundir import RunDir
from hark.train import checkpoint
from hark.train.export import average_run
from hark.weights import shrink
from tests.runs import losses

Trained = Callable[..., RunDir]


def test_the_best_model_loads_with_its_tokenizer(trained: Trained, dataset: Path) -> None:
    # The run never sees the corpora of the recipe, only those of the dataset.
    run = trained("run", "train.eval_steps=10", 'data.train=[{source = "a.en", target = "a.de", name = "elsewhere"}]')
    loaded = hark.load(run.best)
    assert not loaded.model.training
    text = "the cat sees a tree"
    assert loaded.source_vocabulary.decode(loaded.source_vocabulary.encode([text])) == [text]
    assert loaded.target_vocabulary.model == (dataset / "tokenizer.model").read_bytes()
    assert "en to de" in loaded.card
    named = [shard.name for shard in Dataset.open(dataset).shards("train")]
    assert [each.name for each in loaded.facts.text] == named
    assert f"- Trained on: {', '.join(named)}\n" in loaded.card
    assert loaded.facts.pairs == (("en", "de"),)
    assert loaded.facts.making.parameters == sum(weight.numel() for weight in loaded.model.parameters())
    weights = checkpoint.load(checkpoint.latest(run.checkpoints))[0]["model"]
    if "step 20," in loaded.card:
        assert torch.equal(loaded.model.embedding.weight, weights["embedding.weight"])


def test_average_run_averages_the_last_checkpoints(trained: Trained, tmp_path: Path) -> None:
    run = trained("run", "train.save_steps=5")
    assert average_run(run, 3, tmp_path / "mean") == [10, 15, 20]
    parts = [checkpoint.load(run.checkpoints / f"step-{n}")[0]["model"] for n in (10, 15, 20)]
    loaded = hark.load(tmp_path / "mean")
    for name, weight in loaded.model.named_parameters():
        expected = sum(part[name].double() for part in parts) / 3
        torch.testing.assert_close(weight.detach().double(), expected, atol=1e-7, rtol=1e-6)
    assert "average of the checkpoints of steps 10, 15, 20" in loaded.card
    with pytest.raises(UserError, match="has 4 checkpoints, not 9; lower --last"):
        average_run(run, 9, tmp_path / "more")


def test_an_average_can_be_stored_in_int8(trained: Trained, tmp_path: Path) -> None:
    run = trained("run", "train.save_steps=5")
    average([str(run.path)], tmp_path / "wide", 3)
    average([str(run.path)], tmp_path / "small", 3, "int8")
    shrink(Bundle.open(tmp_path / "wide"), tmp_path / "later", "int8")
    for name in ("model.safetensors", "facts.json", "card.md", "config.toml"):
        assert (tmp_path / "small" / name).read_bytes() == (tmp_path / "later" / name).read_bytes()
    assert "steps 10, 15, 20" in hark.load(tmp_path / "small").card
    for force in (False, True):
        with pytest.raises(UserError, match="is inside the input"):
            average([str(run.path)], run.best, 3, force=force)
    with pytest.raises(UserError, match=r"already exists; .* --force"):
        average([str(run.path)], tmp_path / "small", 2)
    average([str(run.path)], tmp_path / "small", 2, "int8", force=True)
    assert "steps 15, 20" in hark.load(tmp_path / "small").card


def test_runs_and_bundles_can_be_averaged_together(trained: Trained, tmp_path: Path) -> None:
    run = trained("run", "train.save_steps=5")
    average([str(run.path)], tmp_path / "last", 1)
    average([str(run.path), str(tmp_path / "last")], tmp_path / "mean")
    parts = [hark.load(each).model.embedding.weight for each in (run.best, tmp_path / "last")]
    found = hark.load(tmp_path / "mean").model.embedding.weight
    torch.testing.assert_close(found, sum(parts) / 2, atol=1e-6, rtol=1e-6)
    with pytest.raises(UserError, match="--last requires a single run"):
        average([str(run.path), str(tmp_path / "last")], tmp_path / "more", 2)


def test_a_reversed_dataset_trains_the_reverse_direction(trained: Trained, dataset: Path, tmp_path: Path) -> None:
    there, back = trained("there", "train.steps=12"), trained("back", "train.steps=12", "data.reverse=true")
    assert losses(there)[1] != losses(back)[1]
    loaded = hark.load(back.best)
    assert (loaded.config.data.source, loaded.config.data.target) == ("de", "en")
    assert "de to en" in loaded.card
    average_run(back, 1, tmp_path / "mean")
    assert hark.load(tmp_path / "mean").config.data.source == "de"
    # Resuming keeps the direction; the batches of the other one would be refused.
    trained("back", "train.steps=14", resumed=True)
    assert max(losses(back)) == 14
    # A run on a dataset that was prepared with its sides swapped is the same run.
    exchanged = Dataset.open(dataset, reverse=True)
    config = configfile.load(back.config)
    data = replace(config.data, train=swap(dataset, "train"), dev=swap(dataset, "dev"), reverse=False)
    data = replace(data, tokenizer=str(dataset / "tokenizer.model"), dataset=str(tmp_path / "exchanged"))
    prepare(replace(config, data=data), tmp_path / "exchanged", processes=1)
    assert Dataset.open(tmp_path / "exchanged").manifest.shards == exchanged.manifest.shards
    overrides = [f"data.dataset={tmp_path / 'exchanged'}", "data.reverse=false", "train.steps=14"]
    assert losses(trained("again", *overrides)) == losses(back)


def swap(dataset: Path, use: str) -> tuple[CorpusConfig, ...]:
    return (CorpusConfig(str(dataset.parent / f"{use}.de"), str(dataset.parent / f"{use}.en"), use),)


def test_a_bundle_that_was_changed_is_refused(trained: Trained) -> None:
    run = trained("run", "train.steps=2")
    (run.best / "config.toml").write_text("better than it is")
    with pytest.raises(UserError, match=r"config\.toml: damaged: .* bytes, expected "):
        Bundle.open(run.best)
    with pytest.raises(UserError, match="no such bundle"):
        hark.load(run.path / "nowhere")
    with pytest.raises(UserError, match=r"not a hark bundle: manifest\.json is missing"):
        hark.load(run.checkpoints)


def test_fine_tuning_starts_from_the_bundles_weights(trained: Trained, tmp_path: Path) -> None:
    first = trained("first", "train.steps=30")
    from_there = trained("second", f"train.from={first.best}", "train.steps=1", "train.rate_scale=1e-9")
    loaded, tuned = hark.load(first.best), hark.load(from_there.best)
    torch.testing.assert_close(tuned.model.embedding.weight, loaded.model.embedding.weight)
    assert [(each.role, each.name) for each in tuned.facts.making.parents] == [("start", "first")]
    assert ", starting from first\n" in tuned.card

    lines = "\n".join(f"other words entirely number {i}" for i in range(60))
    (tmp_path / "o.en").write_text(lines)
    (tmp_path / "o.de").write_text(lines[::-1])
    config = configfile.load(None, ["data.vocab_size=320", "data.clean.language=1"])
    corpus = CorpusConfig(str(tmp_path / "o.en"), str(tmp_path / "o.de"), "other")
    prepare(replace(config, data=replace(config.data, train=(corpus,))), tmp_path / "other", processes=1)
    with pytest.raises(UserError, match=r"not encoded with the tokenizer of .*; prepare it again with train\.from="):
        trained("third", f"train.from={first.best}", f"data.dataset={tmp_path / 'other'}")
