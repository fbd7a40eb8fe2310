"""The stages of a search with CTranslate2, which correct its beam search to match `hark.engine.search`.

CTranslate2's beam search differs in the points corrected here:

- It ranks by a different length penalty. So all ended hypotheses are requested and ranked here. If more end than
  requested, it drops some by its own rule; if one of those could have been among the n best, the search is repeated
  with another rule.
- It has one length limit for a whole batch. A search that reached its sentence's own limit is repeated with that limit.
- After a forced prefix a translation may not end, unless EOS is the likeliest token. Such an EOS is added here.
- In a batch its beam search mixes up the sentences' attention in the first step, which is computed separately.

Each stage is a generator that yields the results it waits for, so that one thread can run the stages of many batches.
"""

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import ctranslate2  # type: ignore[import-untyped]

from hark.engine.batching import QueuedRequest
from hark.engine.ctranslate2_runtime import (
    BY_LENGTH,
    BY_LOG_PROB,
    Runtime,
    is_settled,
    longest,
    rank,
    wait,
    with_log_prob,
)
from hark.engine.request import Hypotheses, Hypothesis

FEW = 8
"""Smaller batches do not use the shortlist: theirs would be short, which costs quality and saves little time."""

Job = Generator[list[Any], None, list[tuple[int, Hypotheses]]]
"""The processing of a batch: yields the results to wait for, and returns the answers."""
Finding = Generator[list[Any], None, list[list[Hypothesis]]]
"""A stage of a job: returns the hypotheses for each sentence, best first."""


