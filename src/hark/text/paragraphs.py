"""Hard-wrapped paragraphs and fenced code: which lines of a text belong together.

Mails and README files break sentences at a fixed width. Their lines are joined for the model, and the translation is
wrapped again. A text with a sentence on each line is left alone: no line looks as if a word had had to go to the next.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from hark.text.rewrite import Rewriting, Span

NARROW, WIDE = 40, 120
"""Columns between which people wrap text."""
LOOSE = 16
"""Columns that may stay free at the end of a line whose sentence clearly goes on: not everybody fills lines."""
MOST = 200
"""Lines of the longest paragraph that is joined."""
_FENCE = re.compile(r"\s*(?:>\s?)*(`{3,}|~{3,})")
_HEAD = re.compile(r"(?P<quote>(?:>[ \t]?)*)(?P<indent>[ \t]*)(?P<mark>(?:[-*+•]|\d{1,3}[.)])[ \t]+)?")
# Headings, tables, boxes to tick and lines without a letter stand for themselves.
_ALONE = re.compile(r"#{1,6}\s|\||\[[ xX]\]\s|[^\w]*$")
# No sentence ends with these, so the next line goes on with it, even if it begins with a capital as German nouns do.
_GOES_ON = frozenset(
    [
        "the",
        "a",
        "an",
        "of",
        "for",
        "with",
        "from",
        "and",
        "or",
        "my",
        "your",
        "his",
        "her",
        "our",
        "their",
        "der",
        "die",
        "das",
        "den",
        "dem",
        "des",
        "ein",
        "eine",
        "einen",
        "einem",
        "einer",
        "eines",
        "und",
        "oder",
        "zum",
        "zur",
        "im",
        "am",
        "vom",
        "von",
        "mit",
        "für",
        "mein",
        "meine",
        "meinen",
        "sein",
        "seine",
        "seinen",
        "ihr",
        "ihre",
        "ihren",
        "unser",
        "unsere",
        "unseren",
    ]
)
_FINAL = re.compile(r"[.!?:;…][\"'”’“)\]»]*$")


@dataclass(frozen=True)
class Unit:
    """Lines that are translated together: one line, a paragraph, or a block of code."""

    text: str
    joined: Rewriting | None = None
    """For a hard-wrapped paragraph: its text in one line."""
    prefix: str = ""
    """What its lines after the first begin with."""
    width: int = 0
    code: bool = False


def group(lines: Iterable[str], ready: Callable[[], bool] = lambda: True) -> Iterator[Unit]:
    """Lines, with their ends, as units. `ready` tells whether the next line is there; if not, none is waited for."""
    rest = iter(lines)
    held: list[str] = []
    for line in rest:
        if held and not continues(held, line):
            yield from decide(held)
            held = []
        if not held and (fence := _FENCE.match(line)):
            yield Unit("".join([line, *until(rest, fence[1])]), code=True)
            continue
        held.append(line)
        if not may_go_on(line) or not ready():
            yield from decide(held)
            held = []
    yield from decide(held)


def until(lines: Iterator[str], fence: str) -> Iterator[str]:
    """The lines of a block of code, its last fence included."""
    for line in lines:
        yield line
        found = _FENCE.match(line)
        if found and found[1].startswith(fence) and not line[found.end() :].strip():
            return


def may_go_on(line: str) -> bool:
    """Whether a line is so long that it may have been wrapped."""
    return NARROW <= len(line.rstrip("\r\n")) <= WIDE and not line.rstrip("\r\n").endswith("  ")


def continues(held: list[str], line: str) -> bool:
    """Whether a line may belong to the paragraph of those before it."""
    if len(held) >= MOST or _FENCE.match(line):
        return False
    first, next_ = _HEAD.match(held[0]), _HEAD.match(line)
    assert first is not None
    assert next_ is not None
    body = line[next_.end() :].strip()
    if not body or next_["mark"] or _ALONE.match(body) or _ALONE.match(held[0][first.end() :].strip()):
        return False
    hanging = len(first["indent"]) + len(first["mark"] or "")
    if next_["quote"] != first["quote"] or len(next_["indent"]) not in (len(first["indent"]), hanging):
        return False
    return len(held) < 2 or next_["indent"] == indent_of(held[1])


def indent_of(line: str) -> str:
    return _HEAD.match(line)["indent"]  # type: ignore[index]  # every part of the pattern may be empty


def decide(held: list[str]) -> Iterator[Unit]:
    """A paragraph if its lines are wrapped; else each line by itself."""
    if not is_wrapped(held):
        yield from map(Unit, held)
        return
    text = "".join(held)
    second = _HEAD.match(held[1])
    assert second is not None
    prefix = held[1][: second.end()]
    breaks: list[tuple[Span, str]] = []
    at = 0
    for line, after in itertools.pairwise(held):
        body = line.rstrip()
        at += len(line)
        breaks.append(((at - len(line) + len(body), at + len(_HEAD.match(after)[0])), " "))  # type: ignore[index]
    yield Unit(text, Rewriting.of(text, breaks), prefix, max(len(line.rstrip()) for line in held))


def is_wrapped(lines: list[str]) -> bool:
    """Whether no line had room for the first word of the next, and sentences go on from one to the next."""
    if len(lines) < 2:
        return False
    bodies = [line.rstrip() for line in lines]
    width = max(map(len, bodies))
    words = [body[_HEAD.match(body).end() :].split(maxsplit=1)[0] for body in bodies[1:]]  # type: ignore[union-attr]
    if not NARROW <= width <= WIDE:
        return False
    inside = [not _FINAL.search(body) for body in bodies[:-1]]
    ends = [body.split()[-1] for body in bodies[:-1]]
    lower = [
        open_ and (word[0].islower() or end in _GOES_ON) for word, end, open_ in zip(words, ends, inside, strict=True)
    ]
    room = [width - len(body) - 1 - len(word) for body, word in zip(bodies, words, strict=False)]
    if any(free >= (LOOSE if clear else 0) for free, clear in zip(room, lower, strict=True)):
        return False
    return any(lower) and 2 * sum(inside) >= len(inside)


def wrap(text: str, unit: Unit) -> Rewriting:
    """A translation of a unit in lines of its width; text that was not translated keeps its own lines."""
    if unit.joined is not None and text == unit.joined.after:
        return Rewriting(text, unit.text, tuple((after, before) for before, after in unit.joined.edits))
    edits: list[tuple[Span, str]] = []
    column, last = 0, None
    for match in re.finditer(r"(\s+)|\S+", text):
        if match[1] is not None:
            last = match.span()
            column += len(match[1])
            continue
        if last is not None and column + len(match[0]) > unit.width:
            edits.append((last, line_end(unit) + unit.prefix))
            column = len(unit.prefix)
        column += len(match[0])
    return Rewriting.of(text, edits)


def line_end(unit: Unit) -> str:
    return "\r\n" if "\r\n" in unit.text else "\n"
