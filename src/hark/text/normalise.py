"""Text normalisation, applied before tokenization in both training and inference."""

import re
import unicodedata

# Invisible characters that carry no meaning: soft hyphen, zero-width space, word joiner, byte-order mark.
# The zero-width joiner and non-joiner stay: emoji, Persian and Indic scripts need them.
_INVISIBLE = "\u00ad\u200b\u2060\ufeff"
# sentencepiece uses this character for a space, so a literal one becomes an underscore.
_SPACE_MARK = "\u2581"
# Lone surrogates: UTF-8 cannot encode them, but JSON escapes can produce them.
_SURROGATES = "\ud800-\udfff"
_ODD = re.compile(f"[{_INVISIBLE}{_SPACE_MARK}{_SURROGATES}]")


def normalise(text: str) -> str:
    """Apply Unicode NFC, collapse white space to single spaces, and strip; remove invisible characters.

    Idempotent. No compatibility folding (NFKC): ½, ™ and full-width letters stay.
    """
    if not text.isascii():
        # Before NFC: removing an invisible character can bring a letter and its accent together.
        text = unicodedata.normalize("NFC", _ODD.sub(_replace, text))
    return " ".join(text.split())


def _replace(match: re.Match[str]) -> str:
    character = match[0]
    if character in _INVISIBLE:
        return ""
    return "_" if character == _SPACE_MARK else "\ufffd"
