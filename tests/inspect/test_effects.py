"""Measured effects against known ones: the model reverses the words, so each word is needed by its own copy."""

import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from hark.engine.torch import TorchEngine
from hark.inspect import effects as module
from hark.inspect.attention import Head
from hark.inspect.effects import Effects, count_measurements, importance, measure
from hark.inspect.recording import Recording, record
from hark.inspect.variants import attention_of, without_heads
from hark.model import Transformer, padded_layout
from hark.text.tokenizer import SPECIAL
from hark.text.vocabulary import Coder
from hark.translate.load import Loaded
from tests.inspect.hidden import without_words

SENTENCE = "the small cat sees red house"


@pytest.fixture(scope="module")
def recording(loaded: Loaded) -> Recording:
    return record(loaded, SENTENCE)


@pytest.fixture(scope="module")
def effects(loaded: Loaded, recording: Recording) -> Effects:
    coder = Coder(loaded.source_vocabulary, loaded.target_vocabulary)
    return measure(loaded.model, recording, coder.decode, 2)


def test_log_probs_of_the_unchanged_model(recording: Recording, effects: Effects) -> None:
    # The search forbids padding, unknown and start before the softmax; scoring does not.
    assert sum(effects.log_probs) == pytest.approx(recording.hypothesis.log_prob, abs=0.02)
    assert len(effects.log_probs) == len(recording.written_ids)


def test_hiding_a_word_lowers_the_probability_of_its_copy(recording: Recording, effects: Effects) -> None:
    assert {effect.change for effect in effects.words} == set(recording.source.text_words)
    for effect in effects.words:
        assert isinstance(effect.change, int)
        fallen = np.array(effects.log_probs) - np.array(effect.log_probs)
        missed = recording.written.word_of[int(fallen.argmax())]
        assert recording.written.words[missed] == recording.source.words[effect.change]


def test_the_largest_effects_come_first_and_are_translated_again(recording: Recording, effects: Effects) -> None:
    for found in (effects.words, effects.heads):
        losses = [effect.loss(effects.log_probs) for effect in found]
        assert losses == sorted(losses, reverse=True)
        assert [effect.text is None for effect in found] == [False, False, *(True for _ in found[2:])]
    for effect in effects.words[:2]:
        assert effect.text is not None
        assert recording.source.words[effect.change] not in effect.text.split()  # type: ignore[index]


def test_effects_equal_those_of_the_changed_model(loaded: Loaded, recording: Recording, effects: Effects) -> None:
    word, head = effects.words[0].change, effects.heads[0].change
    assert isinstance(word, int)
    assert isinstance(head, Head)
    changed, source = without_words(loaded.model, recording.source_ids, recording.source.tokens_of(word))
    silenced = without_heads(loaded.model, [head])
    for model, ids, effect in (
        (loaded.model, recording.source_ids, effects),
        (changed, source, effects.words[0]),
        (silenced, recording.source_ids, effects.heads[0]),
    ):
        (expected,) = TorchEngine(model, SPECIAL).score([(ids, recording.hypothesis.tokens)])
        assert effect.log_probs == pytest.approx(expected, abs=1e-5)


def loss_of(model: Transformer, recording: Recording) -> float:
    source, read, written = (
        torch.tensor([[*ids]]) for ids in (recording.source_ids, recording.read_ids, recording.written_ids)
    )
    layout = padded_layout(torch.tensor([source.shape[1]]), torch.tensor([read.shape[1]]))
    return float(F.cross_entropy(model(source, read, layout)[0], written[0], reduction="sum"))


def test_importance_is_the_gradient_of_the_loss(loaded: Loaded, recording: Recording) -> None:
    """By a gate's definition: the head's columns of W^O a little larger, and a little smaller. In float64, so that the
    steps can be small: over larger ones a ReLU may bend the loss."""
    found = importance(loaded.model, recording)
    config, exact = loaded.model.config, copy.deepcopy(loaded.model).double().requires_grad_(False)
    assert len(found) == config.n_heads * (config.n_encoder_layers + 2 * config.n_decoder_layers)
    for head in (Head("encoder", 0, 1), Head("decoder", 1, 0), Head("cross", 0, 0), Head("cross", 1, 1)):
        attention = attention_of(exact, head)
        columns = attention.w_o.weight[:, head.number * attention.v_width : (head.number + 1) * attention.v_width]
        losses, before = [], columns.clone()
        for step in (1e-6, -1e-6):
            columns.copy_(before * (1 + step))
            losses.append(loss_of(exact, recording))
        columns.copy_(before)
        assert found[head] == pytest.approx(abs(losses[0] - losses[1]) / 2e-6, rel=0.01, abs=1e-4)


def test_advance_is_called_as_often_as_counted(
    loaded: Loaded, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WORDS", 4)
    monkeypatch.setattr(module, "HEADS", 3)
    told: list[int] = []
    coder = Coder(loaded.source_vocabulary, loaded.target_vocabulary)
    found = measure(loaded.model, recording, coder.decode, 1, lambda: told.append(1))
    assert len(told) == count_measurements(recording, 1) == 1 + 4 + 3 + 1 + 1
    assert (len(found.words), len(found.heads), found.heads_in_all) == (4, 3, 10)


def test_a_sentence_of_one_word(loaded: Loaded) -> None:
    recording = record(loaded, "cat")
    coder = Coder(loaded.source_vocabulary, loaded.target_vocabulary)
    found = measure(loaded.model, recording, coder.decode, 1)
    assert [effect.change for effect in found.words] == [0]  # EOS is still visible
