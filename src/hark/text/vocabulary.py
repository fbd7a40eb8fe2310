"""The vocabulary: the value through which everything else knows a model's token ids. No module outside `text` knows one
by its number.

A bundle holds a vocabulary for each side, or one that both share; `hark.text.opening` opens them. Our own kind is a
sentencepiece model (`hark.text.tokenizer`). Another kind is one more small file with a class that derives from
`Vocabulary`, and a `case` in `opening`. A bias that a model adds to its output does not belong here: it is a weight of
the model (`output_bias`).
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hark.errors import UserError
from hark.facts import Facts, LanguageTags, Pair

SPACE = "\u2581"
"""A piece that begins with this sign stands after a space."""


@dataclass(frozen=True)
class SpecialIds:
    """Ids that stand for no text."""

    pad: int
    """Fills up batches; never a label, never produced."""
    unknown: int
    start: int
    """The decoder's first input."""
    end: int
    """EOS: the last token of every source, and of every complete output."""

    @property
    def forbidden(self) -> tuple[int, ...]:
        """Ids that may never be produced."""
        return tuple(sorted({self.pad, self.unknown, self.start} - {self.end}))


@dataclass(frozen=True)
class TagScheme:
    """How a model is asked for its target language, and which ones it has; see `facts.LanguageTags`."""

    kind: LanguageTags = "none"
    pairs: tuple[Pair, ...] = ()

    @classmethod
    def of(cls, facts: Facts) -> "TagScheme":
        return cls(facts.vocabulary.language_tags, facts.pairs)

    def resolve_source(self, source: str | None) -> str:
        return _only(source, dict.fromkeys(pair[0] for pair in self.pairs), "from", "-s")

    def resolve_target(self, target: str | None) -> str:
        return _only(target, dict.fromkeys(pair[1] for pair in self.pairs), "to", "-t")


UNTAGGED = TagScheme()


def _only(wanted: str | None, known: dict[str, None], preposition: str, option: str) -> str:
    """The language that was asked for, or the only one that there is."""
    if wanted is not None:
        return wanted
    if len(known) != 1:
        raise UserError(f"this model translates {preposition} {', '.join(known)}; choose one with {option}")
    return next(iter(known))


class Vocabulary(Protocol):
    """Text <-> token ids for one side of a model. Kinds derive from it, and can be sent to worker processes."""

    vocab_size: int
    special: SpecialIds
    languages: tuple[str, ...]
    """Languages that have a tag."""
    scheme: TagScheme
    sha256: str
    """Two vocabularies that have the same one give the same ids to the same text."""

    @abstractmethod
    def tag(self, language: str) -> int:
        """The id that stands for a language."""
        ...

    @abstractmethod
    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text, without start and end."""
        ...

    @abstractmethod
    def encode_one(self, text: str) -> list[int]:
        """The same for one text."""
        ...

    @abstractmethod
    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """The text of each list of ids; special ids are silent."""
        ...

    @abstractmethod
    def decode_one(self, ids: Sequence[int]) -> str:
        """The same for one list."""
        ...

    @abstractmethod
    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Ids as they are written in the vocabulary, for people to look at; ▁ in front stands for a space."""
        ...

    @abstractmethod
    def is_special(self, token: int) -> bool:
        """Whether an id stands for no text."""
        ...

    @abstractmethod
    def byte_of(self, token: int) -> int | None:
        """The byte that an id stands for, if it stands for a byte and not for a piece of text."""
        ...

    @property
    @abstractmethod
    def alphabet(self) -> frozenset[str]:
        """Characters that have an id of their own; others are made of bytes or unknown."""
        ...

    # What goes around a text is the same for every kind.

    def source_ids(self, text: str, target: str | None = None, source: str | None = None) -> list[int]:
        """A text as the encoder reads it, to be translated into a language: tag first, if the model wants one; EOS
        last. A model of one pair needs no languages named."""
        return self.as_source(self.encode_one(text), target, source)

    def as_source(self, ids: Sequence[int], target: str | None = None, source: str | None = None) -> list[int]:
        """The same for a text that is encoded already."""
        match self.scheme.kind:
            case "none":
                return [*ids, self.special.end]
            case "source":
                lead = self.tag(self.scheme.resolve_target(target))
            case "target":
                lead = self.tag(self.scheme.resolve_source(source))
        return [lead, *ids, self.special.end]

    @property
    def lead(self) -> int:
        """Ids that `as_source` puts in front."""
        return 0 if self.scheme.kind == "none" else 1

    def prefix(self, target: str | None = None) -> tuple[int, ...]:
        """Ids that decoding into a language is forced to begin with; asked of the target's vocabulary."""
        if self.scheme.kind != "target":
            return ()
        return (self.tag(self.scheme.resolve_target(target)),)
