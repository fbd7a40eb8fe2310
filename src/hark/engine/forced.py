"""Forced decoding of existing translations, in batches: the log-probabilities and cross-attention of their tokens."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, pairwise
from typing import NamedTuple, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hark.engine.interface import AlignmentHeads, LikelyTokens, TokenPair
from hark.engine.transfer import send
from hark.model import Model, Transformer
from hark.model.patterns import Attend, Packed, scaled_dot_product_attention
from hark.text.vocabulary import SpecialIds

BATCH_TOKENS = 1 << 12
"""Target tokens per forward pass."""
LOGIT_ROWS = 1 << 9
"""Tokens whose logits are computed at a time: those of a long text would take gigabytes."""

Member = TypeVar("Member")


@dataclass(frozen=True, eq=False)
class PackedText:
    """Sentences packed end to end."""

    tokens_N: Tensor
    positions_N: Tensor
    places_N: Tensor
    """The place of each token's keys in the cache, if `starts` are those of the sentences."""
    cu: Tensor
    longest: int

    @classmethod
    def of(
        cls,
        sentences: Sequence[Sequence[int]],
        device: torch.device,
        starts: Sequence[int] | int = 0,
        strides: Sequence[int] | int = 1,
    ) -> Self:
        """`strides`: the distance of the places of a sentence's tokens."""
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        cu = np.concatenate([[0], np.cumsum(lengths)])
        tokens_N = np.fromiter(chain.from_iterable(sentences), np.int64, int(cu[-1]))
        positions_N = np.arange(cu[-1]) - np.repeat(cu[:-1], lengths)
        start_N, stride_N = (np.repeat(np.broadcast_to(each, len(lengths)), lengths) for each in (starts, strides))
        places_N = positions_N * stride_N + start_N
        # One transfer, which costs the host least.
        tokens, positions, places = send(np.stack([tokens_N, positions_N, places_N]), device)
        return cls(tokens, positions, places, send(cu.astype(np.int32), device), int(lengths.max()))

    def slots(self) -> tuple[Tensor, Tensor]:
        """The indices of each sentence's tokens, padded to rows of one length, and a mask of the real ones."""
        at = torch.arange(self.longest, device=self.cu.device)
        real = at < self.cu.diff()[:, None]
        return (self.cu[:-1, None] + at).where(real, 0), real

    def encode(self, model: Transformer) -> Tensor:
        """The memories of the sentences, packed end to end."""
        bias_HTS = model.source_positions.bias(self.longest)
        return model.encode(self.tokens_N, self.positions_N, Packed(self.cu, self.cu, self.longest, bias_HTS=bias_HTS))


def in_batches(members: Iterable[Member], tokens_of: Callable[[Member], int], exact: bool) -> Iterator[list[Member]]:
    """Group members into batches for one pass each; one by one if results must be independent of the batch."""
    batch: list[Member] = []
    tokens = 0
    for each in members:
        batch.append(each)
        tokens += tokens_of(each)
        if exact or tokens >= BATCH_TOKENS:
            yield batch
            batch, tokens = [], 0
    if batch:
        yield batch


@torch.no_grad()
def score(
    model: Model, special: SpecialIds, pairs: Sequence[TokenPair], device: torch.device
) -> list[tuple[float, ...]]:
    """Return the log-probability of each target token, EOS included."""
    target = PackedText.of([(special.start, *target) for _, target in pairs], device)
    expected = PackedText.of([(*target, special.end) for _, target in pairs], device)
    hidden_ND = run(model, [source for source, _ in pairs], target, device)
    logits_NV = model.logits(hidden_ND).float()
    log_prob_N = logits_NV.log_softmax(-1).gather(1, expected.tokens_N[:, None]).squeeze(1).tolist()
    return [tuple(log_prob_N[start:stop]) for start, stop in pairwise(target.cu.tolist())]


def run(model: Model, sources: Sequence[Sequence[int]], target: PackedText, device: torch.device) -> Tensor:
    """Return the output of the last layer. A model of one stack has no sources."""
    if not isinstance(model, Transformer):
        layout = model.packed_layout({"target": target.cu}, {"target": target.positions_N}, target.longest)
        return model.hidden({"target": target.tokens_N}, layout)
    source = PackedText.of(sources, device)
    cross = Packed(target.cu, source.cu, max(source.longest, target.longest))
    return read(model, source, target, cross)


