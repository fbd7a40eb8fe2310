"""Translates texts: splits a text into sentences, decodes them with an engine, and joins the translations.

See `segments` (sentences, or parts of those that are too long), `piece` (one piece of text, with its retries) and
`tasks` (many pieces at a time).
"""

from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from itertools import tee
from pathlib import Path
from typing import Protocol, runtime_checkable

from hark.config import Config
from hark.engine.interface import Engine
from hark.errors import HarkError, UserError
from hark.facts import LanguagePair
from hark.models import InstalledModel, narrow
from hark.text import segments
from hark.text.address import Address, Formality, choose_address, contradicts, has_forms
from hark.text.detector import GLANCE, base_language, other_language, rank
from hark.text.language_names import language_name
from hark.text.paragraphs import Unit, group
from hark.text.phrases import Phrases
from hark.text.rewrite import Span
from hark.text.segments import TextLayout, join_across, lay_out, split_sentences
from hark.text.shapes import CODE_LINE
from hark.text.vocabulary import Coder, TagScheme, Vocabulary
from hark.translate.languages import FoundLanguage, find_language, resolve
from hark.translate.piece import UNSURE, Options, address_of, find_items, has_unseen, translate_piece
from hark.translate.second_look import SecondLook
from hark.translate.tasks import Task, Tasks, Turns
from hark.translate.translation import FinishedSentences, Piece, Reason, Sentence, TextPlan, Translation, assemble

PHRASE_SENTENCES = 3
"""Maximum sentences of a line that is looked up in the phrase table."""
WINDOW = 1 << 14
"""Maximum texts of a stream that are in progress, or finished and waiting for an earlier one."""
UNKNOWN = "und"
"""ISO 639 code of an undetermined language: no rules of any language apply."""
CERTAIN = 0.9
"""Minimum probability of a language of the model for translating a part of a text that is in another language."""


@runtime_checkable
class Arriving(Protocol):
    """An iterator whose next item may take long, such as lines typed at a terminal."""

    def ready(self) -> bool:
        """Whether `next` would return without waiting."""
        ...


class LanguageChoice:
    """Chooses the languages of texts for one model, without asking it."""

    def __init__(self, scheme: TagScheme, default: LanguagePair) -> None:
        """`default`: the languages of a model of one pair."""
        self.scheme, self.default = scheme, default
        self.several = scheme.kind != "none"
        self._model = InstalledModel(Path(), scheme.pairs if self.several else (default,))

    def choose(self, text: str, options: Options) -> Options:
        """Return the options with the languages of a text. Raise an error if the model has no such language."""
        target = self.scheme.resolve_target(options.target) if self.several else self.default[1]
        if self.several:
            options = replace(options, target=target)
            if options.source is not None:
                options = replace(options, source=self.scheme.resolve_source(options.source))
        if not options.detect or (options.source is not None and options.written_in is None):
            return options if options.source is not None or not self.several else self._assume(options)
        try:
            found = self._find(text, target)
        except HarkError:  # the detector is not installed: only models of several pairs need it
            if self.several:
                raise
            return options
        if not found.translatable:
            return replace(self._assume(options) if self.several else options, written_in=found.code)
        if options.written_in is not None and found.share < CERTAIN:
            return options
        options = replace(options, written_in=None)
        if not self.several:
            return options
        if found.code is not None:
            return replace(options, source=found.code, detected=True)
        if self.scheme.kind == "target":  # the source begins with its own tag
            self.scheme.resolve_source(None)
        return self._assume(options)

    def _assume(self, options: Options) -> Options:
        """The options with the only source language there is, or an unknown one."""
        sources = self.scheme.sources_of(options.target or "")
        return replace(options, source=sources[0] if len(sources) == 1 else UNKNOWN, detected=True)

    def _find(self, text: str, target: str) -> FoundLanguage:
        if not text.strip():
            return FoundLanguage(None)
        fitting = narrow(self._model, [pair for pair in self._model.pairs if pair[1] == target])
        return resolve(find_language(text[:GLANCE], target, [fitting], [self._model]), lambda _: None)

    def pair(self, text: str, source: str | None, target: str | None) -> LanguagePair:
        """The languages of a text, given or detected."""
        return self.of(self.choose(text, Options(source=source, target=target)))

    def of(self, options: Options) -> LanguagePair:
        """The languages of a text with these options."""
        return options.source or self.default[0], options.target or self.default[1]

    def find_other(self, sentence: str, language: str, target: str) -> str | None:
        """The model's code of a source language that a sentence is in, in a text in a language that is not translated.

        Short sentences are identified, too: a text in several languages often has some.
        """
        other = other_language(sentence, language, target)
        if other is None:
            expected = {base_language(language), *map(base_language, self._sources(target))}
            ranking = rank(sentence, expected)
            other = ranking.best if ranking.best and ranking.share([ranking.best]) > CERTAIN else None
        return None if other is None or other == base_language(language) else self.find(other, target)

    def _sources(self, target: str) -> list[str]:
        return self.scheme.sources_of(target) if self.several else [self.default[0]]

    def find(self, language: str, target: str) -> str | None:
        """The model's code of a source language for a target language, if it has one."""
        return next((code for code in self._sources(target) if base_language(code) == base_language(language)), None)


