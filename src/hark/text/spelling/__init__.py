"""Typing as it is, tidied for a model that has read edited text: `dont`, `fuer`, `sooooo`.

Only what can hardly be anything else is changed; where a word may be right, or a name, it stays. A `Rewriting` tells
where each changed word stood, so that alignments can be given for the text as it was typed.
"""

import gzip
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from pathlib import Path

from hark.text.detector import base_language
from hark.text.protect import Taken
from hark.text.rewrite import Rewriting, Span
from hark.text.spelling import english, german
from hark.text.spelling.context import Context

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
"""After a word, these make it only a part of one (`A350`)."""
_MOST_RUNS = 3
"""In one word; with more, it is no word."""


def tidy(text: str, language: str, keep: Sequence[Span] = ()) -> Rewriting | None:
    """A sentence as an editor would spell it; None where nothing changes, or the language has no rules here.

    Spans to `keep`, such as addresses and code, are left alone.
    """
    base = language if language in _LANGUAGES else base_language(language)
    if base not in _LANGUAGES or not _is_suspect(text, base):
        return None
    taken = Taken(text, keep)
    edits = [(span, new) for span, new in _find_edits(text, base) if taken.leaves(span)]
    return Rewriting.of(text, edits) if edits else None


def _is_suspect(text: str, base: str) -> bool:
    """Whether there may be something to change. This is all that most sentences cost."""
    if base == "en":
        if not english.HINTS.isdisjoint(text.split()):
            return True
    elif german.is_suspect(text):
        return True
    return _STRETCHED.search(text) is not None or (not text.isascii() and _ODD.search(text) is not None) or "`" in text


def _find_edits(text: str, base: str) -> Iterator[tuple[Span, str]]:
    """Words to change, with what they become."""
    found = list(_WORD.finditer(text))
    words = [match[0] for match in found]
    if _STRETCHED.search(text):
        words = [_shorten(match, base) if _RUN.search(match[0]) else match[0] for match in found]
    words = [word if word.isalpha() else _ODD_IN_CONTRACTION.sub("'", word) for word in words]
    rules = english if base == "en" else german
    for at, (match, word) in enumerate(zip(found, words, strict=True)):
        mended = rules.mend(word, _look_around(found, words, at)) if rules.is_typed(word) else None
        if (mended or word) != match[0]:
            yield match.span(), mended or word


def _look_around(found: Sequence[re.Match[str]], words: Sequence[str], at: int) -> Context:
    """Where a word stands; its neighbours are `words`, unless they stand apart or are parts of something else."""
    text, (start, end) = found[at].string, found[at].span()
    before = at > 0 and text[found[at - 1].end() : start].isspace()
    after = (
        at + 1 < len(found)
        and text[end : found[at + 1].start()].isspace()
        and text[found[at + 1].end() :][:1] not in _TIES
    )
    return Context(text, start, end, words[at - 1] if before else "", words[at + 1] if after else "")


def _shorten(match: re.Match[str], base: str) -> str:
    """`so` for `soooo`, `cool` for `coool`: letters that are there three times or more."""
    word, context = match[0], Context(match.string, *match.span())
    runs = [run for run in _RUN.finditer(word) if _is_stretched(run, base)]
    if not 0 < len(runs) <= _MOST_RUNS or context.is_joined("-") or _ROMAN.fullmatch(word):
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
    return shorter if not word[0].isupper() or word.isupper() or context.is_first() else word  # else perhaps a name


def _is_stretched(run: re.Match[str], base: str) -> bool:
    """In German compounds three consonants, or eee, may meet (`Schifffahrt`, `Seeelefant`), but not at their end."""
    if len(run[0]) > 3:
        return True
    inside = run.end() < len(run.string)
    if base == "de":
        return not inside or run[0][0].lower() in "aiouäöü"
    return run.start() > 0 or _VOWEL.match(run[0]) is not None  # pppconfig


@cache
def _doubled(base: str) -> frozenset[str]:
    """Words with doubled letters."""
    path = Path(__file__).parent / f"doubled.{base}.txt.gz"
    words = gzip.decompress(path.read_bytes()).decode().split("\n")
    return frozenset((*words, *german.umlauts())) if base == "de" else frozenset(words)
