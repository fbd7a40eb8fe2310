"""Constrained decoding of linearised trees (`hark.text.trees`): every output is a tree over exactly the given words.

The state of a hypothesis is three counts, so that it fits in a table and a step can be captured in a CUDA graph: words
left, open brackets, and opening brackets since the last word or closing bracket. At any time,

- a word may follow if words are left and a bracket is open, or if the sentence has only this word;
- an opening bracket may follow if words are left to go into it, fewer than `longest_run` opening brackets precede it
  directly, and the shortest way to complete the tree still fits within the length limit;
- a closing bracket may follow if a bracket is open and not empty, the last one only if no words are left;
- EOS may follow if no words are left and no brackets are open.

One of them is always possible, so that a search never gets stuck. Constituents that begin at the same word are opened
in one run; so at most `longest_run` constituents span the same words, and a tree over n words has at most
`longest_run` * n constituents.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from hark.decode.request import TreeSymbols
from hark.decode.state import Beams, SearchParams, Table


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
