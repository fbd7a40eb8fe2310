"""Importance of heads: how much the loss rises without each head, and without more and more of them.

The loss is in nats per target token of reference translations, EOS included; of a model of one stack, in bits per byte
of text, or in nats per masked token. Heads are removed by setting their outputs to zero; the model is not retrained.
BLEU is that of raw search output, without retries or repairs.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from hark.config import DecodeConfig
from hark.engine.interface import Request
from hark.engine.torch import TorchEngine
from hark.evaluate.measures import choose_tokenisation, make_measures
from hark.inspect.attention import Head, batches, every_head, lay_out, rectangle
from hark.inspect.heads.corpus import IGNORED, Example, HeadExample
from hark.inspect.variants import ModelT, without_heads
from hark.model import Model, Transformer
from hark.text.vocabulary import Vocabulary

BATCH_TOKENS = 1024
"""Fewer than for attention: each token has logits for the whole vocabulary."""
POINTS = 25
"""Maximum points of the curve."""

Scorer = Callable[[Transformer], float]


@dataclass(frozen=True)
class HeadEffect:
    """The increase in loss without a head, per unit of the examples, and half of its 95% confidence interval."""

    nll: float
    interval: float


@dataclass(frozen=True)
class Point:
    """The model without its least important heads."""

    removed: int
    nll: float
    score: float | None = None


@torch.no_grad()
def losses(model: Model, examples: Sequence[Example]) -> NDArray[np.float64]:
    """Return the negative log-probability of each translation, or of the tokens of a text, in nats."""
    device = model.output_weight.device
    found = np.zeros(len(examples))
    for batch in batches([each.inputs for each in examples], BATCH_TOKENS):
        chosen = [examples[index] for index in batch]
        streams, layout = lay_out(model, [each.inputs for each in chosen])
        expected_BT, lengths_B = rectangle([each.expected for each in chosen], device)
        hidden_BTD = model.hidden(streams, layout)
        real_BT = (layout.positions[model.predicts] < lengths_B[:, None]) & (expected_BT != IGNORED)
        nll_N = F.cross_entropy(model.logits(hidden_BTD[real_BT]).float(), expected_BT[real_BT], reduction="none")
        rows_N = torch.arange(len(chosen), device=device)[:, None].expand_as(real_BT)[real_BT]
        sums_B = torch.zeros(len(chosen), dtype=torch.float64, device=device)
        found[batch] = sums_B.index_add_(0, rows_N, nll_N.double()).cpu().numpy()
    return found


def measure_effects(
    model: Model, examples: Sequence[Example], advance: Callable[[], None] = lambda: None
) -> tuple[float, dict[Head, HeadEffect]]:
    """Return the loss of the whole model, and the increase without each head. `advance` is called for each head."""
    units = np.array([each.units for each in examples], float)
    whole = losses(model, examples)
    found = {}
    for head in every_head(model.config):
        found[head] = effect(losses(without_heads(model, [head]), examples) - whole, units)
        advance()
    return float(whole.sum() / units.sum()), found


def effect(added: NDArray[np.float64], units: NDArray[np.float64]) -> HeadEffect:
    """The mean increase per unit; the interval treats sentences, not tokens, as independent samples."""
    mean = added.sum() / units.sum()
    spread = math.sqrt(((added - mean * units) ** 2).sum() * len(added) / max(1, len(added) - 1))
    return HeadEffect(float(mean), float(1.96 * spread / units.sum()))


def points_of(heads: int) -> list[int]:
    """The numbers of removed heads for the points of the curve, from none to all."""
    return sorted({round(each) for each in np.linspace(0, heads, min(heads + 1, POINTS))})


def prune(
    model: ModelT,
    examples: Sequence[Example],
    effects: dict[Head, HeadEffect],
    score: Callable[[ModelT], float] | None = None,
    advance: Callable[[], None] = lambda: None,
) -> list[Point]:
    """Measure the model without its 0, 1, 2, ... least important heads, ordered by their individual effects.

    `advance` is called once for each of `points_of(len(effects))`.
    """
    order = sorted(effects, key=lambda head: effects[head].nll)
    units = sum(each.units for each in examples)
    points = []
    for removed in points_of(len(order)):
        pruned = without_heads(model, order[:removed])
        nll = float(losses(pruned, examples).sum() / units)
        points.append(Point(removed, nll, score(pruned) if score else None))
        advance()
    return points


def bleu(examples: Sequence[HeadExample], tokenizer: Vocabulary, search: DecodeConfig, language: str) -> Scorer:
    """Return a function that computes the BLEU of a model's translations with sacreBLEU."""
    metric = make_measures(choose_tokenisation(language))["bleu"]
    references, prefix = [each.target_text for each in examples], tokenizer.prefix(language)

    def score(model: Transformer) -> float:
        engine = TorchEngine(model, tokenizer.special, model.output_weight.device)
        answers = dict(engine.run(Request(each.source, search, prefix) for each in examples))
        texts = tokenizer.decode([answers[number][0].tokens for number in range(len(examples))])
        engine.close()
        return float(metric.corpus_score(texts, [references]).score)

    return score
