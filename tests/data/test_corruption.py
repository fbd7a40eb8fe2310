"""Corruption of text, by properties: what was hidden and what was not give the text again."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.config import BatchConfig
from hark.data.corruption import Corruption, SentenceSigns
from hark.errors import UserError
from hark.text.byte_pair_training import learn_byte_pairs
from tests.data.test_windows import SPECIAL

FIRST = 10  # text has ids from here on
MARKS = np.arange(2000, 2200, dtype=np.int32)
MASK = 4
SIZES = st.lists(st.integers(0, 60), min_size=1, max_size=8).map(np.array)


def spans(share: float = 0.15, span: float = 3.0) -> Corruption:
    return Corruption("spans", share, span, SPECIAL.end, MARKS)


def infilling(share: float = 0.3, span: float = 3.0, permuted: float = 0.0) -> Corruption:
    signs = (
        SentenceSigns(np.arange(2000) % 7 == 0, np.zeros(2000, bool), np.arange(2000) % 2 == 0) if permuted else None
    )
    return Corruption("infilling", share, span, SPECIAL.end, np.full(200, MASK, np.int32), permuted, signs)


def text_of(sizes: np.ndarray) -> np.ndarray:
    """Text in which every token is another."""
    return np.arange(FIRST, FIRST + sizes.sum(), dtype=np.int32)


def divided(tokens: np.ndarray, sizes: np.ndarray) -> list[list[int]]:
    assert len(tokens) == sizes.sum()
    return [part.tolist() for part in np.split(tokens, np.cumsum(sizes)[:-1])]


def corrupted(corruption: Corruption, sizes: np.ndarray, seed: int = 1) -> list[tuple[list[int], list[int], list[int]]]:
    """Each text with its source and its target."""
    text = text_of(sizes)
    done = corruption.corrupt(text, sizes, np.random.default_rng(seed))
    expected = corruption.sizes(sizes)
    assert done.source_sizes.tolist() == expected[0].tolist()
    assert done.target_sizes.tolist() == expected[1].tolist()
    return list(
        zip(
            divided(text, sizes),
            divided(done.source, done.source_sizes),
            divided(done.target, done.target_sizes),
            strict=True,
        )
    )


def spans_of(target: list[int]) -> dict[int, list[int]]:
    """The spans that a target names, by sentinel."""
    spans: dict[int, list[int]] = {}
    for token in target:
        if token in MARKS:
            spans[token] = []
        else:
            spans[list(spans)[-1]].append(token)
    return spans


def fits(pattern: list[int], text: list[int]) -> bool:
    """Whether the masks of a pattern can stand for parts of the text so that it is that text."""
    places = {0}
    for token in pattern:
        if token == MASK:
            places = set(range(min(places, default=len(text) + 1), len(text) + 1))
        else:
            places = {at + 1 for at in places if at < len(text) and text[at] == token}
    return len(text) in places


@given(sizes=SIZES, share=st.floats(0.01, 0.99), span=st.floats(1, 8), seed=st.integers(0, 99))
def test_source_and_target_restore_the_text(sizes: np.ndarray, share: float, span: float, seed: int) -> None:
    for text, source, target in corrupted(spans(share, span), sizes, seed):
        assert source.pop() == target.pop() == SPECIAL.end
        hidden = spans_of(target)
        assert list(hidden) == MARKS[: len(hidden)].tolist() == [token for token in source if token in MARKS]
        assert all(hidden.values())
        assert not any(a in MARKS and b in MARKS for a, b in pairwise(source))
        assert [each for token in source for each in hidden.get(token, [token])] == text


@given(sizes=SIZES, share=st.floats(0.01, 0.99), span=st.floats(1, 8), seed=st.integers(0, 99))
def test_infilling_restores_the_text(sizes: np.ndarray, share: float, span: float, seed: int) -> None:
    for text, source, target in corrupted(infilling(share, span), sizes, seed):
        assert source.pop() == target.pop() == SPECIAL.end
        assert target == text
        assert fits(source, text)


@pytest.mark.parametrize("corruption", [spans(), infilling(), spans(0.5, 5.0), infilling(0.15, 2.0)])
def test_shares_and_mean_lengths_are_as_asked(corruption: Corruption) -> None:
    sizes = np.array([511, 300, 100])
    hidden, number = corruption.counts(sizes)
    assert hidden / sizes == pytest.approx(np.full(3, corruption.share), abs=0.005)
    assert hidden / number == pytest.approx(np.full(3, corruption.span), rel=0.1)
    for (text, source, _), n_hidden, n_spans in zip(corrupted(corruption, sizes), hidden, number, strict=True):
        kept = [token for token in source[:-1] if token in text]
        assert len(text) - len(kept) == n_hidden
        assert len(source) - 1 - len(kept) == n_spans


def test_ids_that_precede_every_text_do_so() -> None:
    sizes = np.array([30, 0, 12])
    plain, led = spans(), Corruption("spans", 0.15, 3.0, SPECIAL.end, MARKS, leads=((7, 8), (9,)))
    for (_, source, target), (_, own_source, own_target) in zip(
        corrupted(led, sizes), corrupted(plain, sizes), strict=True
    ):
        assert (source, target) == ([7, 8, *own_source], [9, *own_target])


def test_t5_has_512_tokens_for_114() -> None:
    """As in its published settings: 568 tokens of text."""
    assert [each.tolist() for each in spans().sizes(np.array([568]))] == [[512], [114]]


def test_every_token_is_hidden_as_often_as_others() -> None:
    times = np.zeros(60)
    for seed in range(400):
        [(_, source, _)] = corrupted(spans(), np.array([60]), seed)
        times[[token not in source for token in range(FIRST, FIRST + 60)]] += 1
    assert times.sum() == 400 * 9
    assert times.min() > 8  # 60 on average, and fewer at both ends, where a span must begin or end to reach them
    assert times[3:-3].min() > 35
    assert times.max() < 110


def test_spans_of_infilling_have_lengths_as_poisson_draws_them() -> None:
    corruption = infilling()
    hidden, number = corruption.counts(np.array([2000] * 40))
    lengths = corruption.span_lengths(hidden, number, np.random.default_rng(1))
    assert lengths.sum() == hidden.sum()
    shares = np.bincount(lengths, minlength=12) / len(lengths)
    expected = [np.exp(-3.0) * 3.0**k / np.prod(np.arange(1.0, k + 1)) for k in range(12)]
    assert shares[:12] == pytest.approx(expected, abs=0.012)
    assert shares[0] > 0.03  # insertions


def test_lengths_of_spans_differ_and_none_is_empty() -> None:
    corruption = spans()
    hidden, number = corruption.counts(np.array([511] * 40))
    lengths = corruption.span_lengths(hidden, number, np.random.default_rng(1))
    assert lengths.min() == 1
    assert lengths.max() > 8
    assert lengths.mean() == pytest.approx(3, abs=0.1)


@given(sizes=SIZES, seed=st.integers(0, 99))
def test_whole_sentences_change_places(sizes: np.ndarray, seed: int) -> None:
    corruption = infilling(permuted=1.0)
    assert corruption.signs is not None
    text = text_of(sizes)
    moved = corruption.permute_sentences(text, sizes, np.random.default_rng(seed))
    for before, after in zip(divided(text, sizes), divided(moved, sizes), strict=True):
        starts = [at for at in range(1, len(before)) if before[at - 1] % 7 == 0 and before[at] % 2 == 0]
        sentences = [before[a:b] for a, b in pairwise([0, *starts, len(before)])]
        assert sorted(after) == before
        rest = after
        while rest:
            [sentence] = [each for each in sentences if rest[: len(each)] == each and each]
            rest = rest[len(sentence) :]


def test_a_share_of_the_sentences_changes_places_and_the_target_is_the_text() -> None:
    sizes = np.array([560])
    [(text, source, target)] = corrupted(infilling(permuted=1.0), sizes)
    assert target[:-1] == text
    assert [token for token in source if token in text] != sorted(token for token in source if token in text)
    half = infilling(permuted=0.5).permute_sentences(text_of(sizes), sizes, np.random.default_rng(1))
    assert (half == text_of(sizes)).mean() > 0.1


def test_sentences_of_a_vocabulary() -> None:
    vocabulary = learn_byte_pairs(['It costs 3.50 euros. "Really?" Yes!\nThe end.\n\nNow.'] * 20, 300)
    text = 'It costs 3.50 euros. "Really?" Yes!\nThe end.\n\nNow.'
    tokens = np.array(vocabulary.encode_one(text), np.int32)
    starts = SentenceSigns.of(vocabulary).first_of_sentences(tokens, np.array([0]))
    parts = [vocabulary.decode_one(part.tolist()) for part in np.split(tokens, starts[1:])]
    assert parts == ["It costs 3.50 euros.", ' "Really?"', " Yes!\n", "The end.\n\n", "Now."]


def test_too_few_sentinels_are_an_error_that_says_how_many() -> None:
    vocabulary = learn_byte_pairs(["some text"], 280, sentinels=5)
    assert vocabulary.vocab_size <= 280
    assert [vocabulary.pieces([token])[0] for token in vocabulary.sentinels] == [f"<extra_id_{i}>" for i in range(5)]
    assert all(map(vocabulary.is_special, vocabulary.sentinels))
    config = BatchConfig(corrupted="spans", masked=0.15, max_length=101)
    assert len(Corruption.of(vocabulary, BatchConfig(corrupted="spans", masked=0.15, max_length=100)).marks) == 5
    with pytest.raises(UserError, match=r"4 sentinels, but 100 tokens have up to 5 spans; .* data\.sentinels=5"):
        Corruption.of(learn_byte_pairs(["some text"], 280, sentinels=4), config)
