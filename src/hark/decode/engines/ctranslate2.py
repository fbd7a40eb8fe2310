"""The engine for a CPU: CTranslate2, fed from our bundle and held to our search. No torch is imported.

**The search** is that of `hark.decode.search`. CTranslate2 has one like it, except for what is put right here:

- It ranks by another length penalty. So it is asked for all hypotheses that ended, and they are ranked here. Of more
  than the search wants it drops some by its own rule; where one of those could have been among the n best, it is asked
  again with another rule.
- It knows one limit for a whole batch. A search that went as far as its sentence's own limit is made again by itself.
- After a forced prefix a translation may not end, unless the end is the likeliest token. Such an end is added here.
- In a batch its beam search mixes up the sentences' attention in the first step, which is therefore asked for apart.

**What is guaranteed.** In float32 the translations are those of our own engine, with scores that differ in the sixth
digit. A sentence's neighbours change the last bits of its log-probabilities, so that a very close decision may depend
on batch composition.
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
"""Pairs that are taken at a time to be scored."""
FEW = 8
"""Sentences of a batch that take no shortlist: it would be short, which is felt, and save a blink, which is not."""
POLL_SECONDS, LONGEST_POLL = 0.0005, 0.004
"""Between looks at work under way. Waiting inside CTranslate2 would not hear Ctrl-C."""
BY_LOG_PROB = 1e-3
"""The exponent of CTranslate2's length penalty that ranks by log-probability. Zero would change when searches end."""
BY_LENGTH = 3.0
"""One that ranks long hypotheses first."""

Job = Generator[list[Any], None, list[tuple[int, Hypotheses]]]
"""A batch on its way: yields what it waits for, and returns its answers."""
Finding = Generator[list[Any], None, list[list[Hypothesis]]]
"""A part of one: returns the hypotheses for each sentence, the best first."""


@dataclass(eq=False)
class UnderWay:
    """A batch that CTranslate2 is working on."""

    job: Job
    numbers: set[int]
    awaited: list[Any]


