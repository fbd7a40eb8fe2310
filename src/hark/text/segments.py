"""Segments of a text, which are translated one by one: sentences, or parts of those that are too long.

`lay_out(text, split).join()` returns any text unchanged. The model never sees the gaps between segments (white space,
list markers), so a translation keeps the blank lines, indentation, tabs and line endings of its source by construction.
Only whether a space separates two sentences depends on the scripts of both languages. Sentences that are too long are
cut between clauses, else between words, else anywhere; the work is linear in the length: a text of megabytes is
processed in bounded windows.
"""

import re
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import ceil

from hark.errors import HarkError
from hark.text.rewrite import Span

# White space, and invisible characters at the edge of a line: byte-order mark, zero-width space, word joiner.
_BLANK = "[\\s\ufeff\u200b\u2060]"
_LINE_ENDS = re.compile("([\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+)")
# Bullets, headings and quotes (as in Markdown), checkboxes, `3)`, `b)`, `iv)`. `3.` is left to sentence splitting: in
# German it may start a date.
_MARK = r"(?:[-*+•‣◦▪●○–—·]|\#{1,6}|>+|\[[ xX]\]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})\))"
_HEAD = re.compile(f"{_BLANK}*(?:{_MARK}{_BLANK}+)*")
_RUN = re.compile(f"{_BLANK}+")
# Table bars, and separators of menu paths (Settings > Privacy).
_BAR = re.compile(
    rf"{_BLANK}*\|(?:{_BLANK}*(?:\||:?-{{3,}}:?))*{_BLANK}*|(?<=[^\W\d][^\W\d]){_BLANK}+(?:>+|→|»|⇒|=>|->){_BLANK}+(?=[^\W\d]{{2}})"
)
_SIGN = frozenset("|>→»⇒")
_INLINE = " \u00a0\u2009\u202f\ufeff\u200b\u2060"
_WIDE = 3
"""Spaces that separate columns within a line, as a tab does; fewer are part of a sentence."""
Split = Callable[[str], list[str]]
"""Splits a text into pieces that concatenate to the text."""


@dataclass(frozen=True)
class TextLayout:
    """Sentences, and the gaps around them (one more than sentences)."""

    gaps: tuple[str, ...]
    sentences: tuple[str, ...]

    def join(self, translations: Sequence[str] | None = None) -> str:
        """Return the text with each sentence replaced by its translation."""
        texts, gaps = (self.sentences, self.gaps) if translations is None else (translations, self.around(translations))
        return gaps[0] + "".join(text + gap for text, gap in zip(texts, gaps[1:], strict=True))

    def around(self, translations: Sequence[str]) -> tuple[str, ...]:
        """The gaps around translations of the sentences, with the spaces that the scripts of both need."""
        if len(translations) < 2:
            return self.gaps
        pairs = zip(pairwise(self.sentences), pairwise(translations), self.gaps[1:-1], strict=True)
        return (self.gaps[0], *(gap_between(*pair) for pair in pairs), self.gaps[-1])


def lay_out(text: str, split: Split) -> TextLayout:
    """Split a text into sentences and gaps; `split` splits a span without line breaks into sentences."""
    gaps, sentences = [""], []
    for is_gap, span in split_spans(text):
        if is_gap or not span:
            gaps[-1] += span
            continue
        for piece in split(span):
            sentence = piece.lstrip()
            gaps[-1] += piece[: len(piece) - len(sentence)]
            stripped = sentence.rstrip()
            if stripped:
                sentences.append(stripped)
                gaps.append(sentence[len(stripped) :])
            else:
                gaps[-1] += sentence
    return TextLayout(tuple(gaps), tuple(sentences))


