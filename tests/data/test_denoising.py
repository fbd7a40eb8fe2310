"""Batches of corrupted text: whatever the text, they hold all of it, restore it, and have one shape."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hark.config import BatchConfig, Corrupted
from hark.data.corruption import Corruption
from hark.data.denoising import DenoisingBatches
from hark.data.pool import Corpus
from hark.data.store import TokenStore
from tests.data.test_windows import SPECIAL, Documents, numbered, stored

MARKS = np.arange(2000, 2200, dtype=np.int32)
MASK = 4


def batches_of(
    store: TokenStore, kind: Corrupted = "spans", windows: int = 2, length: int = 16, seed: int = 1, share: float = 0.2
) -> DenoisingBatches:
    config = BatchConfig(
        batch_tokens=windows * length, max_length=length, seed=seed, masked=share, corrupted=kind, span=2.0
    )
    marks = MARKS if kind == "spans" else np.full(200, MASK, np.int32)
    corruption = Corruption(kind, share, config.span, SPECIAL.end, marks)
    return DenoisingBatches([Corpus("text", 1.0, [store])], config, SPECIAL, corruption)


def texts_of(batches: DenoisingBatches, index: int) -> list[tuple[list[int], list[int]]]:
    """Source and target of each text of a batch, without EOS; the structure of the streams is checked."""
    batch = batches[index]
    worst = batches.worst_case()
    sides = []
    for name in ("source", "target"):
        stream, size = batch.streams[name], batch.n_tokens[name]
        tokens = stream.tokens if stream.labels is None else stream.labels
        assert {key: each.shape for key, each in stream.arrays().items()} == {
            key: each.shape for key, each in worst.streams[name].arrays().items()
        }
        assert stream.cu[0] == 0
        assert stream.cu[-1] == len(tokens)
        assert 0 <= np.diff(stream.cu).min() <= np.diff(stream.cu).max() <= batches.config.max_length
        assert (tokens[size:] == SPECIAL.pad).all()
        ends = np.flatnonzero(tokens[:size] == SPECIAL.end)
        assert stream.cu[1 : len(ends) + 1].tolist() == (ends + 1).tolist()
        assert ends[-1] == size - 1
        sides.append([part[:-1].tolist() for part in np.split(tokens[:size], ends[:-1] + 1)])
        assert len(sides[0]) == len(ends)
        for first, behind in zip(stream.cu[: len(ends)], stream.cu[1 : len(ends) + 1], strict=True):
            assert stream.positions[first:behind].tolist() == list(range(behind - first))
            if stream.labels is not None:
                assert stream.tokens[first] == SPECIAL.start
                assert stream.tokens[first + 1 : behind].tolist() == stream.labels[first : behind - 1].tolist()
    assert batch.n_predicted == batch.n_tokens["target"]
    return list(zip(*sides, strict=True))


def restored(source: list[int], target: list[int]) -> list[int]:
    spans: dict[int, list[int]] = {}
    for token in target:
        if token in MARKS:
            current = spans[token] = []
        else:
            current.append(token)
    return [each for token in source for each in spans.get(token, [token])]


@settings(max_examples=30, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 40), min_size=1, max_size=12),
    kind=st.sampled_from(["spans", "infilling"]),
    windows=st.integers(1, 4),
    length=st.integers(8, 24),
    seed=st.integers(0, 5),
)
def test_each_epoch_has_every_token_once(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], kind: Corrupted, windows: int, length: int, seed: int
) -> None:
    documents = numbered(lengths)
    batches = batches_of(stored(tmp_path_factory.mktemp("s") / "store", documents), kind, windows, length, seed)
    document_of = {token: number for number, document in enumerate(documents) for token in document}
    expected = Counter(token for document in documents for token in document)
    for epoch in range(3):
        seen, skipped = Counter[int](), 0
        for index in range(epoch * batches.batches_per_epoch, (epoch + 1) * batches.batches_per_epoch):
            skipped += batches[index].n_skipped
            for source, target in texts_of(batches, index):
                text = restored(source, target) if kind == "spans" else target
                assert len({document_of[token] for token in text}) <= 1
                assert text == list(range(text[0], text[0] + len(text))) if text else True
                seen.update(text)
        assert seen == expected if not skipped else not seen - expected


def paragraphs(mean: float, count: int, seed: int = 1) -> Documents:
    lengths = np.random.default_rng(seed).geometric(1 / mean, count)
    return [[10 + at % 900 for at in range(length)] for length in lengths]


@pytest.mark.parametrize("kind", ["spans", "infilling"])
@pytest.mark.parametrize(("mean", "least"), [(2000, 0.97), (80, 0.95), (15, 0.9)])
def test_little_is_wasted_and_nothing_left_out(tmp_path: Path, kind: Corrupted, mean: float, least: float) -> None:
    store = stored(tmp_path / "store", paragraphs(mean, 120_000 // int(mean)))
    batches = batches_of(store, kind, windows=32, length=64)
    full = range(batches.batches_per_epoch - 1)  # the last one has the windows that are left
    used, skipped = np.zeros(2), 0
    for index in full:
        batch = batches[index]
        used += (batch.n_tokens["source"], batch.n_tokens["target"])
        skipped += batch.n_skipped
    shares = used / (len(full) * np.array(batches.room))
    assert skipped == 0
    assert shares.min() > least
    assert batches.fill == pytest.approx(shares, abs=0.03)


def test_a_batch_is_a_function_of_its_index(tmp_path: Path) -> None:
    store = stored(tmp_path / "store", numbered([40, 3, 60, 17]))
    one, other = batches_of(store), batches_of(store)
    for index in (0, 7, 30, 7):
        for name, stream in one[index].streams.items():
            assert stream.tokens.tolist() == other[index].streams[name].tokens.tolist()
    assert one.fingerprint == other.fingerprint
    others = [batches_of(store, "infilling"), batches_of(store, share=0.3), batches_of(store, length=17)]
    assert one.fingerprint not in {each.fingerprint for each in others}


def test_each_pass_hides_other_tokens(tmp_path: Path) -> None:
    batches = batches_of(stored(tmp_path / "store", numbered([14])), windows=1)
    assert len({tuple(batches[index].streams["source"].tokens.tolist()) for index in range(8)}) > 4


def test_the_worst_case_fills_every_slot(tmp_path: Path) -> None:
    batches = batches_of(stored(tmp_path / "store", numbered([5, 0, 0, 90])), windows=3)
    for stream in batches.worst_case().streams.values():
        assert (stream.tokens != SPECIAL.pad).all()
        assert np.diff(stream.cu).max() <= 16
