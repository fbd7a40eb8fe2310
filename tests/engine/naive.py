"""A naive beam search for one sentence, without early stopping: what every search and engine is compared with.

Also runs the real search on stub models, whose logits are a function of the tokens so far.
"""

import random
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from hark.engine.interface import Hypothesis, length_penalty
from hark.engine.lane_tables import Arrival
from hark.engine.rules import forbid, force
from hark.engine.search import Ended, SearchParams, advance, best, candidates, finished, init
from hark.text.tokenizer import BOS, EOS, SPECIAL

FORBIDDEN = torch.tensor(SPECIAL.forbidden)

Tokens = tuple[int, ...]
Logits = Callable[[Sequence[Tokens]], Tensor]
"""The logits of the next token after each of several outputs of one length: a row for each."""


def stub(seed: int, vocabulary: int) -> Logits:
    """Random logits, the same for the same tokens."""

    def row(tokens: Tokens) -> list[float]:
        chance = random.Random(repr((seed, tokens)))
        return [chance.gauss(0, 2) for _ in range(vocabulary)]

    return lambda outputs: torch.tensor([row(tokens) for tokens in outputs])


def ask(**changes: object) -> Arrival:
    values: dict[str, object] = {
        "number": 0, "limit": 8, "min_length": 0, "prefix": 0, "forced": (), "start": 0.0, "banned": (), "max_ended": 2,
        "nbest": 1, "alpha": 0.6, "memory": 0, "memory_length": 1, "reserved": 512, "drawn": (), "temperature": 1.0,
        "top_k": 0, "top_p": 1.0,
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
        logits = torch.stack([model(row) for model, row in zip(models, texts, strict=True)])
        logits = forbid(logits, beams, params, FORBIDDEN, EOS)
        beams = advance(beams, params, force(candidates(logits, beams.log_prob_BW), beams, params), EOS)
        steps += 1
        for b in range(len(asked)):
            if not beams.done_B[b]:
                trace[b, steps] = beams.choices_BW[b]
                pairs = zip(beams.parents_BW[b].tolist(), beams.tokens_BW[b].tolist(), strict=True)
                texts[b] = [(*texts[b][parent], token) for parent, token in pairs]
    return best(beams.endings, trace, [each.nbest for each in asked], EOS)


def next_log_probs(model: Logits, asked: Arrival, live: Sequence[Tokens]) -> Tensor:
    """The log-probabilities of every token after each hypothesis; tokens are forbidden before the softmax."""
    logits_WV = model(live).clone()
    logits_WV[:, [*SPECIAL.forbidden, *asked.banned]] = -torch.inf
    if len(live[0]) < asked.min_length:
        logits_WV[:, EOS] = -torch.inf
    return logits_WV.log_softmax(-1).double()


def ended_with(tokens: Tokens, log_prob: float, asked: Arrival) -> Hypothesis:
    score = log_prob / length_penalty(len(tokens) - asked.prefix, asked.alpha)
    complete = tokens[-1] == EOS
    return Hypothesis(tokens[:-1] if complete else tokens, log_prob, score, complete)


def ranked(ended: Sequence[Hypothesis]) -> list[Hypothesis]:
    return sorted(ended, key=lambda each: -each.score)


def beam_search(model: Logits, asked: Arrival, width: int) -> list[Hypothesis]:
    """Beam search by its definition; returns all ended hypotheses, best first."""
    live: list[tuple[Tokens, float]] = [(tuple(asked.forced), asked.start)]
    ended: list[Hypothesis] = []
    while live and len(ended) < asked.max_ended:
        outputs, totals = zip(*live, strict=True)
        total_WV = torch.tensor(totals, dtype=torch.float64)[:, None] + next_log_probs(model, asked, outputs)
        best_C, places_C = total_WV.flatten().topk(min(2 * width, total_WV.numel()))
        rows_C, tokens_C = places_C // total_WV.shape[1], places_C % total_WV.shape[1]
        found = [
            ((*outputs[row], token), total)
            for row, token, total in zip(rows_C.tolist(), tokens_C.tolist(), best_C.tolist(), strict=True)
            if total > -torch.inf
        ]
        last = len(outputs[0]) + 1 == asked.limit
        ended += [ended_with(*each, asked) for each in found[:width] if last or each[0][-1] == EOS]
        live = [] if last else [each for each in found if each[0][-1] != EOS][:width]
    return ranked(ended)
