"""The CPU engine: CTranslate2, loaded from a hark bundle and corrected to match hark's search. Does not import torch.

The search is that of `hark.engine.search`. CTranslate2's beam search differs in these points, which are corrected here:

- It ranks by a different length penalty. So all ended hypotheses are requested and ranked here. If more end than
  requested, it drops some by its own rule; if one of those could have been among the n best, the search is repeated
  with another rule.
- It has one length limit for a whole batch. A search that reached its sentence's own limit is repeated with that limit.
- After a forced prefix a translation may not end, unless EOS is the likeliest token. Such an EOS is added here.
- In a batch its beam search mixes up the sentences' attention in the first step, which is computed separately.

**Guarantees.** In float32 the translations are those of the torch engine, with scores that differ in the sixth digit.
The batch changes the last bits of a sentence's log-probabilities, so that a very close decision may depend on it.
"""

import math
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import ctranslate2  # type: ignore[import-untyped]

from hark.bundle import Bundle
from hark.config import ModelConfig
from hark.engine.batching import Batcher, CallOptions, QueuedRequest
from hark.engine.conversion import convert, obstacle
from hark.engine.ctranslate2_runtime import (
    BY_LENGTH,
    BY_LOG_PROB,
    LONGEST_POLL,
    POLL_SECONDS,
    ComputeType,
    Runtime,
    is_settled,
    longest,
    rank,
    wait,
    with_log_prob,
)
from hark.engine.interface import AlignmentHeads, Answer, Engine, Hypotheses, Hypothesis, Request, TokenPair
from hark.errors import UserError
from hark.machine import available_cores
from hark.shortlist import Shortlist
from hark.text.vocabulary import SpecialIds
from hark.weights import Weights, read_weights

__all__ = ["BY_LOG_PROB", "CTranslate2Engine", "ComputeType", "convert", "obstacle"]

SCORE_PAIRS = 256
"""Pairs to score at a time."""
FEW = 8
"""Smaller batches do not use the shortlist: theirs would be short, which costs quality and saves little time."""

Job = Generator[list[Any], None, list[tuple[int, Hypotheses]]]
"""The processing of a batch: yields the results to wait for, and returns the answers."""
Finding = Generator[list[Any], None, list[list[Hypothesis]]]
"""A stage of a job: returns the hypotheses for each sentence, best first."""


@dataclass(eq=False)
class RunningBatch:
    """A batch that CTranslate2 is translating."""

    job: Job
    batch: list[QueuedRequest]
    numbers: set[int]
    """Those of its requests that are not cancelled."""
    awaited: list[Any]