class CTranslate2Engine(Engine):
    """An `Engine` that translates on the CPU.

    `compute_type` is that of the matrices: int8, or float32 for the model as it was trained. Each of `threads` workers
    translates a batch by itself, which uses cores better than sharing one does. `alignment` names the heads
    that answers' attention comes from: all of the last layer but one, unless told otherwise. With a `shortlist` plain
    searches choose from its tokens only, those of a batch together, unless these are few.

    A sampled translation depends on its request alone, seed included, and on the machine. Another engine draws others.
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
            raise UserError(f"this CPU does not compute in {compute_type}; it can {', '.join(sorted(supported))}")
        super().__init__(config, special, config.max_positions)
        self.name = f"CTranslate2 on cpu, {compute_type}"
        self.threads = threads or available_cores()
        self._compute_type = compute_type
        self._weights, self._alignment = weights, alignment or AlignmentHeads.default(config)
        self._shortlist = shortlist
        self._names = [str(i) for i in range(max(config.vocab_size, config.source_vocab_size or 0))]
        self._translator = self._load(self._convert(), self.threads)
        self._batcher = Batcher(self.intake, self.threads)
        self._under_way: list[UnderWay] = []
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
        # Whoever asks for more precision wants what the model itself would say.
        shortlist = Shortlist.open(bundle.shortlist) if bundle.shortlist and compute_type == "int8" else None
        return cls(
            read_weights(bundle.weights), bundle.config.model, special, compute_type, threads, alignment, shortlist
        )

    def close(self) -> None:
        """Give back the memory."""
        self._translator.unload_model()

    @property
    def room(self) -> int:
        return self._batcher.room

    def prepare(self, number: int, request: Request) -> Waiting:
        options = CallOptions.of(number, request)
        return Waiting(number, request, options, self.check(request), len(request.prefix))

    def step(self) -> list[tuple[int, Answer]]:
        """CTranslate2 cannot be stopped within a batch: one whose requests are all cancelled is finished in vain, and
        others begin at once."""
        answers, cancelled = self.intake.changes()
        for each in self._under_way:
            each.numbers -= cancelled
        self._under_way = [each for each in self._under_way if each.numbers]
        self._begin_batches()
        found = [answer for each in list(self._under_way) for answer in self._go_on(each)]
        if found or answers:
            self._pause = POLL_SECONDS
        elif self._under_way:
            time.sleep(self._pause)
            self._pause = min(2 * self._pause, LONGEST_POLL)
        return [*answers, *found]

    def _begin_batches(self) -> None:
        """One more than there are workers, so that none has to wait."""
        while len(self._under_way) <= self.threads:
            batch = self._batcher.take()
            if not batch:
                break
            job = self._job(batch)
            self._under_way.append(UnderWay(job, {each.number for each in batch}, next(job)))
        if not self._under_way:
            self._batcher.restart()

    def _go_on(self, batch: UnderWay) -> list[tuple[int, Hypotheses]]:
        """The answers of a batch that is done."""
        if not all(result.done() for result in batch.awaited):
            return []
        try:
            batch.awaited = next(batch.job)
        except StopIteration as end:
            self._under_way.remove(batch)
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

    # What a batch needs, step by step.

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
        """Diverse translations: the likeliest first tokens, each completed by a search of its own."""
        options = batch[0].options
        starts = yield from self._begin(batch, options.nbest)
        answers: dict[int, list[Hypothesis]] = {each.number: [] for each in batch}
        begun = []
        for each, found in zip(batch, starts, strict=True):
            for start in found:
                if start.complete or len(start.tokens) == each.limit:
                    answers[each.number].append(start)
                else:
                    forced = replace(each.request, prefix=start.tokens)
                    longer = replace(options, prefix=options.prefix + 1)
                    begun.append(replace(each, request=forced, options=longer, start=start.log_prob))
        if begun:
            for each, found in zip(begun, (yield from self._find(begun)), strict=True):
                answers[each.number].append(found[0])
        return [(number, tuple(rank(found))) for number, found in answers.items()]

    def _sample(self, each: Waiting) -> Job:
        """Tokens drawn by chance. CTranslate2 seeds the chance of a worker once, when the worker first draws: so each
        request has a worker of its own, and is waited for."""
        search = each.request.search
        ctranslate2.set_random_seed(search.seed % (2**32 - 1))  # the last number means: no seed
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
        """What ended in the search for each sentence."""
        options = batch[0].options
        if not options.prefix or options.beam == 1:
            return (yield from self._find_free(batch))
        starts = yield from self._begin(batch, options.beam)
        ends = [next((start for start in found[1:] if start.complete), None) for found in starts]
        plain = [each for each, end in zip(batch, ends, strict=True) if end is None]
        # Where one has ended already, a search that must not end at once finds the others, one fewer than wanted.
        later = replace(options, wanted=options.wanted - 1, min_length=max(options.min_length, options.prefix + 1))
        ended = [replace(each, options=later) for each, end in zip(batch, ends, strict=True) if end is not None]
        found_plain = iter((yield from self._find_free(plain)) if plain else [])
        found_later = iter((yield from self._find_free(ended)) if ended else [])
        found = []
        for each, end in zip(batch, ends, strict=True):
            if end is None:
                found.append(next(found_plain))
            else:
                rest = math.log1p(-math.exp(end.log_prob - each.start))  # what was left when the end was forbidden
                others = [with_log_prob(other, other.log_prob + rest, each) for other in next(found_later)]
                found.append(rank([end, *others]))
        return [
            start if each.limit == options.prefix + 1 else all_
            for each, start, all_ in zip(batch, starts, found, strict=True)
        ]

    def _begin(self, batch: Sequence[Waiting], width: int) -> Finding:
        """The likeliest tokens after the prefix of each sentence, an end among them as the hypothesis that it is."""
        options = replace(batch[0].options, beam=width, wanted=width)
        call = self._submit([replace(each, options=options) for each in batch], options.prefix + 1)
        yield call.awaited
        found = call.read()
        for each, starts in zip(batch, found, strict=True):
            if options.prefix and len(starts) < width:  # CTranslate2 took the end away
                starts.append((yield from self._end(each, starts[0])))
        return [rank(starts) for starts in found]

    def _end(self, sentence: Waiting, other: Hypothesis) -> Generator[list[Any], None, Hypothesis]:
        """The end right after a prefix. Forbidding tokens multiplies the probabilities of all others by the same: how
        much, another token tells."""
        source, prefix = sentence.request.source, sentence.request.prefix
        results = self._submit_pairs([(source, prefix), (source, other.tokens)])
        yield results
        end, token = (result.result().log_probs[len(prefix)] for result in results)
        attention_TS = None if other.attention_TS is None else other.attention_TS[:-1]
        hypothesis = Hypothesis(tuple(prefix), 0.0, 0.0, True, attention_TS)
        return with_log_prob(hypothesis, end + other.log_prob - token, sentence)

    def _find_free(self, batch: Sequence[Waiting]) -> Finding:
        """All are searched up to the largest limit among them. A search that ended before its sentence's own limit is
        the same with that limit, which matters in its own step only; the others are made again."""
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
        """Some sentences of a batch, by their places in it, up to limits of their own."""
        groups: dict[int, list[int]] = {}
        for i, limit in limits.items():
            groups.setdefault(limit, []).append(i)
        calls = {limit: self._submit([batch[i] for i in group], limit, exponent) for limit, group in groups.items()}
        if calls:
            yield [result for call in calls.values() for result in call.awaited]
        return {
            i: found for limit, group in groups.items() for i, found in zip(group, calls[limit].read(), strict=True)
        }

    # Talking to CTranslate2.

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
            max_queued_batches=-1,  # a full queue would block, and not hear Ctrl-C
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
            "patience": options.wanted / options.beam,
            "num_hypotheses": options.wanted,
            "length_penalty": exponent,
            "suppress_sequences": [[name] for name in self._name((*self.special.forbidden, *options.banned))],
            "return_end_token": True,
            "max_input_length": 0,  # nothing is cut off
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
