"""Constraints and sampling, applied between the logits and the search: banned tokens, forced prefixes, drawn tokens."""

from dataclasses import dataclass

import torch
from torch import Tensor

from hark.engine.interface import TreeSymbols
from hark.engine.search import Beams, Candidates, Sampling, SearchParams, Table


def forbid(logits_BWV: Tensor, beams: Beams, params: SearchParams, forbidden: Tensor, end: int) -> Tensor:
    """Set the logits of disallowed tokens to -inf, in place: ids that are always `forbidden`, ids that the request
    bans, and EOS (`end`) while the output is too short.

    This happens before the softmax, as in CTranslate2: the probability mass of forbidden tokens goes to the others, and
    both engines give the same scores.
    """
    logits_BWV.index_fill_(2, forbidden, -torch.inf)
    banned_BWM = params.banned_BM[:, None].expand(-1, logits_BWV.shape[1], -1)
    logits_BWV.scatter_(2, banned_BWM, -torch.inf)
    too_short_B1 = (beams.position_B < params.min_length_B)[:, None]
    logits_BWV[..., end] = logits_BWV[..., end].masked_fill(too_short_B1, -torch.inf)
    return logits_BWV


def force(candidates: Candidates, beams: Beams, params: SearchParams) -> Candidates:
    """Make a forced token the only candidate; its log-probability does not count."""
    if not params.forced_BT.shape[1]:  # no sentence of this table has a prefix
        return candidates
    forced_B1 = (beams.position_B < params.forced_B)[:, None]
    column_B1 = beams.position_B.clamp(max=params.forced_BT.shape[1] - 1)[:, None]
    only = torch.full_like(candidates.log_prob_BC, -torch.inf)
    only[:, 0] = beams.log_prob_BW[:, 0]
    return Candidates(
        only.where(forced_B1, candidates.log_prob_BC),
        candidates.rows_BC.masked_fill(forced_B1, 0),
        params.forced_BT.gather(1, column_B1).where(forced_B1, candidates.tokens_BC),
    )


def draw(logits_BV: Tensor, beams: Beams, sampling: Sampling) -> Candidates:
    """Sample one token for each sentence; the second candidate is a dummy with log-probability -inf.

    `temperature` flattens or sharpens the distribution; `top_k` and then `top_p` keep the likeliest tokens (the
    smallest set whose probability reaches top_p), and `min_p` those with that share of the likeliest one's probability.
    The random numbers were drawn beforehand for each sentence and position, so that the result is independent of the
    batch. The log-probability is the model's, at temperature 1.
    """
    sorted_BV, tokens_BV = (logits_BV.double() / sampling.temperature_B[:, None]).sort(
        dim=-1, descending=True, stable=True
    )
    p_BV = sorted_BV.softmax(dim=-1)
    ranks_V = torch.arange(p_BV.shape[1], device=p_BV.device)
    kept = (ranks_V < sampling.top_k_B[:, None]) | (sampling.top_k_B == 0)[:, None]
    p_BV = p_BV.where(kept, 0.0)
    p_BV = p_BV / p_BV.sum(dim=-1, keepdim=True)
    before_BV = p_BV.cumsum(dim=-1) - p_BV
    p_BV = p_BV.where(before_BV < sampling.top_p_B[:, None], 0.0)
    if sampling.min_p_B is not None:
        p_BV = p_BV.where(p_BV >= sampling.min_p_B[:, None] * p_BV[:, :1], 0.0)
    reach_BV = p_BV.cumsum(dim=-1)
    column_B1 = beams.position_B.clamp(max=sampling.drawn_BT.shape[1] - 1)[:, None]
    drawn_B1 = sampling.drawn_BT.gather(1, column_B1) * reach_BV[:, -1:]
    # The first token whose cumulative probability exceeds the random number; never one with probability zero.
    place_B1 = torch.minimum((reach_BV <= drawn_B1).sum(-1), (p_BV > 0).sum(-1) - 1)[:, None]
    token_B1 = tokens_BV.gather(1, place_B1)
    log_prob_B1 = logits_BV.float().log_softmax(-1).gather(1, token_B1) + beams.log_prob_BW
    none_B1 = torch.full_like(log_prob_B1, -torch.inf)
    return Candidates(
        torch.cat([log_prob_B1, none_B1], 1),
        torch.zeros_like(token_B1).expand(-1, 2),
        token_B1.expand(-1, 2),
    )


