"""Positional encodings (paper, 3.5): attention alone does not know the order of its input.

The encodings have the width d_model of the embeddings, so that the two can be summed, at the bottom of both stacks.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hark.model.spec import StackSpec


def angles(n_positions: int, width: int, base: float = 10_000.0) -> Tensor:
    """`pos / base^(2i / width)`, with the paper's base of 10000, for every position and every pair i.

    The wavelengths form a geometric progression from 2*pi to 10000*2*pi. Computed in float64, because the angles of
    distant positions are large.
    """
    i = torch.arange(0, width, 2, dtype=torch.float64)
    return torch.arange(n_positions, dtype=torch.float64)[:, None] / base ** (i / width)


def sinusoids(n_positions: int, d_model: int) -> Tensor:
    """`PE(pos, 2i) = sin(pos / 10000^(2i/d_model))` and `PE(pos, 2i+1) = cos(pos / 10000^(2i/d_model))`.

    For any fixed offset k, PE(pos + k) is a linear function of PE(pos), a rotation of each pair, from which relative
    positions can be learned.
    """
    angle = angles(n_positions, d_model)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(-2).float()


def sinusoid_halves(n_positions: int, d_model: int, tensor2tensor: bool = False) -> Tensor:
    """All sines, then all cosines, as Hugging Face's Marian has them.

    With the wavelengths of tensor2tensor, `10000^(i / (d_model/2 - 1))`, as fairseq, Marian and OpenNMT-tf have them:
    the last is exactly 10000 times the first.
    """
    half = d_model // 2
    i = torch.arange(half, dtype=torch.float64) / (max(1, half - 1) if tensor2tensor else half)
    angle = torch.arange(n_positions, dtype=torch.float64)[:, None] / 10000**i
    return torch.cat((angle.sin(), angle.cos()), dim=-1).float()


@dataclass(frozen=True, eq=False)
class Rotation:
    """Rotates each pair of a query or key by the angle of its position, so that products depend on distance only."""

    cos: Tensor
    sin: Tensor

    def __call__(self, x_HK: Tensor) -> Tensor:
        even, odd = x_HK.unflatten(-1, (-1, 2)).unbind(-1)
        cos, sin = self.cos.to(x_HK.dtype), self.sin.to(x_HK.dtype)
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)


@dataclass(frozen=True, eq=False)
class DistanceBias:
    """What is added to the scores of self-attention, by head and by how far the key is ahead of the query.

    Distances are those from `-reach` to `reach`, and all farther ones count as these. Each belongs to a step with a
    bias, and the steps do not decrease; without `step_D`, each is a step of its own.
    """

    bias_HB: Tensor
    step_D: Tensor | None = None

    def table(self, length: int) -> Tensor:
        """bias_HTS, by the positions of query and key below `length`."""
        reach = (self.bias_HB.shape[1] if self.step_D is None else len(self.step_D)) // 2
        position = torch.arange(length, device=self.bias_HB.device)
        at_TS = (position - position[:, None]).clamp(-reach, reach) + reach
        return self.bias_HB[:, at_TS if self.step_D is None else self.step_D[at_TS]]


class Positions(nn.Module):
    """No positional encoding, and the base class of those that add to the embeddings or rotate queries and keys."""

    def add(self, x: Tensor, positions: Tensor) -> Tensor:  # noqa: ARG002
        return x

    def rotation(self, positions: Tensor) -> Rotation | None:  # noqa: ARG002
        return None

    def distances(self, length: int) -> DistanceBias | None:  # noqa: ARG002
        """Added to the scores of self-attention, for positions below `length`."""
        return None

    def bias(self, length: int) -> Tensor | None:
        """The same as bias_HTS, by the positions of query and key."""
        distances = self.distances(length)
        return None if distances is None else distances.table(length)


class Sinusoidal(Positions):
    """The paper's choice, because it may extrapolate to sentences longer than any in training. The table is not a
    weight and can be extended without training."""

    table: Tensor

    def __init__(self, spec: StackSpec) -> None:
        super().__init__()
        n_positions, width = spec.position_offset + spec.max_positions, spec.d_model
        match spec.positions:
            case "sinusoidal_halves":
                table = sinusoid_halves(n_positions, width)
            case "sinusoidal_t2t":
                table = sinusoid_halves(n_positions, width, tensor2tensor=True)
            case _:
                table = sinusoids(n_positions, width)
        self.register_buffer("table", table[spec.position_offset :], persistent=False)

    def add(self, x: Tensor, positions: Tensor) -> Tensor:
        return x + self.table[positions]


class Learned(Positions):
    """Learned positional embeddings: nearly identical results in the paper (3.5 and Table 3, row E)."""

    def __init__(self, spec: StackSpec) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(spec.max_positions, spec.d_model))

    def add(self, x: Tensor, positions: Tensor) -> Tensor:
        return x + self.weight[positions]


class Rotary(Positions):
    """Rotary positions (Su et al., 2021): the same wavelengths, as rotations of queries and keys."""

    cos: Tensor
    sin: Tensor

    def __init__(self, spec: StackSpec) -> None:
        super().__init__()
        angle = angles(spec.max_positions, spec.k_width, spec.rotary_base)
        self.register_buffer("cos", angle.cos().float(), persistent=False)
        self.register_buffer("sin", angle.sin().float(), persistent=False)

    def rotation(self, positions: Tensor) -> Rotation:
        return Rotation(self.cos[positions].unsqueeze(-2), self.sin[positions].unsqueeze(-2))


class Alibi(Positions):
    """ALiBi (Press et al., 2022): each head's scores fall linearly with the distance, each with a slope of its own."""

    slopes_H: Tensor

    def __init__(self, spec: StackSpec) -> None:
        super().__init__()
        self.register_buffer("slopes_H", alibi_slopes(spec.n_heads), persistent=False)

    def distances(self, length: int) -> DistanceBias:
        ahead = torch.arange(1 - length, length, device=self.slopes_H.device)
        return DistanceBias(-self.slopes_H[:, None] * ahead.abs())


