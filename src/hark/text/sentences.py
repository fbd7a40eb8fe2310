"""Text to sentences, by sentencex: by rules for each language, without a model, and with not a character lost."""

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from itertools import accumulate

from hark.errors import HarkError

Split = Callable[[str], list[str]]
"""From a text to pieces of it which, put together, are the text again."""


# sentencex 1.0.32 panics on a no-break space after an initial ("J.\u00a0S. Bach"), and takes no halves of UTF-16 pairs.
_ODD = re.compile("[^\\S\t\n\r ]|[\ud800-\udfff]")


STRETCH, CONTEXT = 4000, 200
"""Characters that are split together, and those at their end whose sentences are left to the next stretch."""
_SPACE = re.compile(r"\s")


def split_sentences(text: str, language: str) -> list[str]:
    """The sentences of a text in order, each with the white space that follows it; together they are the text.

    A language that sentencex does not know is split by the rules of its relatives, or of English. A text of more than
    `STRETCH` characters is split a stretch at a time, with what surrounds each place in sight.
    """
    pieces: list[str] = []
    start = 0
    while len(text) - start > STRETCH:
        found = segment(text[start : start + STRETCH], language)
        ends = list(accumulate(map(len, found)))
        sure = bisect_right(ends, STRETCH - CONTEXT)
        if sure:
            pieces += found[:sure]
            start += ends[sure - 1]
        else:  # a "sentence" as long as that is cut between words; where there are none, anywhere
            spaces = [match.end() for match in _SPACE.finditer(text, start + CONTEXT, start + STRETCH)]
            end = spaces[-1] if spaces else start + STRETCH
            pieces.append(text[start:end])
            start = end
    return pieces + segment(text[start:], language)


def segment(text: str, language: str) -> list[str]:
    """The sentences of a text of bounded length: sentencex takes four times as long for one twice as long, where each
    of its signs might end a sentence."""
    try:
        import sentencex  # type: ignore[import-untyped]  # here: only who splits needs it
    except ImportError:
        raise HarkError("splitting text into sentences needs sentencex: pip install sentencex") from None
    try:
        lengths = [len(piece) for piece in sentencex.segment(language, _ODD.sub(" ", text))]
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic is no Exception
        return [text]
    # Losing nothing is a promise of ours, so it is not left to another's care.
    if sum(lengths) != len(text):
        return [text]
    return [text[end - length : end] for end, length in zip(accumulate(lengths), lengths, strict=True)]


def join_across(pieces: Sequence[str], spans: Sequence[tuple[int, int]]) -> list[str]:
    """Put together again what was split inside one of the spans, such as a URL with a question mark in it.

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
