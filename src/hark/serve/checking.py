"""A second look at translations by the model of the reverse direction, if the server has it loaded."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from hark.serve.choice import answer
from hark.serve.refusal import Refusal
from hark.serve.running import RunningModel
from hark.serve.shelf import Shelf
from hark.translate.piece import Options
from hark.translate.translation import Translation


async def check(translation: Translation, options: Options, running: RunningModel, shelf: Shelf) -> Translation:
    """Return a translation with warnings at the sentences that the reverse model does not recognise."""
    look = running.loaded.translator.second_look(options)
    pairs = look.uncertain([translation])
    source, target = running.loaded.languages.of(options)
    if not pairs:
        return translation
    async with lease_reverse(running, options, shelf) as reverse:
        if reverse is not None:
            with suppress(Refusal):  # the translation is as good as without a second look
                found = await answer(reverse.surprise(tuple(pairs.values()), (target, source), options.urgent))
                [translation] = look.flag([translation], dict(zip(pairs, found, strict=True)))
    return translation


@asynccontextmanager
async def lease_reverse(running: RunningModel, options: Options, shelf: Shelf) -> AsyncIterator[RunningModel | None]:
    """The loaded model of the reverse direction: none is loaded, or evicted, for a second look."""
    languages = running.loaded.languages
    source, target = languages.of(options)
    if languages.several and options.source is None:
        yield None
        return
    if languages.several and target in languages.scheme.sources_of(source):
        yield running
        return
    reverse = [each for each in shelf.offered if (target, source) in each.pairs and shelf.is_loaded(each)]
    reverse.sort(key=lambda each: len(each.pairs) > 1)
    if not reverse:
        yield None
        return
    async with shelf.lease(reverse[0]) as model:
        yield model
