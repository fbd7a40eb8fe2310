"""A second look at translations by the model of the reverse direction, if the server has it loaded."""

from contextlib import suppress

from hark.decode.piece import Options
from hark.decode.translation import Translation
from hark.serve.choice import answer
from hark.serve.refusal import Refusal
from hark.serve.running import RunningModel
from hark.serve.shelf import Shelf


async def check(translation: Translation, options: Options, running: RunningModel, shelf: Shelf) -> Translation:
    """Return a translation with warnings at the sentences that the reverse model does not recognise."""
    look = running.loaded.translator.second_look(options)
    pairs = look.uncertain([translation])
    source, target = running.loaded.languages.of(options)
    reverse = find_reverse(running, options, shelf) if pairs else None
    if reverse is not None:
        with suppress(Refusal):  # the translation is as good as without a second look
            found = await answer(reverse.surprise(tuple(pairs.values()), (target, source), options.urgent))
            [translation] = look.flag([translation], dict(zip(pairs, found, strict=True)))
    return translation


def find_reverse(running: RunningModel, options: Options, shelf: Shelf) -> RunningModel | None:
    """The loaded model of the reverse direction: none is loaded, or evicted, for a second look."""
    languages = running.loaded.languages
    source, target = languages.of(options)
    if languages.several:
        known = options.source is not None and source in languages.scheme.sources_of(target)
        return running if known else None
    wanted = ((target, source),)
    return next((each for each in shelf.running if not each.failed and each.loaded.facts.pairs == wanted), None)
