"""The ways to ask a model for one piece of text, from the plain one to the safest.

Each is an `Attempt`: stretches that stay as they are, and stretches that the model is asked about.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

from hark.config import DecodeConfig
from hark.decode.coder import Coder
from hark.decode.request import Request
from hark.text import case, clauses, protect
from hark.text.protect import Item
from hark.text.rewrite import Rewriting, Span

SAFE_BEAM = 8
FIRST_NUMBER, SECOND_NUMBER = 317, 428
"""The numbers that stand in for items begin with these; others when it is tried again."""
_CLOSING = re.compile(r"[\s.,;:!?…)\]}»”’]*")
"""Signs that belong to what stands before them: a model that begins with them loses its way."""


@dataclass(frozen=True)
class Ask:
    """A stretch that the model translates."""

    start: int
    """Where it begins in the piece."""
    rewriting: Rewriting
    """From the stretch to what the model sees of it."""
    items: tuple[Item, ...] = ()
    """What must come out of it."""
    marks: tuple[Item, ...] = ()
    """Tags and the like that the model does not see; the alignment tells where they go."""
    shouted: bool = False
    """Whether to put the translation in capitals."""
    inner: bool = False
    """Whether it is a part of a sentence that goes on, so that it has no full stop of its own."""

    @property
    def seen(self) -> str:
        return self.rewriting.after


@dataclass(frozen=True)
class Attempt:
    """One way to translate a piece."""

    parts: tuple[str | Ask, ...]
    search: DecodeConfig

    @property
    def asks(self) -> tuple[Ask, ...]:
        return tuple(part for part in self.parts if isinstance(part, Ask))

    def requests(
        self, coder: Coder, attention: bool, target: str | None = None, source: str | None = None
    ) -> list[Request]:
        """One for each stretch; a model of several pairs needs the target language, and some the source's."""
        prefix = coder.prefix(target)
        return [
            Request(
                coder.source_ids(ask.seen, target, source), self.search, prefix, attention=attention or bool(ask.marks)
            )
            for ask in self.asks
        ]


def safer(search: DecodeConfig) -> DecodeConfig:
    """A wider search that gives all that it finds, without chance, and with room to finish."""
    beam = max(SAFE_BEAM, search.beam)
    return replace(
        search, beam=beam, nbest=beam, sample=False, diverse=False, patience=1.0, max_extra=2 * search.max_extra + 10
    )


def as_it_is(text: str, items: Sequence[Item], search: DecodeConfig, inner: bool) -> Attempt:
    """The piece itself. Marks at its edges stay out: they say nothing to a model, and keep their places. Marks inside
    are left out, to be placed by the alignment, and numbers stand in for what the model must not see."""
    first, last = edges(text, items)
    core = [moved(item, first) for item in items if first <= item.start and item.end <= last]
    ask = hide(text[first:last], first, core, FIRST_NUMBER, inner=inner)
    return Attempt((text[:first], ask, text[last:]), search)


def hide(
    text: str, start: int, items: Sequence[Item], number: int, everything: bool = False, inner: bool = False
) -> Ask:
    """A stretch without its marks, and with numbers that it does not have in place of items: of those that the model
    must not see, or of all. Whatever a model has learnt, it copies numbers."""
    marks = tuple(item for item in items if item.mark)
    numbers = (str(n) for n in count(number, 111) if str(n) not in text)
    shown = [
        replace(item, shown=next(numbers), pattern=None)
        if (item.opaque and not item.shown) or (everything and item.kind != "number")
        else item
        for item in items
        if not item.mark
    ]
    edits = [(item.span, item.shown) for item in shown if item.shown] + [(mark.span, "") for mark in marks]
    rewriting = Rewriting.of(text, sorted(edits)) if edits else Rewriting(text, text)
    return Ask(start, rewriting, tuple(shown), marks, inner=inner)


def edges(text: str, items: Sequence[Item]) -> Span:
    """The span of a piece without the tags, symbols and spaces at its edges."""
    first, last = 0, len(text)
    loose = [item for item in items if item.mark]
    for item in loose:
        if not text[first : item.start].strip():
            first = item.end
    for item in reversed(loose):
        if item.start >= first and not text[item.end : last].strip():
            last = item.start
    core = text[first:last]
    return first + len(core) - len(core.lstrip()), last - len(core) + len(core.rstrip())


