"""The loss: cross-entropy with label smoothing (paper, 5.4), summed over tokens."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from hark.config import Config
from hark.data.batches import Batch, PackedStream, PaddedStream, TokenStream
from hark.model import Layout, Model, kernels

Streams = Mapping[str, TokenStream[Tensor]]
"""The token streams of a batch on the device, by name."""


def smoothed_loss(logits: Tensor, labels: Tensor, smoothing: float, pad: int) -> tuple[Tensor, Tensor]:
    """Return the smoothed loss and the negative log-likelihood, each summed over all labels except `pad`, which may be
    negative.

    The target distribution is 1 - smoothing on the label plus smoothing spread evenly over the vocabulary. Computed in
    float32 for logits of any type: the sum over a vocabulary loses too much precision otherwise.
    """
    log_p_V = logits.float().log_softmax(dim=-1)
    real = labels != pad
    nll = -(log_p_V.gather(-1, labels.long().clamp(min=0).unsqueeze(-1)).squeeze(-1) * real).sum()
    uniform = -(log_p_V.mean(dim=-1) * real).sum()
    return (1 - smoothing) * nll + smoothing * uniform, nll.detach()


def predicted(hidden_ND: Tensor, labels_N: Tensor, pad: int, most: int) -> tuple[Tensor, Tensor]:
    """Return only the rows with a label, so that no logits are computed for the others: `most` rows whatever their
    number, as a CUDA graph requires, the last of them with the label `pad`."""
    hidden_ND, labels_N = hidden_ND.flatten(0, -2), labels_N.flatten()
    real_N = labels_N != pad
    place_N = torch.where(real_N, real_N.cumsum(0) - 1, most).clamp(max=most)
    slots_N = torch.arange(len(labels_N), device=labels_N.device)
    at_M = slots_N.new_zeros(most + 1).scatter(0, place_N, slots_N)[:most]
    filled_M = torch.arange(most, device=labels_N.device) < real_N.sum()
    return hidden_ND.index_select(0, at_M), labels_N[at_M].where(filled_M, pad)


class Objective(nn.Module):
    """The model with its loss: takes the streams that the model reads, returns sums over the tokens that it predicts.

    This is the module that is compiled and distributed over processes. It returns sums, not means, because the divisor
    is the number of tokens in the whole step, over all batches and processes.
    """

    def __init__(
        self, model: Model, smoothing: float, longest: int, pad: int, fused: bool = False, share: float = 1.0
    ) -> None:
        """`longest`: the most tokens in a sentence; `pad`: the label to ignore; `fused`: run model and loss with our
        kernels; `share`: the most that a batch predicts of its slots."""
        super().__init__()
        self.model = model
        self.smoothing, self.longest, self.pad, self.share = smoothing, longest, pad, share
        self.refresh = kernels.fuse(model) if fused else None

    @classmethod
    def of(cls, config: Config, model: Model, pad: int, fused: bool) -> "Objective":
        """As the settings ask. Masked language models predict only what is hidden."""
        batches = config.batches
        hides = config.model.shape == "encoder" and config.model.labels is None and not batches.any_order
        share = batches.masked if hides and batches.masked else 1.0
        return cls(model, config.train.label_smoothing, batches.max_length, pad, fused, share)

    @property
    def fused(self) -> bool:
        return self.refresh is not None

    def forward(self, streams: Streams) -> tuple[Tensor, Tensor]:
        hidden = self.hidden(streams)
        labels = streams[self.model.predicts].labels
        assert labels is not None
        if self.share < 1:
            hidden, labels = predicted(hidden, labels, self.pad, math.ceil(self.share * labels.numel()) + 1)
        if not self.fused:
            return smoothed_loss(self.model.logits(hidden), labels, self.smoothing, self.pad)
        from hark.train.fused_loss import projected_loss

        return projected_loss(hidden, self.model.output_weight, labels, self.smoothing, self.pad)

    def hidden(self, streams: Streams) -> Tensor:
        if self.refresh is not None:
            self.refresh()
        tokens = {name: streams[name].tokens for name in self.model.reads}
        layout = self.layout(streams).dropping(self.model.config.attention_dropout if self.training else 0.0)
        return self.model.hidden(tokens, layout)

    def layout(self, streams: Streams) -> Layout:
        packed = {name: stream for name, stream in streams.items() if isinstance(stream, PackedStream)}
        if packed:
            cu = {name: stream.cu for name, stream in packed.items()}
            positions = {name: stream.positions for name, stream in packed.items()}
            layout = self.model.packed_layout(cu, positions, self.longest, self.fused)
            for name, stream in packed.items():
                if stream.ranks is not None:
                    layout = layout.permuted(name, self.model.reads[name], stream.ranks)
            return layout
        padded = {name: stream for name, stream in streams.items() if isinstance(stream, PaddedStream)}
        return self.model.padded_layout({name: stream.lengths for name, stream in padded.items()})


def to_tensors(batch: Batch[Any], device: torch.device) -> Streams:
    """Copy a batch to the device. From pinned memory, the copy overlaps with work on the previous batch."""

    def move(array: Any) -> Tensor:
        tensor = torch.from_numpy(array)
        return tensor.to(device) if device.type != "cuda" else tensor.pin_memory().to(device, non_blocking=True)

    return {name: stream.map(move) for name, stream in batch.streams.items()}
