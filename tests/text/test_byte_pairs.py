"""Byte-level BPE, against the tokenizers library, which GPT-2, SmolLM2 and Llama 3 are published for."""

import json
import random
from collections.abc import Sequence
from typing import Any

import pytest

from hark.errors import UserError
from hark.text.byte_pairs import HEADER, BytePairs, Splitting, splitter
from hark.text.vocabulary import SPACE

tokenizers = pytest.importorskip("tokenizers")
TEXTS = (
    "", " ", "\n", "Don't we'll  see? I'D've, rock'n'roll", " a\tb\n\nc \r\n  d\n", "3,5 km² ½ 12345678 x2y33",
    "naïve Größe Straße", "你好，世界 🙂👩‍👩‍👧 и_x", "'twas 'S", "\u00a0x\u3000y ",
    "def f(x):\n    return x**2  # yes\n\n\n",
    "\x1c\x85\u2028z", "▁ already", "e\u0301 \u0e01\u0e33 ٣٤٥", "...!?\n\n Next", "https://a.b/c?d=e&f", "trailing   ",
)  # fmt: skip
LLAMA = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def splitting_there(splitting: Splitting) -> Any:
    pre = tokenizers.pre_tokenizers
    match splitting:
        case "gpt2":
            return pre.ByteLevel(add_prefix_space=False)
        case "digits":
            return pre.Sequence([pre.Digits(individual_digits=True), pre.ByteLevel(add_prefix_space=False)])
        case "llama3":
            split = pre.Split(tokenizers.Regex(LLAMA), "isolated")
            return pre.Sequence([split, pre.ByteLevel(add_prefix_space=False, use_regex=False)])


def trained(splitting: Splitting, texts: Sequence[str] = TEXTS, size: int = 400, **settings: Any) -> Any:
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(**settings))
    tokenizer.pre_tokenizer = splitting_there(splitting)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=size, show_progress=False, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def merges_of(tokenizer: Any) -> bytes:
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return HEADER + b"\n" + "\n".join(" ".join(pair) for pair in merges).encode()


def random_texts() -> list[str]:
    """Characters that decide how words are split, in every company."""
    generator = random.Random(5)
    signs = " \n\r\t'stSlLéß你12٣.,-_🙂\u00a0\u2028\u0301"
    return ["".join(generator.choices(signs, k=generator.randint(1, 12))) for _ in range(3000)]


@pytest.mark.parametrize("splitting", ["gpt2", "digits", "llama3"])
def test_words_and_pieces_are_those_of_the_library(splitting: Splitting) -> None:
    tokenizer = trained(splitting)
    pairs = BytePairs(merges_of(tokenizer), splitting=splitting)
    split = splitter(splitting)
    for text in (*TEXTS, *random_texts()):
        words = split(text)
        assert "".join(words) == text
        there = tokenizer.pre_tokenizer.pre_tokenize_str(text)
        assert words == [text[start:end] for _, (start, end) in there], repr(text)
        pieces = pairs.encode(text)
        assert [piece.replace(SPACE, "Ġ") for piece in pieces] == tokenizer.encode(text).tokens, repr(text)
        assert pairs.decode_pieces(pieces) == text


def test_a_whole_word_needs_no_merges() -> None:
    """Llama 3 has words that its merges never make."""
    tokenizer = trained("llama3", ["abab abab"] * 3, 300, ignore_merges=True)
    assert "Ġabab" in tokenizer.get_vocab()
    merges = HEADER + b"\nb a"
    assert BytePairs(merges).encode(" abab") == [SPACE, "a", "ba", "b"]
    assert BytePairs(merges, whole={f"{SPACE}abab"}).encode(" abab abc") == [f"{SPACE}abab", SPACE, "a", "b", "c"]


def test_a_damaged_list_of_merges_is_refused() -> None:
    for merges in (b"#version\na b c", b"#version\n\xff\xfe a"):
        with pytest.raises(UserError, match=r"merges\.txt: not "):
            BytePairs(merges)
