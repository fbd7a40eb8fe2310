"""The vocabulary: the value through which everything else knows a model's token ids. No module outside `text` knows one
by its number.

A bundle holds a vocabulary for each side, or one that both share. `hark.text.tokenizer` is our own kind, a sentencepiece
model; another kind is another small file that fills in the same protocol.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


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


class Vocabulary(Protocol):
    """Text <-> token ids for one side of a model."""

    @property
    def vocab_size(self) -> int: ...

    @property
    def special(self) -> SpecialIds: ...

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages that have a tag."""
        ...

    def tag(self, language: str) -> int:
        """The id that asks for a target language."""
        ...

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text, without start and end."""
        ...

    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """The text of each list of ids; special ids are silent."""
        ...

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Ids as they are written in the vocabulary, for people to look at."""
        ...
