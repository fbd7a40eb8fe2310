"""Text in capitals. A model has seen little of it, so it is also tried as ordinary text, and the capitals restored."""

import re
from collections.abc import Callable, Iterator, Sequence

from hark.text.rewrite import Rewriting, Span

SHARE = 0.8
"""Of the letters that have a case: so many capitals make a heading, and `NATO and the EU agree` does not."""
LETTERS = 7
"""On fewer, it may be an abbreviation (`UNESCO`)."""
_WORD = re.compile(r"\S+")


def is_shouted(text: str, keep: Sequence[Span] = ()) -> bool:
    """Whether a sentence is in capitals, apart from the spans that are kept as they are."""
    if sum(map(str.isupper, text)) < SHARE * LETTERS:  # nearly every sentence, and the rest takes longer
        return False
    letters = [c for start, end in _apart_from(text, keep) for c in text[start:end] if c.isupper() or c.islower()]
    return len(letters) >= LETTERS and sum(map(str.isupper, letters)) >= SHARE * len(letters)


def sentence_case(text: str, keep: Sequence[Span] = ()) -> Rewriting:
    """Small letters, but for the first; a word at a time, so that words can be told apart in both."""
    rewriting = _change(text, keep, str.lower)
    after = rewriting.after
    first = next((i for i, c in enumerate(after) if c.isalpha()), None)
    if first is None or any(start <= first < end for start, end in map(rewriting.forth, keep)):
        return rewriting
    raised = after[:first] + after[first].title() + after[first + 1 :]
    return Rewriting(text, raised, rewriting.edits) if len(raised) == len(after) else rewriting


def shout(text: str, keep: Sequence[Span] = ()) -> Rewriting:
    """Capitals. `ß` becomes `SS`."""
    return _change(text, keep, str.upper)


def _change(text: str, keep: Sequence[Span], change: Callable[[str], str]) -> Rewriting:
    words = [
        ((start + word.start(), start + word.end()), change(word[0]))
        for start, end in _apart_from(text, keep)
        for word in _WORD.finditer(text[start:end])
    ]
    return Rewriting.of(text, words)


def _apart_from(text: str, keep: Sequence[Span]) -> Iterator[Span]:
    """The spans between those that are kept."""
    end = 0
    for start, stop in sorted(keep):
        yield end, start
        end = stop
    yield end, len(text)
