"""Our own engine: continuous batching for an encoder-decoder, in PyTorch.

Sentences enter as there is room, are stepped together, and leave as soon as they are done, whoever they stand beside.

**What is guaranteed.** On a CPU in float32 a sentence's tokens and scores are, bit for bit, those of the sentence
alone, in any company and any order. Matrix products of other shapes may add in another order, so every product has the
same shape whoever is there: sentences are encoded one by one, and steps are made in blocks of a fixed number of rows,
filled up with rows of nobody, of sentences whose lengths lie between the same two powers of two. On a GPU everything
goes at once, and the last bits, and with them a close decision now and then, depend on the company;
`benchmarks/decode_speed.py --crowd` measures how often.
"""

import copy
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain, pairwise
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hark.config import Precision
from hark.decode.alignment_heads import AlignmentHeads
from hark.decode.engines.jobs import Answer, Job, branches_of, jobs_of, over
from hark.decode.engines.lane import Lane, Later, Machine, Shape, send
from hark.decode.request import Hypothesis, Request
from hark.decode.scheduler import Entered, Scheduler
from hark.decode.search import best, candidates
from hark.decode.state import Endings
from hark.errors import HarkError, UserError
from hark.model import Transformer, padded_layout
from hark.model.cache import SPARE, Cache, CachedDecoder
from hark.model.patterns import Packed
from hark.text.tokenizer import BOS, EOS

SCORE_TOKENS = 1 << 12
"""Target tokens that are scored at once, where the company may matter."""
ENTER = 512
"""Searches that enter at once, for each step of a round: others are stepped while the host prepares the next."""
STEPS_BY_ROWS = ((1024, 2), (0, 4))
"""Steps of a round on a GPU, where at least so many rows are in flight: a step of few rows is so short that the host
looks less often who is done. `benchmarks/decode_speed.py --stream N --steps-at-once K` tries others."""
IDLE_SECONDS = 0.0005
"""Before the requests are asked again, when there is nothing to do."""

Pair = tuple[Sequence[int], Sequence[int]]


