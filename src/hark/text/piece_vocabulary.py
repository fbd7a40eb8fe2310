"""The vocabulary of an imported model: sentencepiece splits text into pieces, and a list assigns their ids.

BART and RoBERTa have merges of bytes instead of a sentencepiece model (`hark.text.byte_pairs`), BERT has WordPiece
(`hark.text.word_pieces`).

Marian, M2M100, NLLB, mBART-50 and CTranslate2 number pieces in an order of their own, not in that of the sentencepiece
model. Their text is passed to sentencepiece unchanged: its model has its own normalisation. Without byte fallback, text
outside the alphabet becomes unknown; `Vocabulary.alphabet` lets the translator protect it.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import sentencepiece

from hark.errors import UserError
from hark.text.byte_pairs import BytePairs, Splitting, bytes_of, is_byte_pairs
from hark.text.vocabulary import SPACE, UNTAGGED, SpecialIds, TagScheme, Vocabulary
from hark.text.word_pieces import WordPieceRules, WordPieces, is_word_pieces

PIECES = "pieces.json"
SOURCE_MODEL, TARGET_MODEL, MERGES = "source.spm", "target.spm", "merges.txt"
WORD_PIECES = "wordpiece.json"
BYTE = re.compile(r"<0x([0-9A-F]{2})>")


@dataclass(frozen=True)
class PieceTable:
    """The pieces of both sides by id, as stored in `pieces.json`."""

    special: SpecialIds
    target: tuple[str, ...]
    source: tuple[str, ...] | None = None
    """None: as the target's."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """The piece that tags each language."""
    silent: tuple[str, ...] = ()
    """Further pieces that represent no text."""
    source_end: bool = True
    """Whether EOS follows the source. OpenNMT's models are trained without it."""
    mask: int | None = None
    """The id that hides a token of the text."""
    text_start: bool = True
    """Whether the start token precedes a text that a model of one stack reads. GPT-2's text begins without it."""
    verbatim: bool = False
    """Whether decoding keeps white space at both ends, and line ends: what a model of one stack continues is no
    sentence."""
    splitting: Splitting = "gpt2"
    """How a vocabulary of byte pairs splits text into words."""
    sentinels: tuple[int, ...] = ()
    """The ids that stand for hidden spans of a text, in order."""
    source_lead: tuple[int, ...] = ()
    """The ids that precede every source of a model without language tags."""
    target_lead: tuple[int, ...] = ()
    """The ids that every output of such a model begins with."""

    def dump(self) -> bytes:
        unused = {"mask": None, "sentinels": (), "source_lead": (), "target_lead": ()}
        tree = {name: value for name, value in asdict(self).items() if name not in unused or value != unused[name]}
        return (json.dumps(tree, ensure_ascii=False, separators=(",", ":")) + "\n").encode()

    @classmethod
    def load(cls, path: Path) -> "PieceTable":
        try:
            tree = json.loads(path.read_text(encoding="utf-8"))
            source = None if tree["source"] is None else tuple(map(str, tree["source"]))
            special = SpecialIds(**{name: int(value) for name, value in tree["special"].items()})
            target, tags = tuple(map(str, tree["target"])), dict(tree["tags"])
            mask = None if tree.get("mask") is None else int(tree["mask"])
            splitting = tree.get("splitting", "gpt2")
            if splitting not in get_args(Splitting):
                raise ValueError(f"the splitting {splitting!r} is not known")
            table = cls(
                special,
                target,
                source,
                tags,
                tuple(tree["silent"]),
                bool(tree["source_end"]),
                mask,
                text_start=bool(tree.get("text_start", True)),
                verbatim=bool(tree.get("verbatim", False)),
                splitting=splitting,
                sentinels=tuple(map(int, tree.get("sentinels", ()))),
                source_lead=tuple(map(int, tree.get("source_lead", ()))),
                target_lead=tuple(map(int, tree.get("target_lead", ()))),
            )
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{path}: not a list of pieces, or damaged ({error})") from None
        table.check(path)
        return table

    def check(self, where: object) -> None:
        own = {} if self.mask is None else {"mask": self.mask}
        own |= {f"sentinel {number}": token for number, token in enumerate(self.sentinels)}
        own |= {f"lead {number}": token for number, token in enumerate((*self.source_lead, *self.target_lead))}
        for name, token in (asdict(self.special) | own).items():
            if not 0 <= token < len(self.target):
                raise UserError(f"{where}: the id {token} of {name} is not in the vocabulary of {len(self.target)}")
        for language, piece in self.tags.items():
            if piece not in self.target and piece not in (self.source or ()):
                raise UserError(f"{where}: the tag {piece} of {language} is not in the vocabulary")


