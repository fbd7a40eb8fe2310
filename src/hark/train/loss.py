"""The loss: cross-entropy with label smoothing (paper, 5.4), summed over tokens."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from hark.data.batches import Batch, PackedStream, PaddedStream, TokenStream
from hark.model import Layout, Transformer, kernels, packed_layout, padded_layout

Streams = Mapping[str, TokenStream[Tensor]]
"""A batch on the device: its token streams by name."""


def smoothed_loss(logits: Tensor, labels: Tensor, smoothing: float, pad: int) -> tuple[Tensor, Tensor]:
    """Sums over all labels but `pad`: of the smoothed loss, and of the plain negative log-likelihood.

    The label gets 1 - smoothing of the probability, and the whole vocabulary shares the rest evenly. In float32
    whatever the logits are in: the sum over a vocabulary loses too much otherwise.
    """
    log_p_V = logits.float().log_softmax(dim=-1)
    real = labels != pad
    nll = -(log_p_V.gather(-1, labels.long().unsqueeze(-1)).squeeze(-1) * real).sum()
    uniform = -(log_p_V.mean(dim=-1) * real).sum()
    return (1 - smoothing) * nll + smoothing * uniform, nll.detach()


class Objective(nn.Module):
    """Translation: the model with its loss. The streams "source" and "target" in, sums over target tokens out.

    This is what is compiled and spread over processes. Sums, not means: what they are divided by is the number of
    tokens of the whole step, over all batches and processes.
    """

    def __init__(self, model: Transformer, smoothing: float, longest: int, pad: int, fused: bool = False) -> None:
        """`longest`: tokens of a sentence at most; `pad`: the label that counts for nothing; `fused`: by our own
        kernels, the model's too, from now on."""
        super().__init__()
        self.model = model
        self.smoothing = smoothing
        self.longest = longest
        self.pad = pad
        self.refresh = kernels.fuse(model) if fused else None

    @property
    def fused(self) -> bool:
        return self.refresh is not None

    def forward(self, streams: Streams) -> tuple[Tensor, Tensor]:
        if self.refresh is not None:
            self.refresh()
        source, target = streams["source"], streams["target"]
        hidden = self.model.hidden(source.tokens, target.tokens, self.layout(source, target))
        assert target.labels is not None
        if not self.fused:
            return smoothed_loss(self.model.logits(hidden), target.labels, self.smoothing, self.pad)
        from hark.train.fused_loss import projected_loss

        return projected_loss(hidden, self.model.output_weight, target.labels, self.smoothing, self.pad)

    def layout(self, source: TokenStream[Tensor], target: TokenStream[Tensor]) -> Layout:
        if isinstance(source, PackedStream) and isinstance(target, PackedStream):
            positions = source.positions, target.positions
            return packed_layout(source.cu, target.cu, *positions, self.longest, self.fused)
        assert isinstance(source, PaddedStream)
        assert isinstance(target, PaddedStream)
        return padded_layout(source.lengths, target.lengths)


def to_tensors(batch: Batch[Any], device: torch.device) -> Streams:
    """A batch's streams on the device. From pinned memory the copy runs beside the work on the batch before."""

    def move(array: Any) -> Tensor:
        tensor = torch.from_numpy(array)
        return tensor.to(device) if device.type != "cuda" else tensor.pin_memory().to(device, non_blocking=True)

    return {name: stream.map(move) for name, stream in batch.streams.items()}
