"""Recordings without a model, of any size, with consistent numbers: weights are the softmax of the recorded queries and
keys, and the search is plausible."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hark.config import DecodeConfig
from hark.engine.interface import AlignmentHeads, Hypothesis, Request
from hark.inspect.attention import Attention, AttentionKind, Head
from hark.inspect.beam import NextToken, RecordedSearch, Step
from hark.inspect.effects import Effect, Effects
from hark.inspect.recording import Recording, Vectors
from hark.inspect.words import Spelling
from hark.text.tokenizer import EOS, Tokenizer

LIKELY = 4


def make_recording(
    tokenizer: Tokenizer,
    source: str,
    written: str,
    layers: int = 2,
    heads: int = 2,
    width: int = 8,
    beam: int = 2,
    length: int | None = None,
) -> Recording:
    """Make a recording of a sentence and its translation; with `length`, of this many tokens each."""
    rng = np.random.default_rng(7)
    source_ids, written_ids = (
        fitted([*tokenizer.encode_one(text), EOS], length, tokenizer) for text in (source, written)
    )
    s, t = len(source_ids), len(written_ids)
    vectors: dict[AttentionKind, Vectors] = {
        "encoder": make_vectors(rng, layers, s, s, heads, width),
        "decoder": make_vectors(rng, layers, t, t, heads, width),
        "cross": make_vectors(rng, layers, t, s, heads, width),
    }
    attention = Attention({kind: weights_of(each, causal=kind == "decoder") for kind, each in vectors.items()})
    request = Request(source_ids, DecodeConfig(beam=beam))
    hypothesis = Hypothesis(tuple(written_ids[:-1]), -1.5, -0.7, True)
    shown = tokenizer.decode([written_ids])[0]
    return Recording(
        model="made-up",
        languages=("en", "de"),
        sentence=tokenizer.decode([source_ids])[0],
        translation=shown,
        shown=shown,
        source=Spelling.of(source_ids, tokenizer),
        written=Spelling.of(written_ids, tokenizer),
        source_ids=tuple(source_ids),
        written_ids=tuple(written_ids),
        special=tokenizer.special,
        hypothesis=hypothesis,
        attention=attention,
        vectors=vectors,
        search=RecordedSearch(request, make_steps(rng, written_ids, beam, s, tokenizer), (hypothesis,)),
        alignment=AlignmentHeads(layers - 1, tuple(range(heads))),
    )


def fitted(ids: list[int], length: int | None, tokenizer: Tokenizer) -> list[int]:
    if length is None:
        return ids
    first = tokenizer.n_special + 256
    return [first + at % (tokenizer.vocab_size - first) for at in range(length - 1)] + [EOS]


def make_vectors(rng: np.random.Generator, layers: int, rows: int, columns: int, heads: int, width: int) -> Vectors:
    # Large enough for a peaked softmax, as in a trained model.
    q, k, v = (
        rng.normal(0, scale, (layers, length, heads, width)).astype(np.float32)
        for scale, length in ((1.8, rows), (1.8, columns), (1.0, columns))
    )
    return Vectors(q, k, v)


def weights_of(vectors: Vectors, causal: bool = False) -> NDArray[np.float32]:
    scores = np.einsum("lthk,lshk->lhts", vectors.q_LTHK, vectors.k_LSHK) / math.sqrt(vectors.q_LTHK.shape[-1])
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return (powers / powers.sum(-1, keepdims=True)).astype(np.float32)


def make_steps(
    rng: np.random.Generator, written_ids: Sequence[int], beam: int, source: int, tokenizer: Tokenizer
) -> tuple[Step, ...]:
    """The translation stays in the first row; the other rows change."""
    steps = []
    first, alive = tokenizer.n_special + 256, 1
    for position, token in enumerate(written_ids):
        others = [first + (7 * position + at) % (tokenizer.vocab_size - first) for at in range(LIKELY)]
        others = [each for each in others if each != token][: LIKELY - 1]
        last = position == len(written_ids) - 1
        candidates = [NextToken(0, token, -0.1 * position - 0.1, "ends" if last else "lives")]
        candidates += [
            NextToken(alive - 1, each, -0.1 * position - 1 - at, "lives" if at + 1 < beam and not last else "dropped")
            for at, each in enumerate(others)
        ]
        attention_WS = rng.dirichlet(np.full(source, 0.3), alive).astype(np.float32)
        likely = tuple(((token, 0.6), *((each, 0.1) for each in others)) for _ in range(alive))
        steps.append(Step(np.linspace(-0.1, -2, alive).astype(np.float32), likely, attention_WS, tuple(candidates)))
        alive = min(beam, 1 + len(others))
    return tuple(steps)


def make_effects(recording: Recording) -> Effects:
    """Hiding word i makes token i unlikely; the first head matters, the second does not."""
    before = tuple(-0.1 for _ in recording.written_ids)
    words = []
    for number, word in enumerate(recording.source.text_words):
        after = [-0.1] * len(before)
        after[min(number, len(after) - 1)] = -4.0
        words.append(Effect(word, tuple(after), "Something else ." if number == 0 else None, -2.0))
    heads = [
        Effect(Head("cross", 0, 0), tuple(-0.4 for _ in before), recording.shown, -0.9),
        Effect(Head("encoder", 0, 0), before),
    ]
    return Effects(before, tuple(heads), tuple(words), 12)
