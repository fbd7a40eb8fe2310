"""A lane: searches of one shape that are stepped together, in tables of fixed shapes.

A sentence occupies a slot of the lane until it is finished. A step takes a list of slots, gathers their state from the
tables, and scatters the new state back. So the same tables serve steps of any number of sentences, and a step of a
given size can be captured in a CUDA graph, with the list of slots as its only input. Slot number `slots` is unused; it
pads the lists.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hark.engine.lane_tables import PADDING, PAGE, Arrival, LaneShape, ParamTables, power_of_two
from hark.engine.rules import TreeRules, TreeState, draw, draw_each, forbid, force
from hark.engine.search import Candidates, advance, init
from hark.engine.transfer import PendingCopy, Recorder, send
from hark.engine.watch import SearchStep, Watch
from hark.model.cache import Cache, CachedDecoder, Rows
from hark.text.vocabulary import SpecialIds

BLOCK_ROWS = 32
"""Rows per step if results must be independent of the batch. Below 16, matrix products were seen to sum in another
order."""
TEXT_ROWS = (2, 4, 8) if torch.backends.mkl.is_available() else (8,)
"""The same for a decoder alone, whose reader waits for each token: blocks have the smallest of these sizes that holds
them. MKL sums in one order for 2 to 8 rows (`backends.few_rows_linear`), so they are alike to the last bit."""
TEXT_COLUMNS = 64
"""The least bound on the positions of texts: reading padding costs less than a block of its own for each length."""
SIZES = (8, 16, 32, 64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 8192, 16384)
"""Numbers of sentences for which steps are captured."""

Choose = Callable[[Tensor, Tensor], Candidates]
"""From logits and the log-probabilities so far to the best continuations."""
NewTokens = tuple[list[int], list[list[int]], PendingCopy]
"""The numbers of requests, and columns of their outputs; the lengths of these so far and the tokens there follow."""


@dataclass(frozen=True, eq=False)
class DecodeContext:
    """The parts that all lanes of an engine share: decoder, cache and settings."""

    decoder: CachedDecoder
    cache: Cache
    choose: Choose
    special: SpecialIds
    exact: bool
    """Whether results must be independent of the batch, to the last bit."""
    recorder: Recorder | None
    """Captures the steps; None: they are not captured."""
    watch: Watch | None = None
    one_stack: bool = False

    @property
    def device(self) -> torch.device:
        return self.cache.keys_LPHK.device

    @cached_property
    def forbidden(self) -> Tensor:
        """Ids that are never produced."""
        return torch.tensor(self.special.forbidden, device=self.device)

    def logits(self, hidden_RD: Tensor) -> Tensor:
        """Logits in float32, also for 16-bit weights: rounded to 16 bits, many would be equal."""
        model = self.decoder.model
        weight_VD, bias_V = model.output_weight, model.output_bias
        if hidden_RD.is_cuda and hidden_RD.dtype != torch.float32:
            logits_RV = torch.mm(hidden_RD, weight_VD.T, out_dtype=torch.float32)
        else:
            logits_RV = self.decoder.linear(hidden_RD, weight_VD, None).float()
        return logits_RV if bias_V is None else logits_RV.add_(bias_V)


class Lane:
    """Searches of one shape. `quick_step` is a faster implementation of `step`."""

    def __init__(
        self,
        context: DecodeContext,
        shape: LaneShape,
        slots: int,
        quick_step: "Callable[[Lane, Tensor], None] | None" = None,
    ) -> None:
        self.context, self.shape, self.slots, self.quick_step = context, shape, slots, quick_step
        device = context.device
        self.tables = ParamTables(shape, slots + 1, context.special.forbidden[0], device)
        self.params = self.tables.params
        self.memory_B, self.memory_lengths_B = self.tables.memory_B, self.tables.memory_lengths_B
        self.pages_GB = self.tables.pages_GB
        """The first place of each page of a sentence's output."""
        which_B, _ = self.tables.write(np.array([slots]), [PADDING._replace(memory=context.cache.padding)])
        self.fresh = init(self.params.select(which_B), shape.width, shape.keep, context.special.start)
        """The state of a search before its first step."""
        self.beams = self.fresh.room(slots + 1)
        self.beams.done_B.fill_(True)
        self.tree_rules: TreeRules | None = None
        self.trees: TreeState | None = None
        """The trees of the hypotheses, if outputs are trees."""
        if shape.tree is not None:
            vocab_size = context.decoder.model.config.vocab_size
            self.tree_rules = TreeRules.of(shape.tree, vocab_size, context.special.end, device)
            self.trees = self.tree_rules.start(self.tables.words_B, shape.width)
        self.places_BWT = torch.full(
            (slots + 1, shape.width, shape.columns), context.cache.padding, dtype=torch.int32, device=device
        )
        self.trace_BTW = torch.zeros(slots + 1, shape.columns + 1, shape.width, dtype=torch.int32, device=device)
        """The choices at each position; finished sentences write to the last column."""
        self.recorded: dict[int, RecordedStep] = {}
        self.free = list(range(slots))[::-1]
        self.clock = 0
        self.occupied = np.zeros(slots, bool)
        self.numbers = np.full(slots + 1, PADDING.number, np.int64)
        """The request number of the search in each slot."""
        self.tenancy = np.zeros(slots, np.int64)
        """How many searches have occupied each slot."""
        self.since = np.zeros(slots, np.int64)
        """The clock when the search in the slot was at position 0."""
        self.memory_lengths = np.zeros(slots, np.int64)
        self.reserved, self.limits = np.zeros(slots, np.int64), np.zeros(slots, np.int64)
        """How many positions have places, and the maximum position."""
        self.reported: set[int] = set()
        """The slots whose tokens are reported while they are chosen."""

    @torch.no_grad()
    def admit(self, arrivals: Sequence[Arrival]) -> list[int]:
        """Start searches and return their slots."""
        slots = np.array([self.free.pop() for _ in arrivals], np.int64)
        which_B, start_B = self.tables.write(slots, arrivals)
        self.beams.put(which_B, self.fresh.repeated(len(arrivals)))
        self.beams.log_prob_BW[:, 0].index_copy_(0, which_B, start_B)
        if self.trees is not None:
            words_B = self.tables.words_B.index_select(0, which_B)
            self.trees.put(which_B, TreeRules.start(words_B, self.shape.width))
        self.occupied[slots], self.since[slots] = True, self.clock
        self.numbers[slots] = [each.number for each in arrivals]
        self.memory_lengths[slots] = [each.memory_length for each in arrivals]
        self.reserved[slots] = [each.reserved for each in arrivals]
        self.limits[slots] = [each.limit for each in arrivals]
        self.tenancy[slots] += 1
        entered = list(zip(slots.tolist(), arrivals, strict=True))
        self.reported.update(slot for slot, each in entered if each.reported)
        self.replace_start([(slot, each.first_input) for slot, each in entered if each.first_input is not None])
        self.skip_prompts([(slot, each) for slot, each in entered if each.read])
        return slots.tolist()

    def replace_start(self, inputs: Sequence[tuple[int, int]]) -> None:
        """Set the decoder's first input of searches that do not begin with the start token."""
        if inputs:
            slot_B, token_B = send(np.array(inputs, np.int64).T.copy(), self.context.device)
            self.beams.tokens_BW[slot_B] = token_B[:, None]

    def skip_prompts(self, read: Sequence[tuple[int, Arrival]]) -> None:
        """Start searches after their forced tokens, as if these had been forced step by step."""
        if not read:
            return
        width = self.shape.width
        lengths = np.array([len(each.forced) for _, each in read])
        slots = np.array([slot for slot, _ in read])
        position_N = np.concatenate([np.arange(length) for length in lengths])
        first_N = np.repeat([each.memory + each.memory_length for _, each in read], lengths)
        forced_N = np.concatenate([each.forced for _, each in read])
        table = np.stack([np.repeat(slots, lengths), position_N, first_N + position_N * width, forced_N])
        slot_N, column_N, place_N, token_N = send(table, self.context.device)
        self.places_BWT[slot_N, :, column_N] = place_N[:, None].int()
        self.trace_BTW[slot_N, column_N + 1] = (token_N * width).int()[:, None]
        last = [each.forced[-1] for _, each in read]
        slot_B, token_B, position_B = send(np.stack([slots, last, lengths]), self.context.device)
        self.beams.tokens_BW[slot_B] = token_B[:, None]
        self.beams.position_B[slot_B] = position_B
        self.since[slots] -= lengths

    def short_of_places(self, times: int) -> list[int]:
        """The slots whose outputs may be longer after some steps than they have places for."""
        needed = np.minimum(self.limits, self.clock - self.since + times)
        return np.flatnonzero(self.occupied & (needed > self.reserved)).tolist()

    def next_page(self, slot: int) -> int:
        """How many places the next page of a slot needs."""
        return int(min(PAGE, self.limits[slot] - self.reserved[slot])) * self.shape.width

    def add_pages(self, starts: Sequence[tuple[int, int]]) -> None:
        """Add a page to each of some slots, given as (slot, first place)."""
        slots, first = np.array(starts, np.int64).T
        pages = self.reserved[slots] // PAGE
        self.reserved[slots] = np.minimum(self.reserved[slots] + PAGE, self.limits[slots])
        page_N, slot_N, first_N = send(np.stack([pages, slots, first]), self.context.device)
        self.pages_GB[page_N, slot_N] = first_N

    def steps(self, times: int) -> None:
        """Advance all sentences by some steps."""
        if not self.context.exact:
            self.step_together(times)
            self.clock += times
            return
        for _ in range(times):
            for block, positions, memory_length in self.blocks():
                self.step(torch.from_numpy(block), positions, memory_length)
            self.clock += 1

    def blocks(self) -> list[tuple[NDArray[np.int64], int, int]]:
        """Group slots into blocks of a few sizes, each with bounds on positions and memory lengths: the next powers of
        two of each sentence's own, so that they are independent of the batch."""
        rows, least = (TEXT_ROWS, TEXT_COLUMNS) if self.context.one_stack else ((BLOCK_ROWS,), 1)
        sizes = [max(1, each // self.shape.width) for each in rows]
        groups: dict[tuple[int, int], list[int]] = {}
        for slot in np.flatnonzero(self.occupied).tolist():
            positions = power_of_two(self.clock - self.since[slot] + 1)
            key = (max(least, positions), power_of_two(self.memory_lengths[slot]))
            groups.setdefault(key, []).append(slot)
        blocks = []
        for (positions, memory_length), group in groups.items():
            for first in range(0, len(group), sizes[-1]):
                members = group[first : first + sizes[-1]]
                block = np.full(next(size for size in sizes if size >= len(members)), self.slots, np.int64)
                block[: len(members)] = members
                blocks.append((block, min(positions, self.shape.columns), memory_length))
        return blocks

    def step_together(self, times: int) -> None:
        """Step all sentences at once, padded to one of a few sizes."""
        here = np.flatnonzero(self.occupied)
        size = next(each for each in (*SIZES, self.slots) if each >= len(here))
        which = np.full(size, self.slots, np.int64)
        which[: len(here)] = here
        which_B = send(which, self.context.device)
        if self.context.recorder is None:
            for _ in range(times):
                self.step(which_B, self.shape.columns, int(self.memory_lengths[here].max()))
            return
        if size not in self.recorded:
            self.recorded[size] = RecordedStep(self, size, self.context.recorder)
        self.recorded[size].replay(which_B, times)

    @torch.no_grad()
    def step(self, which_B: Tensor, positions: int, longest_memory: int) -> None:
        """Step some slots once. `positions` bounds their output lengths, and `longest_memory` their source lengths."""
        if self.quick_step is not None:
            self.quick_step(self, which_B)
            return
        width, context = self.shape.width, self.context
        beams, params = self.beams.select(which_B), self.params.select(which_B)
        memory_B, lengths_B = self.memory_B.index_select(0, which_B), self.memory_lengths_B.index_select(0, which_B)
        # W places for each position of the output.
        rows_W = torch.arange(width, device=which_B.device)
        page_B = self.pages_GB[beams.position_B // PAGE, which_B]
        here_BW = (page_B + beams.position_B % PAGE * width)[:, None] + rows_W
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
        if context.watch is not None:
            context.watch.numbers = self.numbers[which_B.numpy()].tolist()
        logits_BWV = context.logits(context.decoder.step(rows, context.cache)).unflatten(0, (-1, width))
        logits_BWV = forbid(logits_BWV, beams, params, context.forbidden, context.special.end)
        trees = None if self.trees is None else self.trees.select(which_B)
        if self.tree_rules is not None and trees is not None:
            logits_BWV = self.tree_rules.forbid(logits_BWV, trees, beams, params)
        if params.sampling is None:
            found = context.choose(logits_BWV, beams.log_prob_BW)
        else:
            rows_only = context.one_stack and context.exact
            found = (draw_each if rows_only else draw)(logits_BWV.squeeze(1), beams, params.sampling)
        found = force(found, beams, params)
        after = advance(beams, params, found, context.special.end)
        if context.watch is not None:
            context.watch.stepped(SearchStep(beams, params, logits_BWV, found, after))
        parents_BWT = after.parents_BW[..., None].expand(-1, -1, positions)
        self.places_BWT[:, :, :positions].index_copy_(0, which_B, places_BWT.gather(1, parents_BWT))
        column_B = after.position_B.masked_fill(after.done_B, self.shape.columns)
        self.trace_BTW[which_B, column_B] = after.choices_BW.int()
        self.beams.put(which_B, after)
        if self.tree_rules is not None and self.trees is not None and trees is not None:
            self.trees.put(which_B, self.tree_rules.follow(trees, after))

    def fetch_done(self) -> "tuple[NDArray[np.int64], PendingCopy]":
        """Start copying the finished flags; return them with the tenancy that they refer to."""
        done_B = self.beams.done_B
        return self.tenancy.copy(), PendingCopy(done_B if done_B.is_cuda else done_B.clone())

    def fetch_tokens(self, times: int) -> NewTokens:
        """Start copying the tokens that reported searches chose in the last steps, one hypothesis each."""
        slots = np.array(sorted(self.reported))
        columns_NT = (self.clock - self.since[slots])[:, None] - np.arange(times)[::-1]
        columns_NT = columns_NT.clip(0, self.shape.columns)
        slot_N, *column_TN = send(np.concatenate([slots[None], columns_NT.T]), self.context.device)
        tokens_NT = self.trace_BTW[slot_N[:, None], torch.stack(column_TN, 1), 0]
        return self.numbers[slots].tolist(), columns_NT.tolist(), PendingCopy(self.beams.position_B[slot_N], tokens_NT)

    def done(self, tenancy: NDArray[np.int64], later: PendingCopy) -> list[int]:
        """The slots whose current searches are finished."""
        done_B = later.get()[0][:-1].numpy()
        return np.flatnonzero(done_B & self.occupied & (self.tenancy == tenancy)).tolist()

    def vacate(self, slots: Sequence[int]) -> None:
        """Free slots and discard their results."""
        self.occupied[slots], self.numbers[slots] = False, PADDING.number
        self.reported.difference_update(slots)
        self.free.extend(slots)

    @torch.no_grad()
    def release(self, slots: Sequence[int]) -> PendingCopy:
        """Free slots and start copying their results."""
        which = np.array(slots, np.int64)
        longest = int((self.clock - self.since[which]).max())
        self.vacate(slots)
        which_B = send(which, self.context.device)
        endings = self.beams.endings.select(which_B)
        trace = self.trace_BTW[:, : min(longest, self.shape.columns) + 1].index_select(0, which_B)
        return PendingCopy(endings.score_BF, endings.log_prob_BF, endings.length_BF, endings.choice_BF, trace)


class RecordedStep:
    """A lane's step for a fixed number of slots, captured as a CUDA graph; warm-up runs on the padding slot."""

    def __init__(self, lane: Lane, size: int, recorder: Recorder) -> None:
        self.which_B = torch.full((size,), lane.slots, device=lane.context.device)
        self.graph = recorder.record(lambda: lane.step(self.which_B, lane.shape.columns, lane.shape.columns))

    def replay(self, which_B: Tensor, times: int) -> None:
        self.which_B.copy_(which_B)
        for _ in range(times):
            self.graph.replay()
