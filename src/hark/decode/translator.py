"""Text to text: a text is taken apart, its sentences go through an engine, and it is put together again.

The work is done in the modules that are named here: `segments` (what is translated and what stands between), `clauses`
(sentences that are too long), `piece` (one piece of text, with its second chances), `tasks` (many at a time).
"""

from collections import deque
from collections.abc import Collection, Hashable, Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from itertools import tee
from typing import Protocol, runtime_checkable

from hark.config import Config
from hark.decode.assembly import TextPlan, assemble
from hark.decode.coder import Coder
from hark.decode.engine import Engine
from hark.decode.piece import Options, Piece, translate_piece
from hark.decode.reasons import Reason
from hark.decode.tasks import Task, Tasks
from hark.decode.translation import Translation
from hark.text import clauses, protect
from hark.text.detector import base_language
from hark.text.foreign import other_language
from hark.text.paragraphs import Unit, group
from hark.text.phrases import Phrases
from hark.text.rewrite import Span
from hark.text.segments import TextLayout, lay_out
from hark.text.sentences import join_across, split_sentences
from hark.text.shapes import CODE_LINE
from hark.text.vocabulary import Vocabulary

PHRASE_SENTENCES = 3
"""A line of more is none of the phrase table."""
WINDOW = 1 << 14
"""Texts of a stream under way, or done and waiting for an earlier one, beyond which none is begun."""


@runtime_checkable
class Arriving(Protocol):
    """An iterator whose next item may be long in coming: somebody types."""

    def ready(self) -> bool:
        """Whether `next` would not wait."""
        ...


