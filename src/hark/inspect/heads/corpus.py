"""Encodes sentence pairs and texts, and maps tokens to the words of a gold alignment, even if split differently."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hark.config import CorpusConfig, Documents, Shape
from hark.data.compression import ByteStream
from hark.data.corpus import read_lines, read_pairs, suffix
from hark.data.documents import PARAGRAPH_BREAK, read_objects
from hark.data.masking import Masking
from hark.errors import UserError
from hark.facts import LanguagePair
from hark.inspect.attention import Inputs
from hark.text.byte_pairs import bytes_of
from hark.text.vocabulary import SPACE, Vocabulary, normalise

IGNORED = -100
"""Stands for a token that is not to be predicted; cross-entropy leaves it out."""
WINDOW = 128
"""Maximum tokens of a part of a text."""
SHORTEST = 8
"""Minimum tokens of its own; what is left of a document is dropped."""
CHARS_PER_TOKEN = 16
"""No more of a document is read than this for each token of the parts that are wanted."""
MASKED = 0.15
"""The share of an encoder's tokens that are hidden."""


class WordMatcher:
    """Computes how a vocabulary's tokens overlap with words, by their bytes."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        ids = range(vocabulary.vocab_size)
        special_V = np.array([vocabulary.is_special(token) for token in ids])
        sizes = (
            1 if vocabulary.byte_of(token) is not None else len(piece.replace(SPACE, "").encode())
            for token, piece in zip(ids, vocabulary.pieces(ids), strict=True)
        )
        self.sizes_V = np.where(special_V, 0, np.fromiter(sizes, np.intp, len(ids)))
        self.spaces_V = (self.sizes_V == 0) & ~special_V

    def shares(self, tokens: Sequence[int], words: Sequence[str]) -> NDArray[np.float32] | None:
        """Return how much of each token (row) is in each word (column), from 0 to 1; special tokens are in no word.

        A space token belongs to the word after it. Returns None if tokens and words are not of the same text.
        """
        sizes = self.sizes_V[list(tokens)]
        token_ends, word_ends = sizes.cumsum(), np.cumsum([len(normalise(word).encode()) for word in words])
        if not len(words) or not len(sizes) or token_ends[-1] != word_ends[-1]:
            return None
        word_starts = np.concatenate([[0], word_ends[:-1]])
        ends = np.minimum(token_ends[:, None], word_ends[None, :])
        overlap = ends - np.maximum((token_ends - sizes)[:, None], word_starts[None, :])
        shares: NDArray[np.float64] = overlap.clip(min=0) / np.maximum(sizes, 1)[:, None]
        for row in np.flatnonzero(self.spaces_V[list(tokens)] & (token_ends < word_ends[-1])):
            shares[row, np.searchsorted(word_ends, token_ends[row], side="right")] = 1.0
        return shares.astype(np.float32)


@dataclass(frozen=True)
class HeadExample:
    """A sentence and its reference translation, or what a text-to-text model reads and should write."""

    line: int
    """Its line in the files, from 0."""
    source_text: str
    target_text: str
    """Both texts are empty if they were corrupted."""
    source: tuple[int, ...]
    """The encoder's input, EOS last."""
    target: tuple[int, ...]
    """The decoder's input, the start token first. Step t reads token t and predicts the next one."""
    expected: tuple[int, ...]
    """The tokens that the decoder should predict, EOS last."""

    @property
    def inputs(self) -> Inputs:
        return self.source, self.target

    @property
    def units(self) -> float:
        """What the loss is divided by: tokens."""
        return len(self.expected)


@dataclass(frozen=True)
class TextExample:
    """A part of a running text, for a model of one stack."""

    tokens: tuple[int, ...]
    """As the model reads them where its heads are looked at."""
    read: tuple[int, ...]
    """As it reads them where its loss is measured: an encoder's with masks."""
    expected: tuple[int, ...]
    """The token to predict at each position of `read`, or `IGNORED`."""
    units: float
    """What the loss is divided by: bytes of text times log(2), so that it is in bits per byte; or masked tokens."""

    @property
    def inputs(self) -> Inputs:
        return (self.read,)


Example = HeadExample | TextExample


@dataclass(frozen=True)
class TextCorpus:
    """The parts of a text that a model reads."""

    examples: tuple[TextExample, ...]

    @property
    def tokens(self) -> int:
        return sum(len(each.tokens) for each in self.examples)


@dataclass(frozen=True)
class HeadCorpus:
    """The sentence pairs that a model can process, and the number of all pairs read."""

    examples: tuple[HeadExample, ...]
    lines: int
    """Number of pairs read."""

    @property
    def tokens(self) -> int:
        return sum(len(each.source) + len(each.expected) for each in self.examples)

    @property
    def left_out(self) -> int:
        """Number of pairs with a side that is empty or longer than the model's positions."""
        return self.lines - len(self.examples)


