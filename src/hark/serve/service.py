"""Translation for all APIs of the server: limits, choice of a model, joining, cancelling, streaming, a second look."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from hark.facts import LanguagePair
from hark.models import matches
from hark.serve.admission import Admission
from hark.serve.bodies import Refusal
from hark.serve.running import OnSentence, RunningModel
from hark.serve.settings import ServeSettings
from hark.serve.shelf import RETRY_AFTER, ModelChoice, Shelf, answer, gather
from hark.text.address import Formality, choose_address
from hark.text.detector import base_language, rank
from hark.text.terms import Terms
from hark.translate.choice import Choice
from hark.translate.piece import Options
from hark.translate.translation import Sentence, Translation

MIN_SHARE = 0.01
"""Minimum probability of a language that a text may be in."""


class QueuedWork(Protocol):
    """What takes a place among the requests in progress."""

    @property
    def characters(self) -> int: ...
    @property
    def urgent(self) -> bool:
        """Whether somebody waits for it; bulk requests (documents) come after urgent ones."""
        ...


@dataclass(frozen=True)
class Job:
    """A request to translate. Identical ones in flight are joined."""

    texts: tuple[str, ...]
    source: str | None
    """None: detect it for each text."""
    target: str
    nbest: int = 1
    align: bool = False
    urgent: bool = True
    split: bool = True
    join: bool = True
    protect: bool = True
    terms: Terms | None = None
    """The terms of a glossary."""
    written_in: str | None = None
    """The language of the texts if they are not to be translated, see `hark.translate.choice`."""
    formality: Formality | None = "auto"
    """The form of address; auto: one form for each text."""
    fragments: bool = False
    """Whether the texts are fragments of documents: then the limit of texts does not apply."""

    @property
    def characters(self) -> int:
        return sum(map(len, self.texts))


@dataclass(frozen=True)
class Translated:
    """A translation, its languages, the name of the model, and how sure it is."""

    translation: Translation
    source: str
    """The language of the text, also if no model knows it."""
    target: str
    model: str
    share: float = 1.0
    """The probability of the source language, if it was detected."""
    confidence: float | None = None
    """See `Translation.confidence`."""


@dataclass(frozen=True)
class Event:
    """Something that is ready: sentence `sentence` of `of`, of text number `text`, or the whole text."""

    text: int
    sentence: int | None
    """None: the whole text."""
    of: int
    result: Sentence | Translated


@dataclass
class Counts:
    """Totals since the start, for metrics."""

    texts: int = 0
    characters: int = 0
    tokens: int = 0
    generated: int = 0
    """Tokens of texts that continue prompts."""
    embedded: int = 0
    """Texts that became vectors."""
    joined: int = 0
    cancelled: int = 0


@dataclass(eq=False)
class _Flight:
    """A job that is being translated, and the number of requests that wait for it."""

    task: "asyncio.Task[list[Translated]]"
    waiting: int = 0


@dataclass
class _Load:
    """Jobs in progress."""

    jobs: int = 0
    characters: int = 0
    bulk: int = 0
    """Characters of bulk jobs."""
    idle: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, job: QueuedWork, sign: int = 1) -> None:
        self.jobs += sign
        self.characters += sign * job.characters
        self.bulk += 0 if job.urgent else sign * job.characters

    def remove(self, job: QueuedWork) -> None:
        self.add(job, -1)
        if not self.jobs:
            self.idle.set()


class Service:
    """Translates for all APIs. Its methods are called on the event loop, and none blocks it."""

    def __init__(self, settings: ServeSettings, shelf: Shelf | None = None) -> None:
        """`shelf`: the models on offer; by default those of the settings."""
        self.settings = settings
        self.shelf = shelf or Shelf.of(settings)
        self.admission = Admission(settings)
        """Checks keys and rates, for APIs whose keys are not in the header Authorization."""
        self.counts = Counts()
        self.stopping = asyncio.Event()
        """Set when the server begins to shut down. Streams without an end must watch it."""
        self._choice = ModelChoice(self.shelf)
        self._load = _Load()
        self._flights: dict[Job, _Flight] = {}
        self._warming: asyncio.Task[None] | None = None
        self._closing = False

    async def start(self) -> None:
        """Begin to load models, and return at once."""
        self._warming = asyncio.create_task(self.shelf.load_all())

    @property
    def jobs(self) -> int:
        return self._load.jobs

    @property
    def characters(self) -> int:
        """The number of characters of the jobs in progress."""
        return self._load.characters

    def pairs(self) -> tuple[LanguagePair, ...]:
        return self.shelf.pairs()

    def languages(self) -> tuple[str, ...]:
        """All languages, as source or as target."""
        return tuple(sorted({code for pair in self.pairs() for code in pair}))

    def formal_targets(self) -> frozenset[str]:
        """The target languages in which the form of address can be chosen, from any language."""
        return frozenset(target for model in self.shelf.offered for target in model.formal_targets)

    def offers_formality(self, source: str | None, target: str) -> bool:
        """Whether a form of address can be chosen in these languages."""
        return any(
            matches(source, pair[0]) and matches(target, pair[1]) and pair[1] in model.formal_targets
            for model in self.shelf.offered
            for pair in model.pairs
        )

    def choose_form(
        self, texts: Iterable[str], formality: Formality | None, source: str | None, target: str
    ) -> Formality | None:
        """The form of address of texts that belong together; auto if each may have its own."""
        if formality != "auto":
            return formality
        text = "\n".join(texts)
        source = source or rank(text, {base_language(code) for code in self.languages()}).best
        fitting = self._choice.fitting(source, target) if source and self.offers_formality(source, target) else []
        if not fitting or not any(pair[1] in fitting[0].formal_targets for pair in fitting[0].pairs):
            return formality
        return choose_address(text, source or "") or formality

    async def detect(self, text: str) -> list[tuple[str, float]]:
        """Return the languages that a text may be in with their probabilities, best first; none if it has no words.

        They may be languages that no model knows. What models say of a short text counts more than its letters.
        """
        offered = {base_language(code): code for code in self.languages()}
        ranking = rank(text, offered)
        if ranking.best is None:
            return []
        shares = {offered.get(code, code): share for code, share in ranking.shares if share >= MIN_SHARE}
        found, best = (await self._choice.detect(text)).code, next(iter(shares))
        if found is not None and found != best:
            shares[found], shares[best] = shares[best], shares.get(found, 0.0)
        return sorted(shares.items(), key=lambda item: -item[1])

    async def choose(self, text: str, target: str) -> Choice:
        """The model for a text, and its language as far as it can be told."""
        return await self._choice.choose(text, None, target)

    async def translate(self, job: Job) -> list[Translated]:
        """Translate the texts of a job. Cancelling it frees its places, unless an identical one is in flight."""
        flight = self._flights.get(job)
        if flight is None:
            self.check(job)
            self._load.add(job)  # now, so that requests that come at the same moment cannot all find room
            work = gather([self._translate(text, job) for text in job.texts])
            flight = self._flights[job] = _Flight(asyncio.create_task(work))
            flight.task.add_done_callback(partial(self._land, job))
        else:
            self.counts.joined += 1
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        except asyncio.CancelledError:
            if flight.waiting == 1 and not flight.task.done():
                self._flights.pop(job, None)  # whoever comes now must not join a job that is being cancelled
                flight.task.cancel()
            raise
        finally:
            flight.waiting -= 1

    async def stream(self, job: Job) -> AsyncIterator[Event]:
        """Yield each sentence as soon as it is finished, in any order, and each text after its last sentence."""
        self.check(job)
        loop = asyncio.get_running_loop()
        events: asyncio.Queue[Event | BaseException | None] = asyncio.Queue()

        def report(text: int, index: int, count: int, sentence: Sentence) -> None:
            with suppress(RuntimeError):  # the server has stopped
                loop.call_soon_threadsafe(events.put_nowait, Event(text, index, count, sentence))

        async def translate(number: int, text: str) -> None:
            done = await self._translate(text, job, partial(report, number))
            events.put_nowait(Event(number, None, len(done.translation.sentences), done))

        async def run() -> None:
            try:
                await gather([translate(number, text) for number, text in enumerate(job.texts)])
            except BaseException as error:
                events.put_nowait(error)
                raise
            events.put_nowait(None)

        self._load.add(job)
        running = asyncio.create_task(run())
        running.add_done_callback(partial(self._end, job))
        try:
            while isinstance(event := await events.get(), Event):
                yield event
            if event is not None:
                raise event
        finally:
            running.cancel()  # and no more: in a task that is being cancelled, nothing can be awaited

    @contextmanager
    def working(self, work: QueuedWork) -> Iterator[None]:
        """Count work that no job describes among the requests in progress, or refuse it."""
        self.check_room(work)
        self._load.add(work)
        try:
            yield
        except (asyncio.CancelledError, GeneratorExit):
            self.counts.cancelled += 1
            raise
        finally:
            self._load.remove(work)

    async def close(self) -> None:
        """Finish what was accepted, and refuse the rest with status 503."""
        self._closing = True
        if self._warming is not None:
            self._warming.cancel()
        while self._load.jobs:
            self._load.idle.clear()
            await self._load.idle.wait()
        await self.shelf.close()

    def check(self, job: Job) -> None:
        """Raise a refusal if a job would be refused: unknown languages, too much text, a full queue."""
        limits, size = self.settings, job.characters
        if len(job.texts) > limits.batch and not job.fragments:
            raise Refusal(413, f"{len(job.texts):,} texts are too many; the limit is {limits.batch:,}")
        most = limits.characters if job.urgent else limits.document_characters
        if size > most:
            raise Refusal(413, f"{size:,} characters are too many; the limit is {most:,}")
        if not 1 <= job.nbest <= limits.nbest:
            raise Refusal(400, f"nbest must be 1 to {limits.nbest}, not {job.nbest}")
        self._choice.fitting(job.source, job.target)
        if job.formality in ("formal", "informal") and not self.offers_formality(job.source, job.target):
            raise Refusal(400, f"formality {job.formality} is not possible in {job.target}, or with these models")
        self.check_room(job)

    def check_room(self, work: QueuedWork) -> None:
        """Raise a refusal if the queue is full, or the server is shutting down."""
        limits, load, size = self.settings, self._load, work.characters
        if self._closing:
            raise Refusal(503, "the server is shutting down", RETRY_AFTER)
        full = load.jobs >= limits.queue or load.characters + size > limits.queue_characters
        bulk_full = not work.urgent and load.bulk and load.bulk + size > limits.queue_characters // 2
        if load.jobs and (full or bulk_full):
            raise Refusal(503, "too many requests are waiting; try again", RETRY_AFTER)

    def _land(self, job: Job, task: "asyncio.Task[list[Translated]]") -> None:
        if (flight := self._flights.get(job)) is not None and flight.task is task:
            del self._flights[job]
        self._end(job, task)

    def _end(self, job: Job, task: "asyncio.Task[Any]") -> None:
        self._load.remove(job)
        if task.cancelled():
            self.counts.cancelled += 1
        else:
            task.exception()  # seen, also if nobody waits any more

    async def _translate(self, text: str, job: Job, on_sentence: OnSentence | None = None) -> Translated:
        chosen = await self._choice.choose(text, job.source, job.target, job.written_in, job.formality)
        source, target = chosen.source, chosen.target or job.target
        async with self.shelf.lease(chosen.model) as running:
            languages = running.loaded.languages
            search = running.loaded.config.decode.changed({"nbest": job.nbest} if job.nbest > 1 else {})
            options = Options(
                search, job.split, job.align, job.protect, source, target, urgent=job.urgent, join=job.join,
                detected=job.source is None, terms=job.terms, written_in=chosen.written_in,
                formality=job.formality, second_look=True,
            )  # fmt: skip
            translation = await answer(running.submit(text, options, on_sentence))
            translation = await add_warnings(translation, options, running, self.shelf)
        self.counts.texts += 1
        self.counts.characters += len(text)
        self.counts.tokens += sum(sentence.tokens for sentence in translation.sentences)
        source = chosen.written_in or source
        if source is None:  # the model need not be told
            source, target = languages.pair(text, None, target)
            found = (code for code, _ in await self.detect(text) if (code, target) in chosen.model.pairs)
            source = next(found, source)
        confidence = translation.confidence(search.alpha)
        return Translated(translation, source, target, chosen.model.name, chosen.share, confidence)


async def add_warnings(translation: Translation, options: Options, running: RunningModel, shelf: Shelf) -> Translation:
    """Return a translation with warnings at the sentences that another model, of the reverse direction, does not
    recognise."""
    source, target = running.loaded.languages.of(options)
    translator = running.loaded.translator
    if translator.coder.knows(target, source):  # it has looked itself
        return translation
    look = translator.second_look(options)
    pairs = look.uncertain([translation])
    if not pairs:
        return translation
    async with lease_reverse(running, options, shelf) as reverse:
        if reverse is not None:
            with suppress(Refusal):  # the translation is as good as without a second look
                found = await answer(reverse.nll(tuple(pairs.values()), (target, source), options.urgent))
                [translation] = look.flag([translation], dict(zip(pairs, found, strict=True)))
    return translation


@asynccontextmanager
async def lease_reverse(running: RunningModel, options: Options, shelf: Shelf) -> AsyncIterator[RunningModel | None]:
    """Another loaded model, of the reverse direction: none is loaded, or evicted, for a second look."""
    languages = running.loaded.languages
    source, target = languages.of(options)
    reverse = [model for model in shelf.offered if (target, source) in model.pairs and shelf.is_loaded(model)]
    if reverse and not (languages.several and options.source is None):
        async with shelf.lease(min(reverse, key=lambda model: len(model.pairs) > 1)) as leased:
            yield leased
    else:
        yield None
