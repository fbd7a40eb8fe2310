"""Filling of gaps: what an encoder expects where the text says [MASK] (Devlin et al., 2019)."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from hark.errors import UserError
from hark.tasks.encoder import LoadedEncoder


@dataclass(frozen=True)
class Filler:
    """A token for a gap."""

    text: str
    probability: float
    """Among all tokens of the vocabulary."""
    filled: str
    """The whole text with this filler. Other gaps stay."""


class GapFiller:
    """Finds the likeliest fillers of each gap by itself."""

    def __init__(self, encoder: LoadedEncoder, top: int = 5) -> None:
        bundle, words = encoder.bundle, encoder.vocabulary
        if bundle.silence:
            raise UserError(f"{bundle.folder}: cannot fill gaps, because {bundle.silence}; it {bundle.purpose}")
        if words.mask is None:
            raise UserError(f"{bundle.folder}: cannot fill gaps, because its vocabulary has no mask; use hark embed")
        self.encoder, self.mask = encoder, words.mask
        self.top = min(top, words.vocab_size)
        (self.sign,) = words.pieces([words.mask])
        self.special = [token for token in range(words.vocab_size) if words.is_special(token)]

    def fill(self, texts: Iterable[str]) -> Iterator[list[list[Filler]]]:
        """Yield the fillers of each gap of each text, the likeliest first. A text without a gap is an error."""
        parts: deque[list[str]] = deque()

        def inputs() -> Iterator[list[int]]:
            for number, text in enumerate(texts, 1):
                parts.append(text.split(self.sign))
                if len(parts[-1]) == 1:
                    raise UserError(f"text {number} has no gap; write {self.sign} where there is one")
                yield self.encoder.enclose(self.encoder.vocabulary.encode_masked(text), number)

        for found in self.encoder.run(inputs(), self.likeliest):
            split = parts.popleft()
            yield [self.fillers(split, gap, each) for gap, each in enumerate(found, 1)]

    def likeliest(self, states_ND: Tensor, tokens_N: Tensor, lengths_B: Tensor) -> list[list[list[tuple[int, float]]]]:
        """The likeliest tokens of each gap of each text, with their probabilities."""
        model, is_gap_N = self.encoder.model, tokens_N == self.mask
        states_GD = states_ND[is_gap_N]
        logits_GV = model.logits(model.predicting(states_GD))
        probabilities_GV = logits_GV.float().softmax(-1)
        probabilities_GV[:, self.special] = 0.0
        best = probabilities_GV.topk(self.top)
        gaps = iter(zip(best.indices.tolist(), best.values.tolist(), strict=True))
        counts = torch.segment_reduce(is_gap_N.float(), "sum", lengths=lengths_B).int().tolist()
        return [[list(zip(*next(gaps), strict=True)) for _ in range(count)] for count in counts]

    def fillers(self, parts: Sequence[str], gap: int, found: Sequence[tuple[int, float]]) -> list[Filler]:
        words = self.encoder.vocabulary
        before, after = self.sign.join(parts[:gap]), self.sign.join(parts[gap:])
        fillers = []
        for token, probability in found:
            text = words.decode_one([token])
            start = before if words.begins_word(token) else before.rstrip()
            fillers.append(Filler(text, probability, start + text + after))
        return fillers
