"""Text <-> tokens for one pair of languages, a sentence at a time."""

import string
import unicodedata

from hark.text.normalise import normalise
from hark.text.segment import SPACE, Segmenter
from hark.text.tokenizer import BYTES, Tokenizer

_SILENT = set(" \u00ad\u200b\u2060\ufeff")
"""Characters that the normalisation takes out, or makes spaces of, so that no model ever sees them."""


class Coder:
    """What a translator needs of the tokenizers of both sides."""

    def __init__(self, source: Tokenizer, target: Tokenizer) -> None:
        self.source, self.target = source, target
        self._segmenter = Segmenter(source)
        learnt = learnt_pieces(source)
        # A vocabulary may lack a rare letter, such as X; one byte is copied easily all the same.
        self._known = {*string.printable, *_SILENT, *(piece for piece in learnt if len(piece) == 1 and piece != SPACE)}
        spoken = learnt if target is source else learnt_pieces(target)
        self._bytes = [b""] * target.specials + [bytes([byte]) for byte in range(BYTES)]
        self._bytes += [piece.encode() for piece in spoken]

    def encode(self, text: str) -> list[int]:
        """Source tokens, without the mark of the end."""
        return self._segmenter.encode([text])[0]

    def fits(self, text: str, limit: int) -> bool:
        """Whether a text has at most `limit` tokens. Each has at least a byte, but for the mark of the first space."""
        return len(text.encode(errors="surrogatepass")) < limit or len(self.encode(text)) <= limit

    def decode(self, tokens: tuple[int, ...]) -> str:
        """The text of target tokens, with single spaces inside and none around, whatever a model may have spelled.

        Otherwise as the tokenizer decodes, without its thread for every batch.
        """
        text = b"".join([self._bytes[token] for token in tokens]).decode(errors="replace")
        return " ".join(text.replace(SPACE, " ").split())

    def unknown(self, text: str) -> str:
        """The characters of a text that the source vocabulary lacks, so that the model sees bytes in their place.

        Punctuation does not count: it is written otherwise in the other language, whatever a model knows.
        """
        strange = {each for each in set(text) - self._known if not (each.isspace() or is_punctuation(each))}
        if not strange:
            return ""
        # A letter and its accent may be one known letter; what the normalisation replaces is strange in any case.
        seen = set(normalise(text)) - self._known
        return "".join(sorted(each for each in strange if each in seen or normalise(each) != each))


def is_punctuation(character: str) -> bool:
    """Quotation marks, dashes and the like, accents that stand alone, and signs of money."""
    kind = unicodedata.category(character)
    return kind[0] == "P" or kind == "Sc" or (kind == "Sk" and character < "\u2000")


def learnt_pieces(tokenizer: Tokenizer) -> list[str]:
    return tokenizer.pieces(range(tokenizer.specials + BYTES, tokenizer.vocab_size))
