"""Detection of sentences that are not in the source language, which are left untranslated."""

import re

from hark.errors import HarkError
from hark.text.detector import base_language, likely_languages

WORDS, LETTERS = 3, 12
"""Minimum words and letters for a decision."""
THIRD_WORDS, THIRD_LETTERS = 4, 14
"""The same for a language that is neither source nor target."""
SURE, UNLIKELY = 0.7, 0.1
"""Minimum probability of the other language, and maximum of the source language. Measured (docs/trust.md): finds 96 to
99% of foreign sentences, and mistakes fewer than 2 of 1,000 others for one."""
_WORD = re.compile(r"[^\W\d_]+")


def other_language(text: str, source: str, target: str) -> str | None:
    """Return the language of a sentence if it is clearly not the source language, else None."""
    words = _WORD.findall(text)
    letters = sum(map(len, words))
    if len(words) < WORDS or letters < LETTERS:
        return None
    try:
        guesses = likely_languages(text, 5)
    except HarkError:  # the detector is not installed: a training machine, where it is not needed
        return None
    best = max(guesses, key=guesses.__getitem__, default=None)
    if best is None or best == base_language(source):
        return None
    if best != base_language(target) and (len(words) < THIRD_WORDS or letters < THIRD_LETTERS):
        return None
    return best if guesses[best] > SURE and guesses.get(base_language(source), 0.0) < UNLIKELY else None
