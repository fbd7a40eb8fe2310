"""Our own engine: continuous batching for an encoder-decoder, in PyTorch.

Searches enter as there is room, are stepped together, and leave as soon as they are done, whoever they stand beside.

**What is guaranteed.** On a CPU in float32 a sentence's tokens and scores are, bit for bit, those of the sentence
alone, independent of batch composition and order. Matrix products of other shapes may add in another order, so every
product has the same shape whoever is there: sentences are encoded one by one, and steps are made in blocks of a fixed
number of rows, filled up with rows of nobody, of sentences whose lengths lie between the same two powers of two. On a
GPU everything goes at once, and the last bits, and with them a close decision now and then, depend on the batch;
`benchmarks/decode_speed.py --crowd` measures how often.
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

from hark.config import Precision
from hark.decode.alignment_heads import AlignmentHeads
from hark.decode.engine import Engine, Pair
from hark.decode.engines import forced
from hark.decode.engines.forced import PackedText, Translated, in_batches
from hark.decode.engines.jobs import DecodeJob, OpenAnswer, branches_of, jobs_of, over, ranked
from hark.decode.engines.lane import Lane, LaneShape, Machine
from hark.decode.engines.transfer import Later
from hark.decode.engines.watch import Watch
from hark.decode.request import Answer, Hypotheses, Hypothesis, Request
from hark.decode.scheduler import Entered, Scheduler
from hark.decode.search import Ended, best, candidates
from hark.decode.state import Endings
from hark.errors import HarkError, UserError
from hark.model import Transformer
from hark.model.cache import SPARE, Cache, CachedDecoder
from hark.text.vocabulary import SpecialIds

ENTER = 512
"""Searches that enter at once, for each step of a round: others are stepped while the host prepares the next."""
STEPS_BY_ROWS = ((1024, 2), (0, 4))
"""Steps of a round on a GPU, where at least so many rows are in flight: a step of few rows is so short that the host
looks less often who is done. `benchmarks/decode_speed.py --stream N --steps-at-once K` tries others."""
Done = tuple[int, Request, list[Hypothesis]]
"""A request that is answered, and what was found for it."""
LANES = 8
"""Shapes of searches that have tables, and recorded steps, at a time; the one that was used longest ago makes way."""


class TorchEngine(Engine):
    """An `Engine` of a model on a device. The model's weights must not change afterwards.

    `places` bounds the tokens, of sources and of hypotheses, that are in flight; `rows` bounds the hypotheses.
    `alignment` names the heads that answers' attention comes from: all of the last layer but one, if not given.
    `graphs` records steps in CUDA graphs, and `kernels` uses our own kernels; both are on where there is a GPU.
    `steps_at_once` is the steps between two looks at who is done: by `STEPS_BY_ROWS` if not given. A `watch` sees every
    step; that is for a CPU in float32.
    """

    widest = SPARE

    def __init__(
        self,
        model: Transformer,
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
        super().__init__(config, special, config.max_positions if config.positions != "none" else None)
        self.device = torch.empty(0, device=device).device  # with its number, if there may be several
        on_gpu = self.device.type == "cuda"
        if on_gpu:
            torch.cuda.set_device(self.device)  # where Triton and CUDA graphs work
        self.dtype = torch.bfloat16 if precision == "bfloat16" or (precision == "auto" and on_gpu) else torch.float32
        self.model = model.eval()
        if (self.device, self.dtype) != (model.output_weight.device, model.output_weight.dtype):
            self.model = copy.deepcopy(model).to(self.device, self.dtype)
        self.name = f"torch on {self.device.type}, {str(self.dtype).removeprefix('torch.')}"
        self.rows = rows or (16384 if on_gpu else 128)
        self.places = places or (self.affordable() if on_gpu else 1 << 16)
        self.alignment = alignment or AlignmentHeads.default(config)
        self.graphs = on_gpu if graphs is None else graphs
        self.kernels = on_gpu if kernels is None else kernels
        self.steps_at_once = steps_at_once
        self.exact = not on_gpu and not self.kernels and self.dtype == torch.float32
        self.watch = watch
        if watch is not None and not self.exact:
            raise HarkError(f"{self.name}: only an engine for the CPU in float32 can be watched")
        self.lag = 1 if on_gpu else 0
        """Rounds that the host is ahead: it asks who is done without waiting, starts the next steps, and only then
        looks. A search that is done stays as it is meanwhile."""
        self.scheduler: Scheduler[DecodeJob] = Scheduler(self.intake, self.places, self.rows)
        self.open: dict[int, OpenAnswer] = {}
        """Requests that have begun and were neither answered nor cancelled."""
        self.lanes: dict[LaneShape, Lane] = {}
        """The one that was used longest ago comes first."""
        self.tenants: dict[Lane, dict[int, Entered[DecodeJob]]] = {}
        """Who has which slot."""
        self.asked: deque[list[tuple[Lane, NDArray[np.int64], Later]]] = deque()
        self.fetched: deque[tuple[list[Entered[DecodeJob]], Later]] = deque()

    def affordable(self) -> int:
        """Places that fit in 40% of the memory that is free; the rest is for logits and the encoder."""
        free, _ = torch.cuda.mem_get_info(self.device)
        config = self.config
        place = config.n_decoder_layers * config.n_heads * (config.k_width + config.v_width) * self.dtype.itemsize
        return min(1 << 20, int(0.4 * free) // place)

    @cached_property
    @torch.no_grad()
    def machine(self) -> Machine:
        """Made when first needed: scoring does without it."""
        cache = Cache.empty(self.config, self.places, self.device, self.dtype)
        pool = torch.cuda.MemPool() if self.graphs else None
        operations, choose = (self.watch.operations() if self.watch is not None else None), candidates
        if self.kernels:
            from hark.decode.engines import decode_kernels

            operations, choose = decode_kernels.OPERATIONS, decode_kernels.choose
        decoder = CachedDecoder(self.model, operations)
        return Machine(decoder, cache, choose, self.special, self.exact, pool, self.watch)

    def close(self) -> None:
        """Give back the memory that decoding needed; the weights are the model's."""
        self.lanes.clear()
        self.tenants.clear()
        self.__dict__.pop("machine", None)

    # Requests in, answers out.

    @property
    def room(self) -> int:
        return min(ENTER, self.rows) - len(self.intake)

    def prepare(self, number: int, request: Request) -> list[DecodeJob]:
        limit = self.check(request)
        jobs = jobs_of(number, request, limit)
        needed = jobs[0].places
        if request.search.diverse:  # a search for each branch follows
            needed = max(needed, len(request.source) + request.search.beam * limit)
        if needed > self.places:
            raise UserError(
                f"a sentence needs room for {needed} tokens, and there is room for {self.places}; "
                "split it, or use a smaller beam"
            )
        return jobs

    def step(self) -> list[tuple[int, Answer]]:
        refused, cancelled = self.intake.changes()
        if cancelled:
            self.drop(cancelled)
        self.admit()
        self.advance()
        on_the_way, running = len(self.fetched), self.scheduler.running > 0
        while len(self.asked) > (self.lag if running else 0):
            self.retire()
        # What was just asked for would have to be waited for.
        done: list[Done] = []
        for _ in range(on_the_way if self.lag and running else len(self.fetched)):
            done += self.finish()
        return [*refused, *self.complete(done)] if done or refused else []

    def drop(self, numbers: Collection[int]) -> None:
        """Forget requests that have begun; their slots and places are free at once."""
        for number in numbers:
            self.open.pop(number, None)
        self.scheduler.line = deque(job for job in self.scheduler.line if job.number not in numbers)
        for lane, tenants in self.tenants.items():
            slots = [slot for slot, each in tenants.items() if each.job.number in numbers]
            lane.vacate(slots)
            for slot in slots:
                self.scheduler.leave(tenants.pop(slot))

    def admit(self) -> None:
        used: set[LaneShape] = set()
        entered = self.scheduler.enter(
            ENTER * (self.steps_at_once or 1), lambda job: job.shape in used or self.make_lane(job.shape, used)
        )
        if not entered:
            return
        self.remember(entered)
        groups: dict[LaneShape, list[Entered[DecodeJob]]] = {}
        for each in entered:
            job = each.job
            groups.setdefault(job.shape, []).append(each)
            if job.number not in self.open:
                self.open[job.number] = OpenAnswer(job.request.search.nbest) if job.kind == "sample" else OpenAnswer(1)
        for shape, group in groups.items():
            lane = self.lanes[shape] = self.lanes.pop(shape)
            slots = lane.admit([each.job.arrival(each.start) for each in group])
            self.tenants[lane].update(zip(slots, group, strict=True))

    def make_lane(self, shape: LaneShape, used: set[LaneShape]) -> bool:
        """Whether there is a lane of a shape, which is made if need be. `used` are not to be evicted, and it is one."""
        if shape not in self.lanes:
            if len(self.lanes) >= LANES:
                idle = (each for each, lane in self.lanes.items() if each not in used and not self.tenants[lane])
                oldest = next(idle, None)
                if oldest is None:
                    return False
                del self.tenants[self.lanes.pop(oldest)]
            lane = self.new_lane(shape)
            self.lanes[shape], self.tenants[lane] = lane, {}
        used.add(shape)
        return True

    def new_lane(self, shape: LaneShape) -> Lane:
        return Lane(self.machine, shape, max(1, self.rows // shape.width), self.quick_step(shape))

    def quick_step(self, shape: LaneShape) -> Callable[[Lane, Tensor], None] | None:
        if not self.kernels:
            return None
        from hark.decode.engines import bookkeeping_kernels

        return bookkeeping_kernels.quick_step if bookkeeping_kernels.serve(shape) else None

    @torch.no_grad()
    def remember(self, entered: Sequence[Entered[DecodeJob]]) -> None:
        """Encode sources, and put their keys and values at their places."""
        for batch in ([each] for each in entered) if self.exact else (entered,):
            sources = [each.job.request.source for each in batch]
            text = PackedText.of(sources, self.device, [each.start for each in batch])
            encode = partial(text.encode, self.model)
            memory_ND = encode() if self.watch is None else self.watch.memory(batch[0].job.number, encode)
            self.machine.decoder.remember(memory_ND, text.places_N, self.machine.cache)

    def advance(self) -> None:
        """Start the next steps, and ask who is done after them."""
        lanes = [lane for lane, tenants in self.tenants.items() if tenants]
        for lane in lanes:
            lane.steps(self.steps_of(len(self.tenants[lane]) * lane.shape.width))
        if lanes:
            self.asked.append([(lane, *lane.ask()) for lane in lanes])

    def steps_of(self, rows: int) -> int:
        if self.steps_at_once is not None:
            return self.steps_at_once
        return next(steps for least, steps in STEPS_BY_ROWS if rows >= least) if self.lag else 1

    def retire(self) -> None:
        """Let those go who were done when last asked about; their room is free at once."""
        for lane, tenancy, later in self.asked.popleft():
            slots = lane.done(tenancy, later)
            if slots:
                left = [self.tenants[lane].pop(slot) for slot in slots]
                self.fetched.append((left, lane.release(slots)))
                for each in left:
                    self.scheduler.leave(each)

    def finish(self) -> Iterator[Done]:
        """Read what was found; the requests whose answers are complete with it."""
        left, later = self.fetched.popleft()
        *endings, trace = later.get()
        nbest, end = [each.job.nbest for each in left], self.special.end
        for entered, ended in zip(left, best(Endings(*endings), trace, nbest, end), strict=True):
            job = entered.job
            answer = self.open.get(job.number)
            if answer is None:  # it was cancelled
                continue
            if job.kind != "search":
                self.put_together(job, answer, ended)
                ended = answer.ended()
            answer.open -= 1
            if not answer.open:
                del self.open[job.number]
                yield job.number, job.request, ranked(ended, job.request)

    def put_together(self, job: DecodeJob, answer: OpenAnswer, ended: list[Ended]) -> None:
        """A part of an answer; after a look at first tokens, a search for each of them follows."""
        if job.kind != "look":
            answer.found[job.part] = ended
            return
        limit = self.check(job.request)
        branches = branches_of(job, ended, limit)
        self.scheduler.put_first(branches)
        answer.open += len(branches)
        answer.found.update({part: [each] for part, each in enumerate(ended) if over(each, limit)})

    def complete(self, done: Sequence[Done]) -> Iterator[tuple[int, Hypotheses]]:
        """Answers, with attention where it was asked for: that of all in one pass."""
        asked = [
            Translated(request.source, each.tokens, each.complete)
            for _, request, found in done
            if request.attention
            for each in found
        ]
        attention = iter(self.align(asked) if asked else ())
        for number, request, found in done:
            if request.attention:
                found = [replace(each, attention_TS=next(attention)) for each in found]
            if self.watch is not None:
                self.watch.answered(number, request, tuple(found))
            yield number, tuple(found)

    def align(self, found: Sequence[Translated]) -> list[NDArray[np.float32]]:
        """Where each token of given translations looked at. Those of like length share a pass."""
        order = sorted(range(len(found)), key=lambda i: len(found[i].tokens))
        aligned: dict[int, NDArray[np.float32]] = {}
        for batch in in_batches(order, lambda i: len(found[i].tokens) + 1, self.exact):
            members = [found[i] for i in batch]
            weights = forced.align(self.model, self.special, self.alignment, members, self.device)
            aligned.update(zip(batch, weights, strict=True))
        return [aligned[i] for i in range(len(found))]

    def score(self, pairs: Iterable[Pair]) -> Iterator[tuple[float, ...]]:
        for batch in in_batches(pairs, lambda pair: len(pair[1]) + 1, self.exact):
            for pair in batch:
                self.check_pair(*pair)
            yield from forced.score(self.model, self.special, batch, self.device)
