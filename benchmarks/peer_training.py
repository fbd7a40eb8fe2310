"""Training of a peer with PyTorch's fused Adam, in the precisions that are compared, compiled or not."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from benchmarks.peers import Padded, Peer
from hark.config import Config
from hark.data.batches import PaddedBatch

Step = Callable[[int], int]
"""Runs a training step, including the optimiser, on the batch of that index; returns its real target tokens."""
RATE = 1e-4


@dataclass(frozen=True)
class Variant:
    """How a peer is run. Weights are always kept and updated in float32: updates of pure bfloat16 weights are mostly
    lost in rounding, so such a model does not train properly.

    `autocast` computes in bfloat16 where PyTorch considers it safe. With `bfloat16` the whole model is in that type, as
    a copy of the optimiser's float32 weights, as in fairseq. Compiled are the layers and the loss, once for all shapes.
    """

    precision: Literal["autocast", "bfloat16"]
    compiled: bool

    def __str__(self) -> str:
        return f"{self.precision}, {'compiled' if self.compiled else 'eager'}"


VARIANTS = {
    "eager": Variant("autocast", False), "compiled": Variant("autocast", True), "bf16": Variant("bfloat16", True),
    "bf16-eager": Variant("bfloat16", False),
}  # fmt: skip


class MasterAdam:
    """Fused Adam on float32 weights, of which the model holds a bfloat16 copy."""

    def __init__(self, weights: Sequence[nn.Parameter], **settings: object) -> None:
        self.weights = weights
        self.masters = [nn.Parameter(weight.detach().float()) for weight in weights]
        for master in self.masters:
            master.grad = torch.zeros_like(master)
        self.adam = torch.optim.Adam(self.masters, **settings)  # type: ignore[arg-type]

    def zero_grad(self) -> None:
        for weight in self.weights:
            weight.grad = None

    @torch.no_grad()
    def step(self) -> None:
        gradients = [weight.grad for weight in self.weights if weight.grad is not None]
        torch._foreach_copy_([master.grad for master in self.masters], gradients)  # type: ignore[misc]
        self.adam.step()
        torch._foreach_copy_([weight.detach() for weight in self.weights], [each.detach() for each in self.masters])


def peer_step(
    peer: Peer, config: Config, device: torch.device, batches: Sequence[PaddedBatch], variant: Variant
) -> Step:
    """A training step of a peer, with batches already on the device, like ours."""
    # cuDNN's attention makes a new plan for every shape, which takes longer than a step.
    torch.backends.cuda.enable_cudnn_sdp(False)
    peer.to(device).train()
    weights = [weight for weight in peer.parameters() if weight.requires_grad]
    train = config.train
    settings: dict[str, object] = {"lr": RATE, "betas": (train.beta1, train.beta2), "eps": train.eps, "fused": True}
    optimiser: MasterAdam | torch.optim.Adam
    if variant.precision == "bfloat16":
        optimiser = MasterAdam(weights, **settings)
        peer.bfloat16()
    else:
        optimiser = torch.optim.Adam(weights, **settings)  # type: ignore[arg-type]
    if variant.compiled:
        peer.compile_parts()
    autocast = variant.precision == "autocast" and device.type == "cuda"
    ready = [(Padded.of(batch, device), batch.n_target_tokens) for batch in batches]

    def step(number: int) -> int:
        batch, tokens = ready[number % len(ready)]
        with torch.autocast(device.type, torch.bfloat16, enabled=autocast):
            loss = peer(batch, train.label_smoothing)
        (loss / tokens).backward()
        optimiser.step()
        optimiser.zero_grad()
        return tokens

    return step
