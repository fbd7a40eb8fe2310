"""Attention at the checkpoints of a run."""

from collections.abc import Callable

import numpy as np
import pytest

from hark.errors import UserError
from hark.inspect.checkpoints import attention_at, between_words
from hark.inspect.words import Spelling
from hark.rundir import RunDir
from tests.translate.stub import tokenizer


@pytest.fixture
def run(trained: Callable[..., RunDir]) -> RunDir:
    return trained("run", "train.steps=12", "train.save_steps=4", "train.eval_steps=4", "train.rate_scale=20")


def test_words_and_weights_of_every_checkpoint(run: RunDir) -> None:
    assert run.saved_steps == [4, 8, 12]
    found = [attention_at(run, step, "the cat sees", "SEES TAC") for step in run.saved_steps]
    for each in found:
        assert each.source == ("the", "cat", "sees")
        assert each.target == ("SEES", "TAC")
        assert each.weights_TS.shape == (2, 3)
        np.testing.assert_allclose(each.weights_TS.sum(1), 1.0, atol=1e-6)
    assert not np.allclose(found[0].weights_TS, found[2].weights_TS)


def test_a_missing_checkpoint_is_an_error_of_one_line(run: RunDir) -> None:
    with pytest.raises(UserError, match="step-999"):
        attention_at(run, 999, "the cat", "TAC")


def test_too_long_a_sentence_is_refused(run: RunDir) -> None:
    with pytest.raises(UserError, match="more than 40 tokens"):
        attention_at(run, 4, "the cat " * 50, "TAC")


def test_tokens_are_merged_into_words() -> None:
    vocabulary = tokenizer()
    ids = [*vocabulary.encode_one("the cat"), vocabulary.special.end]
    spelling = Spelling.of(ids, vocabulary)
    weights = np.eye(len(ids), dtype=np.float32)
    found = between_words(weights, spelling, spelling)
    assert found.source == found.target == ("the", "cat")
    np.testing.assert_allclose(found.weights_TS, np.eye(2), atol=1e-6)
