"""Records the attention of every layer and head for sentence pairs, in one forced pass.

The model is unchanged: its layout's patterns are wrapped in `Observed`. Attention is recorded on the finished
translation, so that the search and its fast kernels need no changes.

Shape suffixes in addition to the package's legend: L layers.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hark.config import ModelConfig
from hark.model import Layout, Transformer

AttentionKind = Literal["encoder", "decoder", "cross"]
"""The paper's three uses of attention (3.2.3): encoder self-attention, decoder self-attention, cross-attention."""
KINDS: tuple[AttentionKind, ...] = ("encoder", "decoder", "cross")
InputPair = tuple[Sequence[int], Sequence[int]]
"""The encoder's input, EOS included; the decoder's input, the start token first."""
BATCH_TOKENS, BATCH_CELLS = 2048, 1 << 17
"""Maximum tokens of a batch, and cells of one head's weight matrices for it, padding included. Cells are kept for all
heads of all layers: 75 MB for the paper's base model."""
WINDOW_CELLS = 1 << 18
"""Cells of the pairs that are sorted by length together, to reduce padding."""


class Head(NamedTuple):
    """One head. Layers and heads count from 0; displayed text counts from 1."""

    kind: AttentionKind
    layer: int
    number: int

    def __str__(self) -> str:
        return f"{self.kind} {self.layer + 1}:{self.number + 1}"


def count_layers(config: ModelConfig) -> dict[AttentionKind, int]:
    return {"encoder": config.n_encoder_layers, "decoder": config.n_decoder_layers, "cross": config.n_decoder_layers}


def every_head(config: ModelConfig) -> list[Head]:
    return [
        Head(kind, layer, number)
        for kind, layers in count_layers(config).items()
        for layer in range(layers)
        for number in range(config.n_heads)
    ]


@dataclass(frozen=True)
class Attention:
    """All weights of one sentence pair, in float32 on the CPU. Each row belongs to a query and sums to one."""

    encoder_LHSS: NDArray[np.float32]
    decoder_LHTT: NDArray[np.float32]
    cross_LHTS: NDArray[np.float32]

    def of(self, kind: AttentionKind) -> NDArray[np.float32]:
        return {"encoder": self.encoder_LHSS, "decoder": self.decoder_LHTT, "cross": self.cross_LHTS}[kind]


def observe(
    model: Transformer,
    source: Sequence[int],
    target: Sequence[int],
    wrap: Callable[[Layout], Layout] = lambda layout: layout,
) -> Attention:
    """Return the weights of one pair; `wrap` may wrap the patterns of the layout.

    Row t of the target is the step that reads `target[t]` and predicts the next token.
    """
    (attention,) = observe_batch(model, [(source, target)], wrap)
    return attention


def observe_many(model: Transformer, pairs: Iterable[InputPair]) -> Iterator[Attention]:
    """Yield the weights of many pairs, in order; pairs of similar length are batched."""
    for window in windows(pairs):
        found: dict[int, Attention] = {}
        for batch in batches(window):
            found.update(zip(batch, observe_batch(model, [window[index] for index in batch]), strict=True))
        yield from (found[index] for index in range(len(window)))


def windows(pairs: Iterable[InputPair]) -> Iterator[list[InputPair]]:
    """Group pairs, in order, into windows whose weights fit in memory together."""
    window: list[InputPair] = []
    cells = 0
    for pair in pairs:
        window.append(pair)
        cells += size_of(pair) ** 2
        if cells >= WINDOW_CELLS:
            yield window
            window, cells = [], 0
    if window:
        yield window


def batches(pairs: Sequence[InputPair], tokens: int = BATCH_TOKENS, cells: int = BATCH_CELLS) -> Iterator[list[int]]:
    """Group the indices of pairs into batches, shortest first."""
    sizes = [size_of(pair) for pair in pairs]
    batch: list[int] = []
    for index in sorted(range(len(pairs)), key=sizes.__getitem__):
        slots = (len(batch) + 1) * sizes[index]
        if batch and (slots > tokens or slots * sizes[index] > cells):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def size_of(pair: InputPair) -> int:
    return max(map(len, pair))


@torch.no_grad()
def observe_batch(
    model: Transformer, pairs: Sequence[InputPair], wrap: Callable[[Layout], Layout] = lambda layout: layout
) -> list[Attention]:
    device = model.output_weight.device
    source_BS, source_lengths = rectangle([source for source, _ in pairs], device)
    target_BT, target_lengths = rectangle([target for _, target in pairs], device)
    layout = model.padded_layout({"source": source_lengths, "target": target_lengths})
    seen: dict[str, list[Tensor]] = {kind: [] for kind in layout.patterns}
    layout = layout.observed({kind: layers.append for kind, layers in seen.items()})
    model.hidden({"source": source_BS, "target": target_BT}, wrap(layout))
    encoder_BLHSS, decoder_BLHTT, cross_BLHTS = (torch.stack(seen[kind], dim=1).float().cpu().numpy() for kind in KINDS)
    found = []
    for row, (source, target) in enumerate(pairs):
        s, t = len(source), len(target)
        found.append(
            Attention(
                encoder_BLHSS[row, :, :, :s, :s], decoder_BLHTT[row, :, :, :t, :t], cross_BLHTS[row, :, :, :t, :s]
            )
        )
    return found


def rectangle(sentences: Sequence[Sequence[int]], device: torch.device | str = "cpu") -> tuple[Tensor, Tensor]:
    """Return sentences as rows, padded at the end, and their lengths."""
    lengths = [len(sentence) for sentence in sentences]
    longest = max(lengths)
    rows = [[*sentence, *[0] * (longest - len(sentence))] for sentence in sentences]
    return torch.tensor(rows, device=device), torch.tensor(lengths, device=device)
