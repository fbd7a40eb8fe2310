"""The CPU engine: CTranslate2, loaded from a hark bundle and corrected to match hark's search. Does not import torch.

**The search** is that of `hark.decode.search`. CTranslate2's beam search differs in the points corrected here:

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
from functools import cached_property
from itertools import islice
from typing import Any, Literal

import ctranslate2  # type: ignore[import-untyped]

from hark.bundle import Bundle
from hark.config import ModelConfig
from hark.decode.alignment_heads import AlignmentHeads
from hark.decode.engine import Engine, Pair
from hark.decode.engines.call import Call, is_settled, longest, rank, with_log_prob
from hark.decode.engines.conversion import convert
from hark.decode.engines.waiting import BATCH_TOKENS, Batcher, CallOptions, Waiting
from hark.decode.request import Answer, Hypotheses, Hypothesis, Request
from hark.errors import UserError
from hark.machine import available_cores
from hark.shortlist import Shortlist
from hark.text.vocabulary import SpecialIds
from hark.weights import Weights, read_weights

ComputeType = Literal["int8", "int16", "float32", "bfloat16"]

SCORE_PAIRS = 256
"""Pairs to score at a time."""
FEW = 8
"""Smaller batches do not use the shortlist: theirs would be short, which costs quality and saves little time."""
POLL_SECONDS, LONGEST_POLL = 0.0005, 0.004
"""Intervals for polling CTranslate2. Waiting inside CTranslate2 would block Ctrl-C."""
BY_LOG_PROB = 1e-3
"""An exponent of CTranslate2's length penalty that ranks by log-probability. Zero would change when searches end."""
BY_LENGTH = 3.0
"""An exponent that ranks long hypotheses first."""

Job = Generator[list[Any], None, list[tuple[int, Hypotheses]]]
"""The processing of a batch: yields the results to wait for, and returns the answers."""
Finding = Generator[list[Any], None, list[list[Hypothesis]]]
"""A stage of a job: returns the hypotheses for each sentence, best first."""


@dataclass(eq=False)
class RunningBatch:
    """A batch that CTranslate2 is translating."""

    job: Job
    numbers: set[int]
    awaited: list[Any]


