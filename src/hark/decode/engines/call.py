"""What CTranslate2 says of some sentences, read as hypotheses of our own search: with our scores, in our order."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hark.decode.alignment_heads import AlignmentHeads
from hark.decode.engines.waiting import Waiting
from hark.decode.request import Hypothesis, length_penalty

LOST = -1e9
"""Log-probabilities below this are CTranslate2's mark of an end that it took away."""


@dataclass(frozen=True, eq=False)
class Call:
    """Sentences that CTranslate2 is translating, and how what it says is read."""

    batch: Sequence[Waiting]
    exponent: float
    results: list[Any]
    first: list[Any]
    """The attention of the first step, where the results have it wrong."""
    alignment: AlignmentHeads
    end: str
    """The name of EOS."""

    @property
    def awaited(self) -> list[Any]:
        return self.results + self.first

    def read(self) -> list[list[Hypothesis]]:
        """The hypotheses for each sentence, the best first."""
        return [rank(self._read_one(i)) for i in range(len(self.batch))]

    def _read_one(self, i: int) -> Iterator[Hypothesis]:
        sentence, found = self.batch[i], self.results[i].result()
        attentions = found.attention or [None] * len(found.hypotheses)
        for names, score, attention in zip(found.hypotheses, found.scores, attentions, strict=True):
            log_prob = score * len(names) ** self.exponent
            if log_prob < LOST:
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


def with_log_prob(hypothesis: Hypothesis, log_prob: float, sentence: Waiting) -> Hypothesis:
    counted = length_of(hypothesis) - sentence.given
    score = log_prob / length_penalty(counted, sentence.request.search.alpha)
    return replace(hypothesis, log_prob=log_prob, score=score)


def length_of(hypothesis: Hypothesis) -> int:
    """In tokens, the end included."""
    return len(hypothesis.tokens) + hypothesis.complete


def longest(found: Iterable[Hypothesis]) -> int:
    return max(map(length_of, found))


def rank(hypotheses: Iterable[Hypothesis]) -> list[Hypothesis]:
    return sorted(hypotheses, key=lambda each: -each.score)


def is_settled(found: Sequence[Hypothesis], sentence: Waiting) -> bool:
    """Whether the n best are the n best, although CTranslate2 may have dropped others.

    Those had lower log-probabilities than any that it kept, and none was longer than the longest that it kept: all that
    is longest ended in the last step, and some of it is kept, since before that step too few had ended.
    """
    if len(found) < sentence.options.wanted:
        return True
    counted = longest(found) - sentence.given
    most = min(each.log_prob for each in found) / length_penalty(counted, sentence.request.search.alpha)
    return found[min(sentence.request.search.nbest, len(found)) - 1].score >= most
