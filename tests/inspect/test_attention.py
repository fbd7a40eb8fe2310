"""Recorded attention equals the formula, independent of the batch."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hark.inspect import attention
from hark.inspect.attention import KINDS, WINDOW_CELLS, Attention, Head, batches, observe, observe_many, windows
from hark.model import padded_layout
from tests.inspect.reference import Reference
from tests.model.oracle import build

SOURCE, TARGET = [5, 9, 30, 14, 7, 3], [2, 8, 8, 21]


@pytest.mark.parametrize("changes", [{}, {"norm": "pre"}, {"attention_bias": False, "n_decoder_layers": 3, "d_k": 6}])
def test_weights_are_those_of_the_formula_in_float64(changes: dict[str, Any]) -> None:
    model = build(**changes)
    found, reference = observe(model, SOURCE, TARGET), Reference(model)
    reference.run(SOURCE, TARGET)
    config = model.config
    assert found.encoder_LHSS.shape == (config.n_encoder_layers, config.n_heads, 6, 6)
    assert found.decoder_LHTT.shape == (config.n_decoder_layers, config.n_heads, 4, 4)
    assert found.cross_LHTS.shape == (config.n_decoder_layers, config.n_heads, 4, 6)
    for kind in KINDS:
        weights = found.of(kind)
        assert weights.dtype == np.float32
        np.testing.assert_allclose(weights, np.stack(reference.weights[kind]), atol=1e-5)
        np.testing.assert_allclose(weights.sum(-1), 1.0, atol=1e-6)
    assert np.ptp(found.cross_LHTS) > 0.05  # not uniform, so that mixed-up heads or rows would be noticed


def test_later_tokens_are_masked() -> None:
    later = np.triu(np.ones((4, 4), bool), k=1)
    assert not observe(build(), SOURCE, TARGET).decoder_LHTT[..., later].any()


def test_the_model_is_unchanged() -> None:
    model = build()
    before = {name: each.clone() for name, each in model.state_dict().items()}
    inputs = torch.tensor([SOURCE]), torch.tensor([TARGET])
    layout = padded_layout(torch.tensor([6]), torch.tensor([4]))
    expected = model(*inputs, layout)
    observe(model, SOURCE, TARGET)
    assert torch.equal(model(*inputs, layout), expected)
    assert all(torch.equal(each, before[name]) for name, each in model.state_dict().items())


@settings(max_examples=10)
@given(st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), min_size=1, max_size=9), st.integers(0, 99))
def test_attention_is_independent_of_the_batch_and_in_order(lengths: list[tuple[int, int]], seed: int) -> None:
    model, chance = build(), np.random.default_rng(seed)
    pairs = [(chance.integers(4, 40, s).tolist(), chance.integers(4, 40, t).tolist()) for s, t in lengths]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attention, "WINDOW_CELLS", 200)
        found = list(observe_many(model, iter(pairs)))
    assert len(found) == len(pairs)
    for each, pair in zip(found, pairs, strict=True):
        assert_same(each, observe(model, *pair))


def assert_same(one: Attention, other: Attention) -> None:
    for kind in KINDS:
        assert one.of(kind).shape == other.of(kind).shape
        np.testing.assert_allclose(one.of(kind), other.of(kind), atol=1e-5)


@given(st.lists(st.integers(1, 30), max_size=30), st.integers(1, 100), st.integers(1, 900))
def test_batches_are_complete_and_bounded(lengths: list[int], tokens: int, cells: int) -> None:
    found = list(batches([([0] * length, [0]) for length in lengths], tokens, cells))
    assert sorted(index for batch in found for index in batch) == list(range(len(lengths)))
    for batch in found:
        longest = max(lengths[index] for index in batch)
        assert len(batch) == 1 or (len(batch) * longest <= tokens and len(batch) * longest**2 <= cells)


@given(st.lists(st.integers(1, 700), max_size=30))
def test_windows_keep_the_order_and_are_bounded(lengths: list[int]) -> None:
    found = list(windows(([0], [0] * length) for length in lengths))
    assert [len(target) for window in found for _, target in window] == lengths
    for window in found:
        assert sum(len(target) ** 2 for _, target in window[:-1]) < WINDOW_CELLS


def test_head_names_count_from_one() -> None:
    assert str(Head("cross", 4, 2)) == "cross 5:3"
