"""Training models of one stack on running text, end to end."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hark import configfile
from hark.bundle import Bundle
from hark.config import Config, CorpusConfig, DataConfig
from hark.data import prepare
from hark.data.dataset import Dataset
from hark.errors import UserError
from hark.model.weights import load_one_stack
from hark.rundir import RunDir
from hark.tasks.encoder import LoadedEncoder
from hark.tasks.fill import GapFiller
from hark.train import checkpoint
from hark.train.metrics import read_metrics
from tests.runs import losses

Trained = Callable[..., RunDir]
DECODER = ("model.shape=decoder", "batches.batch_tokens=120", "train.eval_steps=6")


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("text")
    lines = [f"the cat {number % 7} sees the dog and runs to the old tree {number % 5}" for number in range(200)]
    (folder / "text.txt").write_text("\n".join(lines))
    data = DataConfig(source="", target="en", documents="file", dev_share=0.1, vocab_size=280)
    prepare(Config(data=replace(data, train=(CorpusConfig(str(folder / "text.txt")),))), folder / "data", 1)
    return folder / "data"


def test_a_language_model_learns_and_measures_bits_per_byte(trained: Trained, text: Path) -> None:
    run = trained(
        "run", f"data.dataset={text}", *DECODER, "train.steps=60", "train.rate_scale=0.5", "model.dropout=0",
        "train.label_smoothing=0", "train.eval_steps=30",
    )  # fmt: skip
    history = read_metrics(run.metrics)
    assert losses(run)[60][0] < 0.6 * losses(run)[1][0]
    (shard,) = Dataset.open(text).shards("dev")
    for record in history.dev:
        tokens = shard.target_tokens + shard.pairs
        assert record.scores["bits/byte"] == pytest.approx(record.nll * tokens / math.log(2) / shard.bytes)
    bundle = Bundle.open(run.best)
    assert (bundle.facts.pairs, bundle.facts.languages) == ((), ("en",))
    (kept,) = (record for record in history.dev if record.step == bundle.facts.making.step)
    measured = {"nll": kept.nll, "perplexity": kept.perplexity, **kept.scores}
    assert kept.nll == min(record.nll for record in history.dev)
    assert bundle.facts.making.dev == {shard.name: measured}
    assert "1 decoder layers" in bundle.card
    assert "| dev set | bits/byte | nll (nats per token) | perplexity |" in bundle.card
    assert load_one_stack(bundle).name == "decoder"


def test_learned_positions_are_those_that_windows_reach(trained: Trained, text: Path) -> None:
    run = trained(
        "run", f"data.dataset={text}", *DECODER, "model.positions=learned", "train.steps=1", "train.eval_steps=1"
    )
    assert configfile.load(run.config).model.max_positions == 40
    shorter = (f"train.from={run.best}", "model.max_positions=40", "batches.max_length=30")
    again = trained("again", f"data.dataset={text}", *DECODER, "model.positions=learned", "train.steps=1", *shorter)
    assert configfile.load(again.config).model.max_positions == 40


@pytest.mark.parametrize("more", [(), ("model.positions=rotary", "model.norm_kind=rms", "model.activation=swiglu")])
def test_a_resumed_run_equals_an_uninterrupted_one(trained: Trained, text: Path, more: tuple[str, ...]) -> None:
    overrides = (f"data.dataset={text}", *DECODER, *more)
    whole = trained("whole", *overrides, "train.steps=8")
    trained("parts", *overrides, "train.steps=3")
    parts = trained("parts", "train.steps=8", resumed=True)
    assert losses(parts) == losses(whole)
    last = [checkpoint.load(checkpoint.latest(run.checkpoints))[0]["model"] for run in (whole, parts)]
    assert all(torch.equal(weight, last[1][name]) for name, weight in last[0].items())


def test_text_and_pairs_need_models_of_their_own(trained: Trained, text: Path) -> None:
    with pytest.raises(UserError, match="is text of one language"):
        trained("run", f"data.dataset={text}")
    with pytest.raises(UserError, match="needs text"):
        trained("run", "model.shape=decoder")
    with pytest.raises(UserError, match="leave out data"):
        trained("run", f"data.dataset={text}", "model.shape=decoder", "data.reverse=true")


def test_an_encoder_learns_to_fill_gaps(trained: Trained, text: Path) -> None:
    run = trained(
        "run", f"data.dataset={text}", "model.shape=encoder", "model.embedding_norm=true",
        "model.prediction_layer=true", "batches.batch_tokens=240", "batches.masked=0.15",
        "train.steps=150", "train.rate_scale=0.5", "model.dropout=0",
        "train.label_smoothing=0",
    )  # fmt: skip
    assert losses(run)[150][0] < 0.6 * losses(run)[1][0]
    assert Bundle.open(run.best).config.model.shape == "encoder"


def test_an_encoder_that_hides_nothing_is_refused(trained: Trained, text: Path) -> None:
    with pytest.raises(UserError, match="sees the tokens"):
        trained("run", f"data.dataset={text}", "model.shape=encoder")


PERMUTED = ("model.shape=encoder", "batches.batch_tokens=240", "batches.any_order=0.1667", "model.positions=rotary")


def test_an_encoder_learns_in_random_orders_and_fills_gaps(trained: Trained, text: Path) -> None:
    run = trained(
        "run", f"data.dataset={text}", *PERMUTED, "train.steps=200", "train.rate_scale=0.5",
        "model.dropout=0", "model.d_model=32", "model.n_encoder_layers=2",
        "train.label_smoothing=0", "train.eval_steps=200",
    )  # fmt: skip
    assert losses(run)[200][0] < 0.4 * losses(run)[1][0]
    assert not read_metrics(run.metrics).dev[0].scores  # bits per byte need all tokens
    filler = GapFiller(LoadedEncoder(run.best, "cpu"))
    ((first, second),) = filler.fill(["sees the dog and<mask>ns to the<mask>ld tree 2\nthe"])
    assert first[0].filled == "sees the dog and runs to the<mask>ld tree 2\nthe"
    assert second[0].filled == "sees the dog and<mask>ns to the old tree 2\nthe"


def test_an_order_repeats_when_a_run_is_resumed(trained: Trained, text: Path) -> None:
    overrides = (f"data.dataset={text}", *PERMUTED)
    whole = trained("whole", *overrides, "train.steps=6")
    trained("parts", *overrides, "train.steps=2")
    assert losses(trained("parts", "train.steps=6", resumed=True)) == losses(whole)


def test_text_without_labels_makes_no_classifier(trained: Trained, text: Path) -> None:
    with pytest.raises(UserError, match="has no labels; prepare it with hark prepare classify"):
        trained("none", f"data.dataset={text}", "model.shape=encoder", "data.labels=text")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("model.shape=decoder", "batches.any_order=0.2"), "batches.any_order needs model.shape=encoder, not decoder"),
        (("model.shape=encoder", "batches.any_order=0.2", "batches.masked=0.2"), "exclude each other; set one to 0"),
        (("model.shape=encoder", "batches.any_order=0.2", "model.positions=none"), "none leaves open which token"),
    ],
)
def test_random_orders_that_do_not_fit_a_model_are_refused(
    trained: Trained, text: Path, overrides: tuple[str, ...], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        trained("run", f"data.dataset={text}", *overrides)
