"""Tokens are matched to words by their bytes, and texts are cut where documents end."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.config import Documents
from hark.inspect.heads.alignment import detokenise
from hark.inspect.heads.corpus import WordMatcher, text_parts
from hark.text.tokenizer import EOS
from hark.translate.align import merge
from tests.translate.stub import tokenizer

MATCHER = WordMatcher(tokenizer())
VOCABULARY = ["the", "committee", "Straße", ",", ".", "猫", "🙂", "don't", "x", "%", "("]

SOLID = [
    word
    for word in VOCABULARY
    if all(any(map(str.isalnum, piece)) for piece in tokenizer().pieces(tokenizer().encode_one(word)))
]
"""Words of which each piece has a letter: alignment leaves out the others."""


def shares(text: str, words: list[str]) -> np.ndarray:
    found = MATCHER.shares([*tokenizer().encode_one(text), EOS], words)
    assert found is not None
    return found


@given(st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=8), st.booleans())
def test_every_token_is_in_words_and_every_word_in_tokens(words: list[str], together: bool) -> None:
    found = shares(detokenise(words) if together else " ".join(words), words)
    np.testing.assert_allclose(found[:-1].sum(1), 1.0, atol=1e-6)
    assert not found[-1].any()  # EOS
    assert (found.sum(0) > 0).all()
    places = found @ np.arange(len(words))
    assert (np.diff(places[:-1]) >= -1e-6).all()  # in order


@given(st.lists(st.sampled_from(SOLID), min_size=1, max_size=8))
def test_words_between_spaces_are_merged_as_in_align(words: list[str]) -> None:
    tokens = tokenizer().encode_one(" ".join(words))
    pieces = tokenizer().pieces(tokens)
    attention = np.random.default_rng(len(tokens)).random((len(tokens), len(tokens) + 1)).astype(np.float32)
    matrix = shares(" ".join(words), words)
    ours = (matrix[:-1] / matrix[:-1].sum(0)).T @ (attention @ matrix)
    np.testing.assert_allclose(ours, merge(attention, pieces, pieces), atol=1e-5)


def test_attached_punctuation_is_a_word_of_its_own() -> None:
    found = shares("the cat.", ["the", "cat", "."])
    pieces = tokenizer().pieces(tokenizer().encode_one("the cat."))
    assert pieces[-1] == "."
    assert found[len(pieces) - 1].tolist() == [0, 0, 1]


def test_words_of_another_text_give_none() -> None:
    assert MATCHER.shares(tokenizer().encode_one("the cat"), ["the", "cats"]) is None
    assert MATCHER.shares(tokenizer().encode_one("the cat"), []) is None
    assert MATCHER.shares([], ["the"]) is None


@pytest.mark.parametrize("kind", [None, "file", "paragraph", "line"])
def test_parts_of_a_text_end_where_documents_do(kind: Documents | None, tmp_path: Path) -> None:
    """As in the model's training text."""
    lines = [
        "the cat sees a small red house and runs here",
        "we have been here before and it is old",
        "",
        "click open file save here before we have been",
    ]
    (tmp_path / "text.txt").write_text("\n".join(lines))
    parts = text_parts(tmp_path / "text.txt", tokenizer(), 100, 9, kind)
    texts = {
        "line": [each for each in lines if each],
        "paragraph": [" ".join(lines[:2]), lines[3]],
    }.get(kind or "", [" ".join(filter(None, lines))])
    assert [tokenizer().decode_one(part) for part in parts] == texts
    assert len(text_parts(tmp_path / "text.txt", tokenizer(), 9, 3, kind)) <= 3