def alibi_slopes(n_heads: int) -> Tensor:
    """`2^(-8i / n)` for head i of n, if n is a power of two; of other n, every second slope of twice the next smaller
    power is added."""
    power = 1 << (n_heads.bit_length() - 1)
    slopes = [2 ** (-8 * i / power) for i in range(1, power + 1)]
    slopes += [2 ** (-4 * i / power) for i in range(1, 2 * (n_heads - power), 2)]
    return torch.tensor(slopes)


class Relative(Positions):
    """Relative positions (Raffel et al., 2020): each head has a learned bias for each bucket of distances, which the
    layers of a stack share. A decoder has one kind of distances, back to earlier tokens; an encoder has two."""

    bucket_B: Tensor
    step_D: Tensor

    def __init__(self, spec: StackSpec) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(spec.relative_buckets, spec.n_heads))
        # Far keys have the same bucket. In the order of distances, each bucket comes once; not all of them come.
        ahead = torch.arange(-spec.relative_distance, spec.relative_distance + 1, device="cpu")  # also under "meta"
        bucket_D = relative_buckets(ahead, spec.relative_buckets, spec.relative_distance, spec.causal)
        bucket_B, step_D = bucket_D.unique_consecutive(return_inverse=True)
        self.register_buffer("bucket_B", bucket_B, persistent=False)
        self.register_buffer("step_D", step_D, persistent=False)

    def distances(self, length: int) -> DistanceBias:  # noqa: ARG002
        return DistanceBias(F.embedding(self.bucket_B, self.weight).T, self.step_D)


def relative_buckets(ahead: Tensor, buckets: int, farthest: int, causal: bool) -> Tensor:
    """The bucket of each distance from a query to a key, which is `ahead` of it.

    Half of the buckets have one distance each, from 0; the others cover distances up to the farthest in logarithmic
    steps, and the last one all beyond. Keys ahead of the query have buckets of their own, or, if causal, those of
    distance 0, as they are not seen.
    """
    if causal:
        distance, first = (-ahead).clamp(min=0), torch.zeros_like(ahead)
    else:
        buckets //= 2
        distance, first = ahead.abs(), (ahead > 0) * buckets
    near = buckets // 2
    # In this order and in float32, as T5 computes it: some distances lie exactly between two buckets.
    steps = (distance.clamp(min=1).float() / near).log() / math.log(farthest / near) * (buckets - near)
    far = (near + steps.long()).clamp(max=buckets - 1)
    return first + distance.where(distance < near, far)


def build_positions(spec: StackSpec) -> Positions:
    match spec.positions:
        case "sinusoidal" | "sinusoidal_halves" | "sinusoidal_t2t":
            return Sinusoidal(spec)
        case "learned":
            return Learned(spec)
        case "rotary":
            return Rotary(spec)
        case "alibi":
            return Alibi(spec)
        case "relative":
            return Relative(spec)
        case "none":
            return Positions()
