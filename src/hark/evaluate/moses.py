"""Tokens nearly as the Moses scripts make them, which older papers measured BLEU on.

Their lists of abbreviations are left out: `Dr.` becomes two tokens here. Unicode's quotes and dashes become ASCII
first, as the convention has it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from hark.text.detector import base_language

ASCII = str.maketrans(
    {**dict.fromkeys("„“”«»", '"'), **dict.fromkeys("‘’‚´`", "'"), "–": "-", "—": " - ", "…": "...", "\u00a0": " "}
)
LETTER = r"[^\W\d_]"


@dataclass(frozen=True)
class MosesTokens:
    """Tokens of a line, in lower case, with spaces between them."""

    language: str

    def __call__(self, line: str) -> str:
        text = " ".join(line.lower().translate(ASCII).split())
        text = re.sub(r"([^\w\s.',\-]|_)", r" \1 ", text)
        text = re.sub(r"\.{2,}", r" \g<0> ", text)
        text = re.sub(r"(?<!\d),|,(?!\d)", " , ", text)
        return " ".join(self.periods(self.apostrophes(text).split()))

    def apostrophes(self, text: str) -> str:
        """`l' enfant` in French, `don 't` in English, `'` alone elsewhere."""
        match base_language(self.language):
            case "fr" | "it":
                inside = rf"(?<={LETTER})'(?={LETTER})"
                text = re.sub(rf"(?<!{LETTER})'|'(?!{LETTER})", " ' ", text)
                return re.sub(inside, "' ", text)
            case "en":
                text = re.sub(rf"(?<![^\W_])'|'(?!{LETTER})", " ' ", text)
                return re.sub(rf"(?<=[^\W_])'(?={LETTER})", " '", text)
            case _:
                return text.replace("'", " ' ")

    def periods(self, words: list[str]) -> Iterator[str]:
        """A period ends a sentence, unless its word has others or the next begins small: then it stays."""
        for word, following in pairwise([*words, ""]):
            stem = word.removesuffix(".")
            abbreviated = "." in stem and any(map(str.isalpha, stem))
            if stem in ("", word) or stem.endswith(".") or abbreviated or following[:1].islower():
                yield word
            else:
                yield from (stem, ".")
