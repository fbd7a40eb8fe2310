"""Hark's own engine: continuous batching for an encoder-decoder, or a decoder alone, in PyTorch.

Searches enter as memory becomes free, are stepped together, and leave as soon as they are finished.

The file is long because these three parts share the tables of running searches; the rest is in `jobs` (requests to
searches), `lane` (steps) and `forced` (scoring and attention).

**Guarantees.** On a CPU in float32 a sentence's tokens and scores are bit-for-bit those of the sentence decoded alone,
independent of batch composition and order. Matrix products of different shapes may sum in a different order, so every
product has a fixed shape: sentences are encoded one by one, and steps run in padded blocks of a fixed number of rows,
of sentences whose lengths lie between the same two powers of two. On a GPU all sentences are batched together, so the
last bits, and occasionally a close decision, depend on the batch; `benchmarks/decode_speed.py --crowd` measures how
often.
"""

import copy
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hark.config import ModelConfig, Precision
from hark.engine import forced
from hark.engine.forced import PackedText, TokenTranslation, WrittenText, in_batches
from hark.engine.interface import (
    AlignmentHeads,
    Answer,
    Engine,
    Hypotheses,
    Hypothesis,
    LikelyTokens,
    Request,
    TokenPair,
)
from hark.engine.jobs import DecodeJob, OpenAnswer, branches_of, jobs_of, over, ranked
from hark.engine.lane import DecodeContext, Lane
from hark.engine.lane_tables import LaneShape
from hark.engine.news import News, TokenNews
from hark.engine.scheduler import Entered, Scheduler
from hark.engine.search import Ended, Endings, best, candidates
from hark.engine.transfer import PendingCopy, Recorder
from hark.engine.watch import Watch
from hark.errors import HarkError, UserError
from hark.model import Model, Transformer
from hark.model.cache import SPARE, Cache, CachedDecoder, Prompts
from hark.model.patterns import Packed
from hark.text.vocabulary import SpecialIds

ENTER = 512
"""Maximum searches to admit at once, per step of a round: the device steps others while the host prepares these."""
STEPS_BY_ROWS = ((1024, 2), (0, 4))
"""(minimum rows in flight, steps per round) on a GPU: steps of few rows are so short that the host checks less often
for finished searches. `benchmarks/decode_speed.py --stream N --steps-at-once K` tries other values."""
Done = tuple[int, Request, list[Hypothesis]]
"""The number of a finished request, the request and its hypotheses."""
LANES = 8
"""Maximum number of lanes; the least recently used idle one is evicted."""
MOST_CACHE = 1 << 34
"""Maximum bytes of the cache on a CPU, which the system provides only as they are used."""


def kernels_cover(config: ModelConfig) -> bool:
    """Whether the Triton kernels compute all that a model's decoder does: they add no bias to scores."""
    return not config.biases_scores


