"""Builds the look page of one sentence or text: record, measure effects, render."""

from collections.abc import Callable
from itertools import count
from typing import Any

from hark.errors import UserError
from hark.inspect.effects import Decode, Effects, count_measurements, count_text_measurements, measure, measure_text
from hark.inspect.page import Page, render
from hark.inspect.presets import LANGUAGE, PRESETS, PresetName, find_heads, sentence_of
from hark.inspect.reading import TextModel, TextReading, read_text
from hark.inspect.recording import Recording, record
from hark.inspect.text_to_text import TextToText, record_output
from hark.model import Transformer
from hark.text.vocabulary import Coder
from hark.translate.load import Loaded

CHANGES = 6
"""Number of heads, and of words, to remove for a new translation."""
SEARCHED_TOKENS = 500
"""For long translations there are fewer: about this many tokens are decoded again, but at least one translation."""


def look_inside(
    loaded: Loaded,
    text: str | None = None,
    preset: PresetName | None = None,
    changes: int | None = None,
    report: Callable[[str], object] = lambda _: None,
    source: str | None = None,
    target: str | None = None,
    **search: Any,
) -> tuple[Page, Recording]:
    """Return the page of one sentence, or of a preset, and the recording that it shows.

    `changes` is the number of heads, and of words, to translate again without: by default a few; with 0 no effects are
    measured. `report` is called with progress messages. `source` and `target` are languages, for models of several
    pairs.
    """
    if (text is None) == (preset is None):
        raise UserError("give either a sentence or a preset")
    if text is None:
        assert preset is not None
        source = source or LANGUAGE if loaded.languages.several else loaded.config.data.source
        text = sentence_of(preset, source)
    recording, effects = look_at(loaded, text, changes, source, target, report, **search)
    shown = (PRESETS[preset], find_heads(recording, PRESETS[preset])) if preset else None
    return render(recording, loaded.target_vocabulary, effects, shown), recording


def look_at_text(
    loaded: TextModel,
    text: str,
    max_tokens: int = 0,
    quick: bool = False,
    report: Callable[[str], object] = lambda _: None,
) -> tuple[Page, TextReading]:
    """Return the page of a text that a model of one stack reads, and the recording that it shows.

    `max_tokens`: how far a decoder continues the text first; `quick`: no effects are measured.
    """
    report("reading")
    reading = read_text(loaded, text, max_tokens)
    effects = None
    if reading.rows and not quick:
        effects = measure_text(loaded.model, reading, count_progress(report, count_text_measurements(reading)))
    return render(reading, loaded.vocabulary, effects), reading


def look_at_output(
    loaded: TextToText,
    text: str,
    output: str | None = None,
    changes: int | None = None,
    max_tokens: int | None = None,
    report: Callable[[str], object] = lambda _: None,
    **search: Any,
) -> tuple[Page, Recording]:
    """Return the page of what a text-to-text model makes of a text, or of an output that is given, and the recording.

    `changes` is the number of heads, and of words, to generate again without, as for a translation; an output that is
    given is only measured. `max_tokens`: how much to generate at most.
    """
    if output is not None and (given := [*["changes"][: bool(changes)], *["max_tokens"][: bool(max_tokens)], *search]):
        raise UserError(f"the output is given, so nothing is generated; leave out {', '.join(given)}")
    report("reading" if output is not None else "generating")
    recording = record_output(loaded, text, output, max_tokens, **search)
    effects = measured(loaded.model, recording, loaded.decode, changes, report)
    return render(recording, loaded.target_vocabulary, effects), recording


def look_at(
    loaded: Loaded,
    text: str,
    changes: int | None = None,
    source: str | None = None,
    target: str | None = None,
    report: Callable[[str], object] = lambda _: None,
    **search: Any,
) -> tuple[Recording, Effects | None]:
    """Record the translation of a sentence, and measure the effects of heads and words; see `look_inside`."""
    report("translating")
    recording = record(loaded, text, source, target, **search)
    coder = Coder(loaded.source_vocabulary, loaded.target_vocabulary)
    return recording, measured(loaded.model, recording, coder.decode, changes, report)


def measured(
    model: Transformer, recording: Recording, decode: Decode, changes: int | None, report: Callable[[str], object]
) -> Effects | None:
    """Measure the effects of heads and words; None if there are to be no changes."""
    if changes == 0:
        return None
    if recording.search is None:
        changes = 0
    elif changes is None:
        changes = min(CHANGES, max(1, SEARCHED_TOKENS // len(recording.written_ids)))
    return measure(model, recording, decode, changes, count_progress(report, count_measurements(recording, changes)))


def count_progress(report: Callable[[str], object], total: int) -> Callable[[], object]:
    """Return a function to call after each of `total` measurements, which reports the progress."""
    done = count(1)
    report(f"measuring 0 of {total}")
    return lambda: report(f"measuring {next(done)} of {total}")
