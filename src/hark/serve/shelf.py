"""The models that a server offers: loaded on first use, unloaded by least use; translators are chosen by the languages
of a text."""

import asyncio
import ctypes
import gc
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from hark import models
from hark.engine.interface import EngineError
from hark.errors import HarkError, UserError
from hark.facts import LanguagePair
from hark.machine import available_memory
from hark.models import InstalledModel
from hark.serve.bodies import Refusal
from hark.serve.running import ModelThread, RunningModel
from hark.serve.settings import ServeSettings
from hark.serve.texts import open_text_model
from hark.text.address import Formality
from hark.text.detector import GLANCE, load_detector
from hark.translate.choice import Choice, UndetectedError, choose
from hark.translate.languages import Answer, Draft, FoundLanguage, Inquiry, Question, find_language
from hark.translate.load import Loaded
from hark.translate.piece import Options

OVERHEAD = 64 << 20
"""Bytes of memory that a model takes in addition to twice its size on disk: vocabularies, phrases, workspace. In all,
each of the models that come with hark takes about 110 MB."""
RETRY_AFTER = 5
"""Seconds after which a refused client should try again."""

Result = TypeVar("Result")
Opener = Callable[[InstalledModel, Executor], ModelThread]


@dataclass(frozen=True)
class Readiness:
    """How many of the models that are loaded at start are loaded, and what went wrong."""

    loaded: int
    total: int
    problem: str | None = None

    @property
    def done(self) -> bool:
        return self.total > 0 and self.loaded >= self.total