class Translator:
    """Translates texts with one engine: submit, step, or a stream of both. Options belong to each text."""

    def __init__(
        self,
        engine: Engine,
        source: Vocabulary,
        target: Vocabulary,
        config: Config,
        rare_signs: Collection[str] = (),
        phrases: Phrases | None = None,
    ) -> None:
        """`rare_signs` are those that the model has hardly read; `phrases` are lines whose translation is known."""
        self.engine = engine
        self._tasks: Tasks[Piece] = Tasks(engine)
        self.language, self.target = config.data.source, config.data.target
        self.coder = Coder(source, target, rare_signs)
        self.phrases = phrases
        self.limit = min(config.batches.max_length, config.model.max_positions) - 1
        """Tokens of the longest piece that the model is shown, without EOS: as long as in training."""

    @property
    def room(self) -> int:
        """Sentences that the engine can use just now, besides those that wait already."""
        return self._tasks.room

    def submit(self, text: str, options: Options | None = None) -> "Future[Translation]":
        """Begin to translate a text, in any thread. Its future is ready after enough steps, and may be cancelled."""
        if not isinstance(text, str):
            raise TypeError(f"a text is a string, not {describe_value(text)}")
        chosen = options or Options()
        lines = text.splitlines(keepends=True) if "\n" in text and chosen.join and chosen.split else [text]
        plans = [self._plan(unit, chosen) for unit in (group(lines) if len(lines) > 1 else [Unit(text)])]
        keyed = (
            self._task(sentence, phrase, piece, chosen, inner=i < len(cut) - 1)
            for plan in plans
            for sentence, phrase, cut in zip(plan.layout.sentences, plan.phrases, plan.cuts, strict=True)
            for i, piece in enumerate(cut)
            if i % 2 == 0
        )
        first, second = tee(keyed)  # read side by side, so that neither is ever held whole
        tasks, keys = (task for _, task in first), (key for key, _ in second)
        return self._tasks.begin(tasks, partial(assemble, text, plans), chosen.urgent, keys)

    def _task(
        self, sentence: str, phrase: str | None, piece: str, options: Options, inner: bool
    ) -> tuple[Hashable, Task[Piece]]:
        """A task, and what makes two of them the same, so that repeated sentences are translated once."""
        languages = options.source or self.language, options.target or self.target
        if phrase is not None:
            return None, say(piece, phrase)
        if clauses.is_unbroken(piece):
            return None, copy_piece(piece)
        key = None if options.search.sample else (piece, inner, options)
        if options.detect and (other := other_language(sentence, *languages)):
            return key, leave(piece, other, languages[1])
        return key, translate_piece(piece, self.coder, options, languages, inner)

    def step(self) -> None:
        """Let all texts go on that were submitted; one thread at a time."""
        self._tasks.step()

    def stream(
        self, texts: Iterable[str], options: Options | None = None, window: int = WINDOW
    ) -> Iterator[Translation]:
        """Translations in the order of the texts, as soon as each and all before it are ready.

        Texts are taken as there is room for them, so they may be without end; of an iterator that is `Arriving`, only
        when one is there or nothing else is to be done. An error that the iterable raises comes after the translations
        of all before it; so does a TypeError for an item that is not a string, which names its place.
        """
        rest = iter(texts)
        place = 0
        ready = rest.ready if isinstance(rest, Arriving) else lambda: True
        under_way: deque[Future[Translation]] = deque()
        error: Exception | None = None
        ended = False
        try:
            while not ended or under_way:
                while under_way and under_way[0].done():
                    yield under_way.popleft().result()
                if not ended and len(under_way) < window and self.room > 0 and (not under_way or ready()):
                    try:
                        text = next(rest)
                        place += 1
                        if not isinstance(text, str):
                            raise TypeError(f"text {place:,} is {describe_value(text)}, not a string")
                        under_way.append(self.submit(text, options))
                    except StopIteration:
                        ended = True
                    except Exception as raised:
                        ended, error = True, raised
                elif under_way:
                    self.step()
        finally:
            for future in under_way:
                future.cancel()
        if error is not None:
            raise error

    def translate(self, text: str, options: Options | None = None) -> Translation:
        """One text."""
        (translation,) = self.stream([text], options)
        return translation

    def _plan(self, unit: Unit, options: Options) -> TextPlan:
        if unit.code or (options.protect and not unit.joined and CODE_LINE.match(unit.text)):
            return TextPlan(unit, TextLayout((unit.text,), ()), ())
        text = unit.joined.after if unit.joined else unit.text
        layout = lay_out(text, partial(self._split, options=options) if options.split else not_split)
        if self.phrases is None or not options.protect:
            phrases: list[str | None] = [None] * len(layout.sentences)
        else:
            if 1 < len(layout.sentences) <= PHRASE_SENTENCES:  # one phrase may have several sentences
                core = text[len(layout.gaps[0]) : len(text) - len(layout.gaps[-1])]
                if self.phrases.lookup(core) is not None:
                    layout = TextLayout((layout.gaps[0], layout.gaps[-1]), (core,))
            phrases = [
                self.phrases.lookup(sentence) if stands_alone(layout, i) else None
                for i, sentence in enumerate(layout.sentences)
            ]
        cuts = [
            [sentence] if phrase is not None else self._cut(sentence, options)
            for sentence, phrase in zip(layout.sentences, phrases, strict=True)
        ]
        return TextPlan(unit, layout, tuple(cuts), tuple(phrases))

    def _split(self, text: str, options: Options) -> list[str]:
        found: list[str] = []
        for stretch in clauses.set_apart(text):
            pieces = [stretch]
            if not clauses.is_unbroken(stretch):
                pieces = split_sentences(stretch, options.source or self.language)
            if len(pieces) > 1 and options.protect:
                pieces = join_across(pieces, self._spans(stretch))
            found += pieces
        return found

    def _cut(self, sentence: str, options: Options) -> list[str]:
        fits = partial(self.coder.fits, limit=self.limit)
        if fits(sentence):
            return [sentence]
        parts: list[str] = []
        for stretch in clauses.set_apart(sentence):
            if clauses.is_unbroken(stretch):
                cut = [stretch]
            else:
                cut = clauses.cut(stretch, fits, self._spans(stretch) if options.protect else ())
            parts += ["", *cut] if parts else cut
        return parts

    def _spans(self, text: str) -> list[Span]:
        """Where the items of a text stand, looked for in bounded stretches of it."""
        spans: list[Span] = []
        start = 0
        for stretch in clauses.bounded(text):
            spans += [(start + item.start, start + item.end) for item in protect.find(stretch, self.coder.unknown)]
            start += len(stretch)
        return spans


def copy_piece(text: str) -> Task[Piece]:
    """What is not shown to a model: one "word" of many thousand letters is data, and would take it hours."""
    return Piece(text, text, flags=frozenset({"untranslated"}))
    yield  # a task is a generator, even one that asks nothing


def describe_value(value: object) -> str:
    """What something is that is not a text, in a few words."""
    return "None" if value is None else f"{type(value).__name__} {str(value)[:40]!r}"


def not_split(text: str) -> list[str]:
    return [text]


def stands_alone(layout: TextLayout, place: int) -> bool:
    """Whether a sentence is all of its line, or of its column."""
    before, after = layout.gaps[place], layout.gaps[place + 1]
    first, last = place == 0, place == len(layout.sentences) - 1
    return (first or before.strip(" ") != "") and (last or after.strip(" ") != "")


def say(piece: str, phrase: str) -> Task[Piece]:
    """A phrase whose translation is known."""
    yield ()
    return Piece(piece, phrase, flags=frozenset({"phrase"}))


def leave(piece: str, language: str, target: str) -> Task[Piece]:
    """A sentence in another language than the source's stays as it is."""
    yield ()
    reason = Reason("language", f"already {language}" if base_language(target) == language else language)
    return Piece(piece, piece, flags=frozenset({"copied", "language"}), reasons=(reason,))
