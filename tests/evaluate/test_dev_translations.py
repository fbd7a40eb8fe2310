"""Dev translations during training use the current weights and do not affect training."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from sacrebleu.metrics.bleu import BLEU

from hark import configfile
from hark.bundle import Bundle
from hark.cli.train import train
from hark.data.dataset import Dataset
from hark.engine.interface import Request
from hark.engine.torch import TorchEngine
from hark.evaluate.dev_translations import DevTranslations
from hark.model import Transformer
from hark.model.weights import read_tensors
from hark.rundir import RunDir
from hark.text.tokenizer import EOS, SPECIAL
from hark.train.checkpoint import latest
from hark.train.job import DevScores
from hark.train.metrics import read_metrics, read_samples
from hark.train.start import resolve
from tests.runs import SETTINGS, losses

SENTENCES = 6


@pytest.fixture
def run(dataset: Path, tmp_path: Path) -> Callable[..., RunDir]:
    def start(name: str, **options: int) -> RunDir:
        words = [*SETTINGS, f"data.dataset={dataset}", "train.steps=8", "train.eval_steps=4"]
        train(words[0], words[1:], output=tmp_path / name, **options)
        return RunDir(tmp_path / name)

    return start


def translate(run: RunDir, dataset: Dataset, beam: int) -> list[str]:
    """Translate with the run's last weights in a separate model."""
    config = configfile.load(run.config)
    model = Transformer(config.model)
    model.load_state_dict(read_tensors(latest(run.checkpoints) / "model.safetensors"))
    store = dataset.store(dataset.shards("dev")[0])
    requests = [Request([*store[i][0].tolist(), EOS], replace(config.decode, beam=beam)) for i in range(SENTENCES)]
    answers = dict(TorchEngine(model, SPECIAL).run(requests))
    return dataset.tokenizer("target").decode([answers[i][0].tokens for i in range(SENTENCES)])


def test_scores_and_samples_use_the_weights_of_their_step(run: Callable[..., RunDir], dataset: Path) -> None:
    done, opened = run("scored", bleu=SENTENCES, samples=2), Dataset.open(dataset)
    (shard,) = opened.shards("dev")
    sources, references = (opened.text(shard, side)[:SENTENCES] for side in ("source", "target"))
    texts = translate(done, opened, beam=4)
    dev = read_metrics(done.metrics).dev
    assert [each.step for each in dev] == [4, 8]
    assert dev[-1].scores == {"BLEU": pytest.approx(BLEU(force=True).corpus_score(texts, [references]).score)}
    kept = max(dev, key=lambda each: each.best * each.step)
    assert Bundle.open(done.best).facts.making.dev[shard.name]["BLEU"] == kept.scores["BLEU"]
    samples = read_samples(done.samples)
    assert [each.step for each in samples] == [4, 4, 8, 8]
    last = [(each.source, each.reference, each.translation) for each in samples[2:]]
    assert last == list(zip(sources, references, texts, strict=True))[:2]


def test_scores_of_several_sets_name_them() -> None:
    scores = DevScores({"news": {"BLEU": 10.0, "TER": 1.0}, "my talks": {"BLEU": 20.0, "TER": 5.0}})
    assert scores.scores == {"BLEU news": 10, "TER news": 1, "BLEU my talks": 20, "TER my talks": 5}
    assert scores.main == 15
    assert DevScores({"news": {"span F1": 3.0}}).scores == {"span F1": 3}
    assert (DevScores({}).scores, DevScores({}).main) == ({}, 0)


def test_scoring_does_not_change_training(run: Callable[..., RunDir]) -> None:
    plain, scored = run("plain", samples=0), run("scored", bleu=3, samples=1)
    assert losses(plain) == losses(scored)
    assert not plain.samples.exists()
    assert read_metrics(plain.metrics).dev[-1].scores == {}


def test_without_bleu_samples_are_decoded_greedily(run: Callable[..., RunDir], dataset: Path) -> None:
    done = run("samples", samples=2)
    assert read_metrics(done.metrics).dev[-1].scores == {}
    samples = [each.translation for each in read_samples(done.samples) if each.step == 8]
    assert samples == translate(done, Dataset.open(dataset), beam=1)[:2]


def test_the_model_and_the_random_state_are_unchanged(dataset: Path) -> None:
    opened = Dataset.open(dataset)
    config = resolve(configfile.load(None, SETTINGS), opened)
    torch.manual_seed(1)
    model = Transformer(config.model).train()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    state = torch.get_rng_state()
    DevTranslations(opened, config.decode, 2, 1)(model)
    assert torch.get_rng_state().equal(state)
    assert model.training
    assert all(weight.equal(before[name]) and not weight.requires_grad for name, weight in model.state_dict().items())
    assert all(weight.grad is None for weight in model.parameters())


def test_no_samples_without_a_terminal(run: Callable[..., RunDir]) -> None:
    done = run("quiet")
    assert not done.samples.exists()