class Shelf:
    """The models on offer. All methods are called on the event loop, and none blocks it."""

    def __init__(self, offered: Sequence[InstalledModel], memory: int | None = None, opener: Opener | None = None):
        """`memory`: bytes for models; None: half of what is available. `opener` opens a model; the tests use others."""
        self.offered = tuple(without_shadowed(offered))
        """Those that translate."""
        self.texts = dict[str, InstalledModel]()
        """The models of one stack by name; of several with the same name, the first."""
        for model in offered:
            if not model.pairs and not model.problem:
                self.texts.setdefault(model.name, model)
        self.problems = {model.name: model.problem for model in offered if model.problem}
        self.memory = memory if memory is not None else (available_memory() or 1 << 62) // 2
        self._opener: Opener = opener or open_model
        self._running: dict[str, ModelThread] = {}
        """By folder, the least recently used first."""
        self._loading: dict[str, asyncio.Task[ModelThread]] = {}
        self._leases: Counter[str] = Counter()
        """How many callers use each model, or wait for it, by folder."""
        self._closing = False
        self._reserved: set[str] = set()
        """The models that are being loaded and have room. Others that wait for it must not take it from each other."""
        self._loader = ThreadPoolExecutor(1, "hark load")
        self._preparer = ThreadPoolExecutor(1, "hark prepare")
        self._to_load = self._fitting()
        self._waited: set[str] = set()

    @classmethod
    def of(cls, settings: ServeSettings) -> "Shelf":
        """The models of a folder, or the installed ones."""
        folders = None if settings.models is None else [settings.models]
        found = models.list_models(folders)
        shelf = cls(found, settings.memory, lambda model, preparer: open_model(model, preparer, settings.threads))
        if not shelf.offered and not shelf.texts:
            where = settings.models or models.user_folder()
            problem = "; ".join(shelf.problems.values())
            raise UserError(problem or f"{where}: no models; put one there, or see hark models")
        return shelf

    @property
    def readiness(self) -> Readiness:
        """Progress of `load_all`."""
        problems = [self.problems[model.name] for model in self._to_load if model.name in self.problems]
        total = len(self._to_load) - len(problems)
        return Readiness(len(self._waited), total, "; ".join(problems) or None)

    @property
    def running(self) -> tuple[ModelThread, ...]:
        return tuple(self._running.values())

    def pairs(self) -> tuple[LanguagePair, ...]:
        return tuple(dict.fromkeys(pair for model in self.offered for pair in model.pairs))

    async def load_all(self) -> None:
        """Load the models that fit into memory together, one after another."""
        for model in self._to_load:
            try:
                async with self.lease_any(model):
                    pass
            except (HarkError, Refusal) as error:
                self.problems[model.name] = str(error)
            else:
                self._waited.add(str(model.folder))

    @asynccontextmanager
    async def lease(self, model: InstalledModel) -> AsyncIterator[RunningModel]:
        """A running translator, see `lease_any`."""
        async with self.lease_any(model) as running:
            yield cast(RunningModel, running)

    @asynccontextmanager
    async def lease_any(self, model: InstalledModel) -> AsyncIterator[ModelThread]:
        """A running model, loaded if it is not yet. It is not evicted before it is released."""
        key = str(model.folder)
        self._leases[key] += 1
        try:
            yield await self.take(model)
        finally:
            self._leases[key] -= 1

    def is_loaded(self, model: InstalledModel) -> bool:
        """Whether a model can be leased without loading it."""
        running = self._running.get(str(model.folder))
        return running is not None and not running.failed

    async def take(self, model: InstalledModel) -> ModelThread:
        """Return a running model, loaded if it is not yet. Without a lease, it may be evicted at the next await."""
        key = str(model.folder)
        while True:
            if self._closing:
                raise Refusal(503, "the server is shutting down", RETRY_AFTER)
            running = self._running.get(key)
            if running is not None and not running.failed:
                self._running[key] = self._running.pop(key)  # now the most recently used
                return running
            loading = self._loading.get(key)
            if loading is None:
                loading = self._loading[key] = asyncio.create_task(self._load(key, model))
                loading.add_done_callback(lambda _: self._loading.pop(key, None))
            # A client that hangs up does not stop the loading, for which others may wait.
            await asyncio.shield(loading)

    async def close(self) -> None:
        """Finish what is open and unload everything."""
        self._closing = True
        for loading in list(self._loading.values()):
            await asyncio.wait([loading])
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(loop.run_in_executor(None, running.close) for running in self._running.values()))
        self._running.clear()
        self._loader.shutdown(wait=False)
        self._preparer.shutdown(wait=False)

    async def _load(self, key: str, model: InstalledModel) -> ModelThread:
        self._running.pop(key, None)  # one whose engine failed, and which has closed itself
        loop = asyncio.get_running_loop()
        leaving = self._make_room(model)
        self._reserved.add(key)
        try:
            if leaving:
                await loop.run_in_executor(self._loader, close_models, leaving)
                await loop.run_in_executor(self._loader, release_memory)
            running = await loop.run_in_executor(self._loader, self._opener, model, self._preparer)
        finally:
            self._reserved.discard(key)
        running.sharing = self._busy
        self._running[key] = running
        return running

    def _busy(self) -> int:
        """The number of models that are working. Their threads call this."""
        return sum(running.working for running in tuple(self._running.values()))

    def _make_room(self, model: InstalledModel) -> list[ModelThread]:
        """Remove the least recently used models until another one fits; return them, to be closed."""
        costs = {str(offered.folder): memory_of(offered) for offered in (*self.offered, *self.texts.values())}
        used = sum(costs[key] for key in {*self._running, *self._reserved})
        leaving: list[str] = []
        for key, running in self._running.items():
            if used + memory_of(model) <= self.memory:
                break
            if not running.open and not self._leases[key]:
                leaving.append(key)
                used -= costs[key]
        if used and used + memory_of(model) > self.memory:
            raise Refusal(503, f"no memory for {model.name} while other models are busy; try again", RETRY_AFTER)
        return [self._running.pop(key) for key in leaving]

    def _fitting(self) -> list[InstalledModel]:
        """The first models that fit into memory together, and at least one.

        Models of several pairs are loaded at first use, unless there are no others; those of one stack, if any model
        translates.
        """
        used, fitting = 0, list[InstalledModel]()
        bilingual = [model for model in self.offered if model.bilingual]
        for model in bilingual or self.offered or self.texts.values():
            used += memory_of(model)
            if used > self.memory and fitting:
                break
            fitting.append(model)
        return fitting


def without_shadowed(installed: Sequence[InstalledModel]) -> Iterator[InstalledModel]:
    """Leave out models without a direction of their own: an earlier one translates it."""
    known: set[LanguagePair] = set()
    for model in installed:
        if not model.problem and not known.issuperset(model.pairs):
            known.update(model.pairs)
            yield model


def close_models(leaving: list[ModelThread]) -> None:
    """Close models, and forget them: what refers to them keeps their memory."""
    while leaving:
        leaving.pop().close()


def release_memory() -> None:
    """Give the memory of closed models back to the system. Without this, Python and the C library keep most of it."""
    gc.collect()
    with suppress(OSError, AttributeError):  # only the GNU C library has it
        ctypes.CDLL(None).malloc_trim(0)


