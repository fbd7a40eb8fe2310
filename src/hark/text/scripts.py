"""Scripts that are written without spaces, and scripts in which a character stands for several letters."""

import re

# Ideographs, with the marks that repeat or number them.
_HAN = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
)
_SYLLABLES = "\u3041-\u30ff\u3100-\u312f\u31a0-\u31bf\u31f0-\u31ff\uff66-\uff9f\ua000-\ua4cf"
"""Kana, Bopomofo and Yi."""
_HANGUL = "\uac00-\ud7a3"
# Full-width forms, and the punctuation between sentences of ideographs and kana.
_WIDE_SIGNS = "\u3001-\u3003\u3008-\u3020\u3030\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
_WORDS_ONLY = "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\ua9e0-\ua9ff\uaa60-\uaadf"
"""Thai, Lao, Tibetan, Burmese, Khmer and scripts close to them: no spaces between words, but between sentences."""

# `re` compiles these on first use: each takes milliseconds, and most texts need none.
_IDEOGRAPH, _SYLLABLE = f"[{_HAN}]", f"[{_SYLLABLES}{_HANGUL}]"
_FIRST_ABOVE_ONE = "\u2e80"
IDEOGRAPH, SYLLABLE = 3, 2
"""Letters of an alphabet that such a character replaces. In `exchange/sentences`, which say the same in 15 languages,
Chinese has 0.32 of the characters of English, and Japanese 0.42; with these weights 0.81 and 0.89."""
_SOLID = f"[{_HAN}{_SYLLABLES}{_WIDE_SIGNS}]"
_WIDE_SIGN = f"[{_WIDE_SIGNS}]"
_UNSPACED = f"[{_HAN}{_SYLLABLES}{_WIDE_SIGNS}{_WORDS_ONLY}]"
_TELLING = rf"[^\W\d_]|[{_WIDE_SIGNS}{_WORDS_ONLY}]"
_EDGE = 40
"""Characters at the edge of a sentence in which its script is looked for."""


def letters(text: str) -> int:
    """The length of a text as if in an alphabet: an ideograph counts as several letters, a syllable as two."""
    if text.isascii() or max(text) < _FIRST_ABOVE_ONE:  # nearly all; counting takes longer
        return len(text)
    ideographs, syllables = len(re.findall(_IDEOGRAPH, text)), len(re.findall(_SYLLABLE, text))
    return len(text) + (IDEOGRAPH - 1) * ideographs + (SYLLABLE - 1) * syllables


def gap_between(before: tuple[str, str], after: tuple[str, str], gap: str) -> str:
    """The gap between two translations, `after`, of two sentences, `before`, with this gap between them.

    A space is added where the source needs none, and left out where the target needs none. White space that such a
    source has nevertheless stays."""
    if gap.strip(" ") or not all(after):
        return gap
    last, first = _edges(after)
    if not gap:
        is_solid = re.match(_SOLID, last) or re.match(_SOLID, first)
        return " " if not is_solid and any(re.match(_UNSPACED, edge) for edge in _edges(before)) else gap
    is_solid = re.match(_WIDE_SIGN, last) or (re.match(_SOLID, last) and re.match(_SOLID, first))
    return "" if is_solid and not any(re.match(_SOLID, edge) for edge in _edges(before)) else gap


def _edges(texts: tuple[str, str]) -> tuple[str, str]:
    """The characters that tell the script of two texts where they meet, or nothing if their letters are ASCII."""
    end, start = texts[0][-_EDGE:], texts[1][:_EDGE]
    last = "" if end.isascii() else re.findall(_TELLING, end)[-1:]
    first = "" if start.isascii() else re.findall(_TELLING, start)[:1]
    return "".join(last), "".join(first)
