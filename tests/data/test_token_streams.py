"""Token streams: generic classes for any number of streams, and stable batches across versions."""

import hashlib

import numpy as np
import pytest

from hark.config import BatchConfig
from hark.data.batches import Batch, Batches, Corpus, PackedStream, PaddedStream, make_batches
from hark.text.tokenizer import SPECIAL
from hark.text.vocabulary import SpecialIds
from tests.data.stores import realistic, store_of

ONE = np.arange(3, dtype=np.int32)


def test_an_input_stream_has_no_labels() -> None:
    read, predicted = PackedStream(ONE, ONE, ONE), PackedStream(ONE, ONE, ONE, ONE)
    assert list(read.arrays()) == ["tokens", "positions", "cu"]
    assert list(predicted.arrays()) == ["tokens", "positions", "cu", "labels"]
    assert list(PaddedStream(ONE, ONE).arrays()) == ["tokens", "lengths"]


@pytest.mark.parametrize("stream", [PackedStream(ONE, ONE, ONE), PaddedStream(ONE, ONE, ONE)])
def test_map_keeps_the_kind_of_stream(stream) -> None:
    doubled = stream.map(lambda array: 2 * array)
    assert type(doubled) is type(stream)
    assert (doubled.labels is None) == (stream.labels is None)
    assert all(np.array_equal(array, 2 * ONE) for array in doubled.arrays().values())


def test_labels_decide_between_source_and_target_tokens() -> None:
    pairs = np.zeros((2, 3), np.int64)
    text = PackedStream(ONE, ONE, ONE, ONE)
    one = Batch(0, pairs, {"text": text}, {"text": 2})
    assert (one.n_source_tokens, one.n_target_tokens, one.n_target_slots) == (0, 2, 3)
    three = Batch(0, pairs, {"text": text, "image": PackedStream(ONE, ONE, ONE), "tags": text},
                  {"text": 2, "image": 3, "tags": 1})  # fmt: skip
    assert (three.n_source_tokens, three.n_target_tokens, three.n_target_slots) == (3, 3, 6)


def test_special_ids_come_from_the_vocabulary() -> None:
    special = SpecialIds(pad=7, unknown=6, start=7, end=9)  # as in Marian's: decoding starts with pad
    batch = make_batches([Corpus("a", 1.0, [store_of([(2, 2)])])], BatchConfig(batch_tokens=10, max_length=5), special)[
        0
    ]
    source, target = batch.streams["source"], batch.streams["target"]
    assert (source.tokens[2], target.labels[2], target.tokens[0]) == (9, 9, 7)
    assert set(source.tokens[3:]) | set(target.tokens[3:]) <= {7}


def digest(batches: Batches) -> str:
    hasher = hashlib.sha256()
    for batch in (*map(batches.__getitem__, (0, 1, 7, 100)), batches.worst_case()):
        for name, stream in batch.streams.items():
            for part, array in stream.arrays().items():
                hasher.update(f"{name} {part} {array.dtype} {array.shape}".encode() + array.tobytes())
        hasher.update(batch.pairs.tobytes())
        hasher.update(repr((batch.index, batch.n_source_tokens, batch.n_target_tokens, batch.n_skipped)).encode())
    return hasher.hexdigest()[:16]


@pytest.mark.parametrize(
    ("kind", "fingerprint", "tokens"),
    [("packed", 266571683643757, "3965aba45cba1c7e"), ("padded", 460381046611, "f2b2a1711b1e3c6d")],
)
def test_old_runs_resume_into_the_same_batches(kind, fingerprint, tokens) -> None:
    """The numbers predate named streams. If they change, increment STREAM_VERSION."""
    corpora = [Corpus("a", 1.0, [realistic(3000)]), Corpus("b", 2.0, [realistic(500, seed=3)])]
    batches = make_batches(corpora, BatchConfig(kind=kind, batch_tokens=1000, max_length=60, seed=5), SPECIAL)
    assert batches.fingerprint == fingerprint
    assert digest(batches) == tokens
