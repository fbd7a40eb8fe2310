"""Grouping of lines into hard-wrapped paragraphs and fenced code blocks.

E-mails and README files break sentences at a fixed width. Their lines are joined for the model, and the translation is
wrapped again. A text with one sentence per line is left alone: its lines do not look wrapped.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from hark.text.rewrite import Rewriting, Span

NARROW, WIDE = 40, 120
"""Range of widths at which people wrap text."""
LOOSE = 16
"""Columns that may stay free at the end of a line whose sentence clearly continues: not everyone fills lines."""
MAX_LINES = 200
"""Maximum lines of a paragraph."""
MAX_CODE_LINES = 10_000
"""Maximum lines of a unit of code; a longer block, or one whose closing fence is missing, becomes several."""
_FENCE = re.compile(r"\s*(?:>\s?)*(`{3,}|~{3,})")
_HEAD = re.compile(r"(?P<quote>(?:>[ \t]?)*)(?P<indent>[ \t]*)(?P<mark>(?:[-*+•]|\d{1,3}[.)])[ \t]+)?")
# Headings, tables, checkboxes and lines without letters or digits are never joined.
_ALONE = re.compile(r"#{1,6}\s|\||\[[ xX]\]\s|[^\w]*$")
_UNFINISHED_WORDS = """
    the a an of for with from and or my your his her our their
    der die das den dem des ein eine einen einem einer eines und oder zum zur im am vom von mit für
    mein meine meinen sein seine seinen ihr ihre ihren unser unsere unseren
"""
_UNFINISHED = frozenset(_UNFINISHED_WORDS.split())
"""No sentence ends with these, so the next line continues it, even if it starts with a capital as German nouns do."""
_FINAL = re.compile(r"[.!?:;…][\"'”’“)\]»]*$")


@dataclass(frozen=True)
class Unit:
    """Lines translated together: one line, a paragraph, or a code block."""

    text: str
    joined: Rewriting | None = None
    """The text on one line, for a hard-wrapped paragraph."""
    prefix: str = ""
    """Start of each line after the first: indentation and quote marks."""
    width: int = 0
    code: bool = False


def group(lines: Iterable[str], ready: Callable[[], bool] = lambda: True) -> Iterator[Unit]:
    """Group lines, with their line endings, into units. Does not wait for the next line unless it is `ready`."""
    rest = iter(lines)
    held: list[str] = []
    for line in rest:
        if held and not continues(held, line):
            yield from decide(held)
            held = []
        if not held and (fence := _FENCE.match(line)):
            block = itertools.chain([line], until(rest, fence[1]))
            while part := "".join(itertools.islice(block, MAX_CODE_LINES)):
                yield Unit(part, code=True)
            continue
        held.append(line)
        if not may_be_wrapped(line) or not ready():
            yield from decide(held)
            held = []
    yield from decide(held)


def until(lines: Iterator[str], fence: str) -> Iterator[str]:
    """Yield the lines of a code block up to and including the closing fence."""
    for line in lines:
        yield line
        closing = _FENCE.match(line)
        if closing and closing[1].startswith(fence) and not line[closing.end() :].strip():
            return


def may_be_wrapped(line: str) -> bool:
    """Whether a line has a length at which it may have been wrapped."""
    body = line.rstrip("\r\n")
    return NARROW <= len(body) <= WIDE and not body.endswith("  ")


def continues(held: list[str], line: str) -> bool:
    """Whether a line may continue the paragraph of the held lines."""
    if len(held) >= MAX_LINES or _FENCE.match(line):
        return False
    first, next_ = _head(held[0]), _head(line)
    body = line[next_.end() :].strip()
    if not body or next_["mark"] or _ALONE.match(body) or _ALONE.match(held[0][first.end() :].strip()):
        return False
    hanging = len(first["indent"]) + len(first["mark"] or "")
    if next_["quote"] != first["quote"] or len(next_["indent"]) not in (len(first["indent"]), hanging):
        return False
    return len(held) < 2 or next_["indent"] == _head(held[1])["indent"]


def _head(line: str) -> re.Match[str]:
    match = _HEAD.match(line)
    assert match is not None  # every part may be empty
    return match


def decide(held: list[str]) -> Iterator[Unit]:
    """Yield one paragraph if the lines are wrapped, else each line as its own unit."""
    if not is_wrapped(held):
        yield from map(Unit, held)
        return
    text = "".join(held)
    prefix = _head(held[1])[0]
    breaks: list[tuple[Span, str]] = []
    at = 0
    for line, after in itertools.pairwise(held):
        body = line.rstrip()
        at += len(line)
        breaks.append(((at - len(line) + len(body), at + _head(after).end()), " "))
    yield Unit(text, Rewriting.of(text, breaks), prefix, max(len(line.rstrip()) for line in held))


def is_wrapped(lines: list[str]) -> bool:
    """Whether no line had room for the first word of the next, and sentences continue across lines."""
    if len(lines) < 2:
        return False
    bodies = [line.rstrip() for line in lines]
    width = max(map(len, bodies))
    words = [body[_head(body).end() :].split(maxsplit=1)[0] for body in bodies[1:]]
    if not NARROW <= width <= WIDE:
        return False
    inside = [not _FINAL.search(body) for body in bodies[:-1]]
    ends = [body.split()[-1] for body in bodies[:-1]]
    lower = [
        open_ and (word[0].islower() or end in _UNFINISHED)
        for word, end, open_ in zip(words, ends, inside, strict=True)
    ]
    free = [width - len(body) - 1 - len(word) for body, word in zip(bodies, words, strict=False)]
    if any(columns >= (LOOSE if clear else 0) for columns, clear in zip(free, lower, strict=True)):
        return False
    return any(lower) and 2 * sum(inside) >= len(inside)


def wrap(text: str, unit: Unit) -> Rewriting:
    """Wrap a translation to the width of its unit; untranslated text keeps its original lines."""
    if unit.joined is not None and text == unit.joined.after:
        return Rewriting(text, unit.text, tuple((after, before) for before, after in unit.joined.edits))
    line_end = "\r\n" if "\r\n" in unit.text else "\n"
    edits: list[tuple[Span, str]] = []
    column, last = 0, None
    for match in re.finditer(r"(\s+)|\S+", text):
        if match[1] is not None:
            last = match.span()
            column += len(match[1])
            continue
        if last is not None and column + len(match[0]) > unit.width:
            edits.append((last, line_end + unit.prefix))
            column = len(unit.prefix)
        column += len(match[0])
    return Rewriting.of(text, edits)
