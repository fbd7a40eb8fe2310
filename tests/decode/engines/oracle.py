"""A beam search for one sentence, written as simply as possible: no cache, no batch, the whole model at every step."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hark.config import ModelConfig
from hark.decode.request import Request, length_penalty
from hark.model.layout import padded_layout
from hark.model.transformer import Transformer
from hark.text.tokenizer import BOS, EOS


@dataclass(frozen=True)
class Ended:
    tokens: tuple[int, ...]
    log_prob: float
    complete: bool
    score: float


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


def next_log_probs(model: Transformer, request: Request, live: Sequence[Sequence[int]]) -> list[list[float]]:
    """The log-probabilities of every token after each live hypothesis; tokens are forbidden before the softmax."""
    logits_WV = logits(model, request.source, live)[:, -1].clone()
    logits_WV[:, [*range(EOS), *request.banned]] = -torch.inf
    if len(live[0]) < request.search.min_length:
        logits_WV[:, EOS] = -torch.inf
    rows: list[list[float]] = logits_WV.log_softmax(-1).tolist()
    return rows


def beam_search(model: Transformer, request: Request, limit: int | None = None) -> list[Ended]:
    """Return all ended hypotheses, best first."""
    width, max_ended = request.search.beam, int(request.search.beam * request.search.patience + 0.5)
    limit = limit or request.limit
    live, ended = [(tuple(request.prefix), 0.0)], []

    def end(tokens: tuple[int, ...], log_prob: float) -> None:
        complete = tokens[-1] == EOS
        score = log_prob / length_penalty(len(tokens) - len(request.prefix), request.search.alpha)
        ended.append(Ended(tokens[:-1] if complete else tokens, log_prob, complete, score))

    for length in range(len(request.prefix) + 1, limit + 1):
        following = [
            ((*tokens, token), log_prob + more)
            for (tokens, log_prob), row in zip(
                live, next_log_probs(model, request, [each[0] for each in live]), strict=True
            )
            for token, more in enumerate(row)
            if more > -torch.inf
        ]
        candidates = sorted(following, key=lambda each: -each[1])[: 2 * width]
        for tokens, log_prob in candidates[:width]:
            if tokens[-1] == EOS or length == limit:
                end(tokens, log_prob)
        live = [each for each in candidates if each[0][-1] != EOS][:width]
        if len(ended) >= max_ended:
            break
    return sorted(ended, key=lambda each: -each.score)
