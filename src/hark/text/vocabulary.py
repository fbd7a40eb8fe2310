"""The vocabulary interface: maps text to token ids and back. No module outside `text` hard-codes a token id.

A bundle holds one vocabulary per side, or one shared by both; `hark.text.opening` opens them, and `Coder` has both. The
default kind is a sentencepiece model (`hark.text.tokenizer`). To add a kind, derive a class from `Vocabulary` and add a
`case` in `opening`. A bias that a model adds to its output does not belong here: it is a weight of the model
(`output_bias`).
"""

import re
import string
import unicodedata
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from hark.errors import UserError
from hark.facts import Facts, LanguagePair, LanguageTags
from hark.text.address import Address
from hark.text.detector import base_language

SPACE = "\u2581"
"""Marks a piece that follows a space. In a text, it becomes an underscore."""
# Invisible characters that carry no meaning: soft hyphen, zero-width space, word joiner, byte-order mark.
# The zero-width joiner and non-joiner stay: emoji, Persian and Indic scripts need them.
_INVISIBLE = "\u00ad\u200b\u2060\ufeff"
# Lone surrogates: UTF-8 cannot encode them, but JSON escapes can produce them.
_SURROGATES = "\ud800-\udfff"
_ODD = re.compile(f"[{_INVISIBLE}{SPACE}{_SURROGATES}]")


def normalise(text: str) -> str:
    """Apply Unicode NFC, collapse white space to single spaces, and strip; remove invisible characters.

    Idempotent. No compatibility folding (NFKC): ½, ™ and full-width letters stay.
    """
    if not text.isascii():
        # Before NFC: removing an invisible character can bring a letter and its accent together.
        text = unicodedata.normalize("NFC", _ODD.sub(_replace, text))
    return " ".join(text.split())


def _replace(match: re.Match[str]) -> str:
    character = match[0]
    if character in _INVISIBLE:
        return ""
    return "_" if character == SPACE else "\ufffd"


@dataclass(frozen=True)
class SpecialIds:
    """Special token ids, which represent no text."""

    pad: int
    """Pads batches; never predicted or generated."""
    unknown: int
    start: int
    """The decoder's first input; [CLS] of an encoder alone."""
    end: int
    """EOS: the last token of every complete output, and of every source unless `Vocabulary.source_end` is None."""

    @property
    def forbidden(self) -> tuple[int, ...]:
        """Ids that must never be generated."""
        return tuple(sorted({self.pad, self.unknown, self.start} - {self.end}))


@dataclass(frozen=True)
class SideIds:
    """Special token ids in the batches of one side. Those of the source may differ from the target's."""

    pad: int
    end: int | None
    """Follows each sentence: EOS, or None if there is none."""


@dataclass(frozen=True)
class TagScheme:
    """How the target language is passed to a model, and which pairs it has; see `facts.LanguageTags`."""

    kind: LanguageTags = "none"
    pairs: tuple[LanguagePair, ...] = ()

    @classmethod
    def of(cls, facts: Facts) -> "TagScheme":
        return cls(facts.vocabulary.language_tags, facts.pairs)

    @cached_property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(pair[0] for pair in self.pairs))

    @cached_property
    def targets(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(pair[1] for pair in self.pairs))

    def resolve_source(self, source: str | None) -> str:
        return _resolve(source, self.sources, "from", "-s")

    def resolve_target(self, target: str | None) -> str:
        return _resolve(target, self.targets, "to", "-t")

    def sources_of(self, target: str) -> list[str]:
        """The languages that the model translates into a target language."""
        return [source for source, other in self.pairs if other == target]


UNTAGGED = TagScheme()


def _resolve(requested: str | None, known: tuple[str, ...], preposition: str, option: str) -> str:
    """Return the model's code of the requested language (`pt` for `pt-BR`), or the only language there is."""
    if requested in known:
        return requested
    if requested is None:
        if len(known) == 1:
            return known[0]
        raise UserError(f"this model translates {preposition} {', '.join(known)}; choose one with {option}")
    for code in known:
        if base_language(code) == base_language(requested):
            return code
    raise UserError(f"{requested}: this model translates only {preposition} {', '.join(known)}; choose one of them")