def split_spans(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the text in order as gaps (True) and the spans between them (False)."""
    for i, line in enumerate(_LINE_ENDS.split(text)):
        if i % 2:
            yield True, line
            continue
        head = _HEAD.match(line)
        start = head.end() if head else 0
        yield True, line[:start]
        yield from split_columns(line[start:])


def split_columns(line: str) -> Iterator[tuple[bool, str]]:
    """Yield a line in order as column separators (True) and the text between them (False)."""
    end = 0
    if not _SIGN.isdisjoint(line) and "`" not in line and "://" not in line:
        for bar in _BAR.finditer(line):
            yield from split_at_gaps(line[end : bar.start()])
            yield True, bar[0]
            end = bar.end()
    yield from split_at_gaps(line[end:])


def split_at_gaps(line: str) -> Iterator[tuple[bool, str]]:
    if line.isprintable() and "   " not in line:  # most lines; checking each space would take longer than the rest
        yield False, line
        return
    end = 0
    for run in _RUN.finditer(line):
        if len(run[0]) >= _WIDE or run[0].strip(_INLINE) or run.end() == len(line):
            yield False, line[end : run.start()]
            yield True, run[0]
            end = run.end()
    yield False, line[end:]


# sentencex 1.0.32 panics on a no-break space after an initial ("J.\u00a0S. Bach"), and rejects lone surrogates.
_ODD = re.compile("[^\\S\t\n\r ]|[\ud800-\udfff]")


SPLIT_WINDOW, CONTEXT = 4000, 200
"""Characters split at a time, and those at the end whose sentences are left to the next window."""


def split_sentences(text: str, language: str) -> list[str]:
    """Return the sentences of a text in order, each with the white space after it; they concatenate to the text.

    A language unknown to sentencex is split by the rules of a related language, or of English. Longer texts are split
    in overlapping windows of `SPLIT_WINDOW` characters.
    """
    pieces: list[str] = []
    start = 0
    while len(text) - start > SPLIT_WINDOW:
        sentences = segment(text[start : start + SPLIT_WINDOW], language)
        ends = list(accumulate(map(len, sentences)))
        complete = bisect_right(ends, SPLIT_WINDOW - CONTEXT)
        if complete:
            pieces += sentences[:complete]
            start += ends[complete - 1]
        else:  # cut such a long "sentence" between words, or anywhere if it has no spaces
            spaces = [match.end() for match in _SPACE.finditer(text, start + CONTEXT, start + SPLIT_WINDOW)]
            end = spaces[-1] if spaces else start + SPLIT_WINDOW
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


# Words that often start a clause. Used only if a sentence must be cut, so a wrong cut is better than none.
_CONJUNCTIONS = (
    "and|or|but|because|which|that|while|when|where|if|although|und|oder|aber|denn|sondern|weil|dass|wenn|während|"
    "et|ou|mais|car|que|qui|parce|y|o|pero|porque|e|ma|perché|che|en|maar|omdat"
)
_PLACES = tuple(
    re.compile(place, re.IGNORECASE)
    for place in (
        r"(?<=[.!?;:…])\s+|(?<=[。！？；：])",
        # Match white space only from its start: trying every position of a long run would be quadratic.
        r"(?<=[,)–—\]])\s+|(?<!\s)\s+(?=[(–—\[])|(?<=[，、])",
        rf"(?<!\s)\s+(?=(?:{_CONJUNCTIONS})\s)",
        r"\s+",
        # Between any two characters, but not before a combining mark or within a joined emoji.
        r"(?<=.)(?=[^\u0300-\u036f\u200d\ufe0f])(?<!\u200d)",
    )
)
"""Where a sentence may be cut, best first. White space at the cut belongs to neither part."""

WINDOW = 10_000
"""Characters processed at a time."""
# Letters of scripts without spaces between words: Thai, Lao, Burmese and Khmer, Chinese and Japanese.
_SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
_UNBROKEN = re.compile(rf"(?<![^\s{_SPACELESS}])[^\s{_SPACELESS}]{{{WINDOW + 1},}}")
_SPACE, _REST = re.compile(r"\s"), re.compile(r"\s*")


def set_apart(text: str) -> list[str]:
    """Split a text into parts: unbroken runs too long to be words, and the text between them."""
    if len(text) <= WINDOW:
        return [text]
    ends = [0, *(place for match in _UNBROKEN.finditer(text) for place in match.span()), len(text)]
    return [text[start:end] for start, end in pairwise(ends) if start < end]


def is_unbroken(text: str) -> bool:
    """Whether a text is one unbroken run, too long to be a word: data, not language."""
    return len(text) > WINDOW and _UNBROKEN.fullmatch(text) is not None


def bounded(text: str) -> Iterator[str]:
    """Yield the text in windows of bounded length that end after white space, if there is any."""
    start = 0
    while len(text) - start > WINDOW:
        spaces = list(_SPACE.finditer(text, start + WINDOW // 2, start + WINDOW))
        end = spaces[-1].end() if spaces else start + WINDOW
        yield text[start:end]
        start = end
    yield text[start:]


def cut(text: str, fits: Callable[[str], bool], keep: Sequence[Span] = ()) -> list[str]:
    """Cut a text into parts that fit. Odd items are the white space between them, which may be empty: joined, all
    items are the text.

    No cut goes through a span in `keep`; these are in order and do not overlap. A part that is a single such span may
    not fit.
    """
    parts: list[str] = []
    start = 0
    while len(text) - start > WINDOW:
        window = start + WINDOW
        inside = keep[bisect_left(keep, (start,)) : bisect_left(keep, (window,))]
        place = best_place(text[start:window], [(one - start, min(other, window) - start) for one, other in inside])
        if place is None:  # all of it must be kept whole
            end = inside[-1][1] if inside else window
            place = (end - start, end - start)
        first, last = start + place[0], start + place[1]
        if last >= len(text):
            break
        parts += [*halve(text[start:first], fits, moved(inside, start, first)), text[first:last]]
        start = last
    return [*parts, *halve(text[start:], fits, moved(keep[bisect_left(keep, (start,)) :], start, len(text)))]


def moved(keep: Sequence[Span], start: int, end: int) -> list[Span]:
    """Return the spans inside a part of a text, relative to its start."""
    return [(one - start, other - start) for one, other in keep if start <= one and other <= end]


def halve(text: str, fits: Callable[[str], bool], keep: Sequence[Span]) -> list[str]:
    """Cut a text of bounded length near the middle, and the halves again, until they fit."""
    if fits(text):
        return [text]
    place = best_place(text, keep)
    if place is None:
        return [text]
    start, end = place
    before, after = moved(keep, 0, start), moved(keep, end, len(text))
    return [*halve(text[:start], fits, before), text[start:end], *halve(text[end:], fits, after)]


def best_place(text: str, keep: Sequence[Span] = ()) -> Span | None:
    """Return the best kind of cut near the middle, or else the cut of any kind nearest to it."""
    middle = len(text) / 2
    near = ceil(middle / 2)
    whole = _REST.match(text, near).end() if text[near - 1 : near].isspace() else near  # type: ignore[union-attr]
    for kind in _PLACES:
        # White space that starts too early is not near the middle, and neither is the rest of it.
        place = _nearest(kind, text, keep, middle, near if kind is _PLACES[-1] else whole)
        if place is not None and abs(place[0] - middle) <= middle / 2:
            return place
    candidates = [place for kind in _PLACES if (place := _nearest(kind, text, keep, middle, 0)) is not None]
    return min(candidates, key=lambda place: abs(place[0] - middle), default=None)


def _nearest(kind: re.Pattern[str], text: str, keep: Sequence[Span], middle: float, first: int) -> Span | None:
    """Return the cut of one kind nearest to the middle, searching from `first`."""
    best: Span | None = None
    ends = [end for _, end in keep]
    for match in kind.finditer(text, first):
        start, end = match.span()
        if best is not None and abs(start - middle) >= abs(best[0] - middle):
            return best  # all later ones are farther away
        nearest = bisect_right(ends, start)
        if start > 0 and end < len(text) and (nearest == len(keep) or keep[nearest][0] >= end):
            best = start, end
    return best


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
