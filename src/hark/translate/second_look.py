"""A second look at translations: would the model of the reverse direction translate them back?

A model can be sure of a wrong translation. That of the reverse direction read the other side of the text, and rarely
makes the same mistake: it finds the source unlikely. docs/trust.md has the measurements behind the limits.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from hark.translate.faults import Reason
from hark.translate.faults import in_order as order_reasons
from hark.translate.translation import Flag, Sentence, Translation, in_order

DOUBT = 0.3
"""Minimum doubt, in nats per token, of a sentence that is looked at again. It is nearly always right below."""
MAX_NLL = 2.0
"""Nats per token above which the reverse model does not recognise the source."""
MAX_CHARS = 300
"""Longer sentences are not looked at: they are rarely wrong as a whole."""
SETTLED: frozenset[Flag] = frozenset(
    {"copied", "phrase", "untranslated", "language", "unsure", "tidied", "recased", "repaired"}
)
"""Flags of sentences that were not plainly translated, or that have this warning already."""

Place = tuple[int, int]
"""The index of a translation, and of a sentence in it."""


class SecondLook:
    """Chooses the sentences that the reverse model should check, and flags those that it does not recognise."""

    def __init__(self, alpha: float, has_items: Callable[[str], bool]) -> None:
        """`alpha`: the length penalty of the search; `has_items`: whether a sentence has items that models never see,
        such as addresses and code, on which the reverse model has no say."""
        self._alpha, self._has_items = alpha, has_items

    def uncertain(self, translations: Sequence[Translation]) -> dict[Place, tuple[str, str]]:
        """Return the sentences to check, each as the pair that the reverse model scores: translation and source."""
        return {
            (place, number): (sentence.text, sentence.source)
            for place, translation in enumerate(translations)
            for number, sentence in enumerate(translation.sentences)
            if self._is_uncertain(sentence)
        }

    def flag(self, translations: Sequence[Translation], nlls: Mapping[Place, float | None]) -> list[Translation]:
        """Return the translations with a warning at each sentence whose source the reverse model finds unlikely.

        `nlls` are in nats per token of the source; None: not measured.
        """
        flagged = list(translations)
        for (place, number), nll in nlls.items():
            if nll is not None and nll > MAX_NLL:
                sentences = list(flagged[place].sentences)
                sentences[number] = warn(sentences[number], nll)
                flagged[place] = replace(flagged[place], sentences=tuple(sentences))
        return flagged

    def _is_uncertain(self, sentence: Sentence) -> bool:
        if len(sentence.source) > MAX_CHARS or not SETTLED.isdisjoint(sentence.flags):
            return False
        doubt = sentence.doubt(self._alpha)
        # Any model finds carelessly typed text unlikely, however well it is translated.
        careless = sentence.source[:1].islower()
        return doubt is not None and doubt > DOUBT and not careless and not self._has_items(sentence.source)


def warn(sentence: Sentence, nll: float) -> Sentence:
    reason = Reason("unsure", f"reverse model {math.exp(-nll):.0%}")
    return replace(
        sentence,
        flags=in_order({*sentence.flags, "unsure"}),
        reasons=order_reasons((*sentence.reasons, reason)),
    )
