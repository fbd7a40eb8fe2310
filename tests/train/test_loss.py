"""The loss against plain float64, and accumulation against one large batch."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from hark.config import BatchConfig, Config
from hark.configfile import load
from hark.data.batches import PackedStream, make_batches
from hark.data.dataset import Dataset
from hark.model import Transformer, new_model
from hark.recipes import FOLDER as RECIPES
from hark.text.tokenizer import SPECIAL
from hark.train.loss import Objective, smoothed_loss, to_tensors
from hark.train.start import resolve

CPU = torch.device("cpu")
PAD = 1
"""Unlike that of our own vocabularies: the loss has no built-in ids."""


@given(st.integers(1, 9), st.integers(2, 12), st.sampled_from([0.0, 0.1, 0.5]), st.integers(0, 999))
def test_equals_a_plain_reference(tokens: int, vocab: int, smoothing: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    logits, labels = rng.normal(size=(tokens, vocab)) * 3, rng.integers(0, vocab, tokens)
    expected = nll_expected = 0.0
    for row, label in zip(logits, labels, strict=True):
        if label == PAD:
            continue
        log_p = row - np.log(np.exp(row).sum())
        smoothed = np.full(vocab, smoothing / vocab)
        smoothed[label] += 1 - smoothing
        expected -= float((smoothed * log_p).sum())
        nll_expected -= float(log_p[label])
    loss, nll = smoothed_loss(torch.tensor(logits, dtype=torch.float32), torch.tensor(labels), smoothing, PAD)
    assert np.isclose(loss.item(), expected, rtol=1e-5, atol=1e-5)
    assert np.isclose(nll.item(), nll_expected, rtol=1e-5, atol=1e-5)


def test_equals_torch_cross_entropy() -> None:
    logits, labels = torch.randn(50, 30), torch.randint(0, 30, (50,))
    expected = torch.nn.functional.cross_entropy(logits, labels, ignore_index=PAD, label_smoothing=0.1, reduction="sum")
    torch.testing.assert_close(smoothed_loss(logits, labels, 0.1, PAD)[0], expected)


def test_half_precision_logits_are_summed_in_float32() -> None:
    logits, labels = torch.randn(2000, 300), torch.randint(1, 300, (2000,))
    exact = smoothed_loss(logits.bfloat16().float(), labels, 0.1, PAD)[0]
    assert smoothed_loss(logits.bfloat16(), labels, 0.1, PAD)[0].item() == exact.item()


def test_batches_of_a_step_together_equal_one_large_batch(dataset: Path, settings: Callable[..., Config]) -> None:
    """The same pairs in three batches and in one: gradients of the mean over all tokens are equal."""
    opened = Dataset.open(dataset)
    config = resolve(settings("model.dropout=0"), opened)
    objective = Objective(Transformer(config.model), 0.1, config.batches.max_length, opened.special.pad)

    def gradients(data: BatchConfig) -> tuple[list[torch.Tensor], int]:
        batches = make_batches(opened.train, data, opened.special)
        objective.zero_grad()
        chosen = [batches[i] for i in range(batches.batches_per_epoch)]
        total = sum(batch.n_target_tokens for batch in chosen)
        for batch in chosen:
            (objective(to_tensors(batch, CPU))[0] / total).backward()
        return [weight.grad.clone() for weight in objective.parameters() if weight.grad is not None], len(chosen)

    many, n_many = gradients(config.batches)
    one, n_one = gradients(BatchConfig(batch_tokens=100_000, max_length=40))
    padded, _ = gradients(BatchConfig(batch_tokens=300, max_length=40, kind="padded"))
    assert (n_many > 3, n_one) == (True, 1)
    for a, b, c in zip(many, one, padded, strict=True):
        torch.testing.assert_close(a, b, atol=1e-6, rtol=1e-4)
        torch.testing.assert_close(c, b, atol=1e-6, rtol=1e-4)


def test_masked_models_compute_logits_only_of_what_is_hidden() -> None:
    """The same loss and gradients as with all logits, also where fewer tokens are hidden than may be."""
    config = load(
        RECIPES / "bert.toml", ["model.n_encoder_layers=1", "model.d_model=16", "model.d_ff=32", "model.n_heads=2"]
    )
    torch.manual_seed(1)
    model = new_model(replace(config.model, vocab_size=50, max_positions=40, dropout=0.0))
    tokens, labels = torch.randint(5, 50, (40,)), torch.full((40,), SPECIAL.pad)
    positions, cu = torch.arange(40) % 20, torch.tensor([0, 20, 40], dtype=torch.int32)
    for hidden in ([3, 17, 20, 33], [39, 0], [1, 2, 3, 4, 5, 6]):
        labels = labels.fill_(SPECIAL.pad).index_fill(0, torch.tensor(hidden), 7)
        streams = {"target": PackedStream(tokens, positions, cu, labels)}
        few, every = Objective.of(config, model, SPECIAL.pad, False), Objective(model, 0.0, 512, SPECIAL.pad)
        assert few.share == config.batches.masked
        results = []
        for objective in (few, every):
            loss, nll = objective(streams)
            results.append([loss, nll, *torch.autograd.grad(loss, list(model.parameters()))])
        for one, other in zip(*results, strict=True):
            torch.testing.assert_close(one, other)
