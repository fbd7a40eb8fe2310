"""Word alignment from the cross-attention between subwords."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hark.text.rewrite import Span
from hark.text.vocabulary import SPACE, normalise

_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Link:
    """A word of the translation and the source word with most of its attention."""

    source: Span
    target: Span
    weight: float
    """The source word's share of the attention over all source words."""


def word_spans(text: str) -> list[Span]:
    """The spans of the words in a text, as the tokenizer sees them."""
    return [match.span() for match in _WORD.finditer(text) if normalise(match[0])]


def words_of(pieces: Sequence[str]) -> NDArray[np.intp]:
    """The word index of each piece; a leading space symbol starts a new word."""
    return np.maximum(np.cumsum([piece.startswith(SPACE) for piece in pieces], dtype=np.intp) - 1, 0)


def merge(
    attention_TS: NDArray[np.float32], source_pieces: Sequence[str], target_pieces: Sequence[str]
) -> NDArray[np.float64]:
    """Attention of target words (rows) over source words: the mean over target subwords, the sum over source subwords.

    Columns after the last piece (EOS) are dropped. Punctuation attached to a word does not count: full stops look at
    full stops, wherever the words before them come from.
    """
    source, target = words_of(source_pieces), words_of(target_pieces)
    rows, columns = counted(target_pieces, target), counted(source_pieces, source)
    merged = np.zeros((target[-1] + 1, source[-1] + 1))
    kept_TS = attention_TS[: len(target), : len(source)] * rows[:, None] * columns[None, :]
    np.add.at(merged, (target[:, None], source[None, :]), kept_TS)
    return merged / np.bincount(target, rows)[:, None]


def counted(pieces: Sequence[str], words: NDArray[np.intp]) -> NDArray[np.float64]:
    """1 for the pieces that count for their word: those with letters or digits, or all if it has none."""
    solid = np.array([any(map(str.isalnum, piece)) for piece in pieces], np.float64)
    return np.where(np.bincount(words, solid)[words] > 0, solid, 1.0)


def link(
    attention_TS: NDArray[np.float32],
    source_pieces: Sequence[str],
    target_pieces: Sequence[str],
    source_words: Sequence[Span],
    target_words: Sequence[Span],
) -> tuple[Link, ...]:
    """Return one link for each word of the translation; no links if pieces and words do not match."""
    if not source_pieces or not target_pieces:
        return ()
    weights = merge(attention_TS, source_pieces, target_pieces)
    if weights.shape != (len(target_words), len(source_words)):
        return ()
    best = weights.argmax(axis=1)
    shares = weights.max(axis=1) / np.maximum(weights.sum(axis=1), 1e-9)
    return tuple(
        Link(source_words[column], span, round(float(share), 4))
        for column, span, share in zip(best, target_words, shares, strict=True)
    )
