"""Encoding and decoding, and requests with language tags."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.config import DecodeConfig
from hark.engine.request import Hypothesis
from hark.errors import UserError
from hark.facts import Facts, LanguageTags, VocabularyFacts
from hark.text.normalise import normalise
from hark.text.tokenizer import Tokenizer
from hark.text.vocabulary import TagScheme
from hark.translate.attempts import whole_piece
from hark.translate.coder import Coder
from hark.translate.readings import best_candidate
from tests.translate.stub import tokenizer

CODER = Coder(tokenizer(), tokenizer())


@given(st.text(max_size=30))
def test_encoding_equals_the_tokenizers(text: str) -> None:
    tokens = CODER.encode(text)
    assert tokens == tokenizer().encode([text])[0]
    assert CODER.decode(tuple(tokens)) == normalise(text)


@given(st.lists(st.integers(0, 699), max_size=20))
def test_decoded_text_is_one_line(tokens: list[int]) -> None:
    text = CODER.decode(tuple(tokens))
    assert text == " ".join(text.split())
    if "\ufffd" not in text:  # both replace invalid bytes, but not always with the same number of characters
        assert text == " ".join(tokenizer().decode([tokens])[0].split())


@given(st.text(max_size=30), st.integers(1, 40))
def test_fits_counts_tokens(text: str, limit: int) -> None:
    if CODER.fits(text, limit):
        assert len(CODER.encode(text)) <= limit
    else:
        assert len(CODER.encode(text)) > limit


def test_unknown_characters() -> None:
    assert CODER.unknown("The cat is 5 € (yes).\u00a0\t\ufeff") == ""
    assert set(CODER.unknown("a 👍 и ł\u2581 \ud800 „»—₴´")) == set("👍иł\u2581\ud800")
    assert CODER.unknown("Ba\u0308r") == ""


def many_to_many(tags: LanguageTags) -> Coder:
    facts = Facts(pairs=(("en", "de"), ("de", "en")), vocabulary=VocabularyFacts(language_tags=tags))
    vocabulary = Tokenizer(tokenizer().model, scheme=TagScheme.of(facts))
    return Coder(vocabulary, vocabulary)


def test_a_model_of_one_pair_ignores_languages() -> None:
    end = CODER.source.special.end
    assert CODER.source_ids("the cat") == CODER.source_ids("the cat", "fr") == [*CODER.encode("the cat"), end]
    assert CODER.prefix() == CODER.prefix("fr") == ()


def test_the_encoder_input_starts_with_the_tag() -> None:
    coder = many_to_many("source")
    assert coder.source_ids("the cat", "de")[0] == coder.source.tag("de")
    assert coder.source_ids("the cat", "de")[1:] == CODER.source_ids("the cat")
    assert coder.prefix("de") == ()
    with pytest.raises(UserError, match="choose one with -t"):
        coder.source_ids("the cat")


def test_the_tag_counts_as_a_token() -> None:
    tokens = len(CODER.encode("the cat sees a tree"))
    assert CODER.fits("the cat sees a tree", tokens)
    assert not many_to_many("source").fits("the cat sees a tree", tokens)
    assert many_to_many("source").fits("the cat sees a tree", tokens + 1)


def test_requests_carry_tag_and_prefix() -> None:
    attempt = whole_piece("the cat", (), DecodeConfig(), inner=False)
    tag = CODER.source.tag
    (request,) = attempt.requests(many_to_many("source"), False, "de")
    assert (request.source[0], request.prefix) == (tag("de"), ())
    (request,) = attempt.requests(many_to_many("target"), False, "de", "en")
    assert (request.source[0], request.prefix) == (tag("en"), (tag("de"),))
    (request,) = attempt.requests(CODER, False)
    assert request.source == CODER.source_ids("the cat")


@pytest.mark.parametrize("tags", ["source", "target"])
def test_language_tags_are_not_linked(tags: LanguageTags) -> None:
    coder = many_to_many(tags)
    attempt = whole_piece("the cat sees", (), DecodeConfig(), inner=False)
    requests = attempt.requests(coder, True, "de", "en")
    tokens = (*coder.prefix("de"), *coder.encode("the cat sees"))
    first = len(coder.prefix("de"))
    attention_TS = np.zeros((len(tokens), len(requests[0].source)), np.float32)
    for t in range(len(tokens)):
        # Every token attends to its own position, and even more to the tag.
        attention_TS[t, 0], attention_TS[t, max(0, t - first) + 1] = 0.6, 0.4
    candidate = best_candidate(attempt, requests, [(Hypothesis(tokens, -1.0, -1.0, True, attention_TS),)], coder, 1)
    assert candidate.text == "the cat sees"
    assert [(link.source, link.target) for link in candidate.links] == [((0, 3),) * 2, ((4, 7),) * 2, ((8, 12),) * 2]
