"""Spelling correction of informal typing, for models trained on edited text: `dont`, `fuer`, `sooooo`.

Only near-certain errors are changed; words that may be correct, or names, stay. A `Rewriting` maps changed words to
their original positions, so that alignments refer to the text as typed.
"""

import gzip
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from pathlib import Path

from hark.text.detector import base_language
from hark.text.protect import Spans
from hark.text.rewrite import Rewriting, Span
from hark.text.spelling import english, german
from hark.text.spelling.english import Context

_LANGUAGES = ("en", "de")
_APOSTROPHES = "’‘´`ʼ′"
_ODD = re.compile(f"[{_APOSTROPHES}]")
_WORD = re.compile(rf"[^\W\d_]+(?:['{_APOSTROPHES}][^\W\d_]+)*")
_ODD_IN_CONTRACTION = re.compile(rf"[{_APOSTROPHES}](?=(?:t|s|re|ve|ll|d|m|n|clock)$)", re.IGNORECASE)
_STRETCHED = re.compile(r"(.)\1\1")
_RUN = re.compile(r"(?!x|^www)([^\W\d_])\1\1+", re.IGNORECASE)
_VOWEL = re.compile("[aeiouyäöü]", re.IGNORECASE)
_ROMAN = re.compile("[IVXLCDM]+")
_TIES = frozenset("-_0123456789")
"""After a word, these make it part of a longer one (`A350`)."""
_MAX_RUNS = 3
"""Maximum stretched letters in a word; with more, it is not a word."""


def tidy(text: str, language: str, keep: Sequence[Span] = ()) -> Rewriting | None:
    """Correct the spelling of a sentence; return None if nothing changes or the language has no rules.

    Spans to `keep`, such as addresses and code, are not changed.
    """
    base = language if language in _LANGUAGES else base_language(language)
    if base not in _LANGUAGES or not _is_suspect(text, base):
        return None
    taken = Spans(text, keep)
    edits = [(span, new) for span, new in _find_edits(text, base) if taken.is_free(span)]
    return Rewriting.of(text, edits) if edits else None


def _is_suspect(text: str, base: str) -> bool:
    """Whether there may be something to change: a fast check that settles most sentences."""
    if base == "en":
        if not english.HINTS.isdisjoint(text.split()):
            return True
    elif german.is_suspect(text):
        return True
    return _STRETCHED.search(text) is not None or (not text.isascii() and _ODD.search(text) is not None) or "`" in text


def _find_edits(text: str, base: str) -> Iterator[tuple[Span, str]]:
    """Yield the words to change, with their corrections."""
    matches = list(_WORD.finditer(text))
    words = [match[0] for match in matches]
    if _STRETCHED.search(text):
        words = [_shorten(match, base) if _RUN.search(match[0]) else match[0] for match in matches]
    words = [word if word.isalpha() else _ODD_IN_CONTRACTION.sub("'", word) for word in words]
    rules = english if base == "en" else german
    for at, (match, word) in enumerate(zip(matches, words, strict=True)):
        mended = rules.mend(word, _look_around(matches, words, at)) if rules.is_typed(word) else None
        if (mended or word) != match[0]:
            yield match.span(), mended or word


def _look_around(matches: Sequence[re.Match[str]], words: Sequence[str], at: int) -> Context:
    """Return the context of a word: its position, and its neighbours if only a space separates them."""
    text, (start, end) = matches[at].string, matches[at].span()
    before = at > 0 and text[matches[at - 1].end() : start].isspace()
    after = (
        at + 1 < len(matches)
        and text[end : matches[at + 1].start()].isspace()
        and text[matches[at + 1].end() :][:1] not in _TIES
    )
    return Context(text, start, end, words[at - 1] if before else "", words[at + 1] if after else "")


def _shorten(match: re.Match[str], base: str) -> str:
    """Shorten letters repeated three times or more: `soooo` to `so`, `coool` to `cool`."""
    word, context = match[0], Context(match.string, *match.span())
    runs = [run for run in _RUN.finditer(word) if _is_stretched(run, base)]
    if not 0 < len(runs) <= _MAX_RUNS or context.is_joined("-–") or _ROMAN.fullmatch(word):
        return word
    if not _VOWEL.search(word) or len(set(word.lower())) == 1:  # hmmm, www, aaa
        return word
    if not (word[1:].islower() or context.is_shouted()):  # CCCP, YYYYMMDD
        return word
    shorter = word
    for lengths in product((2, 1), repeat=len(runs)):
        kept = ((run.span(), run[0][:length]) for run, length in zip(runs, lengths, strict=True))
        shorter = Rewriting.of(word, kept).after
        if shorter.lower() in _doubled(base):
            return shorter
    return shorter if not word[0].isupper() or word.isupper() or context.is_first() else word  # may be a name otherwise


def _is_stretched(run: re.Match[str], base: str) -> bool:
    """Whether a run of letters is stretched. Three consonants, or eee, are valid inside German compounds
    (`Schifffahrt`, `Seeelefant`)."""
    if len(run[0]) > 3:
        return True
    inside = run.end() < len(run.string)
    if base == "de":
        return not inside or run[0][0].lower() in "aiouäöü"
    return run.start() > 0 or _VOWEL.match(run[0]) is not None  # pppconfig


@cache
def _doubled(base: str) -> frozenset[str]:
    """Return the words with doubled letters of a language."""
    path = Path(__file__).parent / f"doubled.{base}.txt.gz"
    words = gzip.decompress(path.read_bytes()).decode().split("\n")
    return frozenset((*words, *german.umlauts())) if base == "de" else frozenset(words)
