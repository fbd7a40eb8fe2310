"""Check the gradient of a compiled bfloat16 peer against its plain float32 code.

A peer with a wrong gradient would learn less than it could, and the comparison would be worthless.

Dropout is on, as in training, because without it other code would be compiled. So gradients always differ; the question
is whether plain and compiled differ more than plain and plain.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from benchmarks.peer_training import Training
from benchmarks.peers import Padded, Peer


class Cosines(NamedTuple):
    """Cosines of a plain gradient with a compiled one, and with another plain one."""

    compiled: float
    plain: float

    def __str__(self) -> str:
        return f"{self.compiled:.4f} ({self.plain:.4f})"


@dataclass(frozen=True)
class Agreement:
    whole: Cosines
    worst: Cosines
    """Of the matrix with the largest deviation of compiled code; the gradient of some biases is only rounding."""
    name: str

    def __str__(self) -> str:
        return f"gradient against plain float32 (plain itself): cosine {self.whole}; worst, {self.name}: {self.worst}"


def agreement(training: Training, plain: Peer, groups: Sequence[Padded], tokens: int) -> Agreement:
    """Compare gradients. `plain` is a new instance of the same peer, which receives the weights. Nothing is trained."""
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
    result = gradients_of(training.peer)
    training.optimiser.zero_grad()
    return result


def plain_gradients(plain: Peer, smoothing: float, groups: Sequence[Padded]) -> dict[str, Tensor]:
    plain.zero_grad()
    for rows in groups:
        plain(rows, smoothing).backward()
    return gradients_of(plain)


def gradients_of(peer: Peer) -> dict[str, Tensor]:
    return {name: weight.grad.float() for name, weight in peer.named_parameters() if weight.grad is not None}


def cosine(one: Mapping[str, Tensor], other: Mapping[str, Tensor], names: Collection[str]) -> float:
    product, squares = 0.0, [0.0, 0.0]
    for name in names:
        a, b = one[name].double(), other[name].double()
        product += (a * b).sum().item()
        squares = [squares[0] + (a * a).sum().item(), squares[1] + (b * b).sum().item()]
    return product / max(1e-30, (squares[0] * squares[1]) ** 0.5)
