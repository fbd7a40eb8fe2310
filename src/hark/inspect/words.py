"""Tokens as people read them: what each is called, and which of them make up a word."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hark.text.segment import SPACE
from hark.text.tokenizer import BOS, BYTES, EOS, Tokenizer

UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")
"""Scripts without spaces between words, by the first word of their characters' names. A token stands for itself there:
otherwise a whole sentence would be one word."""

VISIBLE_SPACE = "␣"


@dataclass(frozen=True)
class Spelling:
    """A text as the model has it."""

    tokens: tuple[str, ...]
    """Without the sign for a space; empty for the marks of start and end and for language tags."""
    marks: tuple[str, ...]
    """What a token is that stands for no text: `start`, `end`, or the language of a tag; otherwise empty."""
    words: tuple[str, ...]
    """A mark is a word of its own. So is punctuation at the edge of a word."""
    word_of: tuple[int, ...]
    """The number of each token's word."""
    spaced: tuple[bool, ...]
    """Whether a space stands before each word."""

    @classmethod
    def of(cls, ids: Sequence[int], tokenizer: Tokenizer) -> "Spelling":
        pieces = [readable(piece, token, tokenizer) for piece, token in zip(tokenizer.pieces(ids), ids, strict=True)]
        marks = tuple(mark_of(token, tokenizer) for token in ids)
        starts = sorted({*word_starts(pieces, ids, tokenizer)})
        spans = list(zip(starts, [*starts[1:], len(ids)], strict=True))
        words = tokenizer.decode([ids[start:stop] for start, stop in spans]) if spans else []
        return cls(
            tokens=tuple("" if mark else called(piece) for piece, mark in zip(pieces, marks, strict=True)),
            marks=marks,
            words=tuple(word.strip() for word in words),
            word_of=tuple(number for number, (start, stop) in enumerate(spans) for _ in range(start, stop)),
            spaced=tuple(
                bool(marks[start]) or start == 0 or bool(marks[start - 1]) or pieces[start].startswith(SPACE)
                for start in starts
            ),
        )

    def tokens_of(self, word: int) -> tuple[int, ...]:
        """Where the tokens of a word stand."""
        return tuple(at for at, number in enumerate(self.word_of) if number == word)

    @property
    def spoken(self) -> tuple[int, ...]:
        """The words that are no marks."""
        silent = {word for word, mark in zip(self.word_of, self.marks, strict=True) if mark}
        return tuple(word for word in range(len(self.words)) if word not in silent)


def mark_of(token: int, tokenizer: Tokenizer) -> str:
    if token >= tokenizer.specials:
        return ""
    return {BOS: "start", EOS: "end"}.get(token) or tokenizer.pieces([token])[0].strip("<>")


def readable(piece: str, token: int, tokenizer: Tokenizer) -> str:
    """A byte as the character that it is, if it is one by itself; otherwise in sixteens, such as ‹E2›."""
    byte = token - tokenizer.specials
    if not 0 <= byte < BYTES:
        return piece
    return chr(byte) if 0x20 < byte < 0x7F else f"‹{byte:02X}›"


def called(piece: str) -> str:
    """A piece without the sign for a space; one that is nothing else as a visible space."""
    return piece.removeprefix(SPACE) or VISIBLE_SPACE


def word_starts(pieces: Sequence[str], ids: Sequence[int], tokenizer: Tokenizer) -> Iterator[int]:
    """Where words begin, in no order, some of them twice."""
    chunks = [
        at
        for at, token in enumerate(ids)
        if at == 0 or token < tokenizer.specials or ids[at - 1] < tokenizer.specials or pieces[at].startswith(SPACE)
    ]
    punctuation = [is_punctuation(piece.removeprefix(SPACE)) for piece in pieces]
    alone = [stands_alone(piece.removeprefix(SPACE)) for piece in pieces]
    for start, stop in zip(chunks, [*chunks[1:], len(ids)], strict=True):
        yield start
        # A space by itself belongs to what follows it.
        inner = start + 1 if pieces[start] == SPACE and stop > start + 1 else start
        first, last = inner, stop
        while first < stop and punctuation[first]:
            first += 1
        while last > first and punctuation[last - 1]:
            last -= 1
        yield from range(inner + 1, min(first + 1, stop))
        yield from range(max(last, inner + 1), stop)
        unspaced = any(alone[start:stop])
        yield from (at for at in range(inner + 1, stop) if alone[at] or alone[at - 1] or (unspaced and punctuation[at]))


def is_punctuation(text: str) -> bool:
    return bool(text) and all(unicodedata.category(each)[0] in "PS" for each in text)


def stands_alone(text: str) -> bool:
    return bool(text) and unicodedata.name(text[0], "").startswith(UNSPACED)