class CTranslate2Engine(Engine):
    """An `Engine` that decodes with CTranslate2 on the CPU.

    compute_type: the type of the matrices: int8, or float32 for the model as it was trained.
    threads: number of workers. Each translates a batch of its own, which uses cores better than sharing one.
    alignment: the heads that the attention of answers is read from; by default all heads of the penultimate layer.
    shortlist: restricts plain searches to its tokens, of a whole batch together, except in small batches.

    A sampled translation depends only on its request, seed included, and on the machine. Other engines draw others.
    """

    def __init__(
        self,
        weights: Weights,
        config: ModelConfig,
        special: SpecialIds,
        compute_type: ComputeType = "int8",
        threads: int | None = None,
        alignment: AlignmentHeads | None = None,
        shortlist: Shortlist | None = None,
    ) -> None:
        supported = ctranslate2.get_supported_compute_types("cpu")
        if compute_type not in supported:
            raise UserError(f"this CPU does not support {compute_type}; use one of {', '.join(sorted(supported))}")
        super().__init__(config, special, config.max_positions)
        self.name = f"CTranslate2 on cpu, {compute_type}"
        self.threads = threads or available_cores()
        self._compute_type = compute_type
        self._weights, self._alignment = weights, alignment or AlignmentHeads.default(config)
        self._shortlist = shortlist
        self._names = [str(i) for i in range(max(config.vocab_size, config.source_vocab_size or 0))]
        self._translator = self._load(self._convert(), self.threads)
        self._batcher = Batcher(self.intake, self.threads)
        self._running: list[RunningBatch] = []
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
        return cls(
            read_weights(bundle.weights), bundle.config.model, special, compute_type, threads, alignment, shortlist
        )

    def close(self) -> None:
        """Free the memory."""
        self._translator.unload_model()

    @property
    def room(self) -> int:
        return self._batcher.room

    def prepare(self, number: int, request: Request) -> Waiting:
        options = CallOptions.of(number, request)
        return Waiting(number, request, options, self.check(request), len(request.prefix))

    def step(self) -> list[tuple[int, Answer]]:
        """See `Engine.step`. CTranslate2 cannot stop a batch: one whose requests are all cancelled runs to its end, and
        others start meanwhile."""
        answers, cancelled = self.intake.changes()
        for each in self._running:
            each.numbers -= cancelled
        self._running = [each for each in self._running if each.numbers]
        self._start_batches()
        found = [answer for each in list(self._running) for answer in self._continue(each)]
        if found or answers:
            self._pause = POLL_SECONDS
        elif self._running:
            time.sleep(self._pause)
            self._pause = min(2 * self._pause, LONGEST_POLL)
        return [*answers, *found]

    def _start_batches(self) -> None:
        """Keep one more batch running than there are workers, so that no worker is idle."""
        while len(self._running) <= self.threads:
            batch = self._batcher.take()
            if not batch:
                break
            job = self._job(batch)
            self._running.append(RunningBatch(job, {each.number for each in batch}, next(job)))
        if not self._running:
            self._batcher.restart()

    def _continue(self, batch: RunningBatch) -> list[tuple[int, Hypotheses]]:
        """Resume a batch if its results are there; return its answers if it is finished."""
        if not all(result.done() for result in batch.awaited):
            return []
        try:
            batch.awaited = next(batch.job)
        except StopIteration as end:
            self._running.remove(batch)
            return [answer for answer in end.value if answer[0] in batch.numbers]
        return []

    def score(self, pairs: Iterable[Pair]) -> Iterator[tuple[float, ...]]:
        remaining = iter(pairs)
        while window := list(islice(remaining, SCORE_PAIRS)):
            for pair in window:
                self.check_pair(*pair)
            for result in self._submit_pairs(window):
                wait(result)
                yield tuple(result.result().log_probs)

    # The stages of a batch.

    def _job(self, batch: list[Waiting]) -> Job:
        if len(batch) < FEW:
            batch = [replace(each, options=replace(each.options, shortlist=False)) for each in batch]
        match batch[0].options.kind:
            case "search":
                return self._search(batch)
            case "branch":
                return self._branch(batch)
            case "sample":
                return self._sample(batch[0])

    def _search(self, batch: list[Waiting]) -> Job:
        found = yield from self._find(batch)
        return [
            (each.number, tuple(hypotheses[: each.request.search.nbest]))
            for each, hypotheses in zip(batch, found, strict=True)
        ]

    def _branch(self, batch: list[Waiting]) -> Job:
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

    def _sample(self, each: Waiting) -> Job:
        """Sample translations. CTranslate2 seeds a worker only once, when it first draws: so each request has a worker
        of its own, and is waited for."""
        search = each.request.search
        ctranslate2.set_random_seed(search.seed % (2**32 - 1))  # 2**32 - 1 means no seed
        call = self._submit(
            [each],
            each.limit,
            translator=self._load(self._files, 1),
            patience=1,
            sampling_topk=min(search.top_k, self.config.vocab_size),
            sampling_topp=search.top_p,
            sampling_temperature=search.temperature,
        )
        for result in call.awaited:
            wait(result)
        yield []
        return [(each.number, tuple(call.read()[0]))]

    def _find(self, batch: Sequence[Waiting]) -> Finding:
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

    def _find_starts(self, batch: Sequence[Waiting], width: int) -> Finding:
        """Find the likeliest tokens after the prefix of each sentence; EOS among them is a complete hypothesis."""
        options = replace(batch[0].options, beam=width, max_ended=width)
        call = self._submit([replace(each, options=options) for each in batch], options.prefix + 1)
        yield call.awaited
        found = call.read()
        for each, starts in zip(batch, found, strict=True):
            if options.prefix and len(starts) < width:  # CTranslate2 removed EOS
                starts.append((yield from self._score_end(each, starts[0])))
        return [rank(starts) for starts in found]

    def _score_end(self, sentence: Waiting, other: Hypothesis) -> Generator[list[Any], None, Hypothesis]:
        """The hypothesis that ends right after the prefix. Forbidding tokens scales the probabilities of all others by
        the same factor, which is measured on another token."""
        source, prefix = sentence.request.source, sentence.request.prefix
        results = self._submit_pairs([(source, prefix), (source, other.tokens)])
        yield results
        end, token = (result.result().log_probs[len(prefix)] for result in results)
        attention_TS = None if other.attention_TS is None else other.attention_TS[:-1]
        hypothesis = Hypothesis(tuple(prefix), 0.0, 0.0, True, attention_TS)
        return with_log_prob(hypothesis, end + other.log_prob - token, sentence)

    def _find_free(self, batch: Sequence[Waiting]) -> Finding:
        """Search all up to the largest limit in the batch, and repeat those that reached their own limit.

        A limit has no effect before it is reached, so the others are the same as with their own limits.
        """
        limit = max(each.limit for each in batch)
        call = self._submit(batch, limit)
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
        self, batch: Sequence[Waiting], limits: Mapping[int, int], exponent: float
    ) -> Generator[list[Any], None, dict[int, list[Hypothesis]]]:
        """Search some sentences of a batch again, each up to its own limit; both mappings are by index in the batch."""
        groups: dict[int, list[int]] = {}
        for i, limit in limits.items():
            groups.setdefault(limit, []).append(i)
        calls = {limit: self._submit([batch[i] for i in group], limit, exponent) for limit, group in groups.items()}
        if calls:
            yield [result for call in calls.values() for result in call.awaited]
        return {
            i: found for limit, group in groups.items() for i, found in zip(group, calls[limit].read(), strict=True)
        }

    # Calls to CTranslate2.

    def _convert(self) -> dict[str, bytes]:
        files = convert(self._weights, self.config, self.special, self._compute_type == "int8", self._alignment)
        return files | {"vmap.txt": self._shortlist.vocabulary_map()} if self._shortlist else files

    @cached_property
    def _files(self) -> dict[str, bytes]:
        return self._convert()

    def _load(self, files: dict[str, bytes], workers: int) -> Any:
        return ctranslate2.Translator(
            "hark",
            compute_type=self._compute_type,
            inter_threads=workers,
            intra_threads=1,
            max_queued_batches=-1,  # a full queue would block Ctrl-C
            files=files,
        )

    def _submit(
        self,
        batch: Sequence[Waiting],
        limit: int,
        exponent: float = BY_LOG_PROB,
        translator: Any = None,
        **settings: Any,
    ) -> "Call":
        options, translator = batch[0].options, translator or self._translator
        sources = [self._name(each.request.source) for each in batch]
        prefixes = [self._name(each.request.prefix) for each in batch] if options.prefix else None
        common = {
            "beam_size": options.beam,
            "patience": options.max_ended / options.beam,
            "num_hypotheses": options.max_ended,
            "length_penalty": exponent,
            "suppress_sequences": [[name] for name in self._name((*self.special.forbidden, *options.banned))],
            "return_end_token": True,
            "max_input_length": 0,  # no truncation
            "max_decoding_length": limit,
            "min_decoding_length": min(options.min_length, limit),
            "return_scores": True,
            "return_attention": options.attention,
            "use_vmap": options.shortlist and self._shortlist is not None,
            "asynchronous": True,
        }
        results = translator.translate_batch(sources, prefixes, **common | settings)
        first = []
        if options.attention and options.beam > 1:
            first = translator.translate_batch(
                sources,
                beam_size=1,
                max_input_length=0,
                max_decoding_length=1,
                return_end_token=True,
                return_attention=True,
                asynchronous=True,
            )
        return Call(batch, exponent, results, first, self._alignment, self._names[self.special.end])

    def _submit_pairs(self, pairs: Sequence[Pair]) -> list[Any]:
        results: list[Any] = self._translator.score_batch(
            [self._name(source) for source, _ in pairs],
            [self._name(target) for _, target in pairs],
            max_batch_size=BATCH_TOKENS,
            batch_type="tokens",
            max_input_length=0,
            asynchronous=True,
        )
        return results

    def _name(self, tokens: Sequence[int]) -> list[str]:
        names = self._names
        return [names[token] for token in tokens]


def wait(result: Any) -> None:
    while not result.done():
        time.sleep(POLL_SECONDS)
