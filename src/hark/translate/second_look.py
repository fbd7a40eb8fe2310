"""A second look at translations: would the model of the reverse direction translate them back?

A model can be sure of a wrong translation. The reverse direction rarely makes the same mistake: given the translation,
it finds some words of the source unlikely. These few tell more than the mean of all, and much more than how sure the
model was itself; so this look decides where it is possible. docs/trust.md has the measurements behind the limits.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from heapq import nlargest
from statistics import fmean
from typing import NamedTuple

from hark.translate.faults import Reason
from hark.translate.faults import in_order as order_reasons
from hark.translate.translation import Flag, Sentence, Translation, in_order

DOUBT = 0.3
"""Minimum doubt, in nats per token, of a sentence that is looked at again. It is nearly always right below."""
MAX_WORST_NLL = 4.0
"""Mean nats of the three least likely tokens above which the reverse model does not recognise the source."""
MAX_CHARS = 300
"""Longer sentences are not looked at: they are rarely wrong as a whole."""
SETTLED: frozenset[Flag] = frozenset({"copied", "phrase", "untranslated", "language", "tidied", "recased", "repaired"})
"""Flags of sentences that were not plainly translated."""

Place = tuple[int, int]
"""The index of a translation, and of a sentence in it."""


class NLL(NamedTuple):
    """How unlikely a translation is, EOS included, in nats."""

    mean: float
    worst: float
    """The mean of the three least likely tokens."""

    @classmethod
    def of_tokens(cls, log_probs: Sequence[float]) -> "NLL":
        nats = [-log_prob for log_prob in log_probs]
        return cls(fmean(nats), fmean(nlargest(3, nats)))


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

    def flag(self, translations: Sequence[Translation], nlls: Mapping[Place, NLL | None]) -> list[Translation]:
        """Return the translations with the warning `unsure` at each sentence whose source the reverse model finds
        unlikely, and at no other that it has seen. None: not measured."""
        flagged = list(translations)
        for (place, number), nll in nlls.items():
            if nll is not None:
                sentences = list(flagged[place].sentences)
                sentences[number] = judge(sentences[number], nll)
                flagged[place] = replace(flagged[place], sentences=tuple(sentences))
        return flagged

    def _is_uncertain(self, sentence: Sentence) -> bool:
        if len(sentence.source) > MAX_CHARS or not SETTLED.isdisjoint(sentence.flags):
            return False
        doubt = sentence.doubt(self._alpha)
        # Any model finds carelessly typed text unlikely, however well it is translated.
        careless = sentence.source[:1].islower()
        return doubt is not None and doubt > DOUBT and not careless and not self._has_items(sentence.source)


def judge(sentence: Sentence, nll: NLL) -> Sentence:
    flags, reasons = {*sentence.flags} - {"unsure"}, [each for each in sentence.reasons if each.flag != "unsure"]
    if nll.worst > MAX_WORST_NLL:
        flags.add("unsure")
        probability = max(math.exp(-nll.worst), 0.001)
        reasons.append(Reason("unsure", f"reverse model {probability:.1%}"))
    return replace(sentence, flags=in_order(flags), reasons=order_reasons(reasons))