class CTranslate2Search:
    """The search for the translations of a batch, in one or more calls to CTranslate2."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def run(self, batch: Sequence[QueuedRequest]) -> Job:
        """Return the job that translates a batch of requests with the same options."""
        if len(batch) < FEW:
            batch = [replace(each, options=replace(each.options, shortlist=False)) for each in batch]
        match batch[0].options.kind:
            case "search":
                return self._search(batch)
            case "branch":
                return self._branch(batch)
            case "sample":
                return self._sample(batch[0])

    def _search(self, batch: Sequence[QueuedRequest]) -> Job:
        found = yield from self._find(batch)
        return [
            (each.number, tuple(hypotheses[: each.request.search.nbest]))
            for each, hypotheses in zip(batch, found, strict=True)
        ]

    def _branch(self, batch: Sequence[QueuedRequest]) -> Job:
        """Find diverse translations: the likeliest first tokens, each completed by a search of its own."""
        options = batch[0].options
        starts = yield from self._find_starts(batch, options.nbest)
        answers: dict[int, list[Hypothesis]] = {each.number: [] for each in batch}
        branches = []
        for each, found in zip(batch, starts, strict=True):
            for start in found:
                if start.complete or len(start.tokens) == each.limit:
                    answers[each.number].append(start)
                else:
                    forced = replace(each.request, prefix=start.tokens)
                    longer = replace(options, prefix=options.prefix + 1)
                    branches.append(replace(each, request=forced, options=longer, start=start.log_prob))
        if branches:
            for each, found in zip(branches, (yield from self._find(branches)), strict=True):
                answers[each.number].append(found[0])
        return [(number, tuple(rank(found))) for number, found in answers.items()]

    def _sample(self, each: QueuedRequest) -> Job:
        """Sample translations. CTranslate2 seeds a worker only once, when it first draws: so each request has a worker
        of its own, and is waited for."""
        search = each.request.search
        ctranslate2.set_random_seed(search.seed % (2**32 - 1))  # 2**32 - 1 means no seed
        call = self._runtime.submit(
            [each],
            each.limit,
            translator=self._runtime.load_single_worker(),
            patience=1,
            sampling_topk=min(search.top_k, self._runtime.config.vocab_size),
            sampling_topp=search.top_p,
            sampling_temperature=search.temperature,
        )
        for result in call.awaited:
            wait(result)
        yield []
        return [(each.number, tuple(call.read()[0]))]

    def _find(self, batch: Sequence[QueuedRequest]) -> Finding:
        """Find the ended hypotheses of each sentence."""
        options = batch[0].options
        if not options.prefix or options.beam == 1:
            return (yield from self._find_free(batch))
        starts = yield from self._find_starts(batch, options.beam)
        ends = [next((start for start in found[1:] if start.complete), None) for found in starts]
        plain = [each for each, end in zip(batch, ends, strict=True) if end is None]
        # Where one has ended already, a search that must not end at once finds the others: one hypothesis fewer.
        later = replace(
            options, max_ended=options.max_ended - 1, min_length=max(options.min_length, options.prefix + 1)
        )
        ended = [replace(each, options=later) for each, end in zip(batch, ends, strict=True) if end is not None]
        found_plain = iter((yield from self._find_free(plain)) if plain else [])
        found_later = iter((yield from self._find_free(ended)) if ended else [])
        found = []
        for each, end in zip(batch, ends, strict=True):
            if end is None:
                found.append(next(found_plain))
            else:
                rest = math.log1p(-math.exp(end.log_prob - each.start))  # the probability left without EOS
                others = [with_log_prob(other, other.log_prob + rest, each) for other in next(found_later)]
                found.append(rank([end, *others]))
        return [
            start if each.limit == options.prefix + 1 else all_
            for each, start, all_ in zip(batch, starts, found, strict=True)
        ]

    def _find_starts(self, batch: Sequence[QueuedRequest], width: int) -> Finding:
        """Find the likeliest tokens after the prefix of each sentence; EOS among them is a complete hypothesis."""
        options = replace(batch[0].options, beam=width, max_ended=width)
        call = self._runtime.submit([replace(each, options=options) for each in batch], options.prefix + 1)
        yield call.awaited
        found = call.read()
        for each, starts in zip(batch, found, strict=True):
            if options.prefix and len(starts) < width:  # CTranslate2 removed EOS
                starts.append((yield from self._score_end(each, starts[0])))
        return [rank(starts) for starts in found]

    def _score_end(self, sentence: QueuedRequest, other: Hypothesis) -> Generator[list[Any], None, Hypothesis]:
        """The hypothesis that ends right after the prefix. Forbidding tokens scales the probabilities of all others by
        the same factor, which is measured on another token."""
        source, prefix = sentence.request.source, sentence.request.prefix
        results = self._runtime.submit_pairs([(source, prefix), (source, other.tokens)])
        yield results
        end, token = (result.result().log_probs[len(prefix)] for result in results)
        attention_TS = None if other.attention_TS is None else other.attention_TS[:-1]
        hypothesis = Hypothesis(tuple(prefix), 0.0, 0.0, True, attention_TS)
        return with_log_prob(hypothesis, end + other.log_prob - token, sentence)

    def _find_free(self, batch: Sequence[QueuedRequest]) -> Finding:
        """Search all up to the largest limit in the batch, and repeat those that reached their own limit.

        A limit has no effect before it is reached, so the others are the same as with their own limits.
        """
        limit = max(each.limit for each in batch)
        call = self._runtime.submit(batch, limit)
        yield call.awaited
        found = call.read()
        beyond = {
            i: each.limit for i, each in enumerate(batch) if each.limit < limit and longest(found[i]) >= each.limit
        }
        for i, again in (yield from self._find_again(batch, beyond, BY_LOG_PROB)).items():
            found[i] = again
        doubtful = {
            i: each.limit if longest(found[i]) >= each.limit else limit
            for i, each in enumerate(batch)
            if not is_settled(found[i], each)
        }
        for i, again in (yield from self._find_again(batch, doubtful, BY_LENGTH)).items():
            known = {each.tokens for each in found[i]}
            found[i] = rank([*found[i], *(each for each in again if each.tokens not in known)])
        return found

    def _find_again(
        self, batch: Sequence[QueuedRequest], limits: Mapping[int, int], exponent: float
    ) -> Generator[list[Any], None, dict[int, list[Hypothesis]]]:
        """Search some sentences of a batch again, each up to its own limit; both mappings are by index in the batch."""
        groups: dict[int, list[int]] = {}
        for i, limit in limits.items():
            groups.setdefault(limit, []).append(i)
        calls = {
            limit: self._runtime.submit([batch[i] for i in group], limit, exponent) for limit, group in groups.items()
        }
        if calls:
            yield [result for call in calls.values() for result in call.awaited]
        return {
            i: found for limit, group in groups.items() for i, found in zip(group, calls[limit].read(), strict=True)
        }