class CTranslate2Engine(Engine):
    """An `Engine` that decodes with CTranslate2 on the CPU.

    compute_type: the type of the matrices: int8, or float32 for the model as it was trained.
    threads: number of workers. Each translates a batch of its own, which uses cores better than sharing one.
    alignment: the heads that the attention of answers is read from; by default all heads of the penultimate layer.
    shortlist: restricts plain searches to its tokens, of a whole batch together, except in small batches.
    frugal: load through files on disk, which takes a third of the memory and longer; without shortlist.
    all_bits: keep int8 weights of 8 bits on CPUs that saturate (`saturates`), as plain CTranslate2 does.

    A sampled translation depends only on its request, seed included, and on the machine. Other engines draw others.
    """

    scores_meanwhile = True

    def __init__(
        self,
        weights: Weights,
        config: ModelConfig,
        special: SpecialIds,
        compute_type: ComputeType = "int8",
        threads: int | None = None,
        alignment: AlignmentHeads | None = None,
        shortlist: Shortlist | None = None,
        frugal: bool = False,
        all_bits: bool = False,
    ) -> None:
        super().__init__(config, special, config.max_positions)
        self.name = f"CTranslate2 on cpu, {compute_type}"
        self.threads = threads or available_cores()
        alignment = alignment or AlignmentHeads.default(config)
        self._runtime = Runtime(
            weights, config, special, compute_type, self.threads, alignment, shortlist, frugal, all_bits
        )
        self._search = CTranslate2Search(self._runtime)
        self._batcher = Batcher(self.intake, self.threads)
        self._running: list[RunningBatch] = []
        self._most_running = self.threads + 1
        self._pause = POLL_SECONDS

    @classmethod
    def open(
        cls,
        bundle: Bundle,
        special: SpecialIds,
        compute_type: ComputeType = "int8",
        threads: int | None = None,
        alignment: AlignmentHeads | None = None,
    ) -> "CTranslate2Engine":
        # A higher precision is chosen for the exact output of the model, so the whole vocabulary is used.
        shortlist = Shortlist.open(bundle.shortlist) if bundle.shortlist and compute_type == "int8" else None
        with bundle.unconfirmed_weights() as path:
            return cls(read_weights(path), bundle.config.model, special, compute_type, threads, alignment, shortlist)

    def close(self) -> None:
        """Free the memory."""
        self._runtime.close()

    @property
    def room(self) -> int:
        return self._batcher.room

    def prepare(self, number: int, request: Request) -> QueuedRequest:
        if request.search.min_p or request.alternatives is not None:
            raise UserError("CTranslate2 does not support min_p and alternatives; use --engine torch")
        options = CallOptions.of(number, request)
        return QueuedRequest(number, request, options, self.check(request), len(request.prefix))

    def use_threads(self, threads: int) -> None:
        # By default, one more batch is running than there are workers, so that no worker is idle.
        self._most_running = self.threads + 1 if threads >= self.threads else max(1, threads)
        self._batcher.use_workers(min(self.threads, max(1, threads)))

    def step(self) -> list[tuple[int, Answer]]:
        """See `Engine.step`. CTranslate2 cannot stop a batch: one whose requests are all cancelled runs to its end, and
        others start meanwhile."""
        answers, cancelled = self.intake.changes()
        for each in self._running:
            each.numbers -= cancelled
        for each in [each for each in self._running if not each.numbers]:
            self._drop(each)
        self._start_batches()
        found = [answer for each in list(self._running) for answer in self._continue(each)]
        if found or answers:
            self._pause = POLL_SECONDS
        elif self._running:
            time.sleep(self._pause)
            self._pause = min(2 * self._pause, LONGEST_POLL)
        return [*answers, *found]

    def _start_batches(self) -> None:
        while len(self._running) < self._most_running:
            batch = self._batcher.take()
            if not batch:
                break
            job = self._search.run(batch)
            self._running.append(RunningBatch(job, batch, {each.number for each in batch}, next(job)))

    def _continue(self, batch: RunningBatch) -> list[tuple[int, Hypotheses]]:
        """Resume a batch if its results are there; return its answers if it is finished."""
        if not all(result.done() for result in batch.awaited):
            return []
        try:
            batch.awaited = next(batch.job)
        except StopIteration as end:
            self._drop(batch)
            return [answer for answer in end.value if answer[0] in batch.numbers]
        return []

    def _drop(self, batch: RunningBatch) -> None:
        self._running.remove(batch)
        self._batcher.finish(batch.batch)

    def score(self, pairs: Iterable[TokenPair]) -> Iterator[tuple[float, ...]]:
        remaining = iter(pairs)
        while window := list(islice(remaining, SCORE_PAIRS)):
            for pair in window:
                self.check_pair(*pair)
            for result in self._runtime.submit_pairs(window):
                wait(result)
                yield tuple(result.result().log_probs)


class CTranslate2Search:
    """The search for the translations of a batch, in one or more calls to CTranslate2.

    Each stage is a generator that yields the results it waits for, so that one thread can run those of many batches.
    """

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
        plain = [sentence for sentence, end in zip(batch, ends, strict=True) if end is None]
        # Where one has ended already, a search that must not end at once finds the others: one hypothesis fewer.
        later = replace(
            options, max_ended=options.max_ended - 1, min_length=max(options.min_length, options.prefix + 1)
        )
        ended = [replace(sentence, options=later) for sentence, end in zip(batch, ends, strict=True) if end is not None]
        found_plain = iter((yield from self._find_free(plain)) if plain else [])
        found_later = iter((yield from self._find_free(ended)) if ended else [])
        found = []
        for sentence, end in zip(batch, ends, strict=True):
            if end is None:
                found.append(next(found_plain))
            else:
                rest = math.log1p(-math.exp(end.log_prob - sentence.start))  # the probability left without EOS
                others = [with_log_prob(other, other.log_prob + rest, sentence) for other in next(found_later)]
                found.append(rank([end, *others]))
        return [
            start if sentence.limit == options.prefix + 1 else all_
            for sentence, start, all_ in zip(batch, starts, found, strict=True)
        ]

    def _find_starts(self, batch: Sequence[QueuedRequest], width: int) -> Finding:
        """Find the likeliest tokens after the prefix of each sentence; EOS among them is a complete hypothesis."""
        options = replace(batch[0].options, beam=width, max_ended=width)
        call = self._runtime.submit([replace(sentence, options=options) for sentence in batch], options.prefix + 1)
        yield call.awaited
        found = call.read()
        for sentence, starts in zip(batch, found, strict=True):
            if options.prefix and len(starts) < width:  # CTranslate2 removed EOS
                starts.append((yield from self._score_end(sentence, starts[0])))
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
