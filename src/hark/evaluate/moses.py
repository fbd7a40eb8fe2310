"""A tokeniser close to the Moses scripts, on which older papers measured BLEU.

It has no lists of abbreviations: `Dr.` becomes two tokens. Unicode quotes and dashes become ASCII first, as in the
convention.
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
    """Lower-cases and tokenises a line; returns tokens separated by spaces."""

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
        """Split off periods, except of words with inner periods and before a lower-case word."""
        for word, following in pairwise([*words, ""]):
            stem = word.removesuffix(".")
            abbreviated = "." in stem and any(map(str.isalpha, stem))
            if stem in ("", word) or stem.endswith(".") or abbreviated or following[:1].islower():
                yield word
            else:
                yield from (stem, ".")
