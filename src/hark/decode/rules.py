"""What a translation may not contain, and chance: everything that stands between logits and the search's choice."""

import torch
from torch import Tensor

from hark.decode.state import Beams, Candidates, Chance, Terms


def forbid(logits_BWV: Tensor, beams: Beams, terms: Terms, forbidden: Tensor, end: int) -> Tensor:
    """Logits of what must not come next set to -inf, in place: ids that are always `forbidden`, those that the request
    bans, and EOS (`end`) where the output is too short.

    Before the softmax, as CTranslate2 does it: the probability of what is forbidden goes to the rest, and both engines
    give the same scores.
    """
    logits_BWV.index_fill_(2, forbidden, -torch.inf)
    banned_BWM = terms.banned_BM[:, None].expand(-1, logits_BWV.shape[1], -1)
    logits_BWV.scatter_(2, banned_BWM, -torch.inf)
    too_short_B1 = (beams.position_B < terms.min_length_B)[:, None]
    logits_BWV[..., end] = logits_BWV[..., end].masked_fill(too_short_B1, -torch.inf)
    return logits_BWV


def force(candidates: Candidates, beams: Beams, terms: Terms) -> Candidates:
    """Where the next token is given, it is the only candidate, and its log-probability is no matter of the search."""
    if not terms.forced_BT.shape[1]:  # a table of sentences without prefixes
        return candidates
    given_B1 = (beams.position_B < terms.forced_B)[:, None]
    column_B1 = beams.position_B.clamp(max=terms.forced_BT.shape[1] - 1)[:, None]
    only = torch.full_like(candidates.log_prob_BC, -torch.inf)
    only[:, 0] = beams.log_prob_BW[:, 0]
    return Candidates(
        only.where(given_B1, candidates.log_prob_BC),
        candidates.rows_BC.masked_fill(given_B1, 0),
        terms.forced_BT.gather(1, column_B1).where(given_B1, candidates.tokens_BC),
    )


def draw(logits_BV: Tensor, beams: Beams, chance: Chance) -> Candidates:
    """One token of each sentence by chance, and beside it a candidate that is none.

    `temperature` flattens or sharpens the probabilities, `top_k` and then `top_p` leave the likeliest of them (the
    smallest number whose probability reaches top_p). The numbers between 0 and 1 were drawn for each sentence and
    position beforehand, so that neighbours cannot matter. The log-probability is the model's own, at temperature 1.
    """
    sorted_BV, tokens_BV = (logits_BV.double() / chance.temperature_B[:, None]).sort(
        dim=-1, descending=True, stable=True
    )
    p_BV = sorted_BV.softmax(dim=-1)
    ranks_V = torch.arange(p_BV.shape[1], device=p_BV.device)
    kept = (ranks_V < chance.top_k_B[:, None]) | (chance.top_k_B == 0)[:, None]
    p_BV = p_BV.where(kept, 0.0)
    p_BV = p_BV / p_BV.sum(dim=-1, keepdim=True)
    before_BV = p_BV.cumsum(dim=-1) - p_BV
    p_BV = p_BV.where(before_BV < chance.top_p_B[:, None], 0.0)
    reach_BV = p_BV.cumsum(dim=-1)
    column_B1 = beams.position_B.clamp(max=chance.drawn_BT.shape[1] - 1)[:, None]
    drawn_B1 = chance.drawn_BT.gather(1, column_B1) * reach_BV[:, -1:]
    # The first whose cumulative probability is beyond the number; never one of probability zero.
    place_B1 = torch.minimum((reach_BV <= drawn_B1).sum(-1), (p_BV > 0).sum(-1) - 1)[:, None]
    token_B1 = tokens_BV.gather(1, place_B1)
    log_prob_B1 = logits_BV.float().log_softmax(-1).gather(1, token_B1) + beams.log_prob_BW
    none_B1 = torch.full_like(log_prob_B1, -torch.inf)
    return Candidates(
        torch.cat([log_prob_B1, none_B1], 1),
        torch.zeros_like(token_B1).expand(-1, 2),
        token_B1.expand(-1, 2),
    )
