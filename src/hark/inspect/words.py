"""Readable labels for tokens, and the words that they make up."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hark.text.byte_pairs import bytes_of
from hark.text.vocabulary import SPACE, Vocabulary

UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")
"""Scripts without spaces between words, by the first word of their characters' Unicode names. Each token counts as a
word there: otherwise a whole sentence would be one word."""

VISIBLE_SPACE = "␣"
LINE_END = "↵"


@dataclass(frozen=True)
class Spelling:
    """The tokens of a text and the words that they make up."""

    tokens: tuple[str, ...]
    """Without the space symbol; empty for start, EOS and language tags."""
    marks: tuple[str, ...]
    """The kind of a special token: `start`, `end`, or the language of a tag; empty for other tokens, and for a mask or
    a sentinel, which stand for words."""
    words: tuple[str, ...]
    """A special token is a word of its own; so is punctuation at the edge of a word."""
    word_of: tuple[int, ...]
    """The index of each token's word."""
    spaced: tuple[bool, ...]
    """Whether each word is preceded by a space."""

    @classmethod
    def of(cls, ids: Sequence[int], vocabulary: Vocabulary) -> "Spelling":
        pieces = [readable(piece, token, vocabulary) for piece, token in zip(vocabulary.pieces(ids), ids, strict=True)]
        marks = tuple(mark_of(token, vocabulary) for token in ids)
        starts, hidden = sorted({*word_starts(pieces, ids, vocabulary)}), set(vocabulary.hidden)
        spans = list(pairwise([*starts, len(ids)]))
        words = vocabulary.decode([ids[start:stop] for start, stop in spans]) if spans else []
        return cls(
            tokens=tuple("" if mark else label_of(piece) for piece, mark in zip(pieces, marks, strict=True)),
            marks=marks,
            words=tuple(
                word.strip() or ("" if marks[start] else label_of(pieces[start]))
                for word, (start, _) in zip(words, spans, strict=True)
            ),
            word_of=tuple(number for number, (start, stop) in enumerate(spans) for _ in range(start, stop)),
            spaced=tuple(
                start == 0
                or bool(marks[start])
                or bool(marks[start - 1])
                or pieces[start].startswith(SPACE)
                or ids[start] in hidden  # which stands for words with the space before them
                for start in starts
            ),
        )

    @property
    def text(self) -> str:
        """The words, without special tokens."""
        return "".join(" " * self.spaced[word] + self.words[word] for word in self.text_words).strip()

    def tokens_of(self, word: int) -> tuple[int, ...]:
        """The positions of a word's tokens."""
        return tuple(at for at, number in enumerate(self.word_of) if number == word)

    @property
    def text_words(self) -> tuple[int, ...]:
        """The indices of the words that are not special tokens."""
        special = {word for word, mark in zip(self.word_of, self.marks, strict=True) if mark}
        return tuple(word for word in range(len(self.words)) if word not in special)


def merge_tokens(weights_TS: NDArray[np.float32], target: Spelling, source: Spelling) -> NDArray[np.float64]:
    """Weights between words: the mean over the tokens of the row's word, the sum over those of the column's."""
    rows, columns = (np.arange(len(each.words))[:, None] == np.array(each.word_of) for each in (target, source))
    merged: NDArray[np.float64] = rows / rows.sum(1, keepdims=True) @ weights_TS.astype(np.float64) @ columns.T
    return merged


def mark_of(token: int, vocabulary: Vocabulary) -> str:
    if not vocabulary.is_special(token) or token in vocabulary.hidden:
        return ""
    if token == vocabulary.special.end:  # some models also start with EOS
        return "end"
    return "start" if token == vocabulary.special.start else vocabulary.pieces([token])[0].strip("<>")


def readable(piece: str, token: int, vocabulary: Vocabulary) -> str:
    """Show bytes as text if they are whole characters, otherwise in hexadecimal, such as ‹E2›."""
    byte = vocabulary.byte_of(token)
    if byte is not None:
        return shown_bytes(bytes([byte]))
    if vocabulary.is_byte_pairs and not vocabulary.is_special(token):
        return SPACE * piece.startswith(SPACE) + shown_bytes(bytes_of(piece.removeprefix(SPACE)))
    return piece.replace("\n", LINE_END)


def shown_bytes(content: bytes) -> str:
    try:
        text = content.decode("utf-8").replace("\n", LINE_END).replace(" ", VISIBLE_SPACE)
    except UnicodeDecodeError:
        text = ""
    return text if text and text.isprintable() else "".join(f"‹{byte:02X}›" for byte in content)


def label_of(piece: str) -> str:
    """The piece without the space symbol; a visible space if it has nothing else."""
    return piece.removeprefix(SPACE) or VISIBLE_SPACE


def word_starts(pieces: Sequence[str], ids: Sequence[int], vocabulary: Vocabulary) -> Iterator[int]:
    """The positions where words start, unordered and with duplicates."""
    special = [vocabulary.is_special(token) for token in ids]
    line_end = [LINE_END in piece for piece in pieces]
    chunks = [
        at
        for at, piece in enumerate(pieces)
        if at == 0 or special[at] or special[at - 1] or piece.startswith(SPACE) or line_end[at] or line_end[at - 1]
    ]
    punctuation = [is_punctuation(piece.removeprefix(SPACE)) for piece in pieces]
    alone = [is_unspaced(piece.removeprefix(SPACE)) for piece in pieces]
    for start, stop in pairwise([*chunks, len(ids)]):
        yield start
        # A space token belongs to the following word.
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


def is_unspaced(text: str) -> bool:
    return bool(text) and unicodedata.name(text[0], "").startswith(UNSPACED)
