"""Dropout without memory: a mask depends only on a seed and on positions, so the backward pass computes it again."""

import torch
import triton
import triton.language as tl
from torch import Tensor

APART = tl.constexpr(0x9E3779B1)
"""An odd number by which rows are set apart, so that nearby pairs of row and column never meet."""


@triton.jit
def hash_bits(x):
    """An integer hash in which every input bit affects every output bit, with published constants."""
    x = (x ^ (x >> 16)) * 0x7FEB352D
    x = (x ^ (x >> 15)) * 0x846CA68B
    return x ^ (x >> 16)


@triton.jit
def kept(random, p):
    return tl.where((random >> 8).to(tl.float32) * (1.0 / 16777216.0) >= p, 1.0 / (1.0 - p), 0.0)


@triton.jit
def dropout_mask(seed, rows, columns, WIDTH: tl.constexpr, p):
    """For the elements of a matrix: 1 / (1 - p) or 0."""
    place = (rows[:, None] * WIDTH + columns[None, :]).to(tl.uint32)
    return kept(hash_bits(hash_bits(place + hash_bits(seed)) ^ seed), p)


@triton.jit
def pair_mask(seed, i, j, p):
    """For pairs of a query and a key, whose numbers broadcast. Cheaper, because there are so many of them."""
    return kept(hash_bits((i.to(tl.uint32) * APART + j.to(tl.uint32)) ^ seed), p)


def draw_seed(near: Tensor) -> Tensor:
    """Draw a dropout seed from PyTorch's generator for the device of `near`."""
    return torch.randint(2**31 - 1, (1,), device=near.device)
