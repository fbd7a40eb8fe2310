"""A text as what is translated (sentences) and what stands between them (white space, list marks), and back.

`lay_out(text, split).join()` is the text, whatever it is. The gaps are never shown to a model, so a translation has
the blank lines, the indentation, the tabs and the line ends of its source by construction.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hark.text.sentences import Split

# White space, and the invisible marks that may stand at the edge of a line: byte-order mark, zero-width space, joiner.
_BLANK = "[\\s\ufeff\u200b\u2060]"
_LINE_ENDS = re.compile("([\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+)")
# Bullets, headings and quotations (as in Markdown), boxes to tick, `3)`, `b)`, `iv)`. `3.` is left to the splitting
# of sentences: in German it may begin a date.
_MARK = r"(?:[-*+•‣◦▪●○–—·]|\#{1,6}|>+|\[[ xX]\]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})\))"
_HEAD = re.compile(f"{_BLANK}*(?:{_MARK}{_BLANK}+)*")
_RUN = re.compile(f"{_BLANK}+")
# Bars of tables, and signs between the steps of a menu (Settings > Privacy).
_BAR = re.compile(
    rf"{_BLANK}*\|(?:{_BLANK}*(?:\||:?-{{3,}}:?))*{_BLANK}*|(?<=[^\W\d][^\W\d]){_BLANK}+(?:>+|→|»|⇒|=>|->){_BLANK}+(?=[^\W\d]{{2}})"
)
_SIGN = frozenset("|>→»⇒")
_INLINE = " \u00a0\u2009\u202f\ufeff\u200b\u2060"
_WIDE = 3
"""Inside a line a sentence goes on over one space or two; a tab or a wider run sets columns apart."""


@dataclass(frozen=True)
class TextLayout:
    """Sentences, and the gaps around them: one more than there are sentences."""

    gaps: tuple[str, ...]
    sentences: tuple[str, ...]

    def join(self, translations: Sequence[str] | None = None) -> str:
        """The text, with each sentence replaced by its translation."""
        between = zip(translations if translations is not None else self.sentences, self.gaps[1:], strict=True)
        return self.gaps[0] + "".join(text + gap for text, gap in between)


def lay_out(text: str, split: Split) -> TextLayout:
    """Take a text apart; `split` tells the sentences of a stretch without line ends."""
    gaps, sentences = [""], []
    for is_gap, stretch in stretches(text):
        if is_gap or not stretch:
            gaps[-1] += stretch
            continue
        for piece in split(stretch):
            sentence = piece.lstrip()
            gaps[-1] += piece[: len(piece) - len(sentence)]
            stripped = sentence.rstrip()
            if stripped:
                sentences.append(stripped)
                gaps.append(sentence[len(stripped) :])
            else:
                gaps[-1] += sentence
    return TextLayout(tuple(gaps), tuple(sentences))


def stretches(text: str) -> Iterator[tuple[bool, str]]:
    """The text in order: gaps (True), and what stands between them (False)."""
    for i, line in enumerate(_LINE_ENDS.split(text)):
        if i % 2:
            yield True, line
            continue
        head = _HEAD.match(line)
        start = head.end() if head else 0
        yield True, line[:start]
        yield from columns(line[start:])


def columns(line: str) -> Iterator[tuple[bool, str]]:
    """A line in order: wide gaps and the signs between columns (True), and what stands between them (False)."""
    end = 0
    if not _SIGN.isdisjoint(line) and "`" not in line and "://" not in line:
        for bar in _BAR.finditer(line):
            yield from gaps_in(line[end : bar.start()])
            yield True, bar[0]
            end = bar.end()
    yield from gaps_in(line[end:])


def gaps_in(line: str) -> Iterator[tuple[bool, str]]:
    if (
        line.isprintable() and "   " not in line
    ):  # most lines, and looking at each space would take longer than the rest
        yield False, line
        return
    end = 0
    for run in _RUN.finditer(line):
        if len(run[0]) >= _WIDE or run[0].strip(_INLINE) or run.end() == len(line):
            yield False, line[end : run.start()]
            yield True, run[0]
            end = run.end()
    yield False, line[end:]
