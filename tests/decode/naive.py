"""A naive beam search for one sentence, in plain Python and without early stopping: the oracle for the search.

Also runs the real search on stub models, whose logits are a function of the tokens so far.
"""

import math
import random
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from hark.decode.engines.lane_tables import Arrival
from hark.decode.request import length_penalty
from hark.decode.rules import forbid, force
from hark.decode.search import Ended, advance, best, candidates, finished, init
from hark.decode.state import SearchParams
from hark.text.tokenizer import BOS, EOS, SPECIAL

FORBIDDEN = torch.tensor(SPECIAL.forbidden)

Logits = Callable[[tuple[int, ...]], Tensor]
"""The logits of the next token, given the output so far."""


def stub(seed: int, vocabulary: int) -> Logits:
    """Random logits, the same for the same tokens."""

    def logits(tokens: tuple[int, ...]) -> Tensor:
        chance = random.Random(repr((seed, tokens)))
        return torch.tensor([chance.gauss(0, 2) for _ in range(vocabulary)])

    return logits


def ask(**changes: object) -> Arrival:
    values: dict[str, object] = {
        "number": 0, "limit": 8, "min_length": 0, "prefix": 0, "forced": (), "start": 0.0, "banned": (), "max_ended": 2,
        "nbest": 1, "alpha": 0.6, "memory": 0, "memory_length": 1, "drawn": (), "temperature": 1.0, "top_k": 0,
        "top_p": 1.0,
    }  # fmt: skip
    return Arrival(**{**values, **changes})  # type: ignore[arg-type]


def params_of(asked: Sequence[Arrival], columns: int = 16) -> SearchParams:
    def integers(values: list[int]) -> Tensor:
        return torch.tensor(values, dtype=torch.long)

    def filled(rows: list[Sequence[int]]) -> Tensor:
        return torch.tensor([[*row, *[0] * (columns - len(row))] for row in rows])

    return SearchParams(
        limit_B=integers([each.limit for each in asked]),
        min_length_B=integers([each.min_length for each in asked]),
        prefix_B=integers([each.prefix for each in asked]),
        forced_B=integers([len(each.forced) for each in asked]),
        forced_BT=filled([each.forced for each in asked]),
        start_B=torch.tensor([each.start for each in asked]),
        banned_BM=filled([each.banned for each in asked]),
        max_ended_B=integers([each.max_ended for each in asked]),
        nbest_B=integers([each.nbest for each in asked]),
        alpha_B=torch.tensor([each.alpha for each in asked]),
    )


def search(models: Sequence[Logits], asked: Sequence[Arrival], width: int, more_steps: int = 0) -> list[list[Ended]]:
    """Run the real search on stub models; `more_steps` continues after all sentences are finished."""
    params = params_of(asked)
    keep = max(width, *(each.nbest for each in asked))
    beams = init(params, width, keep, BOS)
    texts = [[() for _ in range(width)] for _ in asked]
    trace = torch.zeros(len(asked), 17, width, dtype=torch.long)
    steps = 0
    while not bool(finished(beams).all()) or more_steps:
        more_steps -= bool(finished(beams).all())
        rows = [[model(text) for text in row] for model, row in zip(models, texts, strict=True)]
        logits = forbid(torch.stack([torch.stack(row) for row in rows]), beams, params, FORBIDDEN, EOS)
        beams = advance(beams, params, force(candidates(logits, beams.log_prob_BW), beams, params), EOS)
        steps += 1
        for b in range(len(asked)):
            if not beams.done_B[b]:
                trace[b, steps] = beams.choices_BW[b]
                pairs = zip(beams.parents_BW[b].tolist(), beams.tokens_BW[b].tolist(), strict=True)
                texts[b] = [(*texts[b][parent], token) for parent, token in pairs]
    return best(beams.endings, trace, [each.nbest for each in asked], EOS)


def ended_with(tokens: tuple[int, ...], log_prob: float) -> Ended:
    complete = tokens[-1] == EOS
    return Ended(tokens[:-1] if complete else tokens, log_prob, complete)


def naive_search(model: Logits, asked: Arrival, width: int) -> list[tuple[float, Ended]]:
    """Beam search by its definition; returns all ended hypotheses, ranked."""
    live: list[tuple[tuple[int, ...], float]] = [(tuple(asked.forced), asked.start)]
    ended: list[tuple[float, Ended]] = []
    while live and len(ended) < asked.max_ended:
        found = []
        for tokens, total in live:
            logits = model(tokens).clone()
            logits[[0, 1, BOS, *asked.banned]] = -math.inf
            if len(tokens) < asked.min_length:
                logits[EOS] = -math.inf
            for token, log_prob in enumerate(logits.log_softmax(-1).tolist()):
                if log_prob > -math.inf:
                    found.append(((*tokens, token), total + log_prob))
        found.sort(key=lambda each: -each[1])
        first, spare = found[:width], [each for each in found[width : 2 * width] if each[0][-1] != EOS]
        live = []
        for tokens, total in first:
            last = len(tokens) == asked.limit
            if last or tokens[-1] == EOS:
                score = total / length_penalty(len(tokens) - asked.prefix, asked.alpha)
                ended.append((score, ended_with(tokens, total)))
                if not last and spare:
                    live.append(spare.pop(0))
            else:
                live.append((tokens, total))
    return sorted(ended, key=lambda each: -each[0])