class WrittenText(NamedTuple):
    """An output in tokens, whose log-probabilities are wanted from position `prefix` on."""

    source: Sequence[int]
    start: int
    tokens: Sequence[int]
    """With EOS, if it is complete."""
    prefix: int
    alternatives: int


@torch.no_grad()
def likely_tokens(
    model: Model, written: Sequence[WrittenText], device: torch.device
) -> list[tuple[tuple[float, ...], tuple[LikelyTokens, ...]]]:
    """Return the log-probability of each token of outputs, and the likeliest tokens in its place."""
    inputs = PackedText.of([(each.start, *each.tokens[:-1]) for each in written], device)
    hidden_ND = run(model, [each.source for each in written], inputs, device)
    counts = [len(each.tokens) - each.prefix for each in written]
    starts = [start + each.prefix for start, each in zip(inputs.cu.tolist(), written, strict=False)]
    rows = [row for start, n in zip(starts, counts, strict=True) for row in range(start, start + n)]
    expected = [token for each in written for token in each.tokens[each.prefix :]]
    row_N, token_N = send(np.array([rows, expected], np.int64), device)
    log_probs: list[float] = []
    best: list[LikelyTokens] = []
    for some_N, expected_N in zip(row_N.split(LOGIT_ROWS), token_N.split(LOGIT_ROWS), strict=True):
        log_prob_NV = model.logits(hidden_ND[some_N]).float().log_softmax(-1)
        log_probs += log_prob_NV.gather(1, expected_N[:, None]).squeeze(1).tolist()
        found = log_prob_NV.topk(max(each.alternatives for each in written))
        best += map(tuple, map(zip, found.indices.tolist(), found.values.tolist()))
    stops = np.cumsum(counts).tolist()
    return [
        (tuple(log_probs[stop - n : stop]), tuple(likely[: each.alternatives] for likely in best[stop - n : stop]))
        for each, n, stop in zip(written, counts, stops, strict=True)
    ]


def read(model: Transformer, source: PackedText, target: PackedText, cross: Attend) -> Tensor:
    """Return the output of the decoder's last layer."""
    bias_HTS = model.target_positions.bias(target.longest)
    own = Packed(target.cu, target.cu, target.longest, causal=True, bias_HTS=bias_HTS)
    return model.decode(target.tokens_N, source.encode(model), target.positions_N, own, cross)


class TokenTranslation(NamedTuple):
    """A source and its translation, in tokens."""

    source: Sequence[int]
    tokens: Sequence[int]
    complete: bool


@torch.no_grad()
def align(
    model: Transformer,
    special: SpecialIds,
    alignment: AlignmentHeads,
    found: Sequence[TokenTranslation],
    device: torch.device,
) -> list[NDArray[np.float32]]:
    """Return the cross-attention of each translation, `attention_TS`.

    As in the search, no step reads the last token of a truncated translation.
    """
    source = PackedText.of([each.source for each in found], device)
    target = PackedText.of([(special.start, *each.tokens) for each in found], device)
    cross = Packed(target.cu, source.cu, max(source.longest, target.longest))
    layers, heads = count(), list(alignment.heads)
    recorded: list[Tensor] = []

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Cross-attention; in the alignment layer, also record the weights of the alignment heads, padded."""
        if next(layers) == alignment.layer:
            (q_slots, _), (k_slots, k_real) = target.slots(), source.slots()
            q_BTHK, k_BSHK = q[:, heads][q_slots], k[:, heads][k_slots]
            nothing_BSHK = k_BSHK[..., :0]  # only the weights are needed
            _, weights_BHTS = scaled_dot_product_attention(q_BTHK, k_BSHK, nothing_BSHK, k_real[:, None, None])
            recorded.append(weights_BHTS.mean(1))
        return cross(q, k, v)

    read(model, source, target, attend)
    steps_BTS = recorded[0].float().cpu().numpy()
    return [
        alignment.of_tokens(steps_TS[: len(each.tokens) + each.complete, : len(each.source)], len(each.tokens))
        for each, steps_TS in zip(found, steps_BTS, strict=True)
    ]
