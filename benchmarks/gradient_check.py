"""Whether a peer, compiled and in bfloat16, has the gradient that its plain code has in float32: else it learns less
than it could, and a comparison is worth nothing.

Dropout is on, as in training: a compiled model without it would be another one. So gradients differ in any case, and
what counts is whether plain and compiled differ more than plain and plain.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from benchmarks.peers import Padded, Peer, Training


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
    """Of the matrix for which compiled code is furthest off; some biases have no gradient but rounding."""
    name: str

    def __str__(self) -> str:
        return (
            f"gradient against plain float32 (plain itself): cosine {self.whole}; the worst, {self.name}: {self.worst}"
        )


def agreement(training: Training, plain: Peer, groups: Sequence[Padded], tokens: int) -> Agreement:
    """`plain` is the same peer, newly made: it is given the weights. No weight is changed."""
    with torch.no_grad():
        for name, weight in plain.named_parameters():
            if weight.requires_grad:
                weight.copy_(training.weights[name])
    plain.to(training.device).train()
    compiled = gradients(training, groups, tokens)
    first, second = (plain_gradients(plain, training.smoothing, groups) for _ in range(2))

    def cosines(names: Collection[str]) -> Cosines:
        return Cosines(cosine(first, compiled, names), cosine(first, second, names))

    each = {name: cosines([name]) for name, gradient in first.items() if gradient.dim() == 2}
    name = max(each, key=lambda name: each[name].plain - each[name].compiled)
    return Agreement(cosines(first), each[name], name)


def gradients(training: Training, groups: Sequence[Padded], tokens: int) -> dict[str, Tensor]:
    training.optimiser.zero_grad()
    training.backward(groups, tokens)
    found = trained(training.peer)
    training.optimiser.zero_grad()
    return found


def plain_gradients(plain: Peer, smoothing: float, groups: Sequence[Padded]) -> dict[str, Tensor]:
    plain.zero_grad()
    for rows in groups:
        plain(rows, smoothing).backward()
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
