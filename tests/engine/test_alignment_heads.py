"""Alignment heads from a model's facts, and the steps that they are read at."""

import numpy as np
import pytest

from hark.config import ModelConfig
from hark.engine.interface import AlignmentHeads
from hark.errors import UserError
from hark.facts import AlignmentFacts

CONFIG = ModelConfig(n_decoder_layers=6, n_heads=8, n_encoder_layers=6, d_model=512, vocab_size=1000)


def test_alignment_heads_come_from_the_facts() -> None:
    assert AlignmentHeads.of_facts(AlignmentFacts(3, (1, 6), "reads"), CONFIG) == AlignmentHeads(3, (1, 6), "reads")


def test_without_facts_the_default_is_the_penultimate_layer() -> None:
    assert AlignmentHeads.of_facts(None, CONFIG) is None
    assert AlignmentHeads.default(CONFIG) == AlignmentHeads(4, tuple(range(8)), "predicts")
    assert AlignmentHeads.default(ModelConfig(n_decoder_layers=1, vocab_size=9)).layer == 0


@pytest.mark.parametrize("facts", [AlignmentFacts(6, (0,), "reads"), AlignmentFacts(0, (1, 8), "predicts")])
def test_heads_out_of_range_are_refused(facts: AlignmentFacts) -> None:
    with pytest.raises(
        UserError, match=r"^facts\.json: alignment heads of layer \d are out of range .*; run hark heads"
    ):
        AlignmentHeads.of_facts(facts, CONFIG)


def test_steps_of_tokens() -> None:
    steps = np.arange(4)[:, None]
    assert AlignmentHeads(0, (0,)).of_tokens(steps, 3).ravel().tolist() == [0, 1, 2]
    assert AlignmentHeads(0, (0,), "reads").of_tokens(steps, 3).ravel().tolist() == [1, 2, 3]
    assert AlignmentHeads(0, (0,), "reads").of_tokens(steps[:3], 3).ravel().tolist() == [1, 2, 2]  # truncated
    assert AlignmentHeads(0, (0,), "reads").of_tokens(steps[:1], 0).shape == (0, 1)
