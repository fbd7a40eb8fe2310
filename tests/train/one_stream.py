"""A minimal objective with one stream, a causal language model, and batches for it."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from hark.data.batches import Batch, PackedStream, PaddedStream, TokenStream
from hark.model import Layout, Model, Stack, StackSpec
from hark.model.patterns import Packed, Padded, Pattern
from hark.text.vocabulary import SpecialIds
from hark.train.loss import Streams, smoothed_loss

SPECIAL = SpecialIds(pad=39, unknown=38, start=37, end=36)  # unlike those of our tokenizer
VOCABULARY = 40
LONGEST = 16


class LanguageModel(Model):
    """One stack that predicts each token of the stream "text" from those before it."""

    reads = {"text": "only"}  # noqa: RUF012
    predicts = "text"

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 32)
        self.stack = Stack(
            StackSpec(n_layers=1, d_model=32, d_ff=32, n_heads=2, k_width=16, v_width=16, causal=True, dropout=0)
        )

    @property
    def stacks(self) -> dict[str, Stack]:
        return {"only": self.stack}

    def hidden(self, tokens: Mapping[str, Tensor], layout: Layout) -> Tensor:
        return self.stack(self.embedding(tokens["text"]), layout.patterns["only"])

    def logits(self, hidden: Tensor) -> Tensor:
        return hidden @ self.output_weight.T

    @property
    def output_weight(self) -> Tensor:
        return self.embedding.weight


class LanguageObjective(nn.Module):
    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, streams: Streams) -> tuple[Tensor, Tensor]:
        text = streams["text"]
        assert text.labels is not None
        hidden = self.model.hidden({"text": text.tokens}, Layout({}, {"only": self.pattern(text)}))
        return smoothed_loss(self.model.logits(hidden), text.labels, 0.1, SPECIAL.pad)

    def pattern(self, text: TokenStream[Tensor]) -> Pattern:
        return Packed(text.cu, text.cu, LONGEST, causal=True) if isinstance(text, PackedStream) else Padded(causal=True)


def draw_sentences(count: int, seed: int) -> list[list[int]]:
    """Draw sentences of consecutive ids, so that each token can be predicted from the previous one."""
    rng = np.random.default_rng(seed)
    return [
        [int((first + i) % 30) for i in range(length)]
        for first, length in zip(rng.integers(0, 30, count), rng.integers(1, LONGEST, count), strict=True)
    ]


def packed_batch(sentences: Sequence[Sequence[int]], slots: int = 256) -> Batch[PackedStream[np.ndarray]]:
    tokens, labels = (np.full(slots, SPECIAL.pad, np.int32) for _ in range(2))
    lengths = [len(each) + 1 for each in sentences]
    n_tokens = sum(lengths)
    tokens[:n_tokens] = [token for each in sentences for token in (SPECIAL.start, *each)]
    labels[:n_tokens] = [token for each in sentences for token in (*each, SPECIAL.end)]
    dummies = range(n_tokens, slots, LONGEST)
    cu = np.array([0, *np.cumsum(lengths)[:-1], *dummies, *[slots] * (slots // LONGEST - len(dummies) + 1)], np.int32)
    positions = np.arange(slots, dtype=np.int32) - np.repeat(cu[:-1], np.diff(cu))
    return batch_of(PackedStream(tokens, positions, cu, labels), len(sentences), n_tokens)


def padded_batch(sentences: Sequence[Sequence[int]]) -> Batch[PaddedStream[np.ndarray]]:
    tokens, labels = (np.full((len(sentences), LONGEST), SPECIAL.pad, np.int32) for _ in range(2))
    for row, each in enumerate(sentences):
        tokens[row, : len(each) + 1] = [SPECIAL.start, *each]
        labels[row, : len(each) + 1] = [*each, SPECIAL.end]
    lengths = np.array([len(each) + 1 for each in sentences], np.int32)
    return batch_of(PaddedStream(tokens, lengths, labels), len(sentences), int(lengths.sum()))


def batch_of(stream: TokenStream, n_sentences: int, n_tokens: int) -> Batch:
    return Batch(0, np.zeros((n_sentences, 3), np.int64), {"text": stream}, {"text": n_tokens})


def objective() -> LanguageObjective:
    torch.manual_seed(1)
    return LanguageObjective(LanguageModel())
