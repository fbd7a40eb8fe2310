"""A lane: searches of one shape that are stepped together, in tables whose shapes never change.

A sentence has a slot of the lane from when it enters until it is done. A step works on a list of slots: it selects what
it needs from the tables, and puts the outcome back. So the same tables serve steps of any number of sentences, and a
step of a given size can be recorded in a CUDA graph, its list of slots being the only thing that changes. Slot `slots`
is nobody's; it fills lists up.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hark.decode.engines.transfer import Later, send
from hark.decode.engines.watch import SearchStep, Watch
from hark.decode.rules import draw, forbid, force
from hark.decode.search import advance, init
from hark.decode.state import Candidates, Chance, Terms
from hark.model.cache import Cache, CachedDecoder, Rows
from hark.text.vocabulary import SpecialIds

BLOCK_ROWS = 32
"""Rows of a step where results must be independent of batch composition. Below 16, matrix products were seen to add in
another order."""
SIZES = (8, 16, 32, 64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 8192, 16384)
"""Sentences that recorded steps are made for."""

Choose = Callable[[Tensor, Tensor], Candidates]
"""Logits and log-probabilities so far: the best continuations."""


class LaneShape(NamedTuple):
    """What searches must have in common to share a lane."""

    width: int
    keep: int
    """Ended hypotheses that are kept of a sentence."""
    columns: int
    """The longest output, or source."""
    forced: int
    """Tokens that can be given; 0: to none is any given."""
    banned: int
    sampled: bool


class Arrival(NamedTuple):
    """A search on its way in, in plain numbers. The names are those of `Terms`."""

    number: int
    """Of its request."""
    limit: int
    min_length: int
    prefix: int
    forced: Sequence[int]
    start: float
    banned: Sequence[int]
    wanted: int
    nbest: int
    alpha: float
    memory: int
    """The first place of its memory in the cache."""
    memory_length: int
    drawn: Sequence[float]
    """Of sampling: a number between 0 and 1 for each position."""
    temperature: float
    top_k: int
    top_p: float


INTEGERS = ("limit", "min_length", "prefix", "wanted", "nbest", "memory", "memory_length", "top_k")
FLOATS = ("start", "alpha", "temperature", "top_p")
"""The fields of `Arrival` that are numbers. A lane has a table of either kind for all its sentences, because what comes
in one piece costs the host little: on a GPU each piece is a transfer, and a kernel that puts it in its place."""

NOBODY = Arrival(-1, 1, 0, 0, (), 0.0, (), 1, 1, 0.0, 0, 0, (), 1.0, 0, 1.0)
"""Whose terms the slot of nobody has, so that its numbers are finite."""


@dataclass(frozen=True, eq=False)
class Machine:
    """What all lanes of an engine share."""

    decoder: CachedDecoder
    cache: Cache
    choose: Choose
    special: SpecialIds
    exact: bool
    """Whether results must be independent of batch composition, to the last bit."""
    graph_pool: torch.cuda.MemPool | None
    """Memory that recorded steps share, because only one runs at a time; None: steps are not recorded. It stays when
    all of them have been evicted, which a mere handle does not."""
    watch: Watch | None = None

    @property
    def device(self) -> torch.device:
        return self.cache.keys_LPHK.device

    @cached_property
    def forbidden(self) -> Tensor:
        """Ids that are never produced."""
        return torch.tensor(self.special.forbidden, device=self.device)

    def logits(self, hidden_RD: Tensor) -> Tensor:
        """In float32, also of 16-bit factors: rounded to 16 bits, many of them would be equal."""
        model = self.decoder.model
        weight_VD, bias_V = model.output_weight, model.output_bias
        if hidden_RD.is_cuda and hidden_RD.dtype != torch.float32:
            logits_RV = torch.mm(hidden_RD, weight_VD.T, out_dtype=torch.float32)
        else:
            logits_RV = (hidden_RD @ weight_VD.T).float()
        return logits_RV if bias_V is None else logits_RV.add_(bias_V)


class Lane:
    """`quick_step` does what `step` does, in other ways."""

    def __init__(
        self,
        machine: Machine,
        shape: LaneShape,
        slots: int,
        quick_step: "Callable[[Lane, Tensor], None] | None" = None,
    ) -> None:
        self.machine, self.shape, self.slots, self.quick_step = machine, shape, slots, quick_step
        device = machine.device
        self.integers_CB = torch.zeros(len(INTEGERS) + 1, slots + 1, dtype=torch.long, device=device)
        self.floats_CB = torch.zeros(len(FLOATS), slots + 1, device=device)
        self.terms, self.memory_B, self.memory_lengths_B = self.tables()
        which_B, _ = self.put_terms(np.array([slots]), [NOBODY._replace(memory=machine.cache.nowhere)])
        self.fresh = init(self.terms.select(which_B), shape.width, shape.keep, machine.special.start)
        """A search before its first step."""
        self.beams = self.fresh.room(slots + 1)
        self.beams.done_B.fill_(True)
        self.places_BWT = torch.full(
            (slots + 1, shape.width, shape.columns), machine.cache.nowhere, dtype=torch.int32, device=device
        )
        self.trace_BTW = torch.zeros(slots + 1, shape.columns + 1, shape.width, dtype=torch.int32, device=device)
        """Choices at each position; the last column is for those who are done."""
        self.recorded: dict[int, RecordedStep] = {}
        self.free = list(range(slots))[::-1]
        self.clock = 0
        self.occupied = np.zeros(slots, bool)
        self.numbers = np.full(slots + 1, NOBODY.number, np.int64)
        """The request that each slot's search belongs to."""
        self.tenancy = np.zeros(slots, np.int64)
        """Counts the searches that had the slot."""
        self.since = np.zeros(slots, np.int64)
        """The clock when the slot was taken."""
        self.memory_lengths = np.zeros(slots, np.int64)

    def tables(self) -> tuple[Terms, Tensor, Tensor]:
        """The terms of all slots, and where their memories lie and how long they are: rows of the tables of numbers,
        and what is no single number."""
        shape, (*integers, forced_B) = self.shape, self.integers_CB
        integer, real = dict(zip(INTEGERS, integers, strict=True)), dict(zip(FLOATS, self.floats_CB, strict=True))
        chance = (
            Chance(
                drawn_BT=self.floats_CB.new_zeros(self.slots + 1, shape.columns, dtype=torch.float64),
                temperature_B=real["temperature"],
                top_k_B=integer["top_k"],
                top_p_B=real["top_p"],
            )
            if shape.sampled
            else None
        )
        terms = Terms(
            limit_B=integer["limit"],
            min_length_B=integer["min_length"],
            prefix_B=integer["prefix"],
            forced_B=forced_B,
            forced_BT=forced_B.new_zeros(self.slots + 1, shape.forced),
            start_B=real["start"],
            banned_BM=forced_B.new_zeros(self.slots + 1, shape.banned),
            max_ended_B=integer["wanted"],
            nbest_B=integer["nbest"],
            alpha_B=real["alpha"],
            chance=chance,
        )
        return terms, integer["memory"], integer["memory_length"]

    def put_terms(self, slots: NDArray[np.int64], arrivals: Sequence[Arrival]) -> tuple[Tensor, Tensor]:
        """Write what searches were asked into the tables; their slots, and their log-probabilities to begin with."""
        device, terms, columns = self.machine.device, self.terms, Arrival(*zip(*arrivals, strict=True))  # type: ignore[arg-type]
        forced = [len(each.forced) for each in arrivals]
        integers = np.array([*(getattr(columns, name) for name in INTEGERS), forced, slots], np.int64)
        integers_CB = send(integers, device)
        floats_CB = send(np.array([getattr(columns, name) for name in FLOATS], np.float32), device)
        which_B = integers_CB[-1]
        self.integers_CB.index_copy_(1, which_B, integers_CB[:-1])
        self.floats_CB.index_copy_(1, which_B, floats_CB)

        def fill(table: Tensor, rows: object, filler: int = 0) -> None:
            """With rows of different lengths, filled up."""
            kind = np.float64 if table.is_floating_point() else np.int64
            array = np.full((len(arrivals), table.shape[1]), filler, kind)
            for number, row in enumerate(cast(Sequence[Sequence[float]], rows)):
                array[number, : len(row)] = row
            table.index_copy_(0, which_B, send(array, device))

        if self.shape.forced:
            fill(terms.forced_BT, columns.forced)
        if self.shape.banned:
            fill(terms.banned_BM, columns.banned, self.machine.special.forbidden[0])
        if terms.chance is not None:
            fill(terms.chance.drawn_BT, columns.drawn)
        return which_B, floats_CB[FLOATS.index("start")]

    @torch.no_grad()
    def admit(self, arrivals: Sequence[Arrival]) -> list[int]:
        """Begin searches; the slots that they have now."""
        slots = np.array([self.free.pop() for _ in arrivals], np.int64)
        which_B, start_B = self.put_terms(slots, arrivals)
        self.beams.put(which_B, self.fresh.repeated(len(arrivals)))
        self.beams.log_prob_BW[:, 0].index_copy_(0, which_B, start_B)
        self.occupied[slots], self.since[slots] = True, self.clock
        self.numbers[slots] = [each.number for each in arrivals]
        self.memory_lengths[slots] = [each.memory_length for each in arrivals]
        self.tenancy[slots] += 1
        return slots.tolist()

    def steps(self, times: int) -> None:
        """Take all sentences on by some steps."""
        if not self.machine.exact:
            self.step_together(times)
            self.clock += times
            return
        for _ in range(times):
            for block, positions, memory_length in self.blocks():
                self.step(torch.from_numpy(block), positions, memory_length)
            self.clock += 1

    def blocks(self) -> list[tuple[NDArray[np.int64], int, int]]:
        """Slots in blocks of one size, and bounds on positions and memory lengths: the next powers of two of each
        sentence itself, so that batch composition does not matter."""
        size = max(1, BLOCK_ROWS // self.shape.width)
        groups: dict[tuple[int, int], list[int]] = {}
        for slot in np.flatnonzero(self.occupied).tolist():
            key = (power_of_two(self.clock - self.since[slot] + 1), power_of_two(self.memory_lengths[slot]))
            groups.setdefault(key, []).append(slot)
        blocks = []
        for (positions, memory_length), group in groups.items():
            for first in range(0, len(group), size):
                block = np.full(size, self.slots, np.int64)
                block[: len(group[first : first + size])] = group[first : first + size]
                blocks.append((block, min(positions, self.shape.columns), memory_length))
        return blocks

    def step_together(self, times: int) -> None:
        """All sentences at once, filled up to one of a few sizes."""
        here = np.flatnonzero(self.occupied)
        size = next(each for each in (*SIZES, self.slots) if each >= len(here))
        which = np.full(size, self.slots, np.int64)
        which[: len(here)] = here
        which_B = send(which, self.machine.device)
        if self.machine.graph_pool is None:
            for _ in range(times):
                self.step(which_B, self.shape.columns, int(self.memory_lengths[here].max()))
            return
        if size not in self.recorded:
            self.recorded[size] = RecordedStep(self, size, self.machine.graph_pool)
        self.recorded[size].replay(which_B, times)

    @torch.no_grad()
    def step(self, which_B: Tensor, positions: int, longest_memory: int) -> None:
        """One step of some slots. `positions` bounds how far they have come, and `longest_memory` their sources."""
        if self.quick_step is not None:
            self.quick_step(self, which_B)
            return
        width, machine = self.shape.width, self.machine
        beams, terms = self.beams.select(which_B), self.terms.select(which_B)
        memory_B, lengths_B = self.memory_B.index_select(0, which_B), self.memory_lengths_B.index_select(0, which_B)
        # A sentence's places: its memory, then W for each position of the output.
        rows_W = torch.arange(width, device=which_B.device)
        here_BW = (memory_B + lengths_B + beams.position_B * width)[:, None] + rows_W
        column_BW1 = beams.position_B[:, None, None].expand(-1, width, 1)
        places_BWT = self.places_BWT[:, :, :positions].index_select(0, which_B)
        places_BWT = places_BWT.scatter(2, column_BW1, here_BW[..., None].int())
        rows = Rows(
            tokens_R=beams.tokens_BW.flatten(),
            positions_R=column_BW1.flatten(),
            places_RT=places_BWT.flatten(0, 1),
            memory_B=memory_B,
            memory_lengths_B=lengths_B,
            longest_memory=longest_memory,
        )
        if machine.watch is not None:
            machine.watch.numbers = self.numbers[which_B.numpy()].tolist()
        logits_BWV = machine.logits(machine.decoder.step(rows, machine.cache)).unflatten(0, (-1, width))
        logits_BWV = forbid(logits_BWV, beams, terms, machine.forbidden, machine.special.end)
        if terms.chance is None:
            found = machine.choose(logits_BWV, beams.log_prob_BW)
        else:
            found = draw(logits_BWV.squeeze(1), beams, terms.chance)
        after = advance(beams, terms, force(found, beams, terms), machine.special.end)
        if machine.watch is not None:
            machine.watch.stepped(SearchStep(beams, terms, logits_BWV, found, after))
        parents_BWT = after.parents_BW[..., None].expand(-1, -1, positions)
        self.places_BWT[:, :, :positions].index_copy_(0, which_B, places_BWT.gather(1, parents_BWT))
        column_B = after.position_B.masked_fill(after.done_B, self.shape.columns)
        self.trace_BTW[which_B, column_B] = after.choices_BW.int()
        self.beams.put(which_B, after)

    def ask(self) -> "tuple[NDArray[np.int64], Later]":
        """Who is done; and the tenants that this is said of."""
        done_B = self.beams.done_B
        return self.tenancy.copy(), Later(done_B if done_B.is_cuda else done_B.clone())

    def done(self, tenancy: NDArray[np.int64], later: Later) -> list[int]:
        """Slots whose present tenants are done."""
        done_B = later.get()[0][:-1].numpy()
        return np.flatnonzero(done_B & self.occupied & (self.tenancy == tenancy)).tolist()

    def vacate(self, slots: Sequence[int]) -> None:
        """Free slots, whatever their searches have found."""
        self.occupied[slots], self.numbers[slots] = False, NOBODY.number
        self.free.extend(slots)

    @torch.no_grad()
    def release(self, slots: Sequence[int]) -> Later:
        """Free slots; what their searches found is on its way."""
        which = np.array(slots, np.int64)
        longest = int((self.clock - self.since[which]).max())
        self.vacate(slots)
        which_B = send(which, self.machine.device)
        endings = self.beams.endings.select(which_B)
        trace = self.trace_BTW[:, : min(longest, self.shape.columns) + 1].index_select(0, which_B)
        return Later(endings.score_BF, endings.log_prob_BF, endings.length_BF, endings.choice_BF, trace)


def power_of_two(length: int) -> int:
    """The next one, from 16 on; of nothing, nothing."""
    return max(16, 1 << (int(length) - 1).bit_length()) if length else 0


class RecordedStep:
    """A lane's step of so many slots, as a CUDA graph. It is tried out on the slot of nobody, which harms none."""

    def __init__(self, lane: Lane, size: int, pool: torch.cuda.MemPool) -> None:
        self.which_B = torch.full((size,), lane.slots, device=lane.machine.device)
        shape = (self.which_B, lane.shape.columns, lane.shape.columns)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                lane.step(*shape)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        # Other threads, of a server say, may go on using the device.
        with torch.cuda.graph(self.graph, pool=pool.id, capture_error_mode="thread_local"):  # type: ignore[arg-type]
            lane.step(*shape)

    def replay(self, which_B: Tensor, times: int) -> None:
        self.which_B.copy_(which_B)
        for _ in range(times):
            self.graph.replay()
