"""Converts CTranslate2's results to hypotheses with hark's scores and ranking."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hark.decode.alignment_heads import AlignmentHeads
from hark.decode.engines.batching import QueuedRequest
from hark.decode.request import Hypothesis, length_penalty

REMOVED = -1e9
"""CTranslate2 gives an EOS that it has removed a log-probability below this."""


@dataclass(frozen=True, eq=False)
class Call:
    """A pending call to CTranslate2 for a batch of sentences."""

    batch: Sequence[QueuedRequest]
    exponent: float
    results: list[Any]
    first: list[Any]
    """Results with the attention of the first step, if it is wrong in `results`."""
    alignment: AlignmentHeads
    end: str
    """The name of EOS."""

    @property
    def awaited(self) -> list[Any]:
        return self.results + self.first

    def read(self) -> list[list[Hypothesis]]:
        """Return the hypotheses for each sentence, best first."""
        return [rank(self._read_one(i)) for i in range(len(self.batch))]

    def _read_one(self, i: int) -> Iterator[Hypothesis]:
        sentence, found = self.batch[i], self.results[i].result()
        attentions = found.attention or [None] * len(found.hypotheses)
        for names, score, attention in zip(found.hypotheses, found.scores, attentions, strict=True):
            log_prob = score * len(names) ** self.exponent
            if log_prob < REMOVED:
                continue
            complete = names[-1] == self.end
            tokens = tuple(map(int, names[:-1] if complete else names))
            attention_TS = None
            if attention is not None:
                if self.first:
                    attention[0] = self.first[i].result().attention[0][0]
                steps_TS = np.array(attention, np.float32).reshape(len(attention), sentence.length)
                attention_TS = self.alignment.of_tokens(steps_TS, len(tokens))
            hypothesis = Hypothesis(tokens, 0.0, 0.0, complete, attention_TS)
            yield with_log_prob(hypothesis, sentence.start + log_prob, sentence)


def with_log_prob(hypothesis: Hypothesis, log_prob: float, sentence: QueuedRequest) -> Hypothesis:
    counted = length_of(hypothesis) - sentence.uncounted
    score = log_prob / length_penalty(counted, sentence.request.search.alpha)
    return replace(hypothesis, log_prob=log_prob, score=score)


def length_of(hypothesis: Hypothesis) -> int:
    """The length in tokens, EOS included."""
    return len(hypothesis.tokens) + hypothesis.complete


def longest(found: Iterable[Hypothesis]) -> int:
    return max(map(length_of, found))


def rank(hypotheses: Iterable[Hypothesis]) -> list[Hypothesis]:
    return sorted(hypotheses, key=lambda each: -each.score)


def is_settled(found: Sequence[Hypothesis], sentence: QueuedRequest) -> bool:
    """Whether the n best are certain, although CTranslate2 may have dropped hypotheses.

    Dropped hypotheses had lower log-probabilities than all that were kept, and none was longer than the longest that
    was kept: the longest ended in the last step, and some of those are kept, since too few had ended before.
    """
    if len(found) < sentence.options.max_ended:
        return True
    counted = longest(found) - sentence.uncounted
    most = min(each.log_prob for each in found) / length_penalty(counted, sentence.request.search.alpha)
    return found[min(sentence.request.search.nbest, len(found)) - 1].score >= most
