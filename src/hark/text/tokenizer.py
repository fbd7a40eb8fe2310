"""The default vocabulary: a sentencepiece BPE tokenizer with byte fallback, and its training.

Raw text in, raw text out: `decode(encode(text)) == normalise(text)` for every text, and no text ever encodes to a
special id. Ids: pad 0, unk 1, bos 2, eos 3, language tags, symbols, 256 bytes, learnt pieces. Only the vocabulary of a
language that consists of symbols, such as linearised trees, has symbols, and nothing else is learnt then. The last
learnt pieces may be replaced by `<formal>` and `<informal>` (tools/grow_model.py).
"""

import hashlib
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Self, get_args

import sentencepiece

from hark.errors import UserError
from hark.text.address import Address
from hark.text.vocabulary import SPACE, UNTAGGED, SegmentationCache, SpecialIds, TagScheme, Vocabulary, normalise

PAD, UNK, BOS, EOS = 0, 1, 2, 3
SPECIAL = SpecialIds(pad=PAD, unknown=UNK, start=BOS, end=EOS)
BYTES = 256
MAX_MARKERS = 16
"""Learnt pieces, from the last, that markers may have replaced."""
CHARACTER_COVERAGE = 0.9999
"""Share of the characters in the text that get their own piece; the rest are encoded as bytes, so none is lost."""
MAX_ONE_BY_ONE = 32
"""Up to this many texts are encoded or decoded one by one; for a list, sentencepiece starts a thread first."""


