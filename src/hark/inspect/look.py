"""From a model and a sentence to the page: record, measure, render."""

from collections.abc import Callable
from itertools import count
from typing import Any

from hark.decode.coder import Coder
from hark.decode.load import Loaded
from hark.errors import UserError
from hark.inspect.effects import count_measurements, measure
from hark.inspect.page import Page, render
from hark.inspect.presets import PRESETS, PresetName, find_heads, sentence_of
from hark.inspect.recording import Recording, record

CHANGES = 6
"""Heads, and words, of which the translation without them is searched for."""
SEARCHED_TOKENS = 500
"""Of a long translation fewer: so many tokens are searched for again, or one translation at least."""


def look_inside(
    loaded: Loaded,
    text: str | None = None,
    preset: PresetName | None = None,
    changes: int | None = None,
    tell: Callable[[str], object] = lambda _: None,
    **search: Any,
) -> tuple[Page, Recording]:
    """The page of one sentence, or of a preset, and what it shows.

    `changes` says of how many heads, and of how many words, to find what is translated without them: by default of a
    few; with 0 nothing is measured at all. `tell` is told what is being done.
    """
    if (text is None) == (preset is None):
        raise UserError("give a sentence to look at, or a preset, which has its own")
    if text is None:
        assert preset is not None  # one of the two is there
        text = sentence_of(preset, loaded.config.data.source)
    model = loaded.model
    tell("translating")
    recording = record(loaded, text, **search)
    effects = None
    if changes is None:
        changes = min(CHANGES, max(1, SEARCHED_TOKENS // len(recording.written_ids)))
    if changes:
        coder = Coder(loaded.source_vocabulary, loaded.target_vocabulary)
        effects = measure(
            model, recording, coder.decode, changes, counting(tell, count_measurements(recording, changes))
        )
    shown = (PRESETS[preset], find_heads(recording, PRESETS[preset])) if preset else None
    return render(recording, loaded.target_vocabulary, effects, shown), recording


def counting(tell: Callable[[str], object], total: int) -> Callable[[], object]:
    """To be called after each of so many measurements."""
    done = count(1)
    tell(f"measuring 0 of {total}")
    return lambda: tell(f"measuring {next(done)} of {total}")
