"""Divides the translation of several sentences into those of each, by sentence splitting and the alignment."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise, takewhile

import numpy as np
from numpy.typing import NDArray

from hark.decode.coder import Coder
from hark.decode.request import Hypothesis, Request, length_penalty
from hark.text.rewrite import Span
from hark.text.sentences import split_sentences
from hark.text.vocabulary import SPACE

OWN = 0.6
"""Minimum share of a translated sentence's attention that its source has among all sentences."""


def divide(
    hypothesis: Hypothesis, request: Request, lengths: Sequence[int], coder: Coder, language: str
) -> list[Hypothesis] | None:
    """Return the hypothesis of each sentence; None unless it is clear where each translation begins and ends.

    `lengths`: the tokens of each sentence in the request; `language`: that of the translation. The log-probability is
    shared out as that of its tokens if the hypothesis has been scored, else by length.
    """
    if hypothesis.attention_TS is None or not hypothesis.complete:
        return None
    first = sum(1 for _ in takewhile(coder.target.is_special, hypothesis.tokens))
    tokens, attention_TS = hypothesis.tokens[first:], hypothesis.attention_TS[first:]
    source = coder.split_lead(request.source[:-1])[1]
    begin = len(request.source) - 1 - len(source)
    ends = list(accumulate(lengths, initial=begin))
    columns = [slice(start, end) for start, end in pairwise(ends)]
    solid_S = is_solid(coder.source.pieces(source))
    pieces = coder.target.pieces(tokens)
    weights_TN = np.stack(
        [attention_TS[:, each] @ solid_S[each.start - begin : each.stop - begin] for each in columns], axis=1
    )
    spans = assign(split_tokens(pieces, language), weights_TN * is_solid(pieces)[:, None])
    if spans is None:
        return None
    lead, log_probs = coder.source.lead, hypothesis.log_probs[first:] or (-1.0,) * len(tokens)
    rate = hypothesis.log_prob / (sum(log_probs) or -1.0)
    return [
        share(
            replace(
                hypothesis,
                tokens=tokens[start:end],
                attention_TS=np.hstack([attention_TS[start:end, :lead], attention_TS[start:end, each]]),
            ),
            rate * sum(log_probs[start:end]),
            request.search.alpha,
        )
        for (start, end), each in zip(spans, columns, strict=True)
    ]


def share(part: Hypothesis, log_prob: float, alpha: float) -> Hypothesis:
    """Give a part of a hypothesis its share of the log-probability. Its length counts an end, as everywhere."""
    length = len(part.tokens) + 1
    return replace(part, log_prob=log_prob, score=log_prob / length_penalty(length, alpha), log_probs=())


def is_solid(pieces: Sequence[str]) -> NDArray[np.float32]:
    """1 for pieces with letters or digits: full stops look at full stops, whatever sentence they end."""
    return np.array([any(map(str.isalnum, piece)) for piece in pieces], np.float32)


def split_tokens(pieces: Sequence[str], language: str) -> list[Span]:
    """The spans of the sentences in the tokens of a text; an end within a token is none."""
    text = "".join(pieces).replace(SPACE, " ")
    places = {place: token for token, place in enumerate(accumulate(map(len, pieces[:-1]), initial=0))}
    ends = accumulate(map(len, split_sentences(text, language)))
    cuts = [places.get(end - 1 if text[end - 1 : end].isspace() else end) for end in ends]
    return list(pairwise([0, *(cut for cut in cuts if cut), len(pieces)]))


def assign(spans: Sequence[Span], weights_TN: NDArray[np.float32]) -> list[Span] | None:
    """Join the spans of each source sentence, the one with most of their attention; None if this leaves a sentence
    without translation, changes their order, or is in doubt."""
    joined: list[Span] = []
    for start, end in spans:
        weights_N = weights_TN[start:end].sum(axis=0)
        owner = int(weights_N.argmax()) if weights_N.any() else len(joined) - 1
        if owner == len(joined):
            joined.append((start, end))
        elif joined and owner == len(joined) - 1:
            joined[-1] = joined[-1][0], end
        else:
            return None
    sums = [weights_TN[start:end].sum(axis=0) for start, end in joined]
    if len(joined) < weights_TN.shape[1] or any(each[i] < OWN * each.sum() for i, each in enumerate(sums)):
        return None
    return joined