class PieceVocabulary(Vocabulary):
    """One side of an imported vocabulary."""

    def __init__(
        self,
        model: bytes,
        pieces: Sequence[str],
        table: PieceTable,
        name: str = "vocabulary",
        scheme: TagScheme = UNTAGGED,
    ) -> None:
        """`model`: the bytes of a sentencepiece model, of a list of merges, or of the rules of WordPiece; `pieces`:
        those of this side; errors call it `name`."""
        self.model, self.table, self.name, self.scheme = model, table, name, scheme
        self.languages = tuple(table.tags)
        self._pieces = tuple(pieces)
        self.vocab_size = len(self._pieces)
        self._processor = _open_model(model, name, self._pieces, table.splitting)
        # If several ids have the same piece, the first is used, as in a list that is searched from its beginning.
        self._ids = {piece: token for token, piece in reversed(list(enumerate(self._pieces)))}
        self.special = table.special if self._pieces == table.target else self._own_special()

    def __reduce__(self) -> tuple[Any, ...]:
        return PieceVocabulary, (self.model, self._pieces, self.table, self.name, self.scheme)

    def _own_special(self) -> SpecialIds:
        """The special ids of a side with pieces of its own. A source may lack padding and start, which it never needs;
        EOS stands for them."""
        special, target = self.table.special, self.table.target
        end, unknown = (self._ids.get(target[token]) for token in (special.end, special.unknown))
        if end is None or unknown is None:
            raise UserError(f"{self.name}: the source vocabulary lacks EOS or the unknown token")
        pad, start = (self._ids.get(target[token], end) for token in (special.pad, special.start))
        return SpecialIds(pad=pad, unknown=unknown, start=start, end=end)

    @property
    def is_byte_pairs(self) -> bool:
        return is_byte_pairs(self.model)

    @property
    def mask(self) -> int | None:
        return self.table.mask

    @property
    def sentinels(self) -> tuple[int, ...]:
        return self.table.sentinels

    @property
    def source_lead(self) -> tuple[int, ...]:
        return self.table.source_lead

    @property
    def target_lead(self) -> tuple[int, ...]:
        return self.table.target_lead

    @cached_property
    def sha256(self) -> str:  # type: ignore[override]
        return hashlib.sha256(self.model + b"\0".join(piece.encode() for piece in self._pieces)).hexdigest()

    @cached_property
    def _silent(self) -> frozenset[int]:
        special = self.special
        named = {*self.table.silent, *self.table.tags.values()}
        tokens = {token for token, piece in enumerate(self._pieces) if piece in named or not piece}
        mask = () if self.mask is None else (self.mask,)
        own = (special.pad, special.unknown, special.start, special.end)
        leads = (*self.table.source_lead, *self.table.target_lead)
        return frozenset({*own, *mask, *self.sentinels, *leads, *tokens})

    def tag(self, language: str) -> int:
        piece = self.table.tags.get(language)
        if piece is None or piece not in self._ids:
            raise UserError(f"{self.name}: no tag for {language}; available: {', '.join(self.languages) or 'none'}")
        return self._ids[piece]

    @property
    def source_end(self) -> int | None:
        return self.special.end if self.table.source_end else None

    @property
    def text_start(self) -> int | None:
        return self.special.start if self.table.text_start else None

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode_one(text) for text in texts]

    def encode_one(self, text: str) -> list[int]:
        pieces: list[str] = self._processor.encode(text, out_type=str)
        ids, unknown, silent = self._ids, self.special.unknown, self._silent
        # No text encodes to a special id, not even the text "</s>".
        return [token if (token := ids.get(piece, unknown)) not in silent else unknown for piece in pieces]

    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        return [self.decode_one(ids) for ids in sentences]

    def decode_one(self, ids: Sequence[int]) -> str:
        pieces = [self._pieces[token] for token in ids if token not in self._silent]
        text: str = self._processor.decode_pieces(pieces)
        return text if self.table.verbatim else text.replace(SPACE, " ").strip()

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self._pieces[token] for token in ids]

    def is_special(self, token: int) -> bool:
        return token in self._silent

    def byte_of(self, token: int) -> int | None:
        match = BYTE.fullmatch(self._pieces[token])
        return int(match[1], 16) if match else None

    def bytes_of(self, token: int) -> bytes | None:
        return bytes_of(self._pieces[token]) if self.is_byte_pairs else super().bytes_of(token)

    @cached_property
    def alphabet(self) -> frozenset[str]:
        pieces = (piece for token, piece in enumerate(self._pieces) if token not in self._silent)
        if self.is_byte_pairs:
            return frozenset(text for piece in pieces if len(text := self._processor.decode_pieces([piece])) == 1)
        return frozenset(text for piece in pieces if len(text := piece.removeprefix(SPACE)) == 1)


def _open_model(model: bytes, name: str, pieces: Sequence[str], splitting: Splitting) -> Any:
    if is_byte_pairs(model):
        return BytePairs(model, name, splitting, frozenset(pieces) if splitting == "llama3" else ())
    if is_word_pieces(model):
        return WordPieces(WordPieceRules.load(model, name), pieces)
    try:
        return sentencepiece.SentencePieceProcessor(model_proto=model)
    except RuntimeError:
        raise UserError(f"{name}: not a sentencepiece model, or damaged") from None


def open_pieces(folder: Path, scheme: TagScheme) -> tuple[PieceVocabulary, PieceVocabulary]:
    """Return the source and target vocabularies in a folder; the same object if shared."""
    table = PieceTable.load(folder / PIECES)
    kinds = (name for name in (MERGES, WORD_PIECES) if (folder / name).is_file())
    target_model = folder / next(kinds, TARGET_MODEL)
    source_model = folder / SOURCE_MODEL if (folder / SOURCE_MODEL).is_file() else target_model
    try:
        target_bytes, source_bytes = target_model.read_bytes(), source_model.read_bytes()
    except OSError as error:
        raise UserError(f"{target_model}: cannot be read: {error.strerror}") from None
    target = PieceVocabulary(target_bytes, table.target, table, str(target_model), scheme)
    if source_bytes == target_bytes and table.source is None:
        return target, target
    source = table.target if table.source is None else table.source
    return PieceVocabulary(source_bytes, source, table, str(source_model), scheme), target


def piece_files(table: PieceTable, source_model: bytes, target_model: bytes) -> dict[str, bytes]:
    """The files of an imported vocabulary in a bundle."""
    own = {} if source_model == target_model else {SOURCE_MODEL: source_model}
    name = MERGES if is_byte_pairs(target_model) else WORD_PIECES if is_word_pieces(target_model) else TARGET_MODEL
    return {PIECES: table.dump(), name: target_model, **own}