class Translator:
    """Translates texts with one engine: `submit` and `step`, or `stream`. Options are per text.

    Safe for threads: those that wait for translations take turns to step the engine, with the texts of all in its
    batches. If a step fails or is interrupted, all of them get an error.
    """

    def __init__(
        self,
        engine: Engine,
        source: Vocabulary,
        target: Vocabulary,
        config: Config,
        rare_signs: Collection[str] = (),
        phrases: Callable[[str, str], Phrases] | None = None,
        unsure: Callable[[str, str], float | None] | None = None,
        languages: LanguageChoice | None = None,
    ) -> None:
        """`rare_signs`: characters that were rare in training; `phrases`: opens the table of lines with known
        translations from one language to another; `unsure`: the model's own threshold for that flag, by language pair;
        `languages`: chooses those of a text, by default of all that the model knows."""
        self.engine = engine
        self.tasks: Tasks[Piece] = Tasks(engine)
        self._turns = Turns(self.tasks.step)
        self.languages = languages or LanguageChoice(source.scheme, (config.data.source, config.data.target))
        self.coder = Coder(source, target, rare_signs)
        self.phrases = phrases
        self.unsure = unsure
        self.limit = min(config.batches.max_length, config.model.max_positions) - 1
        """Maximum length of a piece in tokens, without EOS: the limit used in training."""

    @property
    def room(self) -> int:
        """Number of further sentences that the engine can use now, beyond those already queued."""
        return self.tasks.room

    def submit(
        self,
        text: str,
        options: Options | None = None,
        on_sentence: Callable[[int, int, Sentence], object] | None = None,
        future: "Future[Translation] | None" = None,
    ) -> "Future[Translation]":
        """Start translating a text, from any thread. The future completes after enough steps, and may be cancelled.

        `on_sentence` is called with each sentence that is ready, see `FinishedSentences`; `future`: which to complete.
        """
        if not isinstance(text, str):
            raise TypeError(f"text must be a string, not {describe_value(text)}")
        chosen = self.languages.choose(text, options or Options())
        chosen = replace(chosen, formality=self._choose_form(text, chosen))
        lines = text.splitlines(keepends=True) if "\n" in text and chosen.join and chosen.split else [text]
        plans = [self._plan(unit, chosen) for unit in (group(lines) if len(lines) > 1 else [Unit(text)])]
        report = None if on_sentence is None else FinishedSentences(plans, on_sentence)
        first, second = tee(self._jobs(plans, chosen))  # read in lockstep, so that tee buffers almost nothing
        tasks, keys = (task for _, task in first), (key for key, _ in second)
        finish = partial(assemble, text, plans, formality=address_of(chosen))
        return self.tasks.begin(tasks, finish, chosen.urgent, keys, report, future)

    def _jobs(self, plans: Iterable[TextPlan], options: Options) -> Iterator[tuple[Hashable, Task[Piece]]]:
        for plan in plans:
            for sentence, phrase, cut in zip(plan.layout.sentences, plan.phrases, plan.cuts, strict=False):
                for i in range(0, len(cut), 2):
                    yield self._job(sentence, phrase, cut[i], options, i < len(cut) - 1)

    def _job(
        self, sentence: str, phrase: str | None, piece: str, options: Options, inner: bool
    ) -> tuple[Hashable, Task[Piece]]:
        """Return the task of a piece, and its key: repeated sentences have the same, so that they are translated
        once."""
        languages = self.languages.of(options)
        if phrase is not None:
            return None, already_done(Piece(piece, phrase, flags=frozenset({"phrase"})))
        if segments.is_unbroken(piece):  # data, not a word: decoding it would take hours
            return None, already_done(Piece(piece, piece, flags=frozenset({"untranslated"})))
        key = None if options.search.sample else (piece, inner, options)
        foreign, target = None, languages[1]
        if options.written_in is not None and any(map(str.isalpha, piece)):
            foreign = options.written_in
            known = self.languages.find_other(sentence, foreign, target)
        elif options.detect and (foreign := other_language(sentence, *languages)):
            known = self.languages.find(foreign, target) if options.detected else None
        if foreign is not None:
            if known is None:
                return key, keep_foreign(piece, foreign, target)
            options, languages = replace(options, source=known), (known, target)
        own = None if self.unsure is None else self.unsure(*languages)
        unsure = UNSURE if own is None else own
        return key, translate_piece(piece, self.coder, options, languages, inner, unsure)

    def check_formality(self, formality: Formality | None, target: str | None = None) -> bool:
        """Whether the model can be asked for a form of address in a target language. Raise an error if a form is
        required, and it cannot."""
        language = self.languages.scheme.resolve_target(target) if self.languages.several else self.languages.default[1]
        if self.coder.source.address_symbols and has_forms(language):
            return True
        if formality in ("formal", "informal"):
            name = language_name(language)
            if not has_forms(language):
                raise UserError(f"formality {formality}: is not possible in {name}; leave it out")
            raise UserError(f"formality {formality}: this model cannot choose; leave it out, or name another model")
        return False

    def _choose_form(self, text: str, options: Options) -> Address | None:
        """The form of address for the sentences of a text."""
        if options.formality is None or not self.check_formality(options.formality, options.target):
            return None
        if options.formality != "auto":
            return options.formality
        return choose_address(text, self.languages.of(options)[0]) if options.written_in is None else None

    def step(self) -> None:
        """Advance all submitted texts; while another thread does, wait for it."""
        self._turns.once()

    def stream(
        self,
        texts: Iterable[str],
        options: Options | None = None,
        window: int = WINDOW,
        review: Callable[[Sequence[Translation]], Iterable[Translation]] | None = None,
    ) -> Iterator[Translation]:
        """Yield translations in the order of the texts, each as soon as it and all before it are ready.

        The iterable is read only as there is room, so it may be infinite; an `Arriving` iterator is read only when it
        is ready or there is nothing else to do. An error from the iterable is raised after the translations of all
        texts before it; so is the TypeError for an item that is not a string, which names its position. `review`
        gets the translations that are ready at the same time, and returns them as they should be yielded.
        """
        rest = iter(texts)
        place = 0
        ready = rest.ready if isinstance(rest, Arriving) else lambda: True
        pending: deque[Future[Translation]] = deque()
        error: Exception | None = None
        ended = False

        def may_submit() -> bool:
            # One text always: other threads may leave no room.
            return not ended and (not pending or (len(pending) < window and self.room > 0 and ready()))

        try:
            while not ended or pending:
                while pending and pending[0].done():
                    finished = take_finished(pending)
                    yield from review(finished) if review else finished
                if may_submit():
                    try:
                        text = next(rest)
                        place += 1
                        if not isinstance(text, str):
                            raise TypeError(f"text {place:,} is {describe_value(text)}, not a string")
                        pending.append(self.submit(text, options))
                    except StopIteration:
                        ended = True
                    except Exception as raised:
                        ended, error = True, raised
                elif pending:
                    self._turns.until(lambda: pending[0].done() or may_submit())
        finally:
            for future in pending:
                future.cancel()
        if error is not None:
            raise error

    def translate(self, text: str, options: Options | None = None) -> Translation:
        """Translate one text."""
        (translation,) = self.stream([text], options)
        return translation

    def second_look(self, options: Options) -> SecondLook:
        """What chooses the sentences for another model to check, for translations with these options."""
        return SecondLook(options.search.alpha, lambda text: has_unseen(find_items(text, self.coder, options)))

    def _plan(self, unit: Unit, options: Options) -> TextPlan:
        if unit.code or (options.protect and not unit.joined and CODE_LINE.match(unit.text)):
            return TextPlan(unit, TextLayout((unit.text,), ()), ())
        text = unit.joined.after if unit.joined else unit.text
        layout = lay_out(text, partial(self._split, options=options) if options.split else lambda line: [line])
        uses_phrases = options.protect and "phrases" in options.rules and options.written_in is None
        if self.phrases is None or not uses_phrases:
            phrases: list[str | None] = [None] * len(layout.sentences)
        else:
            lookup = partial(look_up, self.phrases(*self.languages.of(options)), options, self.languages.of(options)[1])
            if 1 < len(layout.sentences) <= PHRASE_SENTENCES:  # one phrase may have several sentences
                core = text[len(layout.gaps[0]) : len(text) - len(layout.gaps[-1])]
                if lookup(core) is not None:
                    layout = TextLayout((layout.gaps[0], layout.gaps[-1]), (core,))
            phrases = [lookup(sentence) if is_alone(layout, i) else None for i, sentence in enumerate(layout.sentences)]
        cuts = [
            [sentence] if phrase is not None else self._cut(sentence, options)
            for sentence, phrase in zip(layout.sentences, phrases, strict=True)
        ]
        return TextPlan(unit, layout, tuple(cuts), tuple(phrases))

    def _split(self, text: str, options: Options) -> list[str]:
        sentences: list[str] = []
        for part in segments.set_apart(text):
            pieces = [part]
            if not segments.is_unbroken(part):
                pieces = split_sentences(part, self.languages.of(options)[0])
            if len(pieces) > 1 and (options.protect or options.terms):
                pieces = join_across(pieces, self._spans(part, options))
            sentences += pieces
        return sentences

    def _cut(self, sentence: str, options: Options) -> list[str]:
        fits = partial(self.coder.fits, limit=self.limit)
        if fits(sentence):
            return [sentence]
        pieces: list[str] = []
        for part in segments.set_apart(sentence):
            cut = [part] if segments.is_unbroken(part) else segments.cut(part, fits, self._spans(part, options))
            pieces += ["", *cut] if pieces else cut
        return pieces

    def _spans(self, text: str, options: Options) -> list[Span]:
        """The spans of the protected items in a text, searched in chunks of bounded length."""
        spans: list[Span] = []
        start = 0
        for chunk in segments.bounded(text):
            spans += [(start + item.start, start + item.end) for item in find_items(chunk, self.coder, options)]
            start += len(chunk)
        return spans


