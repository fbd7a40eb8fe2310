"""Sentences in another language than the rest of a text: they are left as they are."""

import re

from hark.errors import HarkError
from hark.text.detector import base_language, load_detector, plain

WORDS, LETTERS = 3, 12
"""Shorter text cannot be told."""
THIRD_WORDS, THIRD_LETTERS = 4, 14
"""The same for a language that is neither of the two."""
SURE, UNLIKELY = 0.7, 0.1
"""Probabilities: of the other language at least, of the source language at most. Measured, docs/trust.md: 96 to 99% of
foreign sentences are found, and fewer than 2 of 1,000 others taken for one."""
_WORD = re.compile(r"[^\W\d_]+")


def other_language(text: str, source: str, target: str) -> str | None:
    """The language of a sentence if it is surely not the source language: the target language, or a third."""
    words = _WORD.findall(text)
    letters = sum(map(len, words))
    if len(words) < WORDS or letters < LETTERS:
        return None
    try:
        predict = load_detector()
    except HarkError:  # a machine for training: nobody translates foreign text there
        return None
    line = " ".join(text.lower().split()) + "\n"
    found = {plain(label): probability for probability, label in predict(line, 5, 0.0, "strict")}
    best = max(found, key=lambda language: found[language], default=None)
    if best is None or best == base_language(source):
        return None
    if best != base_language(target) and (len(words) < THIRD_WORDS or letters < THIRD_LETTERS):
        return None
    return best if found[best] > SURE and found.get(base_language(source), 0.0) < UNLIKELY else None