def draw_each(logits_BV: Tensor, beams: Beams, sampling: Sampling) -> Candidates:
    """`draw` one by one for the sentences that are not finished, on a CPU: sorting a large vocabulary takes as long as
    the model, and most rows of a block may be padding."""
    shape = len(logits_BV), 2
    none_BC = torch.zeros(shape, dtype=torch.long)
    found = Candidates(torch.full(shape, -torch.inf), none_BC, none_BC.clone())
    for number in (~beams.done_B).nonzero():
        drawn = draw(logits_BV[number], beams.select(number), sampling.select(number))
        found.log_prob_BC[number], found.tokens_BC[number] = drawn.log_prob_BC, drawn.tokens_BC
    return found


@dataclass(frozen=True, eq=False)
class TreeState(Table):
    """How far the tree of each hypothesis is."""

    left_BW: Tensor
    """Words that are not yet in the tree."""
    depth_BW: Tensor
    """Open brackets."""
    run_BW: Tensor
    """Opening brackets since the last word or closing bracket."""


@dataclass(frozen=True, eq=False)
class TreeRules:
    """Which tokens may follow, for one vocabulary."""

    symbols: TreeSymbols
    word_V: Tensor
    """Whether each token is a word."""
    opening_V: Tensor
    """Whether each token is an opening bracket."""
    end: int

    @classmethod
    def of(cls, symbols: TreeSymbols, vocab_size: int, end: int, device: torch.device | str) -> "TreeRules":
        word_V, opening_V = torch.zeros(2, vocab_size, dtype=torch.bool, device=device)
        word_V[list(symbols.word)] = True
        opening_V[list(symbols.opening)] = True
        return cls(symbols, word_V, opening_V, end)

    @staticmethod
    def start(words_B: Tensor, width: int) -> TreeState:
        left_BW = words_B[:, None].repeat(1, width)
        return TreeState(left_BW, torch.zeros_like(left_BW), torch.zeros_like(left_BW))

    def forbid(self, logits_BWV: Tensor, state: TreeState, beams: Beams, params: SearchParams) -> Tensor:
        """Set the logits of tokens that may not follow to -inf, in place."""
        left_BW, depth_BW, run_BW = state.left_BW, state.depth_BW, state.run_BW
        more_BW, outside_BW = left_BW > 0, depth_BW == 0
        # The bracket, a closing bracket for it, what is open, the words and EOS.
        needed_BW = beams.position_B[:, None] + left_BW + depth_BW + 3
        fits_BW = (run_BW < self.symbols.longest_run) & (needed_BW <= params.limit_B[:, None])
        # Rows without a hypothesis can be in any state, and must have a possible token as well, or their logits would
        # become NaN. So a bracket around several words is always allowed, and without words left a closing bracket.
        open_BW = (more_BW & fits_BW) | (outside_BW & (left_BW > 1))
        word_BW = more_BW & (~outside_BW | (left_BW == 1))
        allowed_BWV = (self.opening_V & open_BW[..., None]) | (self.word_V & word_BW[..., None])
        allowed_BWV[..., self.symbols.close] = ~outside_BW & (~more_BW | ((run_BW == 0) & (depth_BW > 1)))
        allowed_BWV[..., self.end] = ~more_BW & outside_BW
        return logits_BWV.masked_fill_(~allowed_BWV, -torch.inf)

    def follow(self, state: TreeState, after: Beams) -> TreeState:
        """Return the state after a step: that of each hypothesis's parent, with its new token."""
        tokens_BW, parents_BW = after.tokens_BW, after.parents_BW
        left_BW, depth_BW, run_BW = (
            each.gather(1, parents_BW) for each in (state.left_BW, state.depth_BW, state.run_BW)
        )
        opens_BW = self.opening_V[tokens_BW]
        closes_BW = tokens_BW == self.symbols.close
        return TreeState(
            (left_BW - self.word_V[tokens_BW].long()).clamp_(min=0),
            (depth_BW + opens_BW.long() - closes_BW.long()).clamp_(min=0),
            (run_BW + 1).where(opens_BW, 0),
        )
