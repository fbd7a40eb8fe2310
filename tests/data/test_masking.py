"""Masked language modelling, by properties of what is hidden."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from hark.config import BatchConfig
from hark.data.masking import Masking
from hark.data.pool import Corpus
from hark.data.windows import TextBatches
from tests.data.test_windows import SPECIAL, numbered, stored

MASK, SIZE = 4, 200
IS_SPECIAL = np.zeros(SIZE, bool)
IS_SPECIAL[: MASK + 1] = True
BEGINS = np.arange(SIZE) % 3 == 0
TOKENS = np.random.default_rng(1).integers(10, SIZE, 4000).astype(np.int32)


def hidden(share: float = 0.15, whole: bool = False, seed: int = 1) -> tuple[np.ndarray, np.ndarray, Masking]:
    masking = Masking(MASK, share, SPECIAL.pad, IS_SPECIAL, BEGINS if whole else None)
    return *masking.hide(TOKENS, np.random.default_rng(seed)), masking


def test_labels_are_the_hidden_tokens_in_their_shares() -> None:
    inputs, labels, _ = hidden()
    chosen = labels != SPECIAL.pad
    assert chosen.sum() == round(0.15 * len(TOKENS))
    assert (labels[chosen] == TOKENS[chosen]).all()
    assert (inputs[~chosen] == TOKENS[~chosen]).all()
    masked, same = inputs[chosen] == MASK, inputs[chosen] == TOKENS[chosen]
    assert masked.mean() == pytest.approx(0.8, abs=0.05)
    assert same.mean() == pytest.approx(0.1, abs=0.04)
    assert not IS_SPECIAL[inputs[chosen][~masked]].any()


def test_every_token_is_hidden_now_and_then() -> None:
    times = Counter[int]()
    for seed in range(200):
        _, labels, _ = hidden(seed=seed)
        times.update(np.flatnonzero(labels != SPECIAL.pad).tolist())
    assert len(times) == len(TOKENS)
    assert max(times.values()) < 60  # 30 on average


def test_special_tokens_are_never_hidden() -> None:
    tokens = TOKENS.copy()
    tokens[::2] = SPECIAL.end
    masking = Masking(MASK, 0.9, SPECIAL.pad, IS_SPECIAL)
    _, labels = masking.hide(tokens, np.random.default_rng(0))
    assert (labels[::2] == SPECIAL.pad).all()
    only = np.full(5, SPECIAL.start, np.int32)
    assert (masking.hide(only, np.random.default_rng(0))[1] == SPECIAL.pad).all()


def test_whole_words_are_hidden_whole() -> None:
    _, labels, _ = hidden(whole=True)
    chosen = labels != SPECIAL.pad
    assert chosen.mean() == pytest.approx(0.15, abs=0.02)
    begins = BEGINS[TOKENS]
    begins[0] = True
    for word in np.split(chosen, np.flatnonzero(begins)[1:]):
        assert word.all() or not word.any()


def test_batches_hide_other_tokens_each_time_and_frame_documents(tmp_path: Path) -> None:
    documents = numbered([20, 5, 31])
    store = stored(tmp_path / "store", documents)
    masking = Masking(MASK, 0.2, SPECIAL.pad, np.pad(IS_SPECIAL, (0, 800)))
    config = BatchConfig(batch_tokens=32, max_length=16, masked=0.2)
    batches = TextBatches([Corpus("text", 1.0, [store])], config, SPECIAL, masking)
    whole = [token for document in documents for token in (SPECIAL.start, *document, SPECIAL.end)]
    for epoch in range(3):
        seen, predicted = Counter[int](), 0
        for index in range(epoch * batches.batches_per_epoch, (epoch + 1) * batches.batches_per_epoch):
            batch = batches[index]
            stream = batch.streams["target"]
            assert stream.labels is not None
            restored = np.where(stream.labels == SPECIAL.pad, stream.tokens, stream.labels)
            seen.update(restored[: batch.n_target_tokens].tolist())
            assert batch.n_predicted == np.count_nonzero(stream.labels != SPECIAL.pad)
            predicted += batch.n_predicted
            assert (restored[stream.cu[1:-1][stream.cu[1:-1] < batch.n_target_tokens]] >= 0).all()
        assert seen == Counter(whole)
        assert 0.1 < predicted / len(whole) < 0.35
    assert batches[0].streams["target"].tokens.tolist() == batches[0].streams["target"].tokens.tolist()
