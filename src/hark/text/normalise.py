"""Text as models see it: normalised before tokenization, in training and inference, and without shouting.

Models have seen little text in capitals, so it is also translated in sentence case, and then upper-cased.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

from hark.text.rewrite import Rewriting, Span

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


SHARE = 0.8
"""Minimum share of capitals among cased letters; `NATO and the EU agree` has fewer."""
LETTERS = 7
"""Minimum letters; a shorter text may be an abbreviation (`UNESCO`)."""
_WORD = re.compile(r"\S+")


def is_shouted(text: str, keep: Sequence[Span] = ()) -> bool:
    """Whether a sentence is in capitals, ignoring the spans to keep."""
    if sum(map(str.isupper, text)) < SHARE * LETTERS:  # a fast check that settles nearly every sentence
        return False
    letters = [c for start, end in _apart_from(text, keep) for c in text[start:end] if c.isupper() or c.islower()]
    return len(letters) >= LETTERS and sum(map(str.isupper, letters)) >= SHARE * len(letters)


def sentence_case(text: str, keep: Sequence[Span] = ()) -> Rewriting:
    """Lowercase all but the first letter, word by word, so that each word keeps its mapping."""
    rewriting = _change(text, keep, str.lower)
    after = rewriting.after
    first = next((i for i, c in enumerate(after) if c.isalpha()), None)
    if first is None or any(start <= first < end for start, end in map(rewriting.forth, keep)):
        return rewriting
    raised = after[:first] + after[first].title() + after[first + 1 :]
    return Rewriting(text, raised, rewriting.edits) if len(raised) == len(after) else rewriting


def shout(text: str, keep: Sequence[Span] = ()) -> Rewriting:
    """Uppercase the text; `ß` becomes `SS`."""
    return _change(text, keep, str.upper)


def _change(text: str, keep: Sequence[Span], change: Callable[[str], str]) -> Rewriting:
    words = [
        ((start + word.start(), start + word.end()), change(word[0]))
        for start, end in _apart_from(text, keep)
        for word in _WORD.finditer(text[start:end])
    ]
    return Rewriting.of(text, words)


def _apart_from(text: str, keep: Sequence[Span]) -> Iterator[Span]:
    """Yield the spans between those to keep."""
    end = 0
    for start, stop in sorted(keep):
        yield end, start
        end = stop
    yield end, len(text)