class TorchEngine(Engine):
    """An `Engine` that decodes with PyTorch. The model's weights must not change afterwards.

    rows: maximum hypotheses in flight.
    places: maximum tokens in flight, of sources and hypotheses together.
    alignment: the heads that the attention of answers is read from; by default all heads of the penultimate layer.
    graphs: capture steps in CUDA graphs; on by default on a GPU.
    kernels: use hark's Triton kernels; on by default on a GPU.
    steps_at_once: steps between two checks for finished searches; by default `STEPS_BY_ROWS`.
    watch: hooks that see every step; only on a CPU in float32.
    """

    widest = SPARE
    builds_trees = True

    def __init__(
        self,
        model: Model,
        special: SpecialIds,
        device: torch.device | str = "cpu",
        precision: Precision = "auto",
        rows: int | None = None,
        places: int | None = None,
        alignment: AlignmentHeads | None = None,
        graphs: bool | None = None,
        kernels: bool | None = None,
        steps_at_once: int | None = None,
        watch: Watch | None = None,
    ) -> None:
        config = model.config
        if config.shape == "encoder":
            raise UserError("this model has no decoder, so it generates no text")
        super().__init__(config, special, config.max_positions if config.positions != "none" else None)
        self.device = torch.empty(0, device=device).device  # with its index, if there may be several
        on_gpu = self.device.type == "cuda"
        self.use_device()
        self.dtype = torch.bfloat16 if precision == "bfloat16" or (precision == "auto" and on_gpu) else torch.float32
        self.model = model.eval()
        if (self.device, self.dtype) != (model.output_weight.device, model.output_weight.dtype):
            self.model = copy.deepcopy(model).to(self.device, self.dtype)
        self.name = f"torch on {self.device.type}, {str(self.dtype).removeprefix('torch.')}"
        self.rows = rows or (16384 if on_gpu else 128)
        self.places = places or self.affordable()
        self.alignment = alignment or AlignmentHeads.default(config)
        self.graphs = on_gpu if graphs is None else graphs
        self.kernels = (on_gpu if kernels is None else kernels) and kernels_cover(config)
        self.steps_at_once = steps_at_once
        self.exact = not on_gpu and not self.kernels and self.dtype == torch.float32
        self.watch = watch
        if watch is not None and not self.exact:
            raise HarkError(f"{self.name}: watch requires an engine on the CPU in float32")
        if watch is not None and not self.reads_source:
            raise HarkError(f"{self.name}: watch requires a model with an encoder")
        self.lag = 1 if on_gpu else 0
        """Rounds by which the host runs ahead: it starts to copy the finished flags, launches the next steps, and only
        then reads the flags. Finished searches do not change in the meantime."""
        self.scheduler: Scheduler[DecodeJob] = Scheduler(self.intake, self.places, self.rows)
        self.open: dict[int, OpenAnswer] = {}
        """Running requests."""
        self.lanes: dict[LaneShape, Lane] = {}
        """Least recently used first."""
        self.slots: dict[Lane, dict[int, Entered[DecodeJob]]] = {}
        """The running search in each slot."""
        self.flags: deque[list[tuple[Lane, NDArray[np.int64], PendingCopy]]] = deque()
        self.fetched: deque[tuple[list[Entered[DecodeJob]], PendingCopy]] = deque()
        self.tokens = TokenNews()

    def use_device(self) -> None:
        """Make the device the thread's current one, which Triton and CUDA graphs use."""
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)

    def affordable(self) -> int:
        """The number of places that fit in 40% of the GPU's free memory; the rest is for logits and the encoder."""
        config = self.config
        place = config.n_decoder_layers * config.kv_heads * (config.k_width + config.v_width) * self.dtype.itemsize
        if self.device.type != "cuda":
            return min(1 << 16, MOST_CACHE // place)
        free, _ = torch.cuda.mem_get_info(self.device)
        return min(1 << 20, int(0.4 * free) // place)

    @cached_property
    @torch.no_grad()
    def context(self) -> DecodeContext:
        """The decoder and its cache; created when first needed, because scoring does not need it."""
        cache = Cache.empty(self.config, self.places, self.device, self.dtype)
        recorder = Recorder() if self.graphs else None
        operations, choose = (self.watch.operations() if self.watch is not None else None), candidates
        if self.kernels:
            from hark.engine import decode_kernels

            operations, choose = decode_kernels.OPERATIONS, decode_kernels.choose
        one_stack = not self.reads_source
        decoder = CachedDecoder(self.model, operations, share=one_stack and self.device.type == "cpu")
        return DecodeContext(decoder, cache, choose, self.special, self.exact, recorder, self.watch, one_stack)

    def close(self) -> None:
        """Free the memory used for decoding, and drop what is running; the weights belong to the model."""
        on_gpu = self.device.type == "cuda"
        if on_gpu:
            torch.cuda.synchronize(self.device)  # steps that are still running use the memory
        self.scheduler = Scheduler(self.intake, self.places, self.rows)
        for each in (self.open, self.lanes, self.slots, self.flags, self.fetched):
            each.clear()
        self.tokens = TokenNews()
        self.__dict__.pop("context", None)
        if on_gpu:
            torch.cuda.empty_cache()

    @property
    def room(self) -> int:
        return min(ENTER, self.rows) - len(self.intake)

    def prepare(self, number: int, request: Request) -> list[DecodeJob]:
        limit = self.check(request)
        jobs = jobs_of(number, request, limit)
        needed = jobs[0].most_places
        if request.search.diverse:  # one search per branch follows
            needed = max(needed, len(request.source) + request.search.beam * limit)
        if needed > self.places:
            raise UserError(
                f"sentence needs cache space for {needed} tokens, but the cache holds {self.places}; "
                "split it or use a smaller beam"
            )
        return jobs

    def step(self) -> list[tuple[int, Answer]]:
        self.use_device()
        rejected, cancelled = self.intake.changes()
        if cancelled:
            self.drop(cancelled)
        self.admit()
        self.advance()
        in_transit, running = len(self.fetched), self.scheduler.running > 0
        while len(self.flags) > (self.lag if running else 0):
            self.retire()
        # Skip the results whose copies started in this round: reading them would wait for the device.
        done: list[Done] = []
        for _ in range(in_transit if self.lag and running else len(self.fetched)):
            done += self.finish()
        return [*rejected, *self.complete(done)] if done or rejected else []

    def news(self) -> News:
        return self.tokens.take()

    def drop(self, numbers: Collection[int]) -> None:
        """Drop running requests and free their slots and places."""
        self.tokens.forget(numbers)
        for number in numbers:
            self.open.pop(number, None)
        self.scheduler.line = deque(job for job in self.scheduler.line if job.number not in numbers)
        for lane, entries in self.slots.items():
            slots = [slot for slot, each in entries.items() if each.job.number in numbers]
            lane.vacate(slots)
            for slot in slots:
                self.scheduler.leave(entries.pop(slot))

    def admit(self) -> None:
        used: set[LaneShape] = set()
        entered = self.scheduler.enter(
            ENTER * (self.steps_at_once or 1), lambda job: job.shape in used or self.make_lane(job.shape, used)
        )
        if not entered:
            return
        self.prefill(entered)
        groups: dict[LaneShape, list[Entered[DecodeJob]]] = {}
        for each in entered:
            job = each.job
            groups.setdefault(job.shape, []).append(each)
            self.tokens.follow(job)
            if job.number not in self.open:
                self.open[job.number] = OpenAnswer(job.request.search.nbest) if job.kind == "sample" else OpenAnswer(1)
        for shape, group in groups.items():
            lane = self.lanes[shape] = self.lanes.pop(shape)
            slots = lane.admit([each.job.arrival(each.start, self.reads_prompt(each.job)) for each in group])
            self.slots[lane].update(zip(slots, group, strict=True))

    def make_lane(self, shape: LaneShape, used: set[LaneShape]) -> bool:
        """Create a lane for a shape if there is none; return False if no lane can be evicted for it.

        Lanes in `used` are not evicted; the shape is added to it.
        """
        if shape not in self.lanes:
            if len(self.lanes) >= LANES:
                idle = (each for each, lane in self.lanes.items() if each not in used and not self.slots[lane])
                oldest = next(idle, None)
                if oldest is None:
                    return False
                del self.slots[self.lanes.pop(oldest)]
            lane = self.new_lane(shape)
            self.lanes[shape], self.slots[lane] = lane, {}
        used.add(shape)
        return True

    def new_lane(self, shape: LaneShape) -> Lane:
        return Lane(self.context, shape, max(1, self.rows // shape.width), self.quick_step(shape))

    def quick_step(self, shape: LaneShape) -> Callable[[Lane, Tensor], None] | None:
        if not self.kernels:
            return None
        from hark.engine import bookkeeping_kernels

        return bookkeeping_kernels.quick_step if bookkeeping_kernels.serve(shape) else None

    @torch.no_grad()
    def prefill(self, entered: Sequence[Entered[DecodeJob]]) -> None:
        """Encode sources, if there are any, and read prompts; write their keys and values to the cache."""
        for batch in ([each] for each in entered) if self.exact else (entered,):
            if isinstance(self.model, Transformer):
                self.encode(self.model, batch)
            if prompted := [each for each in batch if self.reads_prompt(each.job)]:
                self.read_prompts(prompted)

    def encode(self, model: Transformer, entered: Sequence[Entered[DecodeJob]]) -> None:
        text = self.sources_of(entered)
        encode = partial(text.encode, model)
        memory_ND = encode() if self.watch is None else self.watch.memory(entered[0].job.number, encode)
        self.context.decoder.prefill(memory_ND, text.places_N, self.context.cache)

    def sources_of(self, entered: Sequence[Entered[DecodeJob]]) -> PackedText:
        return PackedText.of(
            [each.job.request.source for each in entered], self.device, [each.start for each in entered]
        )

    def reads_prompt(self, job: DecodeJob) -> bool:
        """Whether one pass reads the forced tokens of a search; a watch sees each step."""
        return job.has_prompt and self.watch is None

    def read_prompts(self, entered: Sequence[Entered[DecodeJob]]) -> None:
        """Write the keys and values of forced tokens, which the first hypothesis has, to the cache. The last token is
        the input of the first step."""
        starts = [each.start + len(each.job.request.source) for each in entered]
        forced = [(self.start_of(each.job.request), *each.job.forced[:-1]) for each in entered]
        text = PackedText.of(forced, self.device, starts, [each.job.rows for each in entered])
        own = Packed(text.cu, text.cu, text.longest, causal=True)
        prompts = Prompts(text.tokens_N, text.positions_N, text.places_N, own)
        if self.reads_source:
            memory = self.sources_of(entered)
            cross = Packed(text.cu, memory.cu, max(text.longest, memory.longest))
            prompts = replace(prompts, memory_places_N=memory.places_N, cross=cross)
        self.context.decoder.read(prompts, self.context.cache)

    def start_of(self, request: Request) -> int:
        return self.special.start if request.start is None else request.start

    def advance(self) -> None:
        """Launch the next steps, and start copying the finished flags."""
        planned = [
            (lane, self.steps_of(len(entries) * lane.shape.width)) for lane, entries in self.slots.items() if entries
        ]
        for lane, times in planned:
            self.extend(lane, times)
        lanes = [(lane, times) for lane, times in planned if self.slots[lane]]
        for lane, times in lanes:
            lane.steps(times)
        if lanes:
            self.flags.append([(lane, *lane.fetch_done()) for lane, _ in lanes])
            self.tokens.fetch(lanes)

    def extend(self, lane: Lane, times: int) -> None:
        """Allocate the pages that the next steps of a lane may need; while none is free, searches give way."""
        entries = self.slots[lane]
        while short := lane.short_of_places(times):
            starts: list[tuple[int, int]] = []
            for slot in short:
                start = None
                while slot in entries and start is None:
                    start = self.scheduler.grow(entries[slot], lane.next_page(slot))
                    if start is None:
                        self.restart_youngest()
                if start is not None:
                    starts.append((slot, start))
            if starts:
                lane.add_pages(starts)

    def restart_youngest(self) -> None:
        """Free the memory of the search that entered last. It starts again when all that it may need is free."""
        running = ((lane, slot, each) for lane, entries in self.slots.items() for slot, each in entries.items())
        lane, slot, youngest = max(running, key=lambda each: each[2].turn)
        lane.vacate([slot])
        del self.slots[lane][slot]
        self.scheduler.leave(youngest)
        self.scheduler.put_first([youngest.job.whole()])

    def steps_of(self, rows: int) -> int:
        if self.steps_at_once is not None:
            return self.steps_at_once
        return next(steps for least, steps in STEPS_BY_ROWS if rows >= least) if self.lag else 1

    def retire(self) -> None:
        """Remove finished searches, start copying their results, and free their memory."""
        self.tokens.read()
        for lane, tenancy, later in self.flags.popleft():
            slots = lane.done(tenancy, later)
            if slots:
                left = [self.slots[lane].pop(slot) for slot in slots]
                self.fetched.append((left, lane.release(slots)))
                for each in left:
                    self.scheduler.leave(each)

    def finish(self) -> Iterator[Done]:
        """Read the results of finished searches; yield the requests that they complete."""
        left, later = self.fetched.popleft()
        *endings, trace = later.get()
        nbest, end = [each.job.nbest for each in left], self.special.end
        for entered, ended in zip(left, best(Endings(*endings), trace, nbest, end), strict=True):
            job = entered.job
            answer = self.open.get(job.number)
            if answer is None:  # cancelled
                continue
            if job.kind != "search":
                self.add_part(job, answer, ended)
                ended = answer.ended()
            answer.open -= 1
            if not answer.open:
                del self.open[job.number]
                self.tokens.forget([job.number])
                yield job.number, job.request, ranked(ended, job.request)

    def add_part(self, job: DecodeJob, answer: OpenAnswer, ended: list[Ended]) -> None:
        """Add the result of one search to an answer; a "look" job instead queues a branch for each first token."""
        if job.kind != "look":
            answer.found[job.part] = ended
            return
        limit = self.check(job.request)
        branches = branches_of(job, ended, limit)
        self.scheduler.put_first(branches)
        answer.open += len(branches)
        answer.found.update({part: [each] for part, each in enumerate(ended) if over(each, limit)})

    def complete(self, done: Sequence[Done]) -> Iterator[tuple[int, Hypotheses]]:
        """Yield the answers, with attention if requested; the attention of all is computed together, and so are
        log-probabilities."""
        to_align = [
            TokenTranslation(request.source, each.tokens, each.complete)
            for _, request, found in done
            if request.attention
            for each in found
        ]
        attention = iter(self.align(to_align) if to_align else ())
        written = [
            WrittenText(
                request.source,
                self.start_of(request),
                (*each.tokens, *([self.special.end] if each.complete else ())),
                0 if request.scores_prefix else len(request.prefix),
                request.alternatives,
            )
            for _, request, found in done
            if request.alternatives is not None
            for each in found
        ]
        likely = self.likely_tokens(written)
        for number, request, found in done:
            if request.attention:
                found = [replace(each, attention_TS=next(attention)) for each in found]
            if request.alternatives is not None:
                scored = [(each, *next(likely)) for each in found]
                found = [replace(each, log_probs=values, alternatives=best) for each, values, best in scored]
            if self.watch is not None:
                self.watch.answered(number, request, tuple(found))
            yield number, tuple(found)

    def likely_tokens(
        self, written: Sequence[WrittenText]
    ) -> Iterator[tuple[tuple[float, ...], tuple[LikelyTokens, ...]]]:
        for batch in in_batches(written, lambda each: len(each.tokens), self.exact):
            yield from forced.likely_tokens(self.model, batch, self.device)

    def score_prefix(self, request: Request) -> tuple[tuple[float, ...], tuple[LikelyTokens, ...]]:
        """Return the log-probability of each token of a prefix, and the likeliest in its place; nothing follows it."""
        self.check(request)
        self.use_device()
        text = WrittenText(request.source, self.start_of(request), request.prefix, 0, request.alternatives or 0)
        return next(self.likely_tokens([text])) if request.prefix else ((), ())

    def align(self, found: Sequence[TokenTranslation]) -> list[NDArray[np.float32]]:
        """Return the cross-attention of each token of the translations; those of similar length share a pass."""
        assert isinstance(self.model, Transformer)
        order = sorted(range(len(found)), key=lambda i: len(found[i].tokens))
        aligned: dict[int, NDArray[np.float32]] = {}
        for batch in in_batches(order, lambda i: len(found[i].tokens) + 1, self.exact):
            members = [found[i] for i in batch]
            weights = forced.align(self.model, self.special, self.alignment, members, self.device)
            aligned.update(zip(batch, weights, strict=True))
        return [aligned[i] for i in range(len(found))]

    def score(self, pairs: Iterable[TokenPair]) -> Iterator[tuple[float, ...]]:
        for batch in in_batches(pairs, lambda pair: len(pair[1]) + 1, self.exact):
            self.use_device()
            for pair in batch:
                self.check_pair(*pair)
            yield from forced.score(self.model, self.special, batch, self.device)
