"""Source text from a plain keyboard: without umlauts, accents and apostrophes, or with other quotation marks.

The target keeps its spelling, so a model learns to read what people type and to write what is correct.
"""

import re
import unicodedata

import numpy as np

_SPELLED_OUT = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "œ": "oe", "Œ": "Oe"}
)
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])['’](?=[^\W\d_])")
_QUOTED = re.compile(r'(?<![\w"])(?:"([^"]+)"|“([^”“]+)”|„([^“”„]+)[“”]|«\s?([^»«]+?)\s?»|»([^«»]+)«)(?!\w)')
QUOTES = (('"', '"'), ("“", "”"), ("„", "“"), ("«", "»"), ("»", "«"), ("'", "'"), ("‘", "’"), ("‚", "‘"))
"""Pairs of quotation marks, as keyboards, typographers and languages have them."""


def type_plainly(source: str, target: str) -> tuple[str, str] | None:
    """Write the source without umlauts, accents, or apostrophes within words; None if it has none."""
    plain = unicodedata.normalize("NFD", _APOSTROPHE.sub("", source).translate(_SPELLED_OUT))
    plain = "".join(character for character in plain if not unicodedata.combining(character))
    return (plain, target) if plain and plain != unicodedata.normalize("NFD", source) else None


def requote(source: str, target: str, rng: np.random.Generator) -> tuple[str, str] | None:
    """Write the quotations of the source between other marks; None if it has none."""
    left, right = QUOTES[rng.integers(len(QUOTES))]
    varied = _QUOTED.sub(lambda match: left + next(filter(None, match.groups())) + right, source)
    return (varied, target) if varied != source else None