def in_sentence_case(plain: Attempt) -> Attempt:
    """The same in small letters, with its capitals to be restored."""
    return replace(plain, parts=tuple(part if isinstance(part, str) else lowered(part) for part in plain.parts))


def lowered(ask: Ask) -> Ask:
    text = ask.rewriting.after
    keep = [ask.rewriting.forth(item.span) for item in ask.items]
    lower = case.sentence_case(text, keep).after
    # Capitals that have no small letter of the same length (İ) would shift the places of what was replaced.
    rewriting = replace(ask.rewriting, after=lower) if len(lower) == len(text) else ask.rewriting
    if not ask.rewriting.edits:
        rewriting = case.sentence_case(text, keep)
    return replace(ask, rewriting=rewriting, shouted=True)


def with_stand_ins(plain: Attempt, figures: Sequence[Item], search: DecodeConfig) -> Attempt:
    """Numbers in place of all items, and of the `figures` of the piece besides."""
    parts: list[str | Ask] = []
    for part in plain.parts:
        if isinstance(part, str):
            parts.append(part)
            continue
        text = part.rewriting.before
        end = part.start + len(text)
        exact = [item for item in (*part.items, *part.marks) if item.exact]
        taken = protect.Taken(text, (item.span for item in exact))
        inside = [moved(item, part.start) for item in figures if part.start <= item.start and item.end <= end]
        exact += [replace(item, kind="quantity") for item in inside if taken.take(item.span)]
        loose = [item for item in part.items if not item.exact and taken.leaves(item.span)]
        exact.sort(key=lambda item: item.start)
        ask = hide(text, part.start, [*exact, *loose], SECOND_NUMBER, everything=True, inner=part.inner)
        parts.append(ask)
    return Attempt(tuple(parts), search)


def around_items(text: str, items: Sequence[Item], search: DecodeConfig, inner: bool) -> Attempt:
    """Items stay where they are, and only what stands between them is translated: clumsy, but nothing can be lost."""
    parts: list[str | Ask] = []
    end = 0
    exact = [item for item in items if item.exact]
    for item in [*exact, None]:
        start = item.start if item else len(text)
        loose = [each for each in items if not each.exact and end <= each.start and each.end <= start]
        parts += stretch(text, (end, start), loose, inner or item is not None)
        if item is not None:
            parts.append(item.written or item.text)
            end = item.end
    return Attempt(tuple(parts), search)


def in_halves(text: str, items: Sequence[Item], search: DecodeConfig, inner: bool) -> Attempt | None:
    """The piece in two parts, cut between clauses if possible; none if it cannot be cut between words."""
    place = clauses.best_place(text, [item.span for item in items])
    if place is None or place[0] == place[1]:
        return None
    first, second = (0, place[0]), (place[1], len(text))
    parts: list[str | Ask] = []
    for span, ends in ((first, False), (second, True)):
        inside = [item for item in items if span[0] <= item.start and item.end <= span[1]]
        parts += stretch(text, span, inside, inner or not ends)
        if not ends:
            parts.append(text[place[0] : place[1]])
    return Attempt(tuple(parts), search)


def stretch(text: str, span: Span, items: Sequence[Item], inner: bool) -> list[str | Ask]:
    """A part of a piece: asked about if it has words, with its outer spaces and signs kept as they are."""
    start, end = span
    part = text[start:end]
    if not protect.has_words(part, [moved(item, start) for item in items]):
        return [part]
    core = part.rstrip()
    before = _CLOSING.match(core).end()  # type: ignore[union-attr]  # it matches nothing at least
    core = core[before:]
    inside = [moved(item, start + before) for item in items]
    ask = hide(core, start + before, inside, FIRST_NUMBER, inner=inner)
    return [part[:before], ask, part[before + len(core) :]]


def moved(item: Item, by: int) -> Item:
    return replace(item, start=item.start - by, end=item.end - by)
