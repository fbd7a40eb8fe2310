"""Induction heads: those that, where a token comes again, look at the token that followed it before.

Such a head lets a decoder go on with a sequence that it has seen once, whatever it is (Elhage et al., 2021; Olsson et
al., 2022). It needs a head in a layer before it that looks at the previous token, so that each token knows which one it
follows. To measure it apart from everything that a model knows of text, the model reads random tokens twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from hark.inspect.attention import Head, Inputs, lay_out
from hark.inspect.heads.roles import HeadMeasure
from hark.inspect.recording import Vectors, capture
from hark.inspect.variants import attention_of
from hark.model import Model
from hark.text.vocabulary import Vocabulary

SEQUENCES, LENGTH = 8, 48
"""Sequences to read, and the tokens of one, which come twice."""


@dataclass(frozen=True)
class Repetition:
    """What a decoder does with random tokens that come twice."""

    length: int
    first: float
    """The loss on the tokens when they come first, in nats per token."""
    second: float
    """The loss when they come again."""
    measures: dict[Head, dict[HeadMeasure, float]]
    """Of each head: `induction` is the weight on the token after the same one before (prefix matching), `duplicate`
    that on the same one before. `copying`: the share of the sequence's other tokens whose logits the head's own output
    raises less than that of the token that comes; 0.5 by chance."""


def measure_repetition(model: Model, vocabulary: Vocabulary, source: Sequence[int] = (), seed: int = 0) -> Repetition:
    """Read random sequences twice; each consists of different tokens of the vocabulary. `source`: what the encoder
    reads, if there is one."""
    ordinary = [token for token in range(vocabulary.vocab_size) if not vocabulary.is_special(token)]
    start = [] if vocabulary.text_start is None else [vocabulary.text_start]
    if source:
        start = [vocabulary.special.start, *vocabulary.prefix()]
    return repeat(model, ordinary, start, source, seed)


def repeat(
    model: Model, ordinary: list[int], start: list[int], source: Sequence[int] = (), seed: int = 0
) -> Repetition:
    """`ordinary`: the tokens to choose from; `start`: what precedes them."""
    chance = np.random.default_rng(seed)
    length = min(LENGTH, len(ordinary), (model.config.max_positions - len(start)) // 2)
    sums: dict[HeadMeasure, NDArray[np.float64]] = {}
    first = second = 0.0
    for _ in range(SEQUENCES):
        once: list[int] = chance.choice(ordinary, length, replace=False).tolist()
        ids = [*start, *once, *once]
        inputs = (source, ids) if source else (ids,)
        attention, vectors = capture(model, *inputs)
        weights_LHTT = attention.of("decoder")
        # Row i reads token k of the second copy, and token k + 1 comes next, which is in column i - length + 1.
        rows = len(start) + length + np.arange(length - 1)
        found: dict[HeadMeasure, NDArray[np.float64]] = {
            "induction": weights_LHTT[..., rows, rows - length + 1].mean(-1, dtype=np.float64),
            "duplicate": weights_LHTT[..., rows, rows - length].mean(-1, dtype=np.float64),
            "copying": copying(model, weights_LHTT, vectors["decoder"], once, rows),
        }
        for measure, values_LH in found.items():
            sums[measure] = sums.get(measure, np.zeros_like(values_LH)) + values_LH / SEQUENCES
        loss_T = losses_after(model, inputs)
        first += float(loss_T[rows - length].mean()) / SEQUENCES
        second += float(loss_T[rows].mean()) / SEQUENCES
    layers, heads = sums["induction"].shape
    return Repetition(
        length,
        first,
        second,
        {
            Head("decoder", layer, number): {measure: float(each[layer, number]) for measure, each in sums.items()}
            for layer in range(layers)
            for number in range(heads)
        },
    )


@torch.no_grad()
def copying(
    model: Model, weights_LHTT: NDArray[np.float32], vectors: Vectors, once: list[int], rows: NDArray[np.intp]
) -> NDArray[np.float64]:
    """The share of the sequence's other tokens whose logit a head's own output raises less than that of the next one.

    The scale of the final norm does not change the order, so it is left out."""
    device = model.output_weight.device
    norm = model.stacks["decoder"].norm
    candidates_ND = model.output_weight[once]
    scores = np.zeros(weights_LHTT.shape[:2])
    for layer, number in np.ndindex(*scores.shape):
        attention = attention_of(model, Head("decoder", layer, number))
        w_o_DK = attention.w_o.weight[:, number * attention.v_width : (number + 1) * attention.v_width]
        out_TK = torch.from_numpy(weights_LHTT[layer, number, rows] @ vectors.v_LSHK[layer, :, number]).to(device)
        added_TD = out_TK @ w_o_DK.T
        if norm is not None:
            added_TD = (added_TD - added_TD.mean(-1, keepdim=True) * isinstance(norm, torch.nn.LayerNorm)) * norm.weight
        logits_TN = added_TD @ candidates_ND.T
        next_T1 = logits_TN.diagonal(1)[:, None]  # row k, candidate k + 1
        lower_T, equal_T = (logits_TN < next_T1).sum(-1), (logits_TN == next_T1).sum(-1) - 1  # but for itself
        scores[layer, number] = float(((lower_T + equal_T / 2) / (len(once) - 1)).mean())
    return scores


@torch.no_grad()
def losses_after(model: Model, inputs: Inputs) -> Tensor:
    """The loss on the token that follows each one that the decoder reads, in nats."""
    streams, layout = lay_out(model, [inputs])
    logits_TV = model.logits(model.hidden(streams, layout)[0, :-1]).float()
    return F.cross_entropy(logits_TV, streams["target"][0, 1:], reduction="none").cpu()
