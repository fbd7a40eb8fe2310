"""The gradient check detects a peer whose fast code computes something else."""

import pytest
import torch
from benchmarks.gradient_check import Agreement, agreement
from benchmarks.peer_training import VARIANTS, Training
from benchmarks.peers import Padded, TorchTransformer

from hark.config import Config, ModelConfig
from hark.text.tokenizer import SPECIAL

MODEL = ModelConfig(d_model=16, d_ff=32, n_heads=2, n_encoder_layers=2, n_decoder_layers=2, vocab_size=60)


def batch(rows: int) -> tuple[Padded, int]:
    """Batches of words to be copied, so that the source matters."""
    tokens_BT = torch.randint(4, 60, (rows, 6))
    start_B1 = torch.full((rows, 1), SPECIAL.start)
    return Padded(tokens_BT, None, torch.cat([start_B1, tokens_BT[:, :-1]], 1), tokens_BT), rows * 6


@pytest.fixture(scope="module")
def training() -> Training:
    """A model that has learnt to attend to the source."""
    torch.manual_seed(1)
    training = Training(TorchTransformer(MODEL), Config(model=MODEL), torch.device("cpu"), VARIANTS["eager"])
    for _ in range(80):
        padded, tokens = batch(32)
        training.step([padded], tokens, rate=1e-2)
    return training


def check(training: Training) -> Agreement:
    padded, tokens = batch(640)
    return agreement(training, TorchTransformer(MODEL), [padded], tokens)


def test_the_same_model_differs_only_by_dropout(training: Training) -> None:
    """In float32: bfloat16 takes minutes on most CPUs, and the benchmark itself makes this check on the GPU."""
    before = {name: weight.detach().clone() for name, weight in training.weights.items()}
    found = check(training)
    assert found.whole.plain > 0.9
    assert found.whole.compiled > found.whole.plain - 0.02
    assert all(weight.equal(before[name]) for name, weight in training.weights.items())
    assert all(weight.grad is None for weight in training.peer.parameters())


def test_a_different_model_is_detected(training: Training, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its decoder attends to the sources of other sentences."""
    hidden = training.peer.hidden
    monkeypatch.setattr(training.peer, "hidden", lambda source_BS, *rest: hidden(source_BS.flip(0), *rest))
    found = check(training)
    assert found.whole.compiled < found.whole.plain - 0.5
