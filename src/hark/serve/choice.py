"""The choice of a model for the languages of a text, with the source language detected."""

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any, TypeVar

from hark import models
from hark.engine.interface import EngineError
from hark.errors import HarkError, UserError
from hark.models import InstalledModel
from hark.serve.bodies import Refusal
from hark.serve.shelf import Shelf
from hark.text.address import Formality
from hark.text.detector import GLANCE
from hark.translate.choice import Choice, UndetectedError, choose
from hark.translate.languages import Answer, Draft, FoundLanguage, Inquiry, Question, find_language
from hark.translate.piece import Options

Result = TypeVar("Result")


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
        if written_in is not None:
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