class TorchEngine:
    """An `Engine` of a model on a device. The model's weights must not change afterwards.

    `places` bounds the tokens, of sources and of hypotheses, that are in flight; `rows` bounds the hypotheses.
    `alignment` names the heads that answers' attention comes from: all of the last layer but one, if not given.
    `graphs` records steps in CUDA graphs, and `kernels` uses our own kernels; both are on where there is a GPU.
    `steps_at_once` is the steps between two looks at who is done: by `STEPS_BY_ROWS` if not given.
    """

    def __init__(
        self,
        model: Transformer,
        device: torch.device | str = "cpu",
        precision: Precision = "auto",
        rows: int | None = None,
        places: int | None = None,
        alignment: AlignmentHeads | None = None,
        graphs: bool | None = None,
        kernels: bool | None = None,
        steps_at_once: int | None = None,
    ) -> None:
        self.device = torch.empty(0, device=device).device  # with its number, if there may be several
        on_gpu = self.device.type == "cuda"
        if on_gpu:
            torch.cuda.set_device(self.device)  # where Triton and CUDA graphs work
        self.dtype = torch.bfloat16 if precision == "bfloat16" or (precision == "auto" and on_gpu) else torch.float32
        self.model, self.config = model.eval(), model.config
        self.reach = self.config.max_positions if self.config.positions != "none" else None
        """Positions that the model knows; None: any number."""
        if (self.device, self.dtype) != (model.output_weight.device, model.output_weight.dtype):
            self.model = copy.deepcopy(model).to(self.device, self.dtype)
        self.name = f"torch on {self.device.type}, {str(self.dtype).removeprefix('torch.')}"
        self.rows = rows or (16384 if on_gpu else 128)
        self.places = places or (self.affordable() if on_gpu else 1 << 16)
        self.alignment = alignment or AlignmentHeads.default(self.config)
        self.graphs = on_gpu if graphs is None else graphs
        self.kernels = on_gpu if kernels is None else kernels
        self.steps_at_once = steps_at_once
        self.exact = not on_gpu and not self.kernels and self.dtype == torch.float32
        self.lanes: dict[Shape, Lane] = {}
        self.busy = False

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
        pool = torch.cuda.graph_pool_handle() if self.graphs else None
        if self.kernels:
            from hark.decode.engines import decode_kernels as fast

            return Machine(CachedDecoder(self.model, fast.OPERATIONS), cache, fast.choose, self.exact, pool)
        return Machine(CachedDecoder(self.model), cache, candidates, self.exact, pool)

    def lane(self, shape: Shape) -> Lane:
        if shape not in self.lanes:
            self.lanes[shape] = Lane(self.machine, shape, max(1, self.rows // shape.width), self.quick_step(shape))
        return self.lanes[shape]

    def quick_step(self, shape: Shape) -> Callable[[Lane, Tensor], None] | None:
        if not self.kernels:
            return None
        from hark.decode.engines import bookkeeping_kernels

        return bookkeeping_kernels.quick_step if bookkeeping_kernels.serve(shape) else None

    def close(self) -> None:
        """Give back the memory that decoding needed; the weights are the model's."""
        self.lanes.clear()
        self.__dict__.pop("machine", None)

    def run(self, requests: Iterable[Request | None]) -> Iterator[tuple[int, tuple[Hypothesis, ...]]]:
        if self.busy:
            raise HarkError("this engine is decoding already; submit to the run that is under way, or load another")
        self.busy = True
        try:
            yield from Run(self, requests).answers()
        finally:
            self.busy = False

    def check(self, request: Request) -> int:
        """Refuse what cannot be decoded; the tokens that the output may have."""
        prefix = request.prefix
        self.check_tokens(request.source, prefix)
        width = request.search.nbest if request.search.diverse else request.search.beam
        if width > SPARE:
            raise UserError(f"a beam of {width} is more than the {SPARE} that this engine can do; ask for fewer")
        if prefix and EOS in prefix:
            raise UserError("a prefix has the mark of the end in it; leave that out")
        if request.banned and max(request.banned) >= self.config.vocab_size:
            raise UserError("a banned token is beyond the model's vocabulary; is this another model's tokenizer?")
        if request.banned and len({*range(EOS + 1), *request.banned}) >= self.config.vocab_size:
            raise UserError("every token is banned; allow some")
        return max(len(prefix) + 1, min(request.limit, self.reach) if self.reach else request.limit)

    def check_tokens(self, source: Sequence[int], target: Sequence[int]) -> None:
        config, longest = self.config, max(len(source), len(target) + 1)
        if not source:
            raise UserError("a source has no tokens; its end at least must be there")
        if self.reach is not None and longest > self.reach:
            raise UserError(f"a sentence has {longest} tokens, and the model {self.reach} positions; split it")
        if (
            max(source) >= (config.source_vocab_size or config.vocab_size)
            or max(target, default=0) >= config.vocab_size
        ):
            raise UserError("a token is beyond the model's vocabulary; is this another model's tokenizer?")

    @torch.no_grad()
    def remember(self, entered: Sequence[Entered[Job]]) -> None:
        """Encode sources, and put their keys and values at their places; one by one if the company must not matter."""
        for batch in ([each] for each in entered) if self.exact else (entered,):
            text = PackedText.of([each.job.request.source for each in batch], self.device)
            memory_ND = self.model.encode(text.tokens_N, text.positions_N, Packed(text.cu, text.cu, text.longest))
            starts_N = np.repeat([each.start for each in batch], [len(each.job.request.source) for each in batch])
            places_N = send(starts_N, self.device) + text.positions_N
            self.machine.decoder.remember(memory_ND, places_N, self.machine.cache)

    def score(self, pairs: Iterable[Pair]) -> Iterator[tuple[float, ...]]:
        batch: list[Pair] = []
        tokens = 0
        for source, target in pairs:
            self.check_tokens(source, target)
            batch.append((source, target))
            tokens += len(target) + 1
            if self.exact or tokens >= SCORE_TOKENS:
                yield from self.score_batch(batch)
                batch, tokens = [], 0
        if batch:
            yield from self.score_batch(batch)

    @torch.no_grad()
    def score_batch(self, pairs: Sequence[Pair]) -> list[tuple[float, ...]]:
        source = PackedText.of([source for source, _ in pairs], self.device)
        target = PackedText.of([(BOS, *target) for _, target in pairs], self.device)
        expected = PackedText.of([(*target, EOS) for _, target in pairs], self.device)
        longest = max(source.longest, target.longest)
        memory_ND = self.model.encode(source.tokens_N, source.positions_N, Packed(source.cu, source.cu, longest))
        own, cross = Packed(target.cu, target.cu, longest, causal=True), Packed(target.cu, source.cu, longest)
        hidden_ND = self.model.decode(target.tokens_N, memory_ND, target.positions_N, own, cross)
        logits_NV = self.model.logits(hidden_ND).float()
        log_prob_N = logits_NV.log_softmax(-1).gather(1, expected.tokens_N[:, None]).squeeze(1).tolist()
        return [tuple(log_prob_N[start:stop]) for start, stop in pairwise(target.cu.tolist())]

    @torch.no_grad()
    def attention(self, source: Sequence[int], target: Sequence[int], complete: bool = True) -> NDArray[np.float32]:
        """Where each token of a translation looked at: one pass over the finished translation.

        One that was cut off has no step that reads its last token, as while it was searched for.
        """
        source_BS, target_BT = (torch.tensor([[*each]], device=self.device) for each in (source, (BOS, *target)))
        lengths = (torch.tensor([each.shape[1]], device=self.device) for each in (source_BS, target_BT))
        layers: list[Tensor] = []
        self.model(source_BS, target_BT, padded_layout(*lengths).observed(cross=layers.append))
        steps_HTS = layers[self.alignment.layer][0, list(self.alignment.heads), : len(target) + complete]
        return self.alignment.of_tokens(steps_HTS.float().mean(0).cpu().numpy(), len(target))


@dataclass(frozen=True, eq=False)
class PackedText:
    """Sentences end to end."""

    tokens_N: Tensor
    positions_N: Tensor
    cu: Tensor
    longest: int

    @classmethod
    def of(cls, sentences: Sequence[Sequence[int]], device: torch.device) -> Self:
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        cu = np.concatenate([[0], np.cumsum(lengths)])
        tokens_N = np.fromiter(chain.from_iterable(sentences), np.int64, int(cu[-1]))
        positions_N = np.arange(cu[-1]) - np.repeat(cu[:-1], lengths)
        tokens, positions = send(np.stack([tokens_N, positions_N]), device)
        return cls(tokens, positions, send(cu.astype(np.int32), device), int(lengths.max()))


class Run:
    """One stream of requests on its way through an engine: admit, step, retire.

    On a GPU the host is a step ahead: it asks who is done without waiting, starts the next step, and only then looks.
    A sentence that is done stays as it is meanwhile.
    """

    def __init__(self, engine: TorchEngine, requests: Iterable[Request | None]) -> None:
        self.engine = engine
        self.scheduler = Scheduler(requests, self.begin, lambda job: job.size, engine.places, engine.rows)
        self.open: dict[int, Answer] = {}
        self.tenants: dict[Lane, dict[int, Entered[Job]]] = {}
        """Who has which slot."""
        self.asked: deque[list[tuple[Lane, NDArray[np.int64], Later]]] = deque()
        self.fetched: deque[tuple[list[Entered[Job]], Later]] = deque()
        self.lag = 1 if engine.device.type == "cuda" else 0
        for lane in engine.lanes.values():
            lane.clear()

    def begin(self, number: int, request: Request) -> list[Job]:
        jobs = jobs_of(number, request, self.engine.check(request))
        self.open[number] = Answer(request, len(jobs))
        return jobs

    def answers(self) -> Iterator[tuple[int, tuple[Hypothesis, ...]]]:
        while not self.scheduler.idle or self.fetched:
            self.admit()
            self.step()
            on_the_way = len(self.fetched)
            running = self.scheduler.running > 0
            while len(self.asked) > (self.lag if running else 0):
                self.retire()
            # What was just asked for would have to be waited for.
            for _ in range(on_the_way if self.lag and running else len(self.fetched)):
                yield from self.finish()
            if not running:
                time.sleep(IDLE_SECONDS)

    def admit(self) -> None:
        entered = self.scheduler.enter(ENTER * (self.engine.steps_at_once or 1))
        if not entered:
            return
        self.engine.remember(entered)
        groups: dict[Shape, list[Entered[Job]]] = {}
        for each in entered:
            groups.setdefault(each.job.shape, []).append(each)
        for shape, group in groups.items():
            lane = self.engine.lane(shape)
            slots = lane.admit([each.job.arrival(each.start) for each in group])
            self.tenants.setdefault(lane, {}).update(zip(slots, group, strict=True))

    def step(self) -> None:
        lanes = [lane for lane, tenants in self.tenants.items() if tenants]
        for lane in lanes:
            lane.steps(self.steps_at_once(len(self.tenants[lane]) * lane.shape.width))
        if lanes:
            self.asked.append([(lane, *lane.ask()) for lane in lanes])

    def steps_at_once(self, rows: int) -> int:
        if self.engine.steps_at_once is not None:
            return self.engine.steps_at_once
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

    def finish(self) -> Iterator[tuple[int, tuple[Hypothesis, ...]]]:
        """Read what was found, and answer the requests that are complete with it."""
        left, later = self.fetched.popleft()
        *endings, trace = later.get()
        for entered, ended in zip(left, best(Endings(*endings), trace, [each.job.nbest for each in left]), strict=True):
            job = entered.job
            answer = self.open[job.number]
            if job.kind == "look":
                limit = self.engine.check(job.request)
                branches = branches_of(job, ended, limit)
                self.scheduler.put_first(branches)
                answer.open += len(branches)
                answer.found.update({part: [each] for part, each in enumerate(ended) if over(each, limit)})
            else:
                answer.found[job.part] = ended
            answer.open -= 1
            if not answer.open:
                del self.open[job.number]
                yield job.number, self.complete(answer)

    def complete(self, answer: Answer) -> tuple[Hypothesis, ...]:
        hypotheses = answer.hypotheses()
        if answer.request.attention:
            attend = partial(self.engine.attention, answer.request.source)
            hypotheses = [replace(each, attention_TS=attend(each.tokens, each.complete)) for each in hypotheses]
        return tuple(hypotheses)
