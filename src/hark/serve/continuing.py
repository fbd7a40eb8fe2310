"""Work of models of one stack for clients: the choice of a model, places in the queue, texts as they are generated."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from hark.models import InstalledModel
from hark.serve.running import ModelThread
from hark.serve.service import Service
from hark.serve.shelf import answer
from hark.serve.texts import Completion, Embedded, RunningEncoder, RunningGenerator
from hark.tasks.generate import GenerateOptions

Running = TypeVar("Running", bound=ModelThread)


@dataclass(frozen=True)
class PromptJob:
    """A request to continue prompts."""

    prompts: tuple[str, ...]
    samples: tuple[GenerateOptions, ...]
    """The options of each of the texts that continue a prompt."""
    alternatives: int | None = None
    """How many tokens to find in place of each; None: nothing is told of tokens."""
    echo: bool = False
    """Whether the answer begins with the prompt."""
    scores_only: bool = False
    """Whether nothing continues the prompts."""
    stream: bool = False
    urgent: bool = True

    @property
    def characters(self) -> int:
        return sum(map(len, self.prompts)) * len(self.samples)

    @property
    def scores_prompts(self) -> bool:
        """Whether the tokens of the prompts are told of, too."""
        return self.echo and self.alternatives is not None


@dataclass(frozen=True)
class EmbeddingJob:
    """A request to turn texts into vectors."""

    texts: tuple[str, ...]
    urgent: bool = True

    @property
    def characters(self) -> int:
        return sum(map(len, self.texts))


async def continue_prompts(
    service: Service, model: InstalledModel, asked: PromptJob
) -> AsyncGenerator[tuple[int, str | Completion], None]:
    """Yield texts as they are completed, and with `stream` their pieces before, each with its number: those of one
    prompt follow each other. Closing the iterator cancels the rest."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Queue[tuple[int, str | Future[Completion]]] = asyncio.Queue()

    def report(number: int, what: "str | Future[Completion]") -> None:
        with suppress(RuntimeError):  # the server has stopped
            loop.call_soon_threadsafe(ready.put_nowait, (number, what))

    with service.working(asked):
        async with lease(service, model, RunningGenerator) as running:
            futures = []
            try:
                for number, (prompt, options) in enumerate((p, o) for p in asked.prompts for o in asked.samples):
                    futures.append(submit(running, asked, prompt, options, partial(report, number)))
                    futures[-1].add_done_callback(partial(report, number))
                left = len(futures)
                while left:
                    number, what = await ready.get()
                    if isinstance(what, str):
                        yield number, what
                    else:
                        left -= 1
                        done = await answer(what)
                        service.counts.generated += done.tokens
                        yield number, done
            finally:
                for future in futures:
                    future.cancel()


def submit(
    running: RunningGenerator,
    asked: PromptJob,
    prompt: str,
    options: GenerateOptions,
    on_piece: Callable[[str], object],
) -> Future[Completion]:
    if asked.scores_only:
        return running.score(prompt, asked.alternatives)
    return running.submit(prompt, options, asked.alternatives, on_piece if asked.stream else None, asked.scores_prompts)


async def embed(service: Service, model: InstalledModel, asked: EmbeddingJob) -> Embedded:
    with service.working(asked):
        async with lease(service, model, RunningEncoder) as running:
            embedded = await answer(running.embed(asked.texts))
    service.counts.embedded += len(asked.texts)
    return embedded


@asynccontextmanager
async def lease(service: Service, model: InstalledModel, kind: type[Running]) -> AsyncIterator[Running]:
    """A running model of a kind that the caller has made sure of."""
    async with service.shelf.lease_any(model) as running:
        assert isinstance(running, kind)
        yield running
