"""Byte-level byte-pair encoding, as GPT-2, BART and Llama 3 have it: the same interface as a sentencepiece model.

Text is split into words by classes of characters, each word into its UTF-8 bytes, and bytes are merged in the order of
the list. Pieces are written with a printable character for each byte. Here a space is `▁` as in sentencepiece, where
the original has `Ġ`. Models differ in how they split text into words: see `Splitting`.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from hark.errors import UserError
from hark.text.vocabulary import SPACE

HEADER = b"#version"
"""The first word of a list of merges; one without is given it."""
ORIGINAL_SPACE = "\u0120"
Splitting = Literal["gpt2", "digits", "llama3"]
"""How text is split into words. `gpt2`: as GPT-2 does. `digits`: the same between digits, each of which is a word
(SmolLM2). `llama3`: line ends by themselves, up to three digits together, and a sign belongs to letters after it."""
_CONTRACTION = re.compile("'(?:s|t|re|ve|m|ll|d)")
_CONTRACTION_OF_ANY_CASE = re.compile(_CONTRACTION.pattern, re.IGNORECASE)
# Over classes of characters: L a letter, N a number, a space, n the end of a line, s other white space, o anything
# else. White space before a word leaves its last character to the word.
_WORD = re.compile(" ?L+| ?N+| ?o+|[ sn]+(?![LNo])|[ sn]+")
_WORD_OF_LLAMA = re.compile("[ so]?L+|N{1,3}| ?o+n*|[ sn]*n+|[ sn]+(?![LNo])|[ sn]+")
_BETWEEN_DIGITS = re.compile("N|[^N]+")
_SPACES = {" ": " ", "\n": "n", "\r": "n"}
_SEPARATORS = "\x1c\x1d\x1e\x1f"
"""White space to Python, but not to Unicode."""


def _printable_bytes() -> dict[int, str]:
    """A printable character for each byte: itself, or one from U+0100 on."""
    own = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in own]
    table = {byte: chr(byte) for byte in own} | {byte: chr(0x100 + i) for i, byte in enumerate(others)}
    return table | {0x20: SPACE}


BYTE_CHARACTERS = _printable_bytes()
_BYTES = {character: byte for byte, character in BYTE_CHARACTERS.items()}


class BytePairs:
    """The merges of a vocabulary, and how it splits text into words.

    A word among the `whole` ones is one piece, even if the merges lead elsewhere."""

    def __init__(
        self, merges: bytes, name: str = "merges.txt", splitting: Splitting = "gpt2", whole: Collection[str] = ()
    ) -> None:
        try:
            lines = merges.decode("utf-8").replace(ORIGINAL_SPACE, SPACE).split("\n")
        except UnicodeDecodeError:
            raise UserError(f"{name}: not UTF-8 text, so it is not a list of merges") from None
        pairs = [tuple(line.split(" ")) for line in lines if line and not line.startswith(HEADER.decode())]
        if any(len(pair) != 2 for pair in pairs):
            raise UserError(f"{name}: not a list of merges, or damaged")
        self._ranks = {pair: rank for rank, pair in enumerate(pairs)}
        self._split, self._whole = splitter(splitting), whole
        self._merge = lru_cache(1 << 16)(self._merge_word)

    def add(self, pair: tuple[str, str]) -> None:
        """Add a merge, after all others."""
        self._ranks[pair] = len(self._ranks)

    def encode(self, text: str, out_type: type[str] = str) -> list[str]:  # noqa: ARG002
        return [piece for word in self._split(text) for piece in self._merge(word)]

    def decode_pieces(self, pieces: Sequence[str]) -> str:
        """The text of pieces. A character that stands for no byte adds nothing to it."""
        return bytes_of("".join(pieces)).decode("utf-8", errors="replace")

    def _merge_word(self, word: str) -> tuple[str, ...]:
        characters = "".join(BYTE_CHARACTERS[byte] for byte in word.encode("utf-8", errors="replace"))
        return (characters,) if characters in self._whole else self.merge(characters)

    def merge(self, characters: Sequence[str]) -> tuple[str, ...]:
        """Merge the characters of a word's bytes."""
        pieces = list(characters)
        while len(pieces) > 1:
            best = min(pairwise(pieces), key=lambda pair: self._ranks.get(pair, len(self._ranks)))
            if best not in self._ranks:
                break
            merged: list[str] = []
            for piece in pieces:
                if merged and (merged[-1], piece) == best:
                    merged[-1] += piece
                else:
                    merged.append(piece)
            pieces = merged
        return tuple(pieces)


def bytes_of(pieces: str) -> bytes:
    """The bytes that characters of pieces stand for."""
    return bytes(_BYTES[each] for each in pieces if each in _BYTES)


def splitter(splitting: Splitting) -> Callable[[str], list[str]]:
    """A function that splits text into words with the space before each; they concatenate to the text."""
    match splitting:
        case "gpt2":
            return split_words
        case "digits":
            return split_digits
        case "llama3":
            return split_like_llama


def split_words(text: str) -> list[str]:
    return _words(text, _CONTRACTION, _WORD)


def split_like_llama(text: str) -> list[str]:
    return _words(text, _CONTRACTION_OF_ANY_CASE, _WORD_OF_LLAMA)


def split_digits(text: str) -> list[str]:
    parts = _BETWEEN_DIGITS.finditer("".join(map(_class, text)))
    return [word for part in parts for word in split_words(text[part.start() : part.end()])]


def _words(text: str, contraction: re.Pattern[str], word: re.Pattern[str]) -> list[str]:
    classes = "".join(map(_class, text))
    words, start = [], 0
    while start < len(text):
        match = contraction.match(text, start) or word.match(classes, start)
        assert match is not None
        end = match.end()
        words.append(text[start:end])
        start = end
    return words


@lru_cache(4096)
def _class(character: str) -> str:
    if character.isspace() and character not in _SEPARATORS:
        return _SPACES.get(character, "s")
    category = unicodedata.category(character)[0]
    return category if category in "LN" else "o"


def is_byte_pairs(model: bytes) -> bool:
    """Whether the bytes of a vocabulary's model are a list of merges."""
    return model.startswith(HEADER)
