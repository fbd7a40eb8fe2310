"""Byte-level byte-pair encoding, as GPT-2 and BART have it: the same interface as a sentencepiece model.

Text is split into words by classes of characters, each word into its UTF-8 bytes, and bytes are merged in the order of
the list. Pieces are written with a printable character for each byte. Here a space is `▁` as in sentencepiece, where
the original has `Ġ`.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from hark.errors import UserError
from hark.text.vocabulary import SPACE

HEADER = b"#version"
"""The first word of a list of merges; one without is given it."""
ORIGINAL_SPACE = "\u0120"
_CONTRACTION = re.compile("'(?:s|t|re|ve|m|ll|d)")
# Over classes of characters: L a letter, N a number, a space, s other white space, o anything else. White space before
# a word leaves its last character to the word.
_WORD = re.compile(" ?L+| ?N+| ?o+|[ s]+(?![LNo])|[ s]+")


def _printable_bytes() -> dict[int, str]:
    """A printable character for each byte: itself, or one from U+0100 on."""
    own = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in own]
    table = {byte: chr(byte) for byte in own} | {byte: chr(0x100 + i) for i, byte in enumerate(others)}
    return table | {0x20: SPACE}


BYTE_CHARACTERS = _printable_bytes()
_BYTES = {character: byte for byte, character in BYTE_CHARACTERS.items()}


class BytePairs:
    """The merges of a vocabulary."""

    def __init__(self, merges: bytes, name: str = "merges.txt") -> None:
        try:
            lines = merges.decode("utf-8").replace(ORIGINAL_SPACE, SPACE).split("\n")
        except UnicodeDecodeError:
            raise UserError(f"{name}: not UTF-8 text, so it is not a list of merges") from None
        pairs = [tuple(line.split(" ")) for line in lines if line and not line.startswith(HEADER.decode())]
        if any(len(pair) != 2 for pair in pairs):
            raise UserError(f"{name}: not a list of merges, or damaged")
        self._ranks = {pair: rank for rank, pair in enumerate(pairs)}
        self._merge = lru_cache(1 << 16)(self._merge_word)

    def add(self, pair: tuple[str, str]) -> None:
        """Add a merge, after all others."""
        self._ranks[pair] = len(self._ranks)

    def encode(self, text: str, out_type: type[str] = str) -> list[str]:  # noqa: ARG002
        return [piece for word in split_words(text) for piece in self._merge(word)]

    def decode_pieces(self, pieces: Sequence[str]) -> str:
        """The text of pieces. A character that stands for no byte adds nothing to it."""
        return bytes(_BYTES[each] for each in "".join(pieces) if each in _BYTES).decode("utf-8", errors="replace")

    def _merge_word(self, word: str) -> tuple[str, ...]:
        return self.merge("".join(BYTE_CHARACTERS[byte] for byte in word.encode("utf-8", errors="replace")))

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


def split_words(text: str) -> list[str]:
    """The words of a text with the space before each; they concatenate to the text."""
    classes = "".join(map(_class, text))
    words, start = [], 0
    while start < len(text):
        match = _CONTRACTION.match(text, start) or _WORD.match(classes, start)
        assert match is not None
        end = match.end()
        words.append(text[start:end])
        start = end
    return words


@lru_cache(4096)
def _class(character: str) -> str:
    if character.isspace():
        return " " if character == " " else "s"
    category = unicodedata.category(character)[0]
    return category if category in "LN" else "o"


def is_byte_pairs(model: bytes) -> bool:
    """Whether the bytes of a vocabulary's model are a list of merges."""
    return model.startswith(HEADER)