class Vocabulary(Protocol):
    """Text <-> token ids for one side of a model. Implementations derive from it and can be pickled."""

    vocab_size: int
    special: SpecialIds
    languages: tuple[str, ...]
    """Languages with a tag."""
    scheme: TagScheme
    sha256: str
    """Vocabularies with the same hash encode text to the same ids."""
    name: str
    """What errors call it."""

    @abstractmethod
    def tag(self, language: str) -> int:
        """Return the tag id of a language."""

    @abstractmethod
    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode texts to ids, without start and end."""

    @abstractmethod
    def encode_one(self, text: str) -> list[int]:
        """Encode one text."""

    @abstractmethod
    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """Decode lists of ids; special ids are skipped."""

    @abstractmethod
    def decode_one(self, ids: Sequence[int]) -> str:
        """Decode one list of ids."""

    @abstractmethod
    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the pieces of ids for display; a leading ▁ represents a space."""

    @abstractmethod
    def is_special(self, token: int) -> bool:
        """Whether an id represents no text."""

    @abstractmethod
    def byte_of(self, token: int) -> int | None:
        """Return the byte that an id represents, or None if it is not a byte."""

    def bytes_of(self, token: int) -> bytes | None:
        """Return the bytes of an id that is only a part of characters, or None if they are unknown."""
        byte = self.byte_of(token)
        return None if byte is None else bytes([byte])

    @property
    @abstractmethod
    def alphabet(self) -> frozenset[str]:
        """Characters with their own id; others are encoded as bytes or unknown."""

    def verify(self, sha256: str) -> None:
        """Raise an error if the SHA-256 differs: another tokenizer's ids mean other words."""
        if sha256 != self.sha256:
            raise UserError(
                f"{self.name}: not the original tokenizer "
                f"(sha256 {self.sha256[:12]}..., expected {sha256[:12]}...); restore the original"
            )

    @property
    def address_symbols(self) -> Mapping[Address, int]:
        """The ids that ask for formal or informal address, before a source; empty if the model has none."""
        return {}

    @property
    def is_byte_pairs(self) -> bool:
        """Whether its pieces are written with a character for each byte (`hark.text.byte_pairs`)."""
        return False

    @property
    def mask(self) -> int | None:
        """The id that hides a token of the text from an encoder that fills gaps; None: there is none."""
        return None

    @property
    def sentinels(self) -> tuple[int, ...]:
        """The ids that stand for hidden spans of a text, in order (T5's <extra_id_0>, ...); empty: there are none."""
        return ()

    @property
    def hidden(self) -> tuple[int, ...]:
        """The ids that stand for hidden spans: the sentinels and the mask."""
        return self.sentinels if self.mask is None else (*self.sentinels, self.mask)

    @property
    def source_lead(self) -> tuple[int, ...]:
        """The ids that precede every source of a model without language tags: BART's <s>."""
        return ()

    @property
    def target_lead(self) -> tuple[int, ...]:
        """The ids that every output of such a model begins with."""
        return ()

    def encode_marked(self, text: str) -> list[int]:
        """Encode a text in which the name of a sentinel, such as <extra_id_0>, or of the mask stands for a hidden
        span."""
        hidden = self.hidden
        names = dict(zip(self.pieces(hidden), hidden, strict=True))
        if not any(name in text for name in names):
            return self.encode_literal(text)
        ids: list[int] = []
        for part in re.split(f"({'|'.join(map(re.escape, names))})", text):
            # The span begins with the space before it.
            ids += [names[part]] if part in names else self.encode_literal(part.removesuffix(" "))
        return ids

    def begins_word(self, token: int) -> bool:
        """Whether an id begins a word or, being special, stands by itself. The first of a text always does."""
        return self.is_special(token) or self.pieces([token])[0].startswith(SPACE)

    def enclose(self, ids: Sequence[int]) -> list[int]:
        """Return the input of an encoder without a decoder: an encoded text between start and end, [CLS] and [SEP]."""
        return [self.special.start, *ids, self.special.end]

    def encode_texts(self, texts: Sequence[str]) -> list[int]:
        """Encode a text, or two that a model reads together, with the end token between them."""
        first, *others = map(self.encode_one, texts)
        return [*first, *(token for ids in others for token in (self.special.end, *ids))]

    def encode_words(self, words: Sequence[str]) -> list[list[int]]:
        """Encode the words of a sentence, each by itself as it stands after a space; none is without a token."""
        spaced = (f" {word}" if place else word for place, word in enumerate(words))
        return [self.encode_one(word) or [self.special.unknown] for word in spaced]

    def encode_masked(self, text: str) -> list[int]:
        """Encode a text in which the mask's own name, such as [MASK], stands for a token that is hidden."""
        if self.mask is None:
            return self.encode_one(text)
        (name,) = self.pieces([self.mask])
        *before, last = text.split(name)
        ids: list[int] = []
        for part in before:  # a space before a mask belongs to what it hides
            ids += [*self.encode_one(part.rstrip()), self.mask]
        return [*ids, *self.encode_one(last)]

    def encode_literal(self, text: str) -> list[int]:
        """Encode the text of a user, in which `<formal>` is text. In training text it is the symbol."""
        return self.encode_one(text)

    # Tags, start and end are added in the same way for every kind.

    @property
    def source_end(self) -> int | None:
        """The id that follows a source: EOS, or None for models that were trained without it."""
        return self.special.end

    @property
    def text_start(self) -> int | None:
        """The id that precedes a text which a model of one stack reads: start, or None for models that were trained
        without it."""
        return self.special.start

    def source_ids(
        self, text: str, target: str | None = None, source: str | None = None, address: Address | None = None
    ) -> list[int]:
        """Return the encoder input of a text: the language tag, if the model uses one, the tokens, and usually EOS.

        The languages may be omitted for a model of one pair. `address`: the form to ask for."""
        ids = self.encode_literal(text)
        return self.as_source(ids if address is None else [self.address_symbols[address], *ids], target, source)

    def as_source(self, ids: Sequence[int], target: str | None = None, source: str | None = None) -> list[int]:
        """Return the encoder input of an encoded text."""
        end = [] if self.source_end is None else [self.source_end]
        match self.scheme.kind:
            case "none":
                return [*self.source_lead, *ids, *end]
            case "source":
                lead = self.tag(self.scheme.resolve_target(target))
            case "target":
                lead = self.tag(self.scheme.resolve_source(source))
        return [lead, *ids, *end]

    @property
    def lead(self) -> int:
        """The number of ids that `as_source` prepends."""
        return len(self.source_lead) if self.scheme.kind == "none" else 1

    def prefix(self, target: str | None = None) -> tuple[int, ...]:
        """Return the forced first ids when decoding into a language; call it on the target vocabulary."""
        if self.scheme.kind != "target":
            return self.target_lead
        return (self.tag(self.scheme.resolve_target(target)),)


