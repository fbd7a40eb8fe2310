"""Our attention kernels against the explicit softmax, run by Triton's interpreter, with gradients."""

from dataclasses import replace
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hark.config import ModelConfig
from hark.model.kernels import LONGEST, WIDTHS, available, cover
from hark.model.patterns import Observed, Packed, scaled_dot_product_attention
from hark.model.positions import build_positions
from hark.model.spec import stacks_of
from tests.model.oracle import cumulative

kernels = pytest.importorskip("hark.model.kernels.attention", reason="Triton is not installed", exc_type=ImportError)
from hark.model.kernels.linear import are_adjacent, join  # noqa: E402

SPEC = stacks_of(ModelConfig(relative_buckets=8, relative_distance=12))["encoder"]
EDGES = [0, 1, 15, 16, 17, 32, 33, 64, 65, 128, 129, 200]


def check(q_lengths: list[int], k_lengths: list[int] | None, causal: bool, width: int, heads: int = 2) -> None:
    """Compare outputs and gradients of self- or cross-attention on random inputs."""
    over = q_lengths if k_lengths is None else k_lengths
    longest = max(*q_lengths, *over)
    plain = Packed(cumulative(torch.tensor(q_lengths)), cumulative(torch.tensor(over)), longest, causal)
    upstream = torch.randn(sum(q_lengths), heads, width)
    if k_lengths is None:
        values = [torch.randn(sum(q_lengths), 3, heads, width)]
    else:
        values = [torch.randn(sum(q_lengths), heads, width), torch.randn(sum(k_lengths), 2, heads, width)]
    results: list[list[Tensor]] = []
    for pattern in (plain.with_ranges(sum(q_lengths), sum(over)), Observed(plain, lambda _: None)):
        inputs = [x.clone().requires_grad_() for x in values]
        # Queries, keys and values are adjacent, as one projection writes them; in cross-attention only keys and values.
        out = pattern(*inputs[:-1], *inputs[-1].unbind(1))
        results.append([out, *torch.autograd.grad(out, inputs, upstream)])
    for fast, exact in zip(*results, strict=True):
        torch.testing.assert_close(fast, exact, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize(("width", "causal"), list(product(WIDTHS, [False, True])))
def test_every_head_width(width: int, causal: bool) -> None:
    check([5, 17, 40, 1], None, causal, width)


@pytest.mark.parametrize(("k_width", "v_width"), [(16, 32), (32, 16)])
def test_keys_and_values_of_different_widths(k_width: int, v_width: int) -> None:
    lengths = [5, 17, 1]
    plain = Packed(cumulative(torch.tensor(lengths)), cumulative(torch.tensor(lengths)), 17, causal=True)
    values = [torch.randn(23, 2, width) for width in (k_width, k_width, v_width)]
    upstream = torch.randn(23, 2, v_width)
    results: list[list[Tensor]] = []
    for pattern in (plain.with_ranges(23, 23), Observed(plain, lambda _: None)):
        inputs = [x.clone().requires_grad_() for x in values]
        out = pattern(*inputs)
        results.append([out, *torch.autograd.grad(out, inputs, upstream)])
    for fast, exact in zip(*results, strict=True):
        torch.testing.assert_close(fast, exact, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("causal", [False, True])
def test_lengths_at_tile_boundaries(causal: bool) -> None:
    check(EDGES, None, causal, 16, heads=1)


def test_cross_attention() -> None:
    check(EDGES, EDGES[::-1], False, 16, heads=1)


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=4).filter(
        lambda pairs: all(sum(side) > 0 for side in zip(*pairs, strict=True))
    ),
    st.integers(0, 999),
)
@settings(max_examples=15)
def test_any_mix_of_lengths(pairs: list[tuple[int, int]], seed: int) -> None:
    torch.manual_seed(seed)
    check([q for q, _ in pairs], [k for _, k in pairs], False, 16, heads=1)


@pytest.fixture
def large_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """For sequences of any length the tiles of long ones, and parts without masks."""
    monkeypatch.setattr(kernels, "LONG", 0)


@pytest.mark.usefixtures("large_tiles")
@pytest.mark.parametrize("causal", [False, True])
def test_large_tiles(causal: bool) -> None:
    check([150, 3, 0, 64, 290], None, causal, 16, heads=1)


