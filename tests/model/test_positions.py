"""Positional encodings against the paper's formula and its claims."""

import math

import pytest
import torch

from hark.model import stacks_of
from hark.model.positions import Rotary, Sinusoidal, sinusoid_halves, sinusoids
from tests.model.oracle import build, small


def test_sinusoids_equal_the_papers_formula() -> None:
    d_model, table = 16, sinusoids(3000, 16)
    for pos in (0, 1, 2, 77, 999, 2999):
        for i in range(d_model // 2):
            angle = pos / 10000 ** (2 * i / d_model)
            assert table[pos, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[pos, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_halves_have_the_same_values_in_another_order() -> None:
    table, halves = sinusoids(50, 16), sinusoid_halves(50, 16)
    torch.testing.assert_close(halves, torch.cat((table[:, 0::2], table[:, 1::2]), dim=1))


def test_tensor2tensors_wavelengths_end_at_exactly_10000() -> None:
    table = sinusoid_halves(50, 16, tensor2tensor=True)
    for pos in (0, 1, 49):
        for i in range(8):
            angle = pos / 10000 ** (i / 7)
            assert table[pos, i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[pos, 8 + i].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_positions_may_begin_later() -> None:
    first, later = (Sinusoidal(stacks_of(small(position_offset=offset))["encoder"]).table for offset in (0, 2))
    assert first.shape == later.shape
    torch.testing.assert_close(first[2:], later[:-2])


def test_a_fixed_offset_is_a_linear_function() -> None:
    """The paper's reason for sinusoids (3.5): one matrix takes PE(pos) to PE(pos + k) for every pos."""
    table = sinusoids(200, 16).double()
    matrix = torch.linalg.lstsq(table[:-7], table[7:]).solution
    torch.testing.assert_close(table[:-7] @ matrix, table[7:], atol=1e-5, rtol=0)


def test_the_table_is_not_a_weight() -> None:
    assert not Sinusoidal(stacks_of(small())["encoder"]).state_dict()
    longer = build(max_positions=128)
    longer.load_state_dict(build(max_positions=64).state_dict())


def test_rotary_products_depend_on_distance_only() -> None:
    rotary = Rotary(stacks_of(small(positions="rotary"))["encoder"])
    q, k = torch.randn(2, 1, 4, 8).double()

    def product(i: int, j: int) -> torch.Tensor:
        turned_q, turned_k = (rotary.rotation(torch.tensor([at]))(x) for x, at in ((q, i), (k, j)))
        return (turned_q * turned_k).sum(-1)

    torch.testing.assert_close(product(3, 1), product(40, 38), atol=1e-5, rtol=0)
    torch.testing.assert_close(product(5, 5), (q * k).sum(-1), atol=1e-5, rtol=0)
    assert not torch.allclose(product(3, 1), product(3, 2))


def test_learned_positions_are_weights_of_each_side() -> None:
    model = build(positions="learned")
    assert {"source_positions.weight", "target_positions.weight"} <= set(model.state_dict())
