"""WordPiece, as BERT has it: the same interface as a sentencepiece model.

Text is split into words at spaces and around every sign of punctuation and every Chinese character; a word is split
into the longest pieces that the vocabulary has, from its beginning. Here a piece that begins a word starts with `▁`, as
in sentencepiece, where the original marks all others with `##`.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache

from hark.errors import UserError
from hark.text.vocabulary import SPACE

CONTINUES = "##"
UNSPLIT = ""
"""Stands for a word that the vocabulary has no pieces for; no piece is empty."""
CHINESE = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip
"""Blocks of ideographs. The sixth begins later than in Unicode: so it does in the tokenizers that models come with."""
FLAGS = ("lower_case", "strip_accents", "split_chinese")
ASCII_SIGNS = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


@dataclass(frozen=True)
class WordPieceRules:
    """How text is prepared, as stored in `wordpiece.json`."""

    lower_case: bool = True
    strip_accents: bool = True
    split_chinese: bool = True
    max_characters: int = 100
    """A longer word is unknown."""

    def dump(self) -> bytes:
        return (json.dumps(asdict(self)) + "\n").encode()

    @classmethod
    def load(cls, content: bytes, name: str) -> "WordPieceRules":
        try:
            tree = json.loads(content)
            lower_case, strip_accents, split_chinese = (bool(tree[key]) for key in FLAGS)
            return cls(lower_case, strip_accents, split_chinese, int(tree["max_characters"]))
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"{name}: not the rules of a WordPiece vocabulary, or damaged ({error})") from None


class WordPieces:
    """Splits text into the pieces of a vocabulary."""

    def __init__(self, rules: WordPieceRules, pieces: Collection[str]) -> None:
        self.rules = rules
        self._first = frozenset(piece for piece in pieces if piece.startswith(SPACE) and piece != SPACE)
        self._later = frozenset(pieces) - self._first
        self._longest = max(map(len, pieces), default=0)
        self._split = lru_cache(1 << 16)(self._split_word)

    def encode(self, text: str, out_type: type[str] = str) -> list[str]:  # noqa: ARG002
        return [piece for word in split_words(text, self.rules) for piece in self._split(word)]

    def decode_pieces(self, pieces: Sequence[str]) -> str:
        """The text of pieces. They do not tell where there were spaces, so signs that end a clause follow a word."""
        return re.sub(r" ([.,!?])", r"\1", "".join(pieces).replace(SPACE, " "))

    def _split_word(self, word: str) -> tuple[str, ...]:
        if len(word) > self.rules.max_characters:
            return (UNSPLIT,)
        found: list[str] = []
        rest, known = SPACE + word, self._first
        while rest:
            for end in range(min(len(rest), self._longest), 0, -1):
                if rest[:end] in known:
                    break
            else:
                return (UNSPLIT,)
            found.append(rest[:end])
            rest, known = rest[end:], self._later
        return tuple(found)


def split_words(text: str, rules: WordPieceRules) -> list[str]:
    """The words of a text. Case changes character by character, so a final sigma is not special."""
    text = text.translate(_CLEAN_SPLIT if rules.split_chinese else _CLEAN)
    if rules.strip_accents:
        text = unicodedata.normalize("NFD", text).translate(_UNACCENTED)
    if rules.lower_case:
        text = text.translate(_LOWER)
    return text.translate(_APART).split()


class _CharacterTable(dict[int, str]):
    """A table for `str.translate` that computes missing entries."""

    def __init__(self, compute: Callable[[str], str]) -> None:
        super().__init__()
        self.compute = compute

    def __missing__(self, code: int) -> str:
        result = self[code] = self.compute(chr(code))
        return result


def _clean(character: str) -> str:
    """Without control characters, and with one kind of space."""
    if character in "\t\n\r" or unicodedata.category(character)[0] == "Z":
        return " "
    hidden = character == "\ufffd" or unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs")
    return "" if hidden else character


def _clean_split(character: str) -> str:
    chinese = any(first <= ord(character) <= last for first, last in CHINESE)
    return f" {character} " if chinese else _clean(character)


def _apart(character: str) -> str:
    is_sign = character in ASCII_SIGNS or unicodedata.category(character)[0] == "P"
    return f" {character} " if is_sign else character


_CLEAN, _CLEAN_SPLIT, _APART = map(_CharacterTable, (_clean, _clean_split, _apart))
_UNACCENTED = _CharacterTable(lambda character: "" if unicodedata.category(character) == "Mn" else character)
_LOWER = _CharacterTable(str.lower)


def with_space_marks(pieces: Sequence[str], special: Collection[str]) -> tuple[str, ...]:
    """The pieces of a vocab.txt as hark writes them; special ones stay as they are."""
    return _exchange(CONTINUES, SPACE, pieces, special)


def with_original_marks(pieces: Sequence[str], special: Collection[str]) -> tuple[str, ...]:
    """The inverse of `with_space_marks`."""
    return _exchange(SPACE, CONTINUES, pieces, special)


def _exchange(old: str, new: str, pieces: Sequence[str], special: Collection[str]) -> tuple[str, ...]:
    """Take a mark off the pieces that begin with it, and put another one before those that do not."""
    return tuple(
        piece if piece in special or not piece
        else piece[len(old) :] if piece.startswith(old) and piece != old
        else new + piece
        for piece in pieces
    )  # fmt: skip


def is_word_pieces(model: bytes) -> bool:
    """Whether the bytes of a vocabulary's model are the rules of a WordPiece vocabulary."""
    return model.startswith(b"{")
