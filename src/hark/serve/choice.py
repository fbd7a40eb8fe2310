"""The choice of a model for the languages of a text, with the source language detected."""

import asyncio
import math
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, TypeVar

from hark import models
from hark.decode.engine import EngineError
from hark.decode.piece import Options
from hark.decode.source_language import (
    CHECKED,
    SHORT,
    back_languages,
    detect_other,
    detect_source,
    doubt_of,
    doubt_per_token,
    likely_other,
)
from hark.errors import HarkError, UserError
from hark.models import InstalledModel
from hark.serve.refusal import Refusal
from hark.serve.shelf import Shelf

Result = TypeVar("Result")


class ModelChoice:
    """Chooses among the models of a shelf."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    def fitting(self, source: str | None, target: str) -> list[InstalledModel]:
        """The models for these languages, with their matching pairs; a refusal if there are none."""
        try:
            return models.choose(source, target, self._shelf.offered)
        except UserError:
            pass
        for code, side in ((source, 0), (target, 1)):
            if code is not None and not any(models.matches(code, pair[side]) for pair in self._shelf.pairs()):
                raise Refusal(400, f"{code} is not supported")
        raise Refusal(400, f"{source} to {target} is not supported")

    async def choose(self, text: str, source: str | None, target: str) -> tuple[InstalledModel, str | None, str]:
        """Return the model for a text and its codes of the languages; a source of None is detected by the model.

        Models of one pair come before those of several.
        """
        fitting = self.fitting(source, target)
        first = fitting[0]
        sources = {pair[0] for each in fitting for pair in each.pairs}
        if source is not None or len(sources) == 1:
            return first, *first.pairs[0]
        if models.has_all(first, sources):
            return first, None, first.pairs[0][1]
        guess = await self._find_source(text, fitting)
        if guess is not None:
            chosen = models.choose(guess, target, fitting)[0]
            return chosen, *chosen.pairs[0]
        known = models.preferred_sources(fitting)
        general = next((each for each in fitting if models.has_all(each, known)), None)
        if general is None:
            raise Refusal(400, f"cannot detect the language ({' or '.join(sorted(known))}); set the source language")
        return general, None, general.pairs[0][1]

    async def _find_source(self, text: str, fitting: Sequence[InstalledModel]) -> str | None:
        """The language of a text among the sources of these models; None: unknown. As `find_source` of the command."""
        pairs = [pair for each in fitting for pair in each.pairs]
        preferred = models.preferred_sources(fitting)
        known = preferred | {target for _, target in pairs}
        other = detect_other(text, known, {source for source, _ in pairs} - known)
        if other is not None and other.clear:
            return other.code
        guess = detect_source(text, preferred) if len(preferred) > 1 else min(preferred)
        if guess is None and len(text.strip()) <= SHORT:
            guess = await self._try_models(text.strip(), preferred, fitting)
        if guess is not None and other is not None:
            return await self._check_other(text, other.code, known, pairs[0][1]) or guess
        return guess

    async def detect(self, text: str) -> str | None:
        """The language of a text that the detector takes for one that no model of one pair has, without being sure.

        None: the detector may be right.
        """
        pairs = self._shelf.pairs()
        preferred = models.preferred_sources(self._shelf.offered)
        known = {code for each in self._shelf.offered if each.bilingual for code in each.pairs[0]} or preferred
        other = detect_other(text, known, {source for source, _ in pairs} - known)
        if other is None or other.clear:
            return None
        guess = detect_source(text, preferred)
        if guess is None and len(text.strip()) <= SHORT:
            guess = await self._try_models(text.strip(), preferred, self._shelf.offered)
        if guess is None:
            return None
        target = next(target for source, target in pairs if source == guess)
        return await self._check_other(text, other.code, known, target) or guess

    async def _check_other(self, text: str, other: str, preferred: set[str], target: str) -> str | None:
        """The language of a text if a model of several pairs finds none of the preferred ones; see `check_other`."""
        general = next((each for each in self._shelf.offered if (other, target) in each.pairs), None)
        if general is None:
            return None
        async with AsyncExitStack() as leases:
            try:
                running = await leases.enter_async_context(self._shelf.lease(general))
            except (HarkError, Refusal):  # no memory for it, or damaged: what the preferred models say stands
                return None
            beginning = text.strip()[:CHECKED]
            search = running.loaded.config.decode
            options = Options(search, target=target, urgent=True, detect=False, tidy=False)
            translation = (await answer(running.submit(beginning, options))).text
            codes = back_languages(running.loaded, target)
            pair = [(translation, beginning)]
            found = await gather([answer(running.surprise(pair, (target, code), urgent=True)) for code in codes])
        return likely_other(
            {code: math.inf if each is None else each for code, (each,) in zip(codes, found, strict=True)}, preferred
        )

    async def _try_models(self, text: str, preferred: set[str], fitting: Sequence[InstalledModel]) -> str | None:
        """The source language whose model translates a short text most confidently, as `choose_source` does."""
        candidates = {each.pairs[0][0]: each for each in reversed(fitting) if each.bilingual}
        if not preferred <= candidates.keys():
            return None
        doubts = await gather([self._doubt(text, each) for each in candidates.values()])
        return min(zip(doubts, candidates, strict=True))[1]

    async def _doubt(self, text: str, model: InstalledModel) -> float:
        async with self._shelf.lease(model) as running:
            options = Options(running.loaded.config.decode, urgent=True, detect=False, tidy=False)
            translation = (await answer(running.submit(text, options))).text
            doubt = await answer(running.call(partial(doubt_of, text=text, translation=translation)))
        (pair,) = model.pairs
        for back in self._shelf.offered:
            if back.pairs == (pair[::-1],):
                back_doubt = partial(doubt_per_token, source=translation, translation=text)
                async with self._shelf.lease(back) as reverse:
                    doubt += await answer(reverse.call(back_doubt))
                break
        return doubt


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
    tasks = [asyncio.ensure_future(each) for each in coroutines]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        raise
