"""Text <-> tokens for the two sides of a model, a sentence at a time."""

import string
import unicodedata
from collections.abc import Collection

from hark.text.normalise import normalise
from hark.text.vocabulary import Vocabulary

_SILENT = set(" \u00ad\u200b\u2060\ufeff")
"""Characters that the normalisation takes out, or makes spaces of, so that no model ever sees them."""


LONGEST_PIECE = 64
"""Characters that no token stands for more of; sentencepiece's have 16 at the most."""


class Coder:
    """What a translator needs of the vocabularies of both sides. For a model of one pair, languages may be left out."""

    def __init__(self, source: Vocabulary, target: Vocabulary, rare_signs: Collection[str] = ()) -> None:
        """`rare_signs` are those that the model has hardly read (`VocabularyFacts.rare_signs`)."""
        self.source, self.target = source, target
        self._rare = frozenset(rare_signs)
        # A vocabulary may lack a rare letter, such as X; one byte is copied easily all the same.
        self._known = {*string.printable, *_SILENT, *source.alphabet} - self._rare

    def encode(self, text: str) -> list[int]:
        """Source tokens, without tag and EOS."""
        return self.source.encode_one(text)

    def source_ids(self, text: str, target: str | None = None, source: str | None = None) -> list[int]:
        """What the encoder reads: the tag of a language, if the model wants one, the text, EOS."""
        return self.source.source_ids(text, target, source)

    def prefix(self, target: str | None = None) -> tuple[int, ...]:
        """What decoding is forced to begin with."""
        return self.target.prefix(target)

    def fits(self, text: str, limit: int) -> bool:
        """Whether a text has at most `limit` tokens, with its tag and without EOS.

        Each has at least a byte, but for the mark of the first space.
        """
        room = limit - self.source.lead
        if len(text) > LONGEST_PIECE * limit:
            return False  # and a text of megabytes need not be encoded to know it
        return len(text.encode(errors="surrogatepass")) < room or len(self.encode(text)) <= room

    def decode(self, tokens: tuple[int, ...]) -> str:
        """The text of target tokens, with single spaces inside and none around, whatever a model may have spelled."""
        return " ".join(self.target.decode_one(tokens).split())

    def unknown(self, text: str) -> str:
        """The characters of a text that the source vocabulary lacks, so that the model sees bytes in their place; and
        signs that it has hardly read.

        Punctuation does not count: it is written otherwise in the other language, whatever a model knows.
        """
        strange = {
            each
            for each in set(text) - self._known
            if each in self._rare or not (each.isspace() or is_punctuation(each))
        }
        if not strange:
            return ""
        # A letter and its accent may be one known letter; what the normalisation replaces is strange in any case.
        seen = set(normalise(text)) - self._known
        return "".join(sorted(each for each in strange if each in seen or normalise(each) != each))


def is_punctuation(character: str) -> bool:
    """Quotation marks, dashes and the like, accents that stand alone, and signs of money."""
    kind = unicodedata.category(character)
    return kind[0] == "P" or kind == "Sc" or (kind == "Sk" and character < "\u2000")
