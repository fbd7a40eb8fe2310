"""Bulk encoding matches the tokenizer; BPE-dropout gives other segmentations of the same text, reproducibly."""

import io
import random

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from hark.text.segment import Segmenter
from hark.text.tokenizer import Tokenizer, train_tokenizer
from hark.text.vocabulary import normalise

TEXT = "the of house houses tree trees green greener das der Haus Häuser Baum Bäume grün grüner über und and"
OTHERS = ["Съешь ещё этих булок", "می‌خواهم", "視野無限廣，窗外有藍天。", "👩‍👩‍👧‍👦 👍🏽", "nul\x00byte", "", "  "]
ALMOST_NEVER = 1e-9  # uses our own merging, and drops nothing


def sentences(count=400):
    chance = random.Random(0)
    return [" ".join(chance.choices(TEXT.split(), k=8)) for _ in range(count)]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer(train_tokenizer(sentences(), 380, ["en", "de"]))


@given(st.lists(st.text()))
def test_without_dropout_ids_match_the_tokenizer(tokenizer, texts):
    assert Segmenter(tokenizer).encode([*texts, *OTHERS]) == tokenizer.encode([*texts, *OTHERS])


def test_the_cache_is_bounded(tokenizer, monkeypatch):
    monkeypatch.setattr("hark.text.vocabulary.MAX_CACHED_WORDS", 5)
    bounded = Tokenizer(tokenizer.model)
    assert Segmenter(bounded).encode(sentences()) == tokenizer.encode(sentences())
    assert len(bounded._words) <= 5


def test_pieces_that_span_several_words():
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences()), model_writer=model, vocab_size=700, model_type="bpe", minloglevel=2,
        pad_id=0, unk_id=1, bos_id=2, eos_id=3, byte_fallback=True, split_by_whitespace=False,
        normalization_rule_name="identity", remove_extra_whitespaces=False,
    )  # fmt: skip
    tokenizer = Tokenizer(model.getvalue())
    assert any("\u2581" in piece[1:] for piece in tokenizer.pieces(range(260, 700)))
    assert Segmenter(tokenizer).encode(sentences(50)) == tokenizer.encode(sentences(50))


def test_merges_match_the_tokenizer(tokenizer):
    texts = [*sentences(50), *OTHERS]
    assert Segmenter(tokenizer, ALMOST_NEVER, 1).encode(texts, "x") == tokenizer.encode(texts)


@given(st.text(max_size=60))
def test_merges_match_the_tokenizer_on_any_text(tokenizer, text):
    assert Segmenter(tokenizer, ALMOST_NEVER, 1).encode([text], "x") == tokenizer.encode([text])


@given(st.text())
def test_dropout_is_lossless(tokenizer, text):
    assert tokenizer.decode(Segmenter(tokenizer, 0.5, 1).encode([text], "x")) == [normalise(text)]


def test_a_long_word_is_lossless(tokenizer):
    text = "Häuser" * 500
    assert tokenizer.decode(Segmenter(tokenizer, 0.1, 1).encode([text], "x")) == [text]


def test_dropout_is_reproducible_and_differs_by_stream_and_seed(tokenizer):
    texts = sentences(20)
    one = Segmenter(tokenizer, 0.3, 1)
    first = one.encode(texts, "0")
    one.encode(texts, "between")
    assert one.encode(texts, "0") == Segmenter(tokenizer, 0.3, 1).encode(texts, "0") == first
    assert one.encode(texts, "1") != first
    assert Segmenter(tokenizer, 0.3, 2).encode(texts, "0") != first


def test_the_same_word_varies_within_a_sentence(tokenizer):
    (ids,) = Segmenter(tokenizer, 0.3, 1).encode(["greener " * 64], "x")
    assert len(ids) > len(tokenizer.encode(["greener " * 64])[0])


def test_dropping_every_merge_leaves_characters(tokenizer):
    text = "das Haus"
    (ids,) = Segmenter(tokenizer, 0.999999, 1).encode([text], "x")
    assert tokenizer.pieces(ids) == list("▁das▁Haus")


def test_dropout_rate(tokenizer):
    # A word made by one merge ("▁x" from two characters) stays whole with probability 1 - p.
    (piece,) = (each for each in tokenizer.pieces(tokenizer.learnt) if each == "▁d")
    found = [Segmenter(tokenizer, 0.25, seed).encode([piece[1:]], "x")[0] for seed in range(2000)]
    whole = sum(len(ids) == 1 for ids in found) / len(found)
    assert 0.71 < whole < 0.79
