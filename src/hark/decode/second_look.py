"""A second look at translations: would the model of the reverse direction translate them back?

A model can be sure of a wrong translation. That of the reverse direction read the other side of the text, and rarely
makes the same mistake: it finds the source unlikely. docs/trust.md has the measurements behind the limits.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from hark.decode.reasons import Reason
from hark.decode.reasons import in_order as order_reasons
from hark.decode.request import length_penalty
from hark.decode.translation import Flag, Sentence, Translation, in_order

DOUBT = 0.3
"""Minimum doubt, in nats per token, of a sentence that is looked at again. It is nearly always right below."""
SURPRISE = 2.0
"""Nats per token above which the reverse model does not recognise the source."""
LONGEST = 300
"""Maximum length in characters of a sentence that is looked at. Longer ones are rarely wrong as a whole."""
SETTLED: frozenset[Flag] = frozenset(
    {"copied", "phrase", "untranslated", "language", "unsure", "tidied", "recased", "repaired"}
)
"""Flags of sentences that were not plainly translated, or that have this warning already."""

Surprise = Callable[[Sequence[tuple[str, str]]], Iterable[float | None]]
"""Measures pairs of a translation and its source with the reverse model: nats per token of the source, or None."""


class SecondLook:
    """Flags sentences whose source is unlikely given the translation."""

    def __init__(self, surprise: Surprise, alpha: float, has_items: Callable[[str], bool]) -> None:
        """`alpha`: the length penalty of the search; `has_items`: whether a sentence has items that models never see,
        such as addresses and code, on which the reverse model has no say."""
        self._surprise, self._alpha, self._has_items = surprise, alpha, has_items

    def review(self, translations: Sequence[Translation]) -> list[Translation]:
        """Return the translations with the flags that a second look adds."""
        looked_at = [
            (place, number)
            for place, translation in enumerate(translations)
            for number, sentence in enumerate(translation.sentences)
            if self._is_doubtful(sentence)
        ]
        if not looked_at:
            return list(translations)
        chosen = [translations[place].sentences[number] for place, number in looked_at]
        found = self._surprise([(each.text, each.source) for each in chosen])
        reviewed = list(translations)
        for (place, number), sentence, surprise in zip(looked_at, chosen, found, strict=True):
            if surprise is not None and surprise > SURPRISE:
                sentences = list(reviewed[place].sentences)
                sentences[number] = flagged(sentence, surprise)
                reviewed[place] = replace(reviewed[place], sentences=tuple(sentences))
        return reviewed

    def _is_doubtful(self, sentence: Sentence) -> bool:
        if sentence.score is None or len(sentence.source) > LONGEST or not SETTLED.isdisjoint(sentence.flags):
            return False
        doubt = -sentence.score * length_penalty(sentence.tokens, self._alpha) / sentence.tokens
        # Any model finds carelessly typed text unlikely, however well it is translated.
        careless = sentence.source[:1].islower()
        return doubt > DOUBT and not careless and not self._has_items(sentence.source)


def flagged(sentence: Sentence, surprise: float) -> Sentence:
    reason = Reason("unsure", f"reverse model {math.exp(-surprise):.0%}")
    return replace(
        sentence,
        flags=in_order({*sentence.flags, "unsure"}),
        reasons=order_reasons((*sentence.reasons, reason)),
    )
