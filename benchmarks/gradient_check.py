"""Whether a peer, compiled and in bfloat16, has the gradient that its plain code has in float32: else it learns less
than it could, and a comparison is worth nothing.

Dropout is on, as in training: a compiled model without it would be another one. So gradients differ in any case, and
what counts is whether plain and compiled differ more than plain and plain.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from peers import Padded, Peer, Training
from torch import Tensor

Batches = Sequence[tuple[Padded, int]]
"""Each with its real target tokens."""


class Cosines(NamedTuple):
    """Of the gradient of plain code with that of compiled code, and with another one of plain code."""

    compiled: float
    plain: float

    def __str__(self) -> str:
        return f"{self.compiled:.4f} ({self.plain:.4f})"


@dataclass(frozen=True)
class Agreement:
    whole: Cosines
    worst: Cosines
    """Of the weight for which compiled code is furthest off."""
    name: str

    def __str__(self) -> str:
        return (
            f"gradient against plain float32 (plain itself): cosine {self.whole}; the worst, {self.name}: {self.worst}"
        )


def agreement(training: Training, plain: Peer, batches: Batches) -> Agreement:
    """`plain` is the same peer, newly made: it is given the weights. No weight is changed."""
    with torch.no_grad():
        for name, weight in plain.named_parameters():
            if weight.requires_grad:
                weight.copy_(training.weights[name])
    plain.to(training.device).train()
    compiled = gradients(training, batches)
    first, second = (plain_gradients(plain, training.smoothing, batches) for _ in range(2))

    def cosines(names: Collection[str]) -> Cosines:
        return Cosines(cosine(first, compiled, names), cosine(first, second, names))

    each = {name: cosines([name]) for name in first}
    name = max(each, key=lambda name: each[name].plain - each[name].compiled)
    return Agreement(cosines(first), each[name], name)


def gradients(training: Training, batches: Batches) -> dict[str, Tensor]:
    training.optimiser.zero_grad()
    tokens = sum(each for _, each in batches)
    for batch, _ in batches:
        training.backward(batch, tokens)
    found = trained(training.peer)
    training.optimiser.zero_grad()
    return found


def plain_gradients(plain: Peer, smoothing: float, batches: Batches) -> dict[str, Tensor]:
    plain.zero_grad()
    for batch, _ in batches:
        plain(batch, smoothing).backward()
    return trained(plain)


def trained(peer: Peer) -> dict[str, Tensor]:
    return {name: weight.grad.float() for name, weight in peer.named_parameters() if weight.grad is not None}


def cosine(one: Mapping[str, Tensor], other: Mapping[str, Tensor], names: Collection[str]) -> float:
    product, squares = 0.0, [0.0, 0.0]
    for name in names:
        a, b = one[name].double(), other[name].double()
        product += (a * b).sum().item()
        squares = [squares[0] + (a * a).sum().item(), squares[1] + (b * b).sum().item()]
    return product / max(1e-30, (squares[0] * squares[1]) ** 0.5)
