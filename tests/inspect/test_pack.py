"""Packed arrays are decoded as in the page's script, and equal the originals up to rounding."""

import base64
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.inspect.pack import Pack, text_size


def unpack(pack: Pack, name: str) -> Any:
    block = pack.blocks[name]
    packed = base64.b64decode(pack.text)[block["at"] : block["at"] + block["bytes"]]
    plain = np.frombuffer(zlib.decompress(packed, -zlib.MAX_WBITS), np.uint8)
    kind, bits = block["type"][0], int(block["type"][1:])
    if bits == 16:
        high, low = plain[: len(plain) // 2].astype(np.uint16), plain[len(plain) // 2 :].astype(np.uint16)
        plain = ((high << 8) | low).view(np.int16 if kind == "i" else np.uint16)
    return plain.astype(np.float64).reshape(block["shape"]) * block["scale"]


@pytest.mark.parametrize("bits", [8, 16])
def test_shares_are_rounded_to_half_a_step(bits: Any) -> None:
    shares = np.random.default_rng(1).dirichlet(np.ones(5), (3, 4)).astype(np.float32)
    shares[0, 0] = [0, 0, 1, 0, 0]
    pack = Pack()
    pack.add_shares("some", shares, bits)
    found = unpack(pack, "some")
    assert found.shape == shares.shape
    assert np.abs(found - shares).max() <= 0.5 / (2**bits - 1) + 1e-7
    np.testing.assert_array_equal(found[0, 0], [0, 0, 1, 0, 0])


@given(st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=40))
def test_signed_numbers_are_rounded_to_half_a_step(numbers: list[float]) -> None:
    array = np.array(numbers, np.float32)
    pack = Pack()
    pack.add_signed("some", array)
    largest = float(np.abs(array).max()) or 1.0
    assert np.abs(unpack(pack, "some") - array).max() <= 0.5001 * largest / 32767


def test_blocks_are_contiguous() -> None:
    pack = Pack()
    arrays = {f"block {number}": np.full((number, 2), number / 9, np.float32) for number in range(1, 6)}
    for name, array in arrays.items():
        pack.add_shares(name, array, 16)
    for name, array in arrays.items():
        np.testing.assert_allclose(unpack(pack, name), array, atol=1e-5)
    assert pack.size == sum(block["bytes"] for block in pack.blocks.values()) == len(base64.b64decode(pack.text))
    assert len(pack.text) == text_size(pack.size)


def test_any_memory_order() -> None:
    array = np.random.default_rng(2).random((4, 6)).astype(np.float32)
    pack = Pack()
    pack.add_shares("turned", array.T, 16)
    pack.add_signed("sliced", array[:, ::2])
    np.testing.assert_allclose(unpack(pack, "turned"), array.T, atol=1e-5)
    np.testing.assert_allclose(unpack(pack, "sliced"), array[:, ::2], atol=1e-4)


def test_weights_of_a_causal_head_compress_better() -> None:
    weights = np.random.default_rng(3).dirichlet(np.ones(64), (2, 64)).astype(np.float32)
    whole, causal = Pack(), Pack()
    whole.add_shares("a", weights, 16)
    causal.add_shares("a", np.tril(weights), 16)
    assert causal.size < 0.7 * whole.size