def memory_of(model: InstalledModel) -> int:
    """An estimate of the bytes of memory that a loaded model takes."""
    return 2 * model.size + OVERHEAD


def open_model(model: InstalledModel, preparer: Executor, threads: int | None = None) -> ModelThread:
    """Load a model and what its first translation needs, so that none has to wait for it."""
    if not model.pairs:
        return open_text_model(model, threads)
    loaded = Loaded(model.folder, threads=threads)
    for pair in loaded.facts.pairs:
        loaded.phrases(*pair)
    load_detector()
    return RunningModel(model.name, loaded, preparer, threads)


class ModelChoice:
    """Chooses among the models of a shelf."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    def fitting(self, source: str | None, target: str, formality: Formality | None = None) -> list[InstalledModel]:
        """The models for these languages, with their matching pairs; a refusal if there are none. Those that can be
        asked for a form of address go first if one is required."""
        try:
            return models.choose(source, target, self._offered(source, target, formality))
        except UserError:
            pass
        for side, code in enumerate((source, target)):
            if code is not None and not any(models.matches(code, pair[side]) for pair in self._shelf.pairs()):
                raise Refusal(400, f"{code} is not supported")
        raise Refusal(400, f"{source} to {target} is not supported")

    def _offered(self, source: str | None, target: str, formality: Formality | None) -> Sequence[InstalledModel]:
        offered = self._shelf.offered
        return models.prefer_formal(source, target, offered) if formality in ("formal", "informal") else offered

    async def choose(
        self,
        text: str,
        source: str | None,
        target: str,
        written_in: str | None = None,
        formality: Formality | None = None,
    ) -> Choice:
        """Choose a model for a text, see `hark.translate.choice`; the codes of the languages are the model's."""
        fitting = self.fitting(source, target, formality)
        if source is not None or written_in is not None:
            return Choice(fitting[0], *fitting[0].pairs[0], written_in)
        refused: list[Refusal] = []
        try:
            found = await self._resolve(choose(text, source, target, self._offered(source, target, formality)), refused)
        except UndetectedError as error:
            if refused:  # the models could tell
                raise refused[0] from error
            raise Refusal(400, f"{error.problem}; set the source language") from error
        one, other = found.model.pairs[0]
        return replace(found, source=one if found.source is not None else None, target=other)

    async def detect(self, text: str) -> FoundLanguage:
        """The language of a text, whatever it is to be translated to."""
        return await self._resolve(find_language(text[:GLANCE], None, self._shelf.offered, self._shelf.offered), [])

    async def _resolve(self, inquiry: Inquiry[Result], refused: list[Refusal]) -> Result:
        """Run an inquiry to its end. A model that cannot be loaded gives no answer; why goes to `refused`."""
        try:
            questions = next(inquiry)
            while True:
                questions = inquiry.send(await gather([self._ask(question, refused) for question in questions]))
        except StopIteration as end:
            result: Result = end.value
            return result

    async def _ask(self, question: Question, refused: list[Refusal]) -> Answer:
        async with AsyncExitStack() as leases:
            try:
                running = await leases.enter_async_context(self._shelf.lease(question.model))
            except Refusal as refusal:  # no memory for it
                refused.append(refusal)
                return None
            except HarkError:  # it is damaged
                return None
            if isinstance(question, Draft):
                search = running.loaded.config.decode
                options = Options(search, target=question.target, urgent=True, detect=False, tidy=False)
                return (await answer(running.submit(question.text, options))).text
            pairs = [(question.text, question.translation)]
            [nll] = await answer(running.nll(pairs, question.pair, urgent=True))
            return nll and nll.mean


async def answer(future: "Future[Result]") -> Result:
    """Wait for a future of a running model; its errors become refusals. Cancelling the wait cancels the future."""
    try:
        return await asyncio.wrap_future(future)
    except UserError as error:
        raise Refusal(400, str(error)) from error
    except EngineError as error:
        raise Refusal(500, "the engine failed; the request is not at fault and may be sent again", 1) from error
    except HarkError as error:
        raise Refusal(500, str(error)) from error


async def gather(coroutines: Sequence[Coroutine[Any, Any, Result]]) -> list[Result]:
    """Wait for all; if one fails, cancel the others and raise its error."""
    if len(coroutines) == 1:
        return [await coroutines[0]]
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        raise
