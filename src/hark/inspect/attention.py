"""Records the attention of every layer and head for sentence pairs or texts, in one forced pass.

The model is unchanged: its layout's patterns are wrapped in `Observed`. Attention is recorded on the finished
translation, so that the search and its fast kernels need no changes.

Shape suffixes in addition to the package's legend: L layers.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hark.config import ModelConfig
from hark.model import Layout, Model, stacks_of

AttentionKind = Literal["encoder", "decoder", "cross"]
"""The paper's three uses of attention (3.2.3): encoder self-attention, decoder self-attention, cross-attention. A model
of one stack has the one that is named like its stack."""
KINDS: tuple[AttentionKind, ...] = ("encoder", "decoder", "cross")
Inputs = tuple[Sequence[int], ...]
"""The tokens of each stream that a model reads, in its order. Of a translation: the encoder's input, EOS included, and
the decoder's, the start token first. Of a model of one stack: its text alone."""
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
    """The layers of each kind of attention that a model has."""
    layers: dict[AttentionKind, int] = {}
    for stack, spec in stacks_of(config).items():
        kind: AttentionKind = "encoder" if stack == "encoder" else "decoder"
        layers[kind] = spec.n_layers
        if "cross_attention" in spec.sublayers:
            layers["cross"] = spec.n_layers
    return layers


def every_head(config: ModelConfig) -> list[Head]:
    return [
        Head(kind, layer, number)
        for kind, layers in count_layers(config).items()
        for layer in range(layers)
        for number in range(config.n_heads)
    ]


@dataclass(frozen=True)
class Attention:
    """All weights of one sentence pair or text, in float32 on the CPU. Each row belongs to a query and sums to one."""

    weights: Mapping[AttentionKind, NDArray[np.float32]]
    """Those of each kind that the model has, (L, H, T, S)."""

    def of(self, kind: AttentionKind) -> NDArray[np.float32]:
        return self.weights[kind]

    @property
    def kinds(self) -> tuple[AttentionKind, ...]:
        return tuple(kind for kind in KINDS if kind in self.weights)

    @property
    def encoder_LHSS(self) -> NDArray[np.float32]:
        return self.weights["encoder"]

    @property
    def decoder_LHTT(self) -> NDArray[np.float32]:
        return self.weights["decoder"]

    @property
    def cross_LHTS(self) -> NDArray[np.float32]:
        return self.weights["cross"]


def observe(
    model: Model, *inputs: Sequence[int], wrap: Callable[[Layout], Layout] = lambda layout: layout
) -> Attention:
    """Return the weights of one sentence pair or text; `wrap` may wrap the patterns of the layout.

    Row t of a decoder is the step that reads token t of its input and predicts the next one.
    """
    (attention,) = observe_batch(model, [inputs], wrap)
    return attention


def observe_many(model: Model, examples: Iterable[Inputs]) -> Iterator[Attention]:
    """Yield the weights of many pairs or texts, in order; those of similar length are batched."""
    for window in windows(examples):
        found: dict[int, Attention] = {}
        for batch in batches(window):
            found.update(zip(batch, observe_batch(model, [window[index] for index in batch]), strict=True))
        yield from (found[index] for index in range(len(window)))


def windows(examples: Iterable[Inputs]) -> Iterator[list[Inputs]]:
    """Group examples, in order, into windows whose weights fit in memory together."""
    window: list[Inputs] = []
    cells = 0
    for example in examples:
        window.append(example)
        cells += size_of(example) ** 2
        if cells >= WINDOW_CELLS:
            yield window
            window, cells = [], 0
    if window:
        yield window


def batches(examples: Sequence[Inputs], tokens: int = BATCH_TOKENS, cells: int = BATCH_CELLS) -> Iterator[list[int]]:
    """Group the indices of examples into batches, shortest first."""
    sizes = [size_of(example) for example in examples]
    batch: list[int] = []
    for index in sorted(range(len(examples)), key=sizes.__getitem__):
        slots = (len(batch) + 1) * sizes[index]
        if batch and (slots > tokens or slots * sizes[index] > cells):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def size_of(example: Inputs) -> int:
    return max(map(len, example))


@torch.no_grad()
def observe_batch(
    model: Model, examples: Sequence[Inputs], wrap: Callable[[Layout], Layout] = lambda layout: layout
) -> list[Attention]:
    streams, layout = lay_out(model, examples)
    seen: dict[str, list[Tensor]] = {kind: [] for kind in layout.patterns}
    layout = layout.observed({kind: layers.append for kind, layers in seen.items()})
    model.hidden(streams, wrap(layout))
    weights_BLHTS = {
        kind: torch.stack(seen[kind], dim=1).float().cpu().numpy() for kind in KINDS if kind in layout.patterns
    }
    found = []
    for row, example in enumerate(examples):
        lengths = dict(zip(model.reads, map(len, example), strict=True))
        sides = {kind: [lengths[stream] for stream in streams_of(model, kind)] for kind in weights_BLHTS}
        found.append(
            Attention(
                {kind: each[row, :, :, : sides[kind][0], : sides[kind][1]] for kind, each in weights_BLHTS.items()}
            )
        )
    return found


def lay_out(model: Model, examples: Sequence[Inputs]) -> tuple[dict[str, Tensor], Layout]:
    """Return the examples as the rows of each stream, padded at the end, and their layout."""
    device = model.output_weight.device
    sides = [rectangle(side, device) for side in zip(*examples, strict=True)]
    streams = {name: tokens_BT for name, (tokens_BT, _) in zip(model.reads, sides, strict=True)}
    lengths = {name: lengths_B for name, (_, lengths_B) in zip(model.reads, sides, strict=True)}
    return streams, model.padded_layout(lengths)


def streams_of(model: Model, kind: AttentionKind) -> tuple[str, str]:
    """The streams that the queries and the keys of a kind of attention come from."""
    stream_of = {stack: stream for stream, stack in model.reads.items()}
    if kind == "cross":
        return stream_of["decoder"], stream_of["encoder"]
    return stream_of[kind], stream_of[kind]


def rectangle(sentences: Sequence[Sequence[int]], device: torch.device | str = "cpu") -> tuple[Tensor, Tensor]:
    """Return sentences as rows, padded at the end, and their lengths."""
    lengths = [len(sentence) for sentence in sentences]
    longest = max(lengths)
    rows = [[*sentence, *[0] * (longest - len(sentence))] for sentence in sentences]
    return torch.tensor(rows, device=device), torch.tensor(lengths, device=device)
