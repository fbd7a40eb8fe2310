"""Writing of a sentencepiece model from pieces and their scores, which other formats store without the rest of it.

A sentencepiece model is a message of Protocol Buffers; only the few fields that differ from their defaults are written.
"""

import struct
from collections.abc import Sequence
from typing import Literal

PieceKind = Literal["normal", "unknown", "control", "user_defined", "unused", "byte"]
KINDS: dict[PieceKind, int] = {"normal": 1, "unknown": 2, "control": 3, "user_defined": 4, "unused": 5, "byte": 6}
VARINT, BYTES, FLOAT = 0, 2, 5
UNIGRAM, BPE = 1, 2


def sentencepiece_bpe(
    pieces: Sequence[str], scores: Sequence[float], kinds: Sequence[PieceKind], add_space: bool = True
) -> bytes:
    """A BPE model with byte fallback that changes no text but, with `add_space`, puts a space before it."""
    trainer = field(3, BPE) + field(4, len(pieces)) + field(35, 1)  # model_type, vocab_size, byte_fallback
    # name, add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces
    normalizer = field(1, b"identity") + field(3, int(add_space)) + field(4, 0) + field(5, 1)
    return entries(pieces, scores, kinds) + field(2, trainer) + field(3, normalizer)


def sentencepiece_unigram(
    pieces: Sequence[str], scores: Sequence[float], kinds: Sequence[PieceKind], characters: bytes
) -> bytes:
    """A unigram model that makes runs of white space one space, and puts one before a text. `characters`: the table by
    which it replaces some; empty: none."""
    trainer = field(3, UNIGRAM) + field(4, len(pieces))
    # name, precompiled_charsmap, add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces
    table = field(1, b"user_defined") + field(2, characters) if characters else field(1, b"identity")
    normalizer = table + field(3, 1) + field(4, 1) + field(5, 1)
    return entries(pieces, scores, kinds) + field(2, trainer) + field(3, normalizer)


def entries(pieces: Sequence[str], scores: Sequence[float], kinds: Sequence[PieceKind]) -> bytes:
    return b"".join(
        field(1, field(1, piece.encode()) + number(FLOAT, 2) + struct.pack("<f", score) + field(3, KINDS[kind]))
        for piece, score, kind in zip(pieces, scores, kinds, strict=True)
    )


def field(place: int, value: int | bytes) -> bytes:
    """A field of a message, by its number in the format."""
    if isinstance(value, int):
        return number(VARINT, place) + varint(value)
    return number(BYTES, place) + varint(len(value)) + value


def number(wire: int, place: int) -> bytes:
    return varint(place << 3 | wire)


def varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; all but the last have the highest bit set."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
