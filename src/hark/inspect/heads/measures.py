"""Where a head looks, in figures: the mean, over the steps of a corpus, of what its weights say at each step."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hark.inspect.attention import KINDS, Attention, Head, Kind
from hark.text.vocabulary import SPACE, Vocabulary

Measure = Literal["previous", "same", "next", "near", "start", "end", "punctuation", "entropy", "evenness", "distance"]
"""All but the last three are shares of a head's weight. They overlap: what is at the previous token is also near."""
NEAR = 2
"""Tokens to either side that count as near."""

Array = NDArray[np.float64]
Steps = tuple[NDArray[np.floating], NDArray[np.bool_]]
"""A value at each step, (L, H, T), and which steps count."""


@dataclass
class HeadTally:
    """Sums over steps, for each kind and measure and by layer and head, and how many steps each is a sum of."""

    sums_LH: dict[tuple[Kind, Measure], Array] = field(default_factory=dict)
    steps: dict[tuple[Kind, Measure], int] = field(default_factory=dict)

    def add(self, attention: Attention, source_marks_S: NDArray[np.bool_], target_marks_T: NDArray[np.bool_]) -> None:
        """Count a pair; the marks tell which tokens of what the encoder and the decoder read are punctuation."""
        for kind in KINDS:
            marks = target_marks_T if kind == "decoder" else source_marks_S
            for measure, (values_LHT, counts_T) in measure_weights(kind, attention.of(kind), marks).items():
                sums_LH = values_LHT[..., counts_T].sum(-1, dtype=np.float64)
                key = kind, measure
                self.sums_LH[key] = self.sums_LH.get(key, np.zeros_like(sums_LH)) + sums_LH
                self.steps[key] = self.steps.get(key, 0) + int(counts_T.sum())

    def means(self) -> dict[Head, dict[Measure, float]]:
        """Of each head. A measure that no step of the corpus could be asked for is left out."""
        found: dict[Head, dict[Measure, float]] = {}
        for (kind, measure), sums_LH in self.sums_LH.items():
            if steps := self.steps[kind, measure]:
                for (layer, number), value in np.ndenumerate(sums_LH / steps):
                    found.setdefault(Head(kind, layer, number), {})[measure] = float(value)
        return found


def measure_weights(
    kind: Kind, weights_LHTS: NDArray[np.float32], marks_S: NDArray[np.bool_]
) -> Mapping[Measure, Steps]:
    """What one sentence's weights say. `marks_S` tells which keys are punctuation.

    A step counts only if it has a choice, and where what is asked for is there. The start of the decoder and the end of
    the source are not counted where they are also the token itself or its neighbour. Cross-attention has no same place
    in the other sentence: places are counted from the diagonal of the two.
    """
    n_queries, n_keys = weights_LHTS.shape[-2:]
    at_T = np.arange(n_queries)
    seen_T = at_T + 1 if kind == "decoder" else np.full(n_queries, n_keys)
    if kind == "cross":
        at_T = np.rint(at_T * (n_keys - 1) / max(1, n_queries - 1)).astype(np.intp)
    offset_TS = np.arange(n_keys)[None, :] - at_T[:, None]

    def mean_of(values_TS: NDArray[Any], counts_T: NDArray[np.bool_]) -> Steps:
        values_TS = np.broadcast_to(values_TS, offset_TS.shape).astype(np.float32)
        return np.einsum("lhts,ts->lht", weights_LHTS, values_TS), counts_T & (seen_T > 1)

    every_T = np.ones(n_queries, bool)
    found: dict[Measure, Steps] = {
        "previous": mean_of(offset_TS == -1, at_T >= 1),
        "same": mean_of(offset_TS == 0, every_T),
        "near": mean_of(np.abs(offset_TS) <= NEAR, seen_T > 2 * NEAR + 1),
        "punctuation": mean_of(marks_S, every_T & marks_S.any()),
        "distance": mean_of(np.abs(offset_TS), every_T),
    }
    if kind == "decoder":
        found["start"] = mean_of(np.arange(n_keys) == 0, at_T >= 2)
    else:
        found["next"] = mean_of(offset_TS == 1, at_T <= n_keys - 2)
        found["end"] = mean_of(np.arange(n_keys) == n_keys - 1, at_T <= n_keys - 3)
    entropy_LHT = -(weights_LHTS * np.log2(np.maximum(weights_LHTS, 1e-30))).sum(-1)
    found["entropy"] = entropy_LHT, seen_T > 1
    found["evenness"] = entropy_LHT / np.log2(np.maximum(seen_T, 2)), seen_T > 1
    return found


def marks_of(vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """For each id whether it is punctuation: signs, no letters or digits, no bytes and no special ids."""
    ids = range(vocabulary.vocab_size)
    bare = (piece.lstrip(SPACE) for piece in vocabulary.pieces(ids))
    return np.array(
        [
            bool(piece)
            and not any(map(str.isalnum, piece))
            and not vocabulary.is_special(token)
            and vocabulary.byte_of(token) is None
            for token, piece in zip(ids, bare, strict=True)
        ]
    )
