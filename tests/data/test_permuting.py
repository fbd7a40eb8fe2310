"""Permutation language modelling, by properties of the batches."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from hark.config import BatchConfig
from hark.data.masking import Masking
from hark.data.permuting import CONTEXT, Permuting
from hark.data.pool import Corpus
from hark.data.stream import PackedStream
from hark.data.windows import TextBatches
from tests.data.test_windows import SPECIAL, numbered, stored

MASK, SIZE, SHARE = 4, 1000, 0.25
IS_SPECIAL = np.arange(SIZE) <= MASK
CONFIG = BatchConfig(batch_tokens=64, max_length=32, any_order=SHARE)


@pytest.fixture
def batches(tmp_path: Path) -> TextBatches:
    return batches_of(tmp_path, Permuting(MASK, SHARE, SPECIAL.pad, IS_SPECIAL))


def batches_of(folder: Path, masking: Masking, lengths: tuple[int, ...] = (40, 3, 0, 90, 21)) -> TextBatches:
    store = stored(folder / "store", numbered(list(lengths)))
    return TextBatches([Corpus("text", 1.0, [store])], CONFIG, SPECIAL, masking)


def test_each_query_asks_for_a_token_of_its_sentence(batches: TextBatches) -> None:
    for index in range(3 * batches.batches_per_epoch):
        stream = batches[index].streams["target"]
        assert stream.labels is not None
        assert stream.ranks is not None
        asked = stream.labels != SPECIAL.pad
        for begin, end in zip(stream.cu[:-1], stream.cu[1:], strict=True):
            each = slice(begin, end)
            tokens, positions, ranks = stream.tokens[each], stream.positions[each], stream.ranks[each]
            query = asked[each]
            content = int((~query).sum())
            assert not query[:content].any()  # queries are behind the content
            assert positions[:content].tolist() == list(range(content))
            assert (tokens[query] == MASK).all()
            of = positions[query]
            assert tokens[of].tolist() == stream.labels[each][query].tolist()
            assert not IS_SPECIAL[tokens[of]].any()
            assert ranks[of].tolist() == (ranks[query] + 1).tolist()
            assert (ranks[:content] % 2 == 1).all()
            context = np.setdiff1d(np.arange(content), of)
            assert (ranks[context] == CONTEXT).all()
        order = stream.ranks[asked]
        assert sorted(order.tolist()) == list(range(CONTEXT + 1, CONTEXT + 1 + 2 * len(order), 2))


def test_every_batch_has_one_shape_and_its_share_of_queries(batches: TextBatches) -> None:
    worst = batches.worst_case()
    assert worst.n_predicted == round(SHARE * 64)
    shapes = {name: array.shape for name, array in worst.streams["target"].arrays().items()}
    assert shapes["tokens"] == (64 + 16,)
    predicted = tokens = 0
    for index in range(2 * batches.batches_per_epoch):
        batch = batches[index]
        stream = batch.streams["target"]
        assert {name: array.shape for name, array in stream.arrays().items()} == shapes
        assert stream.cu[0] == 0
        assert stream.cu[-1] == 80
        assert (np.diff(stream.cu) >= 0).all()
        assert stream.positions.max() < CONFIG.max_length
        assert batch.n_predicted == np.count_nonzero(stream.labels != SPECIAL.pad)
        predicted, tokens = predicted + batch.n_predicted, tokens + batch.n_target_tokens
    assert predicted / tokens == pytest.approx(SHARE, abs=0.03)  # start and end are not asked for


def test_no_text_is_hidden_or_lost(batches: TextBatches) -> None:
    whole = [t for text in numbered([40, 3, 0, 90, 21]) for t in (SPECIAL.start, *text, SPECIAL.end)]
    seen = Counter[int]()
    for index in range(batches.batches_per_epoch):
        seen.update(batches[index].streams["target"].tokens.tolist())
    assert {token: count for token, count in seen.items() if token not in (MASK, SPECIAL.pad)} == Counter(whole)


def test_the_order_is_another_in_each_pass_and_a_function_of_the_number(batches: TextBatches) -> None:
    orders = [batches[index].streams["target"].ranks.tolist() for index in (0, batches.batches_per_epoch, 0)]
    assert orders[0] == orders[2] != orders[1]


def test_the_order_is_uniform() -> None:
    """Of two tokens that are predicted, each is the first in half of the batches."""
    earlier = Counter[bool]()
    masking = Permuting(MASK, 0.9, SPECIAL.pad, IS_SPECIAL)
    tokens = np.arange(10, 20, dtype=np.int32)
    stream = PackedStream(tokens, np.arange(10, dtype=np.int32), np.array([0, 10], np.int32))
    for seed in range(400):
        ranks = masking.apply(stream, 10, np.random.default_rng(seed)).ranks
        if min(ranks[2], ranks[7]) > CONTEXT:
            earlier[bool(ranks[2] < ranks[7])] += 1
    assert earlier[True] / earlier.total() == pytest.approx(0.5, abs=0.08)


def test_a_text_without_tokens_to_predict_leaves_its_queries_empty(tmp_path: Path) -> None:
    only = batches_of(tmp_path, Permuting(MASK, SHARE, SPECIAL.pad, IS_SPECIAL), (0, 0, 0))[0]
    stream = only.streams["target"]
    assert only.n_predicted == 0
    assert (stream.tokens[64:] == SPECIAL.pad).all()
    assert np.diff(stream.cu)[-16:].tolist() == [1] * 16


def test_a_word_with_more_tokens_than_queries_is_cut(tmp_path: Path) -> None:
    one_word = Permuting(MASK, SHARE, SPECIAL.pad, IS_SPECIAL, np.zeros(SIZE, bool))
    batches = batches_of(tmp_path, one_word, (200,))
    for index in range(batches.batches_per_epoch):
        assert len(batches[index].streams["target"].tokens) == 80
        assert batches[index].n_predicted <= 16


def test_masking_has_another_fingerprint(batches: TextBatches, tmp_path: Path) -> None:
    masked = batches_of(tmp_path / "other", Masking(MASK, SHARE, SPECIAL.pad, IS_SPECIAL))
    assert masked.fingerprint != batches.fingerprint
