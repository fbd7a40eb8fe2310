"""The one normalisation that every text passes on its way to the tokenizer, in training and in use."""

import re
import unicodedata

# Invisible, and written or left out by chance: soft hyphen, zero-width space, word joiner, byte-order mark.
# The zero-width joiner and non-joiner stay: emoji, Persian and Indic scripts are spelled with them.
_INVISIBLE = "\u00ad\u200b\u2060\ufeff"
# The mark that sentencepiece writes for a space, so that it cannot stand for itself: becomes a low line.
_SPACE_MARK = "\u2581"
# Halves of UTF-16 pairs: no UTF-8 file can hold them, but JSON's escapes can bring them in.
_SURROGATES = "\ud800-\udfff"
_ODD = re.compile(f"[{_INVISIBLE}{_SPACE_MARK}{_SURROGATES}]")


def normalise(text: str) -> str:
    """Unicode NFC with single plain spaces inside and none around; invisible characters removed.

    Normalising twice changes nothing more. No compatibility folding (NFKC): ½, ™ and full-width letters stay.
    """
    if not text.isascii():
        # Before NFC, because a letter and its accent may meet once nothing stands between them.
        text = unicodedata.normalize("NFC", _ODD.sub(_replace, text))
    return " ".join(text.split())


def _replace(match: re.Match[str]) -> str:
    character = match[0]
    if character in _INVISIBLE:
        return ""
    return "_" if character == _SPACE_MARK else "\ufffd"
