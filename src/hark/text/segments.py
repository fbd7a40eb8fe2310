"""Text layout: splits a text into sentences to translate and the gaps between them (white space, list markers).

`lay_out(text, split).join()` returns any text unchanged. The model never sees the gaps, so a translation keeps the
blank lines, indentation, tabs and line endings of its source by construction. Only whether a space separates two
sentences depends on the scripts of both languages (`hark.text.scripts`).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from hark.text.scripts import gap_between
from hark.text.sentences import Split

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
