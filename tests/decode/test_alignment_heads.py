"""Alignment heads on a card, and the steps that they are asked at."""

import numpy as np
import pytest

from hark.config import ModelConfig
from hark.decode.alignment_heads import AlignmentHeads, with_alignment_heads
from hark.errors import UserError

CONFIG = ModelConfig(n_decoder_layers=6, n_heads=8, n_encoder_layers=6, d_model=512, vocab_size=1000)
CARD = "# en to de\n\n- Languages: en to de\n- Scores: not measured yet\n\nMade by hand.\n"


@pytest.mark.parametrize(
    "heads", [AlignmentHeads(3, (1, 6), "reads"), AlignmentHeads(0, (0,)), AlignmentHeads(5, (7, 2))]
)
def test_a_card_tells_what_was_written(heads: AlignmentHeads) -> None:
    card = with_alignment_heads(CARD, heads.line("alignment error rate 0.3"))
    assert AlignmentHeads.of_card(card, CONFIG) == heads
    assert card.replace(heads.line("alignment error rate 0.3") + "\n", "") == CARD


def test_the_line_is_for_people_too_and_stands_with_the_others() -> None:
    card = with_alignment_heads(CARD, AlignmentHeads(3, (1, 6), "reads").line("alignment error rate 0.3"))
    assert card.splitlines()[4:6] == [
        "- Alignment heads: 4:2, 4:7, at the step that reads a word; alignment error rate 0.3",
        "",
    ]


def test_a_new_line_takes_the_old_ones_place() -> None:
    once = with_alignment_heads(CARD, AlignmentHeads(0, (0,)).line("x"))
    twice = with_alignment_heads(once, AlignmentHeads(2, (5,)).line("y"))
    assert AlignmentHeads.of_card(twice, CONFIG) == AlignmentHeads(2, (5,))
    assert twice.count("Alignment heads") == 1


def test_without_a_line_there_are_none() -> None:
    assert AlignmentHeads.of_card(CARD, CONFIG) is None
    assert AlignmentHeads.default(CONFIG) == AlignmentHeads(4, tuple(range(8)), "predicts")
    assert AlignmentHeads.default(ModelConfig(n_decoder_layers=1, vocab_size=9)).layer == 0


@pytest.mark.parametrize(
    "line",
    [
        "- Alignment heads: 7:1, at the step that reads a word",
        "- Alignment heads: 1:9, at the step that reads a word",
        "- Alignment heads: 0:1, at the step that reads a word",
        "- Alignment heads: 1:1, 2:1, at the step that reads a word",
        "- Alignment heads: 1:1, at some step",
        "- Alignment heads: the best ones",
    ],
)
def test_a_line_that_makes_no_sense_is_refused(line: str) -> None:
    with pytest.raises(UserError, match=r"card\.md: its line of alignment heads makes no sense"):
        AlignmentHeads.of_card(with_alignment_heads(CARD, line), CONFIG)


def test_steps_of_tokens() -> None:
    steps = np.arange(4)[:, None]
    assert AlignmentHeads(0, (0,)).of_tokens(steps, 3).ravel().tolist() == [0, 1, 2]
    assert AlignmentHeads(0, (0,), "reads").of_tokens(steps, 3).ravel().tolist() == [1, 2, 3]
    assert AlignmentHeads(0, (0,), "reads").of_tokens(steps[:3], 3).ravel().tolist() == [1, 2, 2]  # cut off
    assert AlignmentHeads(0, (0,), "reads").of_tokens(steps[:1], 0).shape == (0, 1)
