"""A recording has hark's translation, and the values that the model computed."""

import math
from pathlib import Path

import numpy as np
import pytest

from hark.errors import UserError
from hark.inspect.attention import KINDS
from hark.inspect.recording import record
from hark.model import Transformer
from hark.text.tokenizer import BOS, EOS
from hark.translate.load import Loaded
from tests.inspect.reference import Reference
from tests.inspect.taught import reverse_words

SENTENCES = [
    "the small cat sees red house",
    "old tree runs here",
    "Katze Dach more file",
    "runs",  # shorter than in training: the translation is wrong, and recorded as it is
    "the cat sees the cat",
    "more more more more more more more",
    "THE OLD TREE RUNS HERE",
]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_translation_equals_that_of_every_engine(sentence: str, taught: Path, loaded: Loaded) -> None:
    recording = record(loaded, sentence)
    ours = loaded.translate(sentence)
    assert recording.translation == ours.text
    assert recording.translation == Loaded(taught, "ctranslate2", precision="float32").translate(sentence).text
    if not ours.flags:
        assert recording.shown == ours.text
        # The same search, bit for bit; but a text's score is a mean, which is rounded once more.
        assert recording.hypothesis.score == pytest.approx(ours.score, rel=1e-15)
        assert recording.notes == ()


@pytest.mark.parametrize("beam", [1, 3, 8])
def test_the_translation_with_another_beam(beam: int, loaded: Loaded) -> None:
    recording = record(loaded, SENTENCES[0], beam=beam)
    assert recording.translation == loaded.translate(SENTENCES[0], beam=beam).text
    assert max(len(step.log_prob_W) for step in recording.search.steps) == beam


def test_tokens_and_words(loaded: Loaded) -> None:
    recording = record(loaded, SENTENCES[0])
    assert recording.source_ids == (*loaded.source_vocabulary.encode_one(SENTENCES[0]), EOS)
    assert recording.written_ids == (*recording.hypothesis.tokens, EOS)
    assert recording.read_ids == (BOS, *recording.hypothesis.tokens)
    assert recording.source.words == (*SENTENCES[0].split(), "")
    assert recording.written.words == (*reverse_words(SENTENCES[0]).split(), "")
    assert recording.languages == ("en", "de")
    assert recording.model == "taught"


def test_weights_sum_to_one_and_are_those_of_the_formula(loaded: Loaded) -> None:
    recording = record(loaded, SENTENCES[0])
    reference = Reference(loaded.model)
    reference.run(recording.source_ids, recording.read_ids)
    for kind in KINDS:
        weights = recording.attention.of(kind)
        np.testing.assert_allclose(weights.sum(-1), 1.0, atol=1e-6)
        np.testing.assert_allclose(weights, np.stack(reference.weights[kind]), atol=1e-5)


def test_weights_come_from_the_recorded_vectors(loaded: Loaded) -> None:
    recording = record(loaded, SENTENCES[0])
    for kind in KINDS:
        vectors, weights = recording.vectors[kind], recording.attention.of(kind)
        scores = np.einsum("lthk,lshk->lhts", vectors.q_LTHK, vectors.k_LSHK, dtype=np.float64)
        scores /= math.sqrt(vectors.q_LTHK.shape[-1])
        if kind == "decoder":
            scores[..., ~np.tri(scores.shape[-1], dtype=bool)] = -np.inf
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        np.testing.assert_allclose(weights, powers / powers.sum(-1, keepdims=True), atol=1e-5)
        assert vectors.v_LSHK.shape[1] == weights.shape[-1]


def test_alignment_heads_find_the_translated_word(loaded: Loaded) -> None:
    """The model reverses the words, so the alignment heads must find the word being written."""
    recording = record(loaded, SENTENCES[0])
    layers, _, rows, _ = recording.attention.cross_LHTS.shape
    best_LT = recording.attention.cross_LHTS.mean(1).argmax(-1)
    expected = [
        {at for at, word in enumerate(recording.source.words) if word == recording.written.words[of]}
        for of in recording.written.word_of[: rows - 1]
    ]
    found = [
        sum(recording.source.word_of[at] in where for at, where in zip(best_LT[layer], expected, strict=False))
        for layer in range(layers)
    ]
    assert max(found) >= 0.8 * (rows - 1)


def test_the_first_of_several_sentences_is_shown(loaded: Loaded) -> None:
    recording = record(loaded, "The cat sees. The tree runs here.\nMore.")
    assert recording.sentence == "The cat sees."
    assert recording.notes[0] == "the text has several sentences; this page shows the first"


def test_a_note_says_if_the_translation_has_several_parts(loaded: Loaded) -> None:
    """A sentence that is too long for the model is translated in parts, and one of them is shown."""
    sentence = " ".join(["the cat sees small red house"] * 8)
    recording = record(loaded, sentence)
    assert recording.translation == loaded.translate(sentence, split=False).text
    assert any("hark translate prints" in note for note in recording.notes)


@pytest.mark.parametrize(("text", "message"), [("", "no text"), (" \n\t", "no text"), ("2014", "nothing to translate")])
def test_invalid_input_is_refused_in_one_line(text: str, message: str, loaded: Loaded) -> None:
    with pytest.raises(UserError, match=message):
        record(loaded, text)


def test_sampling_is_turned_off(loaded: Loaded) -> None:
    """A model whose settings sample tokens is recorded with a search."""
    recording = record(loaded, SENTENCES[1], sample=True)
    assert recording.translation == loaded.translate(SENTENCES[1]).text


def test_the_model_is_unchanged(loaded: Loaded) -> None:
    model: Transformer = loaded.model
    before = {name: each.clone() for name, each in model.state_dict().items()}
    record(loaded, SENTENCES[0])
    assert all(bool((each == before[name]).all()) for name, each in model.state_dict().items())
