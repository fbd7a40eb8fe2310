"""Preset heads are found by their weights, wherever they are in the model."""

from dataclasses import replace

import numpy as np
import pytest

from hark.errors import UserError
from hark.inspect.attention import Attention
from hark.inspect.presets import PRESETS, PresetName, find_heads, score, sentence_of
from hark.inspect.recording import Recording
from hark.text.tokenizer import Tokenizer, train_tokenizer
from tests.inspect.made_up import make_recording

NAMES: tuple[PresetName, ...] = ("long-distance", "anaphora", "structure")


@pytest.fixture(scope="module")
def english() -> Tokenizer:
    lines = [sentence_of(name, "en") for name in NAMES] * 40
    return Tokenizer(train_tokenizer(lines, 320, []))


def looking(recording: Recording, layer: int, head: int, pairs: list[tuple[int, int]]) -> Recording:
    """The same, with one head that looks from the first word of each pair to the second, and others that all look at
    the word before."""
    weights = np.zeros_like(recording.attention.encoder_LHSS)
    length = weights.shape[-1]
    for at in range(length):
        weights[..., at, max(0, at - 1)] = 1.0
    for one, other in pairs:
        for at in recording.source.tokens_of(one):
            weights[layer, head, at] = 0.0
            weights[layer, head, at, recording.source.tokens_of(other)[0]] = 1.0
    return replace(recording, attention=Attention({**recording.attention.weights, "encoder": weights}))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("planted", [(0, 1), (2, 0)])
def test_the_planted_head_is_found(name: PresetName, planted: tuple[int, int], english: Tokenizer) -> None:
    recording = make_recording(english, sentence_of(name, "en"), "the dog slept", layers=3, heads=2)
    arcs = PRESETS[name].arcs[-1]  # of `structure` the kind whose pairs are not neighbours
    preset = replace(PRESETS[name], arcs=(arcs,))
    (found,) = find_heads(looking(recording, *planted, list(arcs.pairs)), preset)
    assert (found.head.layer, found.head.number) == planted
    assert found.head.kind == "encoder"
    assert found.arcs is arcs
    assert found.weight > 0.4
    assert found.score > 0.3


def test_each_kind_of_pair_gets_its_own_head(english: Tokenizer) -> None:
    preset = PRESETS["structure"]
    recording = make_recording(english, sentence_of("structure", "en"), "the dog", layers=2, heads=2)
    heads = [found.head for found in find_heads(recording, preset)]
    assert len(heads) == len(set(heads)) == 2


def test_a_positional_head_scores_nothing() -> None:
    """A head that always looks two words back has weight on a pair at that distance, but scores nothing."""
    back = np.eye(6, k=-2)
    assert score(back, [(4, 2)]) == (1.0, 1.0)
    once = np.zeros((6, 6))
    once[4, 2] = 1.0
    assert score(once, [(4, 2)]) == (1.0, 0.0)


def test_the_pairs_name_the_intended_words() -> None:
    def words(name: PresetName, kind: int) -> list[tuple[str, str]]:
        split = PRESETS[name].sentence.split()
        return [(split[one], split[other]) for one, other in PRESETS[name].arcs[kind].pairs]

    assert words("long-distance", 0) == [("turned", "down")]
    assert words("anaphora", 0) == [("it", "dog")]
    assert words("structure", 0) == [
        ("The", "workers"), ("last", "workers"), ("the", "factory"), ("small", "factory"), ("the", "fire"),
    ]  # fmt: skip
    assert words("structure", 1) == [("had", "left"), ("was", "discovered")]
    assert [PRESETS[name].figure for name in NAMES] == [3, 4, 5]
    for name in NAMES:
        looking_word = PRESETS[name].looking
        assert looking_word is None or looking_word == PRESETS[name].arcs[0].pairs[0][0]


def test_other_languages_and_other_words_are_refused(english: Tokenizer) -> None:
    with pytest.raises(UserError, match="requires a model that translates from en, not from de"):
        sentence_of("anaphora", "de")
    assert sentence_of("anaphora", "en-GB").endswith("tired.")
    other = make_recording(english, "the dog slept.", "the dog")
    with pytest.raises(UserError, match="splits the preset's sentence differently; give your own sentence"):
        find_heads(other, PRESETS["anaphora"])
