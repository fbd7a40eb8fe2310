"""Readings of models of one stack: what is expected, attention and vectors, and effects, each computed another way."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

import hark
from hark.errors import UserError
from hark.inspect.attention import Head
from hark.inspect.effects import WORDS, count_text_measurements, hideable_words, measure_text
from hark.inspect.expectation import LIKELY
from hark.inspect.look import look_at_text
from hark.inspect.reading import MOST_WEIGHTS, TextModel, read_text
from hark.inspect.variants import TextVariants, without_heads
from hark.model import OneStack
from hark.tasks.encoder import LoadedEncoder
from hark.tasks.fill import GapFiller
from tests.inspect.copyist import INDUCTION, PREVIOUS
from tests.tasks.decoders import make_one_stack
from tests.tasks.encoders import folders

TEXT = "the cat sees a small red house and the cat"


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> TextModel:
    """With shared keys and ALiBi."""
    folder = tmp_path_factory.mktemp("decoder") / "small"
    settings = ("model.n_heads=4", "model.n_kv_heads=2", "model.positions=alibi", "model.n_decoder_layers=2")
    return TextModel.open(make_one_stack(folder, "decoder", *settings))


@pytest.fixture(scope="module")
def encoder() -> TextModel:
    return TextModel.open(folders("bert")[1])


def log_probs(model: OneStack, ids: tuple[int, ...]) -> Tensor:
    with torch.no_grad():
        layout = model.padded_layout({"target": torch.tensor([len(ids)])})
        return model(torch.tensor([ids]), layout)[0].log_softmax(-1)


def test_a_decoder_expects_what_its_logits_say(decoder: TextModel) -> None:
    reading = read_text(decoder, TEXT)
    words, ids = decoder.vocabulary, reading.ids
    assert ids == (words.special.start, *words.encode_literal(TEXT))
    assert reading.given == len(ids)
    expected = log_probs(decoder.model, ids)
    assert reading.expected[0] is None
    assert len(reading.expected) == len(ids) + 1
    for at, found in enumerate(reading.expected[1:], start=1):
        assert found is not None
        order = expected[at - 1].argsort(descending=True).tolist()
        assert [token for token, _ in found.likely] == order[:LIKELY]
        assert found.likely[0][1] == pytest.approx(math.exp(expected[at - 1, order[0]]), rel=1e-4)
        if at < len(ids):
            assert found.rank == 1 + order.index(ids[at])
            assert found.log_prob == pytest.approx(float(expected[at - 1, ids[at]]), rel=1e-4)
    last = reading.expected[-1]
    assert last is not None
    assert last.log_prob is None  # nothing came


def test_weights_are_the_softmax_of_the_recorded_vectors(decoder: TextModel, encoder: TextModel) -> None:
    """As the page explains them, with the bias of ALiBi."""
    for loaded, text in ((decoder, TEXT), (encoder, "The house is old.")):
        reading = read_text(loaded, text)
        vectors, weights = reading.vectors[reading.kind], reading.attention.of(reading.kind)
        scores = np.einsum("lthk,lshk->lhts", vectors.q_LTHK, vectors.k_LSHK) / vectors.q_LTHK.shape[-1] ** 0.5
        at = np.arange(len(reading.ids))
        if reading.kind == "decoder":
            slopes = np.array([1 / 4, 1 / 16, 1 / 64, 1 / 256])
            scores -= slopes[:, None, None] * np.abs(at[:, None] - at)
            np.testing.assert_allclose(vectors.bias_HTS, -slopes[:, None, None] * np.abs(at[:, None] - at), rtol=1e-6)
            scores[..., at[None, :] > at[:, None]] = -np.inf
        softmax = np.exp(scores - scores.max(-1, keepdims=True))
        np.testing.assert_allclose(weights, softmax / softmax.sum(-1, keepdims=True), atol=1e-5)


def test_a_model_that_repeats_goes_on_as_before(copyist: TextModel) -> None:
    reading = read_text(copyist, "abcdefgh. abcd", 4)
    assert reading.whole == "abcdefgh. abcdefgh"
    assert len(reading.ids) == reading.given + 4
    for found in reading.expected[12:]:  # from the second "b" on
        assert found is not None
        assert found.likely[0][1] > 0.99
    assert all(found.rank == 1 for found in reading.expected[12:-1] if found)
    effects = measure_text(copyist.model, reading)
    assert {effect.change for effect in effects.heads[:2]} == {INDUCTION, PREVIOUS}
    assert effects.heads[1].loss(effects.log_probs) > 10
    assert effects.heads[2].loss(effects.log_probs) == pytest.approx(0, abs=1e-4)
    assert reading.notes == ()


def test_hiding_and_removing_equal_each_change_alone(decoder: TextModel) -> None:
    reading = read_text(decoder, TEXT)
    variants = TextVariants(decoder.model, reading)
    heads, words = [Head("decoder", 0, 1), Head("decoder", 1, 3)], [*hideable_words(reading)]
    before, *found = variants.log_probs([None, *heads, *words])
    wanted = torch.tensor(reading.ids[1:])[:, None]

    def of_text(model: OneStack) -> list[float]:
        return [0.0, *log_probs(model, reading.ids)[:-1].gather(1, wanted)[:, 0].tolist()]

    assert before == pytest.approx(of_text(decoder.model), abs=1e-4)
    for head, each in zip(heads, found, strict=False):
        assert each == pytest.approx(of_text(without_heads(decoder.model, [head])), abs=1e-4)
    for word, each in zip(words, found[2:], strict=True):
        first, last = reading.spelling.tokens_of(word)[0], reading.spelling.tokens_of(word)[-1]
        assert each[: last + 1] == pytest.approx(before[: last + 1], abs=1e-5)  # nothing before can see it
        if last + 2 < len(reading.ids):
            assert each[last + 2 :] != pytest.approx(before[last + 2 :], abs=1e-5)
        assert first > 0
    effects = measure_text(decoder.model, reading)
    assert len(effects.heads) == effects.heads_in_all == 8
    assert len(effects.words) == min(WORDS, len(words))
    calls: list[int] = []
    measure_text(decoder.model, reading, lambda: calls.append(0))
    assert len(calls) == count_text_measurements(reading)


def test_a_hidden_word_is_invisible_to_all_others(encoder: TextModel) -> None:
    """For an encoder, this is the same as leaving out its tokens, while the others keep their positions."""
    reading = read_text(encoder, "The [MASK] is old, and the house is red.")
    model, word = encoder.model, hideable_words(reading)[3]
    (hidden,) = TextVariants(model, reading).log_probs([word])
    kept = [at for at in range(len(reading.ids)) if at not in reading.spelling.tokens_of(word)]
    layout = model.padded_layout({"target": torch.tensor([len(kept)])})
    positions = {"target": torch.tensor([kept])}
    with torch.no_grad():
        logits = model(torch.tensor([[reading.ids[at] for at in kept]]), type(layout)(positions, layout.patterns))
    (mask,) = reading.scored
    expected = logits[0, kept.index(mask)].log_softmax(-1)[reading.wanted[0]]
    assert hidden[mask] == pytest.approx(float(expected), abs=1e-4)
    assert sum(each != 0 for each in hidden) == 1


def test_an_encoder_expects_what_hark_fill_finds(encoder: TextModel) -> None:
    filler = GapFiller(LoadedEncoder(folders("bert")[1], "cpu"), top=LIKELY)
    reading = read_text(encoder, "The [MASK] is old.")
    assert [reading.ids[at] for at in reading.scored] == [encoder.vocabulary.mask]
    word = reading.spelling.word_of[reading.scored[0]]
    assert reading.spelling.words[word] == "[MASK]"  # a word, not a mark
    assert word in reading.spelling.text_words
    assert reading.spelling.spaced[word]
    (((*fillers,),),) = filler.fill(["The [MASK] is old."])
    found = reading.expected[reading.scored[0]]
    assert found is not None
    assert found.log_prob is None
    assert [p for _, p in found.likely] == pytest.approx([each.probability for each in fillers], rel=1e-4)
    assert [encoder.vocabulary.decode_one([token]) for token, _ in found.likely] == [each.text for each in fillers]
    assert reading.wanted == (found.likely[0][0],)
    # Every other token is hidden in turn.
    for at, token in enumerate(reading.ids):
        other = reading.expected[at]
        assert (other is None) == (encoder.vocabulary.is_special(token) and token != encoder.vocabulary.mask)
        if other is not None and at not in reading.scored:
            masked = (*reading.ids[:at], encoder.vocabulary.mask or 0, *reading.ids[at + 1 :])
            assert other.log_prob == pytest.approx(float(log_probs(encoder.model, masked)[at, token]), abs=1e-4)
    assert read_text(encoder, "It is old.").rows == ()  # without a mask there is nothing to measure


def test_what_does_not_apply_is_an_error_in_one_line(decoder: TextModel, encoder: TextModel) -> None:
    with pytest.raises(UserError, match="no text"):
        read_text(decoder, " \n")
    with pytest.raises(UserError, match=r"the text has 5,000 characters; the limit of a page is 4,000"):
        read_text(decoder, "a" * 5000)
    with pytest.raises(UserError, match=r"tokens and may get 60 more; a page of small shows at most 64$"):
        read_text(decoder, TEXT, 60)
    with pytest.raises(UserError, match="encoder alone, so it does not continue text"):
        read_text(encoder, "The house", 3)
    headless = TextModel.open(folders("headless")[1])
    reading = read_text(headless, "The house")
    assert not any(reading.expected)
    assert "without the layer that predicts tokens" in reading.notes[0]
    assert "without the layer" in look_at_text(headless, "The house")[0].html
    assert MOST_WEIGHTS > 12 * 12 * 200**2  # GPT-2 and BERT: 200 tokens at least


def test_hark_look_in_python(copyist: TextModel, decoder: TextModel) -> None:
    page = hark.look("abcdefgh. abcd", copyist, max_tokens=2)
    assert page.title == "abcdefgh. abcd · hark"
    folder = decoder.bundle.folder
    assert hark.look(TEXT, folder, changes=0).html.startswith("<!doctype html>")
    with pytest.raises(UserError, match="has one stack, so it does not translate; leave out changes, beam"):
        hark.look(TEXT, folder, changes=2, beam=3)
