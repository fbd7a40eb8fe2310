"""Training of a peer with PyTorch's fused Adam, in the precisions and compiled in the ways that are compared."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from benchmarks.peers import Padded, Peer
from hark.config import Config
from hark.data.batches import PaddedBatch

Step = Callable[[int], int]
"""Runs a training step, including the optimiser, on the batch of that index; returns its real target tokens."""


@dataclass(frozen=True)
class Variant:
    """How a peer is run. Weights are always kept and updated in float32: updates of pure bfloat16 weights are mostly
    lost in rounding, so such a model does not train properly.

    `autocast` computes in bfloat16 where PyTorch considers it safe. With `bfloat16` the whole model is in that type, as
    a copy of the optimiser's float32 weights, as in fairseq. Compiled are the `layers` and the loss, once for all
    shapes; or the `whole` model.
    """

    precision: Literal["autocast", "bfloat16"]
    compiled: Literal["no", "layers", "whole"]

    def __str__(self) -> str:
        words = {"no": "eager", "layers": "compiled", "whole": "compiled whole"}
        return f"{self.precision}, {words[self.compiled]}"


VARIANTS = {
    "eager": Variant("autocast", "no"),
    "compiled": Variant("autocast", "layers"),
    "bf16": Variant("bfloat16", "layers"),
    "bf16-eager": Variant("bfloat16", "no"),
    "whole": Variant("autocast", "whole"),
    "bf16-whole": Variant("bfloat16", "whole"),
}


class MasterAdam:
    """Fused Adam on float32 weights, of which the model holds a bfloat16 copy."""

    def __init__(self, weights: Sequence[nn.Parameter], **settings: object) -> None:
        self.weights = weights
        self.masters = [nn.Parameter(weight.detach().float()) for weight in weights]
        self.gradients = [torch.zeros_like(master) for master in self.masters]
        for master, gradient in zip(self.masters, self.gradients, strict=True):
            master.grad = gradient
        self.adam = torch.optim.Adam(self.masters, **settings)  # type: ignore[arg-type]

    def zero_grad(self) -> None:
        for weight in self.weights:
            weight.grad = None

    @torch.no_grad()
    def step(self) -> None:
        torch._foreach_copy_(self.gradients, [weight.grad for weight in self.weights if weight.grad is not None])
        self.adam.step()
        self.copy_to_model()

    def copy_to_model(self) -> None:
        """Copy the float32 weights to the model."""
        torch._foreach_copy_([weight.detach() for weight in self.weights], [each.detach() for each in self.masters])


class Training:
    """Trains a peer: its float32 weights by name, fused Adam, and a step on a batch."""

    def __init__(self, peer: Peer, config: Config, device: torch.device, variant: Variant) -> None:
        # cuDNN's attention makes a new plan for every shape, which takes longer than a step.
        torch.backends.cuda.enable_cudnn_sdp(False)
        self.peer, self.device, self.smoothing = peer.to(device).train(), device, config.train.label_smoothing
        self.autocast = variant.precision == "autocast" and device.type == "cuda"
        names, weights = zip(*((n, w) for n, w in peer.named_parameters() if w.requires_grad), strict=True)
        train = config.train
        settings: dict[str, object] = {"betas": (train.beta1, train.beta2), "eps": train.eps, "fused": True}
        self.optimiser: MasterAdam | torch.optim.Adam
        if variant.precision == "bfloat16":
            self.optimiser = MasterAdam(weights, **settings)
            self.adam, updated = self.optimiser.adam, self.optimiser.masters
            peer.bfloat16()
        else:
            self.optimiser = self.adam = torch.optim.Adam(weights, **settings)  # type: ignore[arg-type]
            updated = list(weights)
        self.weights: dict[str, nn.Parameter] = dict(zip(names, updated, strict=True))
        self.losses = torch.zeros((), device=device)  # summed over tokens, without synchronising
        peer.compile_parts(variant.compiled)

    def backward(self, groups: Iterable[Padded], tokens: int) -> None:
        """Accumulate the gradients of one batch, with `tokens` real target tokens in all its groups."""
        for rows in groups:
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.autocast):
                loss = self.peer(rows, self.smoothing)
            self.losses += loss.detach()
            (loss / tokens).backward()

    def step(self, groups: Iterable[Padded], tokens: int, rate: float) -> None:
        self.backward(groups, tokens)
        for group in self.adam.param_groups:
            group["lr"] = rate
        self.optimiser.step()
        self.optimiser.zero_grad()

    @torch.no_grad()
    def fill(self, values: Mapping[str, Tensor]) -> None:
        """Load other weights."""
        for name, weight in self.weights.items():
            weight.copy_(values[name])
        if isinstance(self.optimiser, MasterAdam):
            self.optimiser.copy_to_model()


def peer_step(
    peer: Peer, config: Config, device: torch.device, batches: Sequence[PaddedBatch], variant: Variant
) -> Step:
    """A training step of a peer, with batches already on the device, like ours."""
    training = Training(peer, config, device, variant)
    ready = [(Padded.of(batch, device), batch.n_target_tokens) for batch in batches]

    def step(number: int) -> int:
        batch, tokens = ready[number % len(ready)]
        training.step([batch], tokens, rate=1e-4)
        return tokens

    return step
