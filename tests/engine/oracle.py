"""The naive search on real models: no cache, no batch, the whole decoder at every step."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hark.config import ModelConfig
from hark.engine.interface import Hypothesis, Request
from hark.engine.lane_tables import Arrival
from hark.model.layout import padded_layout
from hark.model.transformer import Transformer
from hark.text.tokenizer import BOS, EOS
from tests.engine.naive import Logits, ask, beam_search


def random_model(config: ModelConfig, seed: int = 0, sharpness: float = 3.0, ends: float = 1.5) -> Transformer:
    """A model with random weights that makes clear choices and ends its translations: a freshly initialised model gives
    all tokens nearly the same probability, so that every choice is nearly a tie and tests nothing."""
    torch.manual_seed(seed)
    model = Transformer(config).eval().requires_grad_(False)
    for weight in model.parameters():
        weight.add_(torch.randn_like(weight) * 0.1)
    spread = logits(model, [5, 6, 7, EOS], [[8, 9, 10]]).std()
    model.output_weight.mul_(sharpness / spread)
    last = model.decoder.norm if config.norm == "pre" else model.decoder.layers[-1].feed_forward_residual.norm
    last.bias[0] = 1.0
    model.output_weight[EOS, 0] += ends
    return model


def weights_of(model: Transformer) -> dict[str, NDArray[np.float32]]:
    return {name: weight.numpy() for name, weight in model.state_dict().items()}


def logits(model: Transformer, source: Sequence[int], targets: Sequence[Sequence[int]]) -> Tensor:
    """The logits after the start token and after each token, for several targets of the same length."""
    target_BT = torch.tensor([[BOS, *target] for target in targets])
    layout = padded_layout(
        torch.tensor([len(source)] * len(targets)), torch.tensor([target_BT.shape[1]] * len(targets))
    )
    with torch.inference_mode():
        return model(torch.tensor([source] * len(targets)), target_BT, layout)


def log_probs(model: Transformer, source: Sequence[int], target: Sequence[int]) -> list[float]:
    """The log-probability of each token of a translation, EOS included."""
    log_prob_TV = logits(model, source, [target])[0].log_softmax(-1)
    return [float(log_prob_TV[i, token]) for i, token in enumerate([*target, EOS])]


def uncached(model: Transformer, source: Sequence[int]) -> Logits:
    """The whole decoder at every step. Results are kept for later searches, so the model must not change."""
    return _uncached(model, tuple(source))


@lru_cache(maxsize=64)
def _uncached(model: Transformer, source: tuple[int, ...]) -> Logits:
    known: dict[tuple[int, ...], Tensor] = {}
    with torch.inference_mode():
        one = padded_layout(torch.tensor([len(source)]), torch.tensor([1]))
        memory_1SD = model.encode(torch.tensor([source]), one.positions["source"], one.patterns["encoder"])

    def steps(outputs: Sequence[Sequence[int]]) -> Tensor:
        asked = [tuple(output) for output in outputs]
        new = [output for output in dict.fromkeys(asked) if output not in known]
        if new:
            known.update(zip(new, decode(new), strict=True))
        return torch.stack([known[output] for output in asked])

    def decode(outputs: Sequence[Sequence[int]]) -> Tensor:
        target_BT = torch.tensor([[BOS, *output] for output in outputs])
        layout = padded_layout(
            torch.tensor([len(source)] * len(outputs)), torch.tensor([target_BT.shape[1]] * len(outputs))
        )
        with torch.inference_mode():
            memory_BSD = memory_1SD.expand(len(outputs), -1, -1)
            decoder, cross = layout.patterns["decoder"], layout.patterns["cross"]
            hidden_BTD = model.decode(target_BT, memory_BSD, layout.positions["target"], decoder, cross)
            return model.logits(hidden_BTD[:, -1])

    return steps


def arrival_of(request: Request) -> Arrival:
    """The terms of the search that a request asks for."""
    search, prefix = request.search, tuple(request.prefix)
    return ask(
        limit=max(request.limit, len(prefix) + 1),
        min_length=search.min_length,
        prefix=len(prefix),
        forced=prefix,
        banned=tuple(request.banned),
        max_ended=int(search.beam * search.patience + 0.5),
        alpha=search.alpha,
    )


def search_without_cache(model: Transformer, request: Request) -> list[Hypothesis]:
    """The hypotheses that a request asks for, best first."""
    found = beam_search(uncached(model, request.source), arrival_of(request), request.search.beam)
    return found[: request.search.nbest]