def take_finished(pending: deque[Future[Translation]]) -> list[Translation]:
    """Remove and return the translations that are ready, up to one that failed; raise its error if it is the first."""
    finished = [pending.popleft().result()]
    while pending and pending[0].done() and pending[0].exception() is None:
        finished.append(pending.popleft().result())
    return finished


def already_done(piece: Piece) -> Task[Piece]:
    """The task of a piece that the model does not translate."""
    return piece
    yield  # makes this a generator, as every task is


def describe_value(value: object) -> str:
    """Describe a value that is not a string, for an error message."""
    return "None" if value is None else f"{type(value).__name__} {str(value)[:40]!r}"


def is_alone(layout: TextLayout, place: int) -> bool:
    """Whether a sentence is the only one of its line or column."""
    before, after = layout.gaps[place], layout.gaps[place + 1]
    first, last = place == 0, place == len(layout.sentences) - 1
    return (first or before.strip(" ") != "") and (last or after.strip(" ") != "")


def look_up(table: Phrases, options: Options, target: str, line: str) -> str | None:
    """Look a line up in the phrase table, unless it has a term of the glossary, which takes precedence, or the phrase
    has the other form of address."""
    phrase = table.lookup(line)
    if phrase is None or contradicts(phrase, address_of(options), target):
        return None
    return phrase if options.terms is None or next(options.terms.find(line), None) is None else None


def keep_foreign(piece: str, language: str, target: str) -> Task[Piece]:
    """Keep a piece untranslated that is not in the source language."""
    name = language_name(language)
    reason = Reason("language", f"already {name}" if base_language(target) == base_language(language) else name)
    return already_done(Piece(piece, piece, flags=frozenset({"copied", "language"}), reasons=(reason,)))
