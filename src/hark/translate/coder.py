"""Encodes and decodes text, one sentence at a time, with the source and target vocabularies of a model."""

import string
import unicodedata
from collections.abc import Collection, Sequence

from hark.engine.interface import TokenPair
from hark.text.address import Address
from hark.text.normalise import normalise
from hark.text.vocabulary import Vocabulary

_SILENT = set(" \u00ad\u200b\u2060\ufeff")
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

    def encode(self, text: str) -> list[int]:
        """Source tokens, without tag and EOS."""
        return self.source.encode_literal(text)

    def source_ids(
        self, text: str, target: str | None = None, source: str | None = None, address: Address | None = None
    ) -> list[int]:
        """Encoder input: the language tag, if the model needs one, the form to ask for, the text and EOS."""
        return self.source.source_ids(text, target, source, address)

    def pair_ids(self, text: str, translation: str, source: str | None, target: str | None) -> TokenPair:
        """A text and its translation, as the engine scores them."""
        tokens = [*self.target.prefix(target), *self.target.encode_literal(translation)]
        return self.source_ids(text, target, source), tokens

    def knows(self, source: str, target: str) -> bool:
        """Whether the model translates between these languages, too."""
        return source in self.source.scheme.sources_of(target)

    def split_lead(self, source: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Split encoder input into the language tag and the tokens of the text, without the symbol between them."""
        lead, symbols = self.source.lead, self.source.address_symbols.values()
        return source[:lead], source[lead + any(each in symbols for each in source[lead : lead + 1]) :]

    def prefix(self, target: str | None = None) -> tuple[int, ...]:
        """Target tokens that decoding is forced to start with."""
        return self.target.prefix(target)

    def fits(self, text: str, limit: int) -> bool:
        """Whether a text has at most `limit` tokens, with what precedes it and without EOS."""
        # Each token covers at least one byte, except for the leading space symbol.
        room = limit - self.source.lead - bool(self.source.address_symbols)
        if len(text) > MAX_PIECE_CHARS * limit:
            return False  # without encoding megabytes of text
        return len(text.encode(errors="surrogatepass")) < room or len(self.encode(text)) <= room

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