@pytest.mark.usefixtures("large_tiles")
def test_large_tiles_in_cross_attention() -> None:
    check([150, 3, 64], [7, 128, 260], False, 16, heads=1)


@pytest.mark.parametrize("causal", [False, True])
def test_long_sequences(causal: bool) -> None:
    check([3, 700], None, causal, 16, heads=1)


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("positions", ["relative", "alibi"])
@pytest.mark.parametrize("causal", [False, True])
def test_biases_by_distance(causal: bool, positions: str, large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if large:
        monkeypatch.setattr(kernels, "LONG", 0)
    lengths, heads = [5, 90, 1, 40], 2
    spec = replace(SPEC, causal=causal, positions=positions, n_heads=heads)  # type: ignore[arg-type]
    module = build_positions(spec)
    weights = list(module.parameters())
    for weight in weights:
        torch.nn.init.normal_(weight)
    cu, n = cumulative(torch.tensor(lengths)), sum(lengths)
    fused = Packed(cu, cu, 90, causal).with_ranges(n, n, module.distances(90))
    exact = Observed(Packed(cu, cu, 90, causal, bias_HTS=module.bias(90)), lambda _: None)
    values, upstream, results = torch.randn(n, 3, heads, 16), torch.randn(n, heads, 16), []
    for pattern in (fused, exact):
        qkv = values.clone().requires_grad_()
        out = pattern(*qkv.unbind(1))
        results.append([out, *torch.autograd.grad(out, [qkv, *weights], upstream)])
    for mine, true in zip(*results, strict=True):
        torch.testing.assert_close(mine, true, atol=5e-5, rtol=1e-4)


def recover(pattern: Packed, qkv: Tensor) -> Tensor:
    """The weights of each head after dropout, from values that are one for one key each: (H, N, N)."""
    n, _, heads, _ = qkv.shape
    q, k, _ = qkv.unbind(1)
    columns = []
    for first in range(0, n, 16):
        v = torch.zeros(n, heads, 16)
        for number in range(min(16, n - first)):
            v[first + number, :, number] = 1
        torch.manual_seed(1)  # the same dropout for all columns
        columns.append(pattern(q, k, v))
    return torch.cat(columns, -1)[..., :n].transpose(0, 1)


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_dropout(causal: bool, large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights are dropped independently, the others scaled; and gradients are those of the same mask."""
    if large:
        monkeypatch.setattr(kernels, "LONG", 0)
    lengths, heads, p = [90, 5, 40], 2, 0.4
    n, cu = sum(lengths), cumulative(torch.tensor(lengths))
    plain = Packed(cu, cu, 90, causal)
    fused = replace(plain.with_ranges(n, n), dropout=p)
    qkv, upstream = torch.randn(n, 3, heads, 16), torch.randn(n, heads, 16)
    q, k, v = qkv.unbind(1)
    _, weights_HNN = scaled_dot_product_attention(q, k, v, plain.visible(q, k))
    seen = weights_HNN > 1e-6
    keep_HNN = torch.where(seen, recover(fused, qkv) / weights_HNN, 0.0)
    torch.testing.assert_close(keep_HNN[seen] * (1 - p), keep_HNN[seen].bool().float(), atol=1e-3, rtol=0)
    kept = keep_HNN[seen].bool().double().mean().item()
    assert abs(kept - (1 - p)) < 5 * (p * (1 - p) / int(seen.sum())) ** 0.5
    assert not torch.equal(keep_HNN[0].bool() & seen[0], keep_HNN[1].bool() & seen[0])  # heads drop other pairs

    def exact(qkv: Tensor) -> Tensor:
        q, k, v = qkv.unbind(1)
        _, weights_HNN = scaled_dot_product_attention(q, k, v, plain.visible(q, k))
        return torch.einsum("hqk,khd->qhd", weights_HNN * keep_HNN.bool() / (1 - p), v)

    results = []
    for function in (lambda x: fused(*x.unbind(1)), exact):
        inputs = qkv.clone().requires_grad_()
        torch.manual_seed(1)
        out = function(inputs)
        results.append([out, *torch.autograd.grad(out, inputs, upstream)])
    for fast, true in zip(*results, strict=True):
        torch.testing.assert_close(fast, true, atol=5e-5, rtol=1e-4)


@pytest.mark.parametrize("large", [False, True])
def test_heads_that_share_keys_and_values(large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if large:
        monkeypatch.setattr(kernels, "LONG", 0)
    cu = cumulative(torch.tensor([5, 17, 140]))
    plain = Packed(cu, cu, 140, causal=True)
    values, upstream, results = torch.randn(162, 6 + 2 + 2, 16), torch.randn(162, 6, 16), []
    for pattern in (plain.with_ranges(162, 162), Observed(plain, lambda _: None)):
        qkv = values.clone().requires_grad_()
        out = pattern(*qkv.split([6, 2, 2], dim=1))
        results.append([out, *torch.autograd.grad(out, qkv, upstream)])
    for fast, exact in zip(*results, strict=True):
        torch.testing.assert_close(fast, exact, atol=3e-5, rtol=1e-4)


@pytest.mark.parametrize("apart", [(), (0,), (0, 1), (1, 2), (0, 1, 2)], ids=str)
def test_any_memory_layout_of_queries_keys_and_values(apart: tuple[int, ...]) -> None:
    """Rotary positions write queries and keys to new tensors; the result does not depend on it."""
    cu = cumulative(torch.tensor([5, 17, 40]))
    plain, upstream = Packed(cu, cu, 40, causal=True), torch.randn(62, 2, 16)
    qkv, results = torch.randn(62, 3, 2, 16), []
    for pattern in (plain.with_ranges(62, 62), Observed(plain, lambda _: None)):
        values = qkv.clone().requires_grad_()
        parts = [part.clone() if number in apart else part for number, part in enumerate(values.unbind(1))]
        out = pattern(*parts)
        results.append([out, *torch.autograd.grad(out, values, upstream)])
    for fast, exact in zip(*results, strict=True):
        torch.testing.assert_close(fast, exact, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("cross", [False, True])
def test_gradients_have_the_memory_layout_of_the_inputs(cross: bool) -> None:
    """So that the projection before attention reads them without copying."""
    cu = cumulative(torch.tensor([5, 17]))
    made = [torch.randn(22, 1, 2, 16), torch.randn(22, 2, 2, 16)] if cross else [torch.randn(22, 3, 2, 16)]
    q, k, v = (part.detach().requires_grad_() for each in made for part in each.unbind(1))
    out = Packed(cu, cu, 17).with_ranges(22, 22)(q, k, v)
    gradients = torch.autograd.grad(out, (q, k, v), torch.randn_like(out))
    rows = [each.flatten(1) for each in gradients]
    groups = (rows[:1], rows[1:]) if cross else (rows,)
    for group in groups:
        assert are_adjacent(group)
        assert join(group).data_ptr() == group[0].data_ptr()
    assert are_adjacent(rows) is not cross


def test_ranges_match_the_explicit_mask() -> None:
    lengths = [3, 0, 5, 1, 0], [2, 4, 0, 6, 0]
    for q_lengths, k_lengths, causal in ((lengths[0], lengths[0], True), (lengths[0], lengths[1], False)):
        q_cu, k_cu = (cumulative(torch.tensor(each)) for each in (q_lengths, k_lengths))
        n_q, n_k = sum(q_lengths), sum(k_lengths)
        visible = Packed(q_cu, k_cu, 9, causal).visible(torch.empty(n_q, 1, 1), torch.empty(n_k, 1, 1))
        ranges = kernels.make_ranges(q_cu, k_cu, n_q, n_k, causal)
        i, j = torch.arange(n_q)[:, None], torch.arange(n_k)[None, :]
        assert torch.equal((j >= ranges.first_key[:, None]) & (j < ranges.end_key[:, None]), visible)
        assert torch.equal((i >= ranges.first_query) & (i < ranges.end_query), visible)


def test_kernels_are_unavailable_without_a_gpu() -> None:
    assert available() == torch.cuda.is_available()


def test_untested_sizes_are_not_covered() -> None:
    assert cover(ModelConfig(d_k=64, d_v=64), LONGEST)
    assert cover(ModelConfig(d_k=16, d_v=64), LONGEST)
    assert not cover(ModelConfig(d_k=48, d_v=48), 512)
    assert not cover(ModelConfig(d_k=64, d_v=48), 512)
    assert not cover(ModelConfig(d_k=64, d_v=64), LONGEST + 1)