MAX_CACHED_WORDS = 1 << 19
"""About 100 MB of segmentations."""


class SegmentationCache(dict[Any, tuple[int, ...]]):
    """A dictionary that computes missing entries; hits cost no more than in a plain dictionary."""

    def __init__(self, compute: Callable[[Any], tuple[int, ...]]) -> None:
        super().__init__()
        self.compute = compute

    def __missing__(self, key: Any) -> tuple[int, ...]:
        if len(self) >= MAX_CACHED_WORDS:
            self.clear()
        segmentation = self[key] = self.compute(key)
        return segmentation


_SILENT = {" ", *_INVISIBLE}
"""Characters that normalisation removes or turns into spaces, so that no model ever sees them."""

MAX_PIECE_CHARS = 64
"""An upper bound on the characters of one token; sentencepiece's default is 16."""


class Coder:
    """The vocabularies of both sides of a model. For a model of one language pair, languages may be omitted."""

    def __init__(self, source: Vocabulary, target: Vocabulary, rare_signs: Collection[str] = ()) -> None:
        """`rare_signs`: characters that were rare in training (`VocabularyFacts.rare_signs`)."""
        self.source, self.target = source, target
        self._rare = frozenset(rare_signs)
        # A vocabulary may lack a rare letter, such as X; models still copy single bytes reliably.
        self._known = {*string.printable, *_SILENT, *source.alphabet} - self._rare

    def pair_ids(
        self, text: str, translation: str, source: str | None, target: str | None
    ) -> tuple[list[int], list[int]]:
        """A text and its translation, as the engine scores them."""
        tokens = [*self.target.prefix(target), *self.target.encode_literal(translation)]
        return self.source.source_ids(text, target, source), tokens

    def knows(self, source: str, target: str) -> bool:
        """Whether the model translates between these languages, too."""
        return source in self.source.scheme.sources_of(target)

    def split_lead(self, source: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Split encoder input into the language tag and the tokens of the text, without the symbol between them."""
        lead, symbols = self.source.lead, self.source.address_symbols.values()
        return source[:lead], source[lead + any(each in symbols for each in source[lead : lead + 1]) :]

    def fits(self, text: str, limit: int) -> bool:
        """Whether a text has at most `limit` tokens, with what precedes it and without EOS."""
        # Each token covers at least one byte, except for the leading space symbol.
        room = limit - self.source.lead - bool(self.source.address_symbols)
        if len(text) > MAX_PIECE_CHARS * limit:
            return False  # without encoding megabytes of text
        return len(text.encode(errors="surrogatepass")) < room or len(self.source.encode_literal(text)) <= room

    def decode(self, tokens: tuple[int, ...]) -> str:
        """The text of target tokens, with surrounding spaces removed and runs of spaces collapsed."""
        if symbols := self.target.address_symbols:
            tokens = tuple(token for token in tokens if token not in symbols.values())
        return " ".join(self.target.decode_one(tokens).split())

    def unknown(self, text: str) -> str:
        """The characters of a text that the model does not know: missing from the source vocabulary, so that they are
        encoded as bytes, or rare in training.

        Missing punctuation does not count: its form depends on the language, so it must not be copied.
        """
        unknown = {
            each
            for each in set(text) - self._known
            if each in self._rare or not (each.isspace() or is_punctuation(each))
        }
        if not unknown:
            return ""
        # A letter and a combining accent may be one known letter; characters that normalisation replaces never are.
        remaining = set(normalise(text)) - self._known
        return "".join(sorted(each for each in unknown if each in remaining or normalise(each) != each))


def is_punctuation(character: str) -> bool:
    """Whether a character is punctuation, a standalone accent or a currency sign."""
    kind = unicodedata.category(character)
    return kind[0] == "P" or kind == "Sc" or (kind == "Sk" and character < "\u2000")