class Tokenizer(Vocabulary):
    """A learnt vocabulary, stored with the dataset and the model as one file and identified by its SHA-256."""

    special = SPECIAL

    def __init__(self, model: bytes, name: str = "tokenizer", scheme: TagScheme = UNTAGGED) -> None:
        """Load from the bytes of a model file; errors call it `name`."""
        self.model = model
        self.name = name
        self.scheme = scheme
        self.sha256 = hashlib.sha256(model).hexdigest()
        try:
            self._processor: Any = sentencepiece.SentencePieceProcessor(model_proto=model)
        except RuntimeError:
            raise UserError(f"{name}: not a sentencepiece model, or damaged") from None
        self.vocab_size: int = self._processor.get_piece_size()
        self._check()
        self._words = SegmentationCache(lambda word: tuple(self._processor.encode(word)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Tokenizer, (self.model, self.name, self.scheme)

    @classmethod
    def load(cls, path: Path | str, sha256: str | None = None, scheme: TagScheme = UNTAGGED) -> Self:
        """Read a tokenizer.model; raise an error if `sha256` is given and differs."""
        try:
            tokenizer = cls(Path(path).read_bytes(), str(path), scheme)
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}") from None
        if sha256 is not None:
            tokenizer.verify(sha256)
        return tokenizer

    def _check(self) -> None:
        """Check the special ids and byte fallback that lossless encoding relies on."""
        processor = self._processor
        if (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id()) != (PAD, UNK, BOS, EOS):
            raise UserError(f"{self.name}: special ids must be pad 0, unk 1, bos 2, eos 3; learn one with hark prepare")
        self.languages = self._read_tags()
        later = range(self.n_special, self.vocab_size)
        self.first_byte = start = next(filter(processor.is_byte, later), self.vocab_size)
        if self.vocab_size < start + BYTES or not all(processor.is_byte(i) for i in range(start, start + BYTES)):
            raise UserError(f"{self.name}: no byte fallback, so it would lose text; learn one with hark prepare")

    def _read_tags(self) -> tuple[str, ...]:
        tags = []
        for i in range(EOS + 1, self.vocab_size):
            if not self._processor.is_control(i):
                break
            tags.append(self._processor.id_to_piece(i).removeprefix("<2").removesuffix(">"))
        return tuple(tags)

    @property
    def n_special(self) -> int:
        """The number of ids that represent no text: four special tokens and the language tags."""
        return EOS + 1 + len(self.languages)

    @cached_property
    def symbols(self) -> dict[str, int]:
        """The ids of symbols: whole words that are never split."""
        ids = range(self.n_special, self.first_byte)
        return {piece.removeprefix(SPACE): i for piece, i in zip(self.pieces(ids), ids, strict=True)}

    @property
    def learnt(self) -> range:
        """The ids of learnt pieces, in the order they were learnt."""
        return range(self.first_byte + BYTES, self.vocab_size)

    @cached_property
    def address_symbols(self) -> Mapping[Address, int]:
        found = {form: self._processor.piece_to_id(f"{SPACE}<{form}>") for form in get_args(Address)}
        return {} if UNK in found.values() else found

    def is_special(self, token: int) -> bool:
        return token < self.n_special or token in self._marker_ids

    @cached_property
    def markers(self) -> Mapping[str, int]:
        """Words that replace the last learnt pieces, such as `<formal>` or `<bt>`. Training text may begin with one; in
        the text of users they are ordinary text."""
        last = self.learnt[-MAX_MARKERS:]
        found = zip(self.pieces(last), last, strict=True)
        return {piece[1:]: token for piece, token in found if re.fullmatch(f"{SPACE}<[a-z]+>", piece)}

    @cached_property
    def _marker_ids(self) -> frozenset[int]:
        return frozenset(self.markers.values())

    def byte_of(self, token: int) -> int | None:
        byte = token - self.first_byte
        return byte if 0 <= byte < BYTES else None

    @cached_property
    def alphabet(self) -> frozenset[str]:
        return frozenset(piece for piece in self._learnt_pieces if len(piece) == 1 and piece != SPACE)

    def tag(self, language: str) -> int:
        """Return the tag id of a language."""
        if language not in self.languages:
            raise UserError(f"{self.name}: no tag for {language}; available: {', '.join(self.languages) or 'none'}")
        return EOS + 1 + self.languages.index(language)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Normalise and encode texts to token ids, without BOS and EOS."""
        return _apply(self._processor.encode, [normalise(text) for text in texts])

    def encode_one(self, text: str) -> list[int]:
        """Encode one text word by word with a cache: several times as fast as `encode`."""
        if self._has_phrases:  # an imported model with pieces that span several words
            ids: list[int] = self._processor.encode(normalise(text))
            return ids
        return list(chain.from_iterable(map(self._words.__getitem__, normalise(text).split())))

    def encode_literal(self, text: str) -> list[int]:
        ids = self.encode_one(text)
        if self._marker_ids.isdisjoint(ids):
            return ids
        return [each for i in ids for each in (self._spell(i) if i in self._marker_ids else [i])]

    def _spell(self, symbol: int) -> list[int]:
        """The text of a symbol in other tokens: as it is encoded within a word, or else as bytes."""
        text = self._bytes[symbol]
        within = self._processor.encode("0" + text.decode().removeprefix(SPACE))
        spelled = [self._processor.piece_to_id(SPACE), *within[1:]]
        exact = b"".join(self._bytes[each] for each in spelled) == text
        return spelled if exact else [self.first_byte + byte for byte in text]

    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """Decode lists of ids; special ids are skipped, and invalid bytes become U+FFFD."""
        first = self.n_special
        known = [list(ids) if min(ids, default=first) >= first else [i for i in ids if i >= first] for ids in sentences]
        return _apply(self._processor.decode, known)

    def decode_one(self, ids: Sequence[int]) -> str:
        """Decode one list of ids from a table of bytes, without sentencepiece."""
        text = b"".join([self._bytes[token] for token in ids]).decode(errors="replace")
        return text.replace(SPACE, " ").removeprefix(" ")

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the pieces of ids for display, with ▁ for a space."""
        pieces: list[str] = self._processor.id_to_piece([int(i) for i in ids])  # four times as fast as one by one
        return pieces

    @cached_property
    def _learnt_pieces(self) -> list[str]:
        return self.pieces(self.learnt)

    @cached_property
    def _has_phrases(self) -> bool:
        return any(SPACE in piece[1:] for piece in self._learnt_pieces)

    @cached_property
    def _bytes(self) -> list[bytes]:
        """The UTF-8 bytes of each id."""
        symbols = self.pieces(range(self.n_special, self.first_byte))
        table = [b""] * self.n_special + [piece.encode() for piece in symbols]
        return table + [bytes([byte]) for byte in range(BYTES)] + [piece.encode() for piece in self._learnt_pieces]


def _apply(call: Any, items: list[Any]) -> list[Any]:
    return list(call(items, num_threads=1) if len(items) > MAX_ONE_BY_ONE else map(call, items))


def train_tokenizer(
    sentences: Iterable[str], vocab_size: int, languages: Sequence[str], where: str = "the training text"
) -> bytes:
    """Train a BPE vocabulary of exactly `vocab_size` on normalised sentences; return the bytes of its model file.

    The same sentences in the same order give the same bytes. Errors call the text `where`.
    """
    try:
        return _train(sentences, vocab_size, languages)
    except RuntimeError as error:
        raise _explain(error, vocab_size, where) from None


def train_symbols(sentences: Iterable[str], languages: Sequence[str]) -> bytes:
    """Make a vocabulary with one id for each distinct word, and bytes for all others; return its model file.

    It is meant for languages with few words, such as linearised trees.
    """
    symbols = sorted({word for sentence in sentences for word in sentence.split()})
    if not symbols:
        raise UserError("no symbols to make a vocabulary from")
    vocab_size = EOS + 1 + len(set(languages)) + len(symbols) + BYTES
    return _train(symbols[:1], vocab_size, languages, user_defined_symbols=[SPACE + symbol for symbol in symbols])


def _train(sentences: Iterable[str], vocab_size: int, languages: Sequence[str], **settings: Any) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences),
        model_writer=model,
        model_type="bpe",
        vocab_size=vocab_size,
        pad_id=PAD,
        unk_id=UNK,
        bos_id=BOS,
        eos_id=EOS,
        control_symbols=[f"<2{language}>" for language in sorted(set(languages))],
        byte_fallback=True,
        character_coverage=CHARACTER_COVERAGE,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        max_sentence_length=1 << 20,
        num_threads=2,  # written into the model, so it must not depend on the machine
        minloglevel=2,
        **settings,
    )
    return model.getvalue()


def _explain(error: RuntimeError, vocab_size: int, where: str) -> Exception:
    message = str(error)
    if match := re.search(r"too high .*<= (\d+)", message):
        return UserError(
            f"{where}: too little text for a vocabulary of {vocab_size}; the largest that works is {match[1]}"
        )
    if match := re.search(r"required_chars\. \d+ vs (\d+)", message):
        return UserError(
            f"{where}: too many characters for a vocabulary of {vocab_size}; the smallest that works is {match[1]}"
        )
    if "sentences_.empty()" in message:
        return UserError(f"{where}: no text to learn a vocabulary from")
    return error
