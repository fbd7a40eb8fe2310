"""A second look at translations: would the model of the reverse direction translate them back?

A model can be sure of a wrong translation. The reverse direction rarely makes the same mistake: given the translation,
it finds some words of the source unlikely. These few tell more than the mean of all, and much more than how sure the
model was itself; so this look decides where it is possible. A model of both directions looks while it translates
(`look_again`); where it does not recognise the source at all, it searches with a wider beam and chooses the translation
that both directions find likely. For other models, `SecondLook` flags finished translations. docs/trust.md has the
measurements behind the limits.
"""

import math
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import nlargest
from statistics import fmean
from typing import NamedTuple

from hark.config import WIDEST
from hark.engine.interface import Engine, Hypotheses, Request, ScoreRequest, TokenPair
from hark.facts import LanguagePair
from hark.text.address import Address
from hark.text.vocabulary import Coder
from hark.translate.attempts import Attempt
from hark.translate.readings import Candidate, all_candidates
from hark.translate.translation import Flag, Reason, Sentence, Translation, in_order, order_flags

DOUBT = 0.3
"""Minimum doubt, in nats per token, of a sentence that is looked at again. It is nearly always right below."""
MAX_WORST_NLL = 4.0
"""Mean nats of the three least likely tokens above which the reverse model does not recognise the source."""
SEARCH_NLL = 6.0
"""The same mean, above which another translation is searched for."""
SEARCH_CHARS = 120
"""Only for sentences of at most this length: they gain nearly all, and longer ones cost most."""
REVERSE_WEIGHT = 0.3
"""How much the reverse direction counts in the choice among translations, beside the direction itself."""
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


def measure(engine: Engine, pairs: Iterable[TokenPair]) -> list[NLL | None]:
    """How unlikely an engine finds each translation, given its source; None: the pair is too long for the model."""
    known = list(pairs)
    fitting = [engine.fits(*pair) for pair in known]
    found = map(NLL.of_tokens, engine.score(pair for pair, fits in zip(known, fitting, strict=True) if fits))
    return [next(found) if fits else None for fits in fitting]


def is_uncertain(source: str, flags: Collection[Flag], doubt: float | None) -> bool:
    """Whether to look at a translation again."""
    if len(source) > MAX_CHARS or not SETTLED.isdisjoint(flags):
        return False
    # Any model finds carelessly typed text unlikely, however well it is translated.
    careless = source[:1].islower()
    return doubt is not None and doubt > DOUBT and not careless


def judge(flags: Collection[Flag], reasons: Sequence[Reason], nll: NLL) -> tuple[set[Flag], list[Reason]]:
    """Return flags and reasons with the warning `unsure` if the source is unlikely, given the translation, and without
    it if not."""
    kept, others = {*flags} - {"unsure"}, [each for each in reasons if each.flag != "unsure"]
    if nll.worst > MAX_WORST_NLL:
        kept.add("unsure")
        probability = max(math.exp(-nll.worst), 0.001)
        others.append(Reason("unsure", f"reverse model {probability:.1%}"))
    return kept, others


def look_again(
    text: str, best: Candidate, coder: Coder, wanted: tuple[bool, str | None, str | None, Address | None],
    languages: tuple[str, str], protect: bool,
) -> Generator[Sequence[Request], Sequence[Hypotheses], tuple[Candidate, NLL | None]]:  # fmt: skip
    """Return the translation that both directions of the model find likely, and how unlikely it makes the source.

    That is the best one, or, if the source is far from recognised in it, one that a wider beam finds. `wanted`: whether
    the alignment is, and target, source and form of address as the model is told them.
    """
    (nll,) = yield from read_back(text, [best.text], coder, languages)
    search = best.attempt.search
    searches = not search.sample and search.beam > 1 and len(best.attempt.queries) == 1 and len(text) <= SEARCH_CHARS
    if nll is None or nll.worst <= SEARCH_NLL or not searches:
        return best, nll
    wider = replace(search, beam=min(2 * search.beam, WIDEST), nbest=search.beam, diverse=False)
    attempt = Attempt(best.attempt.parts, wider)
    requests = attempt.requests(coder, *wanted)
    answers = yield requests
    others = all_candidates(attempt, requests, answers, coder, languages if protect else None)
    others = [each for each in others if each.rank[:-1] <= best.rank[:-1] and each.text != best.text]
    nlls = yield from read_back(text, [each.text for each in others], coder, languages)
    found = [(best, nll), *((each, other) for each, other in zip(others, nlls, strict=True) if other is not None)]
    return min(found, key=lambda each: each[0].doubt + REVERSE_WEIGHT * each[1].mean)


