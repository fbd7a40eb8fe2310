"""Our own kind of vocabulary: text <-> subword ids (sentencepiece BPE with byte fallback), and how one is learnt.

Raw text goes in and comes out: `decode(encode(text)) == normalise(text)` for every text, and no text ever becomes a
special id. Ids: pad 0, unk 1, bos 2, eos 3, language tags, 256 bytes, learnt pieces.
"""

import hashlib
import io
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Self

import sentencepiece

from hark.errors import UserError
from hark.text.memory import Memory
from hark.text.normalise import normalise
from hark.text.vocabulary import SPACE, UNTAGGED, SpecialIds, TagScheme, Vocabulary

PAD, UNK, BOS, EOS = 0, 1, 2, 3
SPECIAL = SpecialIds(pad=PAD, unknown=UNK, start=BOS, end=EOS)
BYTES = 256
CHARACTER_COVERAGE = 0.9999
"""Share of the text's characters that get a piece of their own; the rest are written in bytes, so none is lost."""


class Tokenizer(Vocabulary):
    """A learnt vocabulary. It travels with the dataset and the model as one file, known by its sha256."""

    special = SPECIAL

    def __init__(self, model: bytes, name: str = "tokenizer", scheme: TagScheme = UNTAGGED) -> None:
        """From the bytes of a model file; `name` is what errors call it."""
        self.model = model
        self.name = name
        self.scheme = scheme
        self.sha256 = hashlib.sha256(model).hexdigest()
        try:
            self._processor: Any = sentencepiece.SentencePieceProcessor(model_proto=model)
        except RuntimeError:
            raise UserError(f"{name}: not a sentencepiece model, or a damaged one") from None
        self.vocab_size: int = self._processor.get_piece_size()
        self._check()
        self._words = Memory(lambda word: tuple(self._processor.encode(word)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Tokenizer, (self.model, self.name, self.scheme)

    @classmethod
    def load(cls, path: Path | str, sha256: str | None = None, scheme: TagScheme = UNTAGGED) -> Self:
        """Read a tokenizer.model; refuse one that is not the one expected, where its sha256 is given."""
        try:
            tokenizer = cls(Path(path).read_bytes(), str(path), scheme)
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}") from None
        if sha256 is not None:
            tokenizer.verify(sha256)
        return tokenizer

    def save(self, path: Path | str) -> None:
        Path(path).write_bytes(self.model)

    def verify(self, sha256: str) -> None:
        """Refuse to stand in for another tokenizer: its ids would mean other words."""
        if sha256 != self.sha256:
            raise UserError(
                f"{self.name}: is not the tokenizer that was used before "
                f"(sha256 {self.sha256[:12]}..., expected {sha256[:12]}...); put the original back"
            )

    def _check(self) -> None:
        """Only a model with our special ids and byte fallback keeps the promises above."""
        processor = self._processor
        if (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id()) != (PAD, UNK, BOS, EOS):
            raise UserError(f"{self.name}: its special ids are not pad 0, unk 1, bos 2, eos 3; let hark learn one")
        self.languages = self._read_tags()
        start = EOS + 1 + len(self.languages)
        if self.vocab_size < start + BYTES or not all(processor.is_byte(i) for i in range(start, start + BYTES)):
            raise UserError(f"{self.name}: has no byte fallback, so it would lose text; let hark learn one")

    def _read_tags(self) -> tuple[str, ...]:
        tags = []
        for i in range(EOS + 1, self.vocab_size):
            if not self._processor.is_control(i):
                break
            tags.append(self._processor.id_to_piece(i).removeprefix("<2").removesuffix(">"))
        return tuple(tags)

    @property
    def n_special(self) -> int:
        """How many ids come before the bytes: the four special ones and the language tags."""
        return EOS + 1 + len(self.languages)

    @property
    def learnt(self) -> range:
        """The ids of learnt pieces, in the order in which they were learnt."""
        return range(self.n_special + BYTES, self.vocab_size)

    def is_special(self, token: int) -> bool:
        return token < self.n_special

    def byte_of(self, token: int) -> int | None:
        byte = token - self.n_special
        return byte if 0 <= byte < BYTES else None

    @cached_property
    def alphabet(self) -> frozenset[str]:
        return frozenset(piece for piece in self._learnt_pieces if len(piece) == 1 and piece != SPACE)

    def tag(self, language: str) -> int:
        """The id that asks for a target language."""
        if language not in self.languages:
            raise UserError(f"{self.name}: has no tag for {language}; it knows {', '.join(self.languages) or 'none'}")
        return EOS + 1 + self.languages.index(language)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Subword ids of each text after `normalise`, without bos and eos."""
        ids: list[list[int]] = self._processor.encode([normalise(text) for text in texts], num_threads=1)
        return ids

    def encode_one(self, text: str) -> list[int]:
        """The same for one text, a word at a time, remembering words; that is several times as fast."""
        if self._has_phrases:  # somebody else's model, with pieces of several words
            ids: list[int] = self._processor.encode(normalise(text))
            return ids
        return list(chain.from_iterable(map(self._words.__getitem__, normalise(text).split())))

    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """The text of each list of ids; special ids are silent, broken bytes become U+FFFD."""
        first = self.n_special
        known = [list(ids) if min(ids, default=first) >= first else [i for i in ids if i >= first] for ids in sentences]
        texts: list[str] = self._processor.decode(known, num_threads=1)
        return texts

    def decode_one(self, ids: Sequence[int]) -> str:
        """The same for one list, without sentencepiece's thread for every batch."""
        text = b"".join([self._bytes[token] for token in ids]).decode(errors="replace")
        return text.replace(SPACE, " ").removeprefix(" ")

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The ids as they are written in the vocabulary, ▁ for a space: for people to look at."""
        found: list[str] = self._processor.id_to_piece([int(i) for i in ids])  # one by one it takes four times as long
        return found

    @cached_property
    def _learnt_pieces(self) -> list[str]:
        return self.pieces(self.learnt)

    @cached_property
    def _has_phrases(self) -> bool:
        return any(SPACE in piece[1:] for piece in self._learnt_pieces)

    @cached_property
    def _bytes(self) -> list[bytes]:
        """What each id stands for."""
        table = [b""] * self.n_special + [bytes([byte]) for byte in range(BYTES)]
        return table + [piece.encode() for piece in self._learnt_pieces]


def train_tokenizer(
    sentences: Iterable[str], vocab_size: int, languages: Sequence[str], where: str = "the training text"
) -> bytes:
    """Learn a BPE vocabulary of exactly `vocab_size` from normalised sentences; the bytes of its model file.

    The same sentences in the same order give the same bytes. `where` is what errors call the text.
    """
    model = io.BytesIO()
    try:
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
            num_threads=2,  # is written into the model, so it must not depend on the machine
            minloglevel=2,
        )
    except RuntimeError as error:
        raise _explain(error, vocab_size, where) from None
    return model.getvalue()


def _explain(error: RuntimeError, vocab_size: int, where: str) -> Exception:
    message = str(error)
    if found := re.search(r"too high .*<= (\d+)", message):
        return UserError(
            f"{where}: too little text for a vocabulary of {vocab_size}; the largest that works is {found[1]}"
        )
    if found := re.search(r"required_chars\. \d+ vs (\d+)", message):
        return UserError(
            f"{where}: too many characters for a vocabulary of {vocab_size}; the smallest that works is {found[1]}"
        )
    if "sentences_.empty()" in message:
        return UserError(f"{where}: no text to learn a vocabulary from")
    return error
