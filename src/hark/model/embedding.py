"""Token embeddings of width d_model (paper, 3.4)."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Embedding(nn.Module):
    """Learned vectors, multiplied by sqrt(d_model) to bring them to the scale of the positional encodings, unless
    `scaled` is False."""

    def __init__(self, vocab_size: int, d_model: int, scaled: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))
        self.scale = math.sqrt(d_model) if scaled else 1.0

    def forward(self, tokens: Tensor) -> Tensor:
        return F.embedding(tokens, self.weight) * self.scale