def read_back(
    text: str, translations: Sequence[str], coder: Coder, languages: tuple[str, str]
) -> Generator[Sequence[Request], Sequence[Hypotheses], list[NLL | None]]:
    """How unlikely the reverse direction finds a text, given each of its translations; None: too long for it."""
    source, target = languages
    pairs = (coder.pair_ids(each, text, target, source) for each in translations)
    answers = yield [ScoreRequest(ids, translation=tokens) for ids, tokens in pairs]
    return [NLL.of_tokens(answer[0].log_probs) if answer else None for answer in answers]


class SecondLook:
    """Chooses the sentences that another model should check, and flags those that it does not recognise."""

    def __init__(self, alpha: float, has_unseen: Callable[[str], bool]) -> None:
        """`alpha`: the length penalty of the search; `has_unseen`: whether a sentence has items that models never
        see, such as addresses and code, on which the reverse model has no say."""
        self._alpha, self._has_unseen = alpha, has_unseen

    def uncertain(self, translations: Sequence[Translation]) -> dict[Place, tuple[str, str]]:
        """Return the sentences to check, each as the pair that the reverse model scores: translation and source."""
        return {
            (place, number): (sentence.text, sentence.source)
            for place, translation in enumerate(translations)
            for number, sentence in enumerate(translation.sentences)
            if is_uncertain(sentence.source, sentence.flags, sentence.doubt(self._alpha))
            and not self._has_unseen(sentence.source)
        }

    def review(
        self,
        translations: Sequence[Translation],
        languages: Callable[[str], LanguagePair],
        ask: Callable[[str, str, Sequence[tuple[str, str]]], Sequence[NLL | None] | None],
    ) -> list[Translation]:
        """Have reverse models check the sentences that are not certain, and flag those that they do not recognise.

        `languages`: those of a text; `ask`: how unlikely the model of the direction opposite to these languages finds
        some pairs; None if there is no such model.
        """
        by_languages: dict[LanguagePair, dict[Place, tuple[str, str]]] = {}
        for place, pair in self.uncertain(translations).items():
            by_languages.setdefault(languages(translations[place[0]].source), {})[place] = pair
        nlls: dict[Place, NLL | None] = {}
        for direction, pairs in by_languages.items():
            if (found := ask(*direction, [*pairs.values()])) is not None:
                nlls.update(zip(pairs, found, strict=True))
        return self.flag(translations, nlls)

    def flag(self, translations: Sequence[Translation], nlls: Mapping[Place, NLL | None]) -> list[Translation]:
        """Return the translations with the warning `unsure` at each sentence whose source the reverse model finds
        unlikely, and at no other that it has seen. None: not measured."""
        flagged = list(translations)
        for (place, number), nll in nlls.items():
            if nll is not None:
                sentences = list(flagged[place].sentences)
                sentences[number] = judge_sentence(sentences[number], nll)
                flagged[place] = replace(flagged[place], sentences=tuple(sentences))
        return flagged


def judge_sentence(sentence: Sentence, nll: NLL) -> Sentence:
    flags, reasons = judge(sentence.flags, sentence.reasons, nll)
    return replace(sentence, flags=order_flags(flags), reasons=in_order(reasons))
