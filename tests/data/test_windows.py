"""Batches of running text, against documents that are joined and cut by hand."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hark.config import BatchConfig
from hark.data.pool import Corpus
from hark.data.store import ONE_SIDED, StoreWriter, TokenStore
from hark.data.windows import TextBatches
from hark.errors import UserError
from hark.text.vocabulary import SpecialIds

SPECIAL = SpecialIds(pad=0, unknown=1, start=2, end=3)
Documents = list[list[int]]


def stored(folder: Path, documents: Documents) -> TokenStore:
    writer = StoreWriter(folder, 1000, ONE_SIDED)
    writer.append(documents)
    writer.close()
    return TokenStore.open(folder)


def numbered(lengths: list[int]) -> Documents:
    """Documents in which every token is another."""
    ids = iter(range(10, 1000))
    return [[next(ids) for _ in range(length)] for length in lengths]


def batches_of(store: TokenStore, windows: int = 2, length: int = 8, seed: int = 1, weight: float = 1.0) -> TextBatches:
    config = BatchConfig(batch_tokens=windows * length, max_length=length, seed=seed)
    return TextBatches([Corpus("text", weight, [store])], config, SPECIAL)


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 30), min_size=1, max_size=12),
    windows=st.integers(1, 4),
    length=st.integers(2, 16),
    seed=st.integers(0, 5),
)
def test_each_epoch_has_every_token_once(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], windows: int, length: int, seed: int
) -> None:
    documents = numbered(lengths)
    batches = batches_of(stored(tmp_path_factory.mktemp("s") / "store", documents), windows, length, seed)
    follows = {a: b for document in documents for a, b in pairwise([*document, SPECIAL.end])}
    firsts = Counter(document[0] if document else SPECIAL.end for document in documents)
    expected = Counter(token for document in documents for token in (*document, SPECIAL.end))
    for epoch in range(3):
        seen, begun = Counter[int](), Counter[int]()
        for index in range(epoch * batches.batches_per_epoch, (epoch + 1) * batches.batches_per_epoch):
            batch = batches[index]
            stream, size = batch.streams["target"], batch.n_target_tokens
            assert stream.tokens.shape == stream.labels.shape == (windows * length,)
            assert stream.cu.shape == batches[0].streams["target"].cu.shape
            assert stream.cu[0] == 0
            assert stream.cu[-1] == windows * length
            assert (np.diff(stream.cu) >= 0).all()
            assert np.diff(stream.cu).max() <= length
            assert (stream.labels[size:] == SPECIAL.pad).all()
            seen.update(stream.labels[:size].tolist())
            cut = set(stream.cu.tolist())
            for at, (given_token, label) in enumerate(zip(stream.tokens[:size], stream.labels[:size], strict=True)):
                if given_token == SPECIAL.start:
                    assert at in cut
                    begun[int(label)] += 1
                else:
                    assert follows[int(given_token)] == label
                assert stream.positions[at] == at - max(each for each in cut if each <= at)
        assert seen == expected
        assert begun == firsts


def test_a_batch_is_a_function_of_its_index(tmp_path: Path) -> None:
    store = stored(tmp_path / "store", numbered([40, 3, 60, 17]))
    one, other = batches_of(store), batches_of(store)
    for index in (0, 7, 30, 7):
        assert one[index].streams["target"].tokens.tolist() == other[index].streams["target"].tokens.tolist()
    assert one.fingerprint == other.fingerprint
    assert one.fingerprint != batches_of(store, length=4).fingerprint


def test_later_passes_cut_the_text_elsewhere(tmp_path: Path) -> None:
    batches = batches_of(stored(tmp_path / "store", numbered([200])))
    firsts = [
        {
            int(batches[i].streams["target"].labels[0])
            for i in range(e * batches.batches_per_epoch, (e + 1) * batches.batches_per_epoch)
        }
        for e in range(2)
    ]
    assert {(token - 10) % 8 for token in firsts[0]} == {0}
    assert {(token - 10) % 8 for token in firsts[1]} != {0}


def test_weights_are_passes_per_epoch(tmp_path: Path) -> None:
    stores = [stored(tmp_path / name, documents) for name, documents in (("a", [[10] * 80]), ("b", [[20] * 80]))]
    corpora = [Corpus("a", 1.0, [stores[0]]), Corpus("b", 3.0, [stores[1]])]
    batches = TextBatches(corpora, BatchConfig(batch_tokens=16, max_length=8), SPECIAL)
    seen = Counter[int]()
    for index in range(batches.batches_per_epoch):
        seen.update(batches[index].streams["target"].labels.tolist())
    assert seen[10] == 80
    assert seen[20] == 240


def test_no_batch_is_larger_than_the_worst_case(tmp_path: Path) -> None:
    batches = batches_of(stored(tmp_path / "store", numbered([5, 0, 0, 9])))
    worst = batches.worst_case().streams["target"]
    assert (worst.labels != SPECIAL.pad).all()
    assert worst.cu.shape == batches[0].streams["target"].cu.shape
    assert np.diff(worst.cu).max() == 8


def test_text_without_tokens_and_padding_are_refused(tmp_path: Path) -> None:
    store = stored(tmp_path / "store", [[10, 11]])
    with pytest.raises(UserError, match="without padding"):
        TextBatches([Corpus("text", 1.0, [store])], BatchConfig(kind="padded"), SPECIAL)
    with pytest.raises(UserError, match="no text"):
        TextBatches([Corpus("text", 1.0, [stored(tmp_path / "none", [])])], BatchConfig(), SPECIAL)