def read_texts(files: tuple[str, str], languages: tuple[str, str], limit: int | None) -> list[tuple[str, str]]:
    """Read the first `limit` pairs of two line-aligned files, or of one .tsv, .jsonl or .tmx file and `-`."""
    corpus = CorpusConfig(files[0], "" if files[1] == "-" else files[1])
    return list(islice(read_pairs(corpus, *languages), limit))


def encode(
    pairs: Sequence[tuple[str, str]],
    source: Vocabulary,
    target: Vocabulary,
    positions: int,
    languages: LanguagePair | None = None,
    marked: bool = False,
) -> HeadCorpus:
    """Encode pairs for a model with this many positions; `languages` are needed for models of several pairs. `marked`:
    the names of sentinels and of the mask stand for hidden spans."""
    source_language, target_language = languages or (None, None)

    def ids_of(vocabulary: Vocabulary, texts: Sequence[str]) -> list[list[int]]:
        return [vocabulary.encode_marked(text) for text in texts] if marked else vocabulary.encode(texts)

    examples = []
    sides = zip(ids_of(source, [each for each, _ in pairs]), ids_of(target, [each for _, each in pairs]), strict=True)
    for line, ((text, other), (ids, other_ids)) in enumerate(zip(pairs, sides, strict=True)):
        written = (*target.prefix(target_language), *other_ids)
        read, expected = (target.special.start, *written), (*written, target.special.end)
        seen = tuple(source.as_source(ids, target_language, source_language))
        if ids and other_ids and max(len(seen), len(read)) <= positions:
            examples.append(HeadExample(line, text, other, seen, read, expected))
    if not examples:
        raise UserError("no usable pairs: all are empty or too long for the model; give other text")
    return HeadCorpus(tuple(examples), len(pairs))


def read_parts(
    path: Path, vocabulary: Vocabulary, shape: Shape, positions: int, limit: int, kind: Documents | None = None
) -> TextCorpus:
    """Read at most `limit` parts of a text file, or of the objects of a .jsonl file with a `text`, for a model of one
    stack. `kind`: what a document of its training text was, if that is known."""
    length = min(WINDOW, positions)
    around = 2 if shape == "encoder" else vocabulary.text_start is not None
    sizes_V = byte_sizes(vocabulary)
    can_hide = shape == "encoder" and vocabulary.mask is not None
    masking = Masking.of(vocabulary, MASKED, whole_words=False, pad=IGNORED) if can_hide else None

    def example(ids: Sequence[int], number: int) -> TextExample:
        if shape == "encoder":
            tokens = tuple(vocabulary.enclose(ids))
            if masking is None:
                return TextExample(tokens, tokens, (IGNORED,) * len(tokens), 0.0)
            hidden, labels = masking.hide(np.array(tokens, np.int32), np.random.default_rng(number))
            return TextExample(tokens, tuple(hidden.tolist()), tuple(labels.tolist()), int((labels != IGNORED).sum()))
        start = vocabulary.text_start
        tokens = (*([] if start is None else [start]), *ids)
        read, expected = tokens[:-1], tokens[1:]
        return TextExample(tokens, read, expected, float(sizes_V[list(expected)].sum()) * math.log(2))

    parts = text_parts(path, vocabulary, length - around, limit, kind)
    return TextCorpus(tuple(example(part, number) for number, part in enumerate(parts)))


def text_parts(path: Path, vocabulary: Vocabulary, length: int, limit: int, kind: Documents | None) -> list[list[int]]:
    """The first parts of a file's documents, each of at most this many tokens."""
    texts = documents_of(path, limit * length * CHARS_PER_TOKEN, kind)
    documents = map(vocabulary.encode_literal, texts)
    parts = (ids[at : at + length] for ids in documents for at in range(0, len(ids), length))
    found = [*islice((part for part in parts if len(part) >= min(SHORTEST, length)), limit)]
    if not found:
        raise UserError(f"{path}: has no text of {SHORTEST} tokens or more; give a longer one")
    return found


def documents_of(path: Path, most: int, kind: Documents | None) -> Iterator[str]:
    """Yield the documents of a file: the objects of a .jsonl, its lines or paragraphs, else its beginning as one."""
    with ByteStream(path) as stream:
        lines = read_lines(stream)
        if suffix(path) in (".jsonl", ".ndjson"):
            yield from read_objects(lines, path)
            return
        if kind == "line":
            yield from lines
            return
        size, kept = 0, []
        for line in lines:
            kept.append(line)
            size += len(line) + 1
            if size >= most:
                break
        whole = "\n".join(kept)
        yield from PARAGRAPH_BREAK.split(whole) if kind == "paragraph" else [whole]


def byte_sizes(vocabulary: Vocabulary) -> NDArray[np.intp]:
    """The bytes of text that each id stands for."""
    ids = range(vocabulary.vocab_size)
    sizes = (
        0
        if vocabulary.is_special(token)
        else 1
        if vocabulary.byte_of(token) is not None
        else len(bytes_of(piece))
        if vocabulary.is_byte_pairs
        else len(piece.replace(SPACE, " ").encode())
        for token, piece in zip(ids, vocabulary.pieces(ids), strict=True)
    )
    return np.fromiter(sizes, np.intp, len(ids))
