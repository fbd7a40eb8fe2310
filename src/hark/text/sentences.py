"""Sentence splitting with sentencex: rule-based, per language, lossless."""

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from itertools import accumulate

from hark.errors import HarkError

Split = Callable[[str], list[str]]
"""Splits a text into pieces that concatenate to the text."""


# sentencex 1.0.32 panics on a no-break space after an initial ("J.\u00a0S. Bach"), and rejects lone surrogates.
_ODD = re.compile("[^\\S\t\n\r ]|[\ud800-\udfff]")


WINDOW, CONTEXT = 4000, 200
"""Characters split at a time, and those at the end whose sentences are left to the next window."""
_SPACE = re.compile(r"\s")


def split_sentences(text: str, language: str) -> list[str]:
    """Return the sentences of a text in order, each with the white space after it; they concatenate to the text.

    A language unknown to sentencex is split by the rules of a related language, or of English. Longer texts are split
    in overlapping windows of `WINDOW` characters.
    """
    pieces: list[str] = []
    start = 0
    while len(text) - start > WINDOW:
        sentences = segment(text[start : start + WINDOW], language)
        ends = list(accumulate(map(len, sentences)))
        complete = bisect_right(ends, WINDOW - CONTEXT)
        if complete:
            pieces += sentences[:complete]
            start += ends[complete - 1]
        else:  # cut such a long "sentence" between words, or anywhere if it has no spaces
            spaces = [match.end() for match in _SPACE.finditer(text, start + CONTEXT, start + WINDOW)]
            end = spaces[-1] if spaces else start + WINDOW
            pieces.append(text[start:end])
            start = end
    return pieces + segment(text[start:], language)


def segment(text: str, language: str) -> list[str]:
    """Return the sentences of a text of bounded length: sentencex is quadratic in the number of punctuation marks."""
    try:
        import sentencex  # imported here because only splitting needs it
    except ImportError:
        raise HarkError("splitting text into sentences requires sentencex; pip install sentencex") from None
    try:
        lengths = [len(piece) for piece in sentencex.segment(language, _ODD.sub(" ", text))]
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a Rust panic is not an Exception
        return [text]
    # We guarantee that no text is lost, so check it.
    if sum(lengths) != len(text):
        return [text]
    return [text[end - length : end] for end, length in zip(accumulate(lengths), lengths, strict=True)]


def join_across(pieces: Sequence[str], spans: Sequence[tuple[int, int]]) -> list[str]:
    """Rejoin pieces that were split inside one of the spans, such as a URL with a question mark.

    The spans must not overlap.
    """
    joined: list[list[str]] = []
    rest = deque(sorted(spans))
    end = 0
    for piece in pieces:
        while rest and rest[0][1] <= end:
            rest.popleft()
        if rest and rest[0][0] < end:
            joined[-1].append(piece)
        else:
            joined.append([piece])
        end += len(piece)
    return ["".join(each) for each in joined]
