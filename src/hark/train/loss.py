"""The loss: cross-entropy with label smoothing (paper, 5.4), summed over tokens."""

import torch
from torch import Tensor, nn

from hark.data.stream import MARKS
from hark.model import Layout, Transformer, kernels, packed_layout, padded_layout


def smoothed_loss(logits: Tensor, labels: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Sums over all tokens but padding: of the smoothed loss, and of the plain negative log-likelihood.

    The label gets 1 - smoothing of the probability, and the whole vocabulary shares the rest evenly. In float32
    whatever the logits are in: the sum over a vocabulary loses too much otherwise.
    """
    log_p_V = logits.float().log_softmax(dim=-1)
    real = labels != MARKS.pad
    nll = -(log_p_V.gather(-1, labels.long().unsqueeze(-1)).squeeze(-1) * real).sum()
    uniform = -(log_p_V.mean(dim=-1) * real).sum()
    return (1 - smoothing) * nll + smoothing * uniform, nll.detach()


class Objective(nn.Module):
    """The model with its loss: a batch's tensors in, sums over its tokens out. This is what is compiled and shared out.

    Sums, not means: what they are divided by is the number of tokens of the whole step, over all batches and processes.
    """

    def __init__(self, model: Transformer, smoothing: float, longest: int, fused: bool = False) -> None:
        """`fused`: by our own kernels, the model's too, from now on."""
        super().__init__()
        self.model = model
        self.smoothing = smoothing
        self.longest = longest
        self.refresh = kernels.fuse(model) if fused else None

    @property
    def fused(self) -> bool:
        return self.refresh is not None

    def forward(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        if self.refresh is not None:
            self.refresh()
        hidden = self.model.hidden(batch["source"], batch["target_in"], self.layout(batch))
        if not self.fused:
            return smoothed_loss(self.model.logits(hidden), batch["target_out"], self.smoothing)
        from hark.train.fused_loss import projected_loss

        return projected_loss(hidden, self.model.output_weight, batch["target_out"], self.smoothing)

    def layout(self, batch: dict[str, Tensor]) -> Layout:
        if "source_cu" not in batch:
            return padded_layout(batch["source_lengths"], batch["target_lengths"])
        positions = batch["source_positions"], batch["target_positions"]
        return packed_layout(batch["source_cu"], batch["target_cu"], *positions, self.longest, self.fused)


def to_tensors(batch: object, device: torch.device) -> dict[str, Tensor]:
    """A batch's arrays on the device. From pinned memory the copy runs beside the work on the batch before."""
    arrays = {name: torch.from_numpy(array) for name, array in vars(batch).items() if name in TENSORS}
    if device.type != "cuda":
        return {name: tensor.to(device) for name, tensor in arrays.items()}
    return {name: tensor.pin_memory().to(device, non_blocking=True) for name, tensor in arrays.items()}


TENSORS = frozenset(
    f"{side}{part}" for side in ("source", "target") for part in ("", "_in", "_out", "_positions", "_cu", "_lengths")
)
"""The parts of a batch, packed or padded, that the model sees."""
