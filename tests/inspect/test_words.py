"""Tokens are grouped into words as a reader expects."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.inspect.words import Spelling
from hark.text.byte_pair_training import learn_byte_pairs
from hark.text.tokenizer import BOS, EOS
from hark.text.vocabulary import normalise
from tests.inspect.scripts import ARABIC, CHINESE, tokenizer
from tests.translate.stub import tokenizer as european


def spell(text: str) -> Spelling:
    return Spelling.of([*tokenizer().encode_one(text), EOS], tokenizer())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the cat", ["the", "cat"]),
        ("(the cat), it.", ["(", "the", "cat", ")", ",", "it", "."]),
        ("don't new-big", ["don't", "new-big"]),  # punctuation inside a word stays there
        ("... !", ["...", "!"]),
        (ARABIC, ARABIC.split()),
        (CHINESE, list(CHINESE)),
        ("猫cat 。", ["猫", "cat", "。"]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    found = spell(text)
    assert "".join(found.words) == "".join(words)
    if "..." not in text:  # its number of tokens depends on the tokenizer
        assert list(found.words) == [*words, ""]


def test_special_tokens_are_words_of_their_own() -> None:
    found = Spelling.of([BOS, *tokenizer().encode_one("the cat"), EOS], tokenizer())
    assert [found.marks[found.tokens_of(word)[0]] for word in range(4)] == ["start", "", "", "end"]
    assert found.text_words == (1, 2)
    tagged = Spelling.of([tokenizer().tag("de"), EOS], tokenizer())
    assert tagged.marks == ("2de", "end")


def test_printable_bytes_are_shown_as_characters() -> None:
    ids = [european().n_special + byte for byte in "!é".encode()]
    assert Spelling.of(ids, european()).tokens == ("!", "‹C3›", "‹A9›")


def test_spaces() -> None:
    found = spell("the cat, big")
    assert found.words == ("the", "cat", ",", "big", "")
    assert found.spaced == (True, True, False, True, True)


@given(st.text(st.sampled_from("abc the.,!?() -'猫在ال7é\u0e01<>"), max_size=30))
def test_no_text_is_lost(text: str) -> None:
    """Words with their spaces make up the text; each token is in one word; words are in order."""
    found = spell(text)
    joined = "".join(
        (" " if spaced and number else "") + word
        for number, (word, spaced) in enumerate(zip(found.words, found.spaced, strict=True))
    )
    assert joined.strip() == found.text == normalise(text)
    assert len(found.word_of) == len(found.tokens) == len(found.marks)
    assert list(found.word_of) == sorted(found.word_of)
    assert set(found.word_of) == set(range(len(found.words)))


def test_pieces_of_bytes_are_shown_as_text() -> None:
    """As they are in the vocabulary of a decoder: line ends stand alone, and parts of characters are bytes."""
    vocabulary = learn_byte_pairs(["é été the cat"] * 40, 270)
    found = Spelling.of(vocabulary.encode_literal("the été\n\nBe"), vocabulary)
    assert found.words == ("the", "été", "↵", "↵", "Be")
    assert found.spaced == (True, True, False, False, False)
    assert "".join(found.tokens).replace("‹C3›‹A9›", "é") == "theété↵↵Be"
    assert found.marks == ("",) * len(found.tokens)
