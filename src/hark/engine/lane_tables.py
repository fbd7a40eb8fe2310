"""The tables of a lane with the parameters of its searches: how they are laid out, and how new searches enter them."""

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hark.engine.interface import TreeSymbols
from hark.engine.search import Sampling, SearchParams
from hark.engine.transfer import send

PAGE = 16
"""Positions of the output whose places are allocated together, one place for each hypothesis."""


class LaneShape(NamedTuple):
    """The parameters that searches must share to be in one lane."""

    width: int
    keep: int
    """Number of ended hypotheses to keep per sentence."""
    columns: int
    """Maximum length of output or source."""
    forced: int
    """Maximum number of forced tokens; 0: none."""
    banned: int
    sampled: bool
    tree: TreeSymbols | None = None
    """Set if outputs are trees."""

    @property
    def pages(self) -> int:
        return -(-self.columns // PAGE)


def power_of_two(length: int) -> int:
    """Round up to a power of two, at least 16; 0 stays 0."""
    return max(16, 1 << (int(length) - 1).bit_length()) if length else 0


class Arrival(NamedTuple):
    """The parameters of a new search, as plain numbers. The names are those of `SearchParams`."""

    number: int
    """The number of its request."""
    limit: int
    min_length: int
    prefix: int
    forced: Sequence[int]
    start: float
    banned: Sequence[int]
    max_ended: int
    nbest: int
    alpha: float
    memory: int
    """The first place of its memory in the cache."""
    memory_length: int
    reserved: int
    """How many positions of the output have places, which follow the memory. Later pages are anywhere."""
    drawn: Sequence[float]
    """For sampling: a random number between 0 and 1 for each position."""
    temperature: float
    top_k: int
    top_p: float
    words: int = 0
    """The number of words, if the output is a tree."""
    read: bool = False
    """Whether the keys and values of the start token and of all forced tokens but the last are in the cache."""
    min_p: float = 0.0
    first_input: int | None = None
    """The decoder's first input; None: the vocabulary's start token."""
    reported: bool = False
    """Whether its tokens are reported while it runs."""


INTEGERS = ("limit", "min_length", "prefix", "max_ended", "nbest", "memory", "memory_length", "top_k", "words")
FLOATS = ("start", "alpha", "temperature", "top_p", "min_p")
"""The scalar fields of `Arrival`. A lane has one table of each kind for all its sentences, to save work on the host: on
a GPU each table costs a transfer and a kernel launch."""

PADDING = Arrival(-1, 1, 0, 0, (), 0.0, (), 1, 1, 0.0, 0, 0, 1, (), 1.0, 0, 1.0)
"""The parameters of the padding slot, chosen so that its numbers stay finite."""


class ParamTables:
    """The parameters of the searches in all slots of a lane, the places and lengths of their memories, and the first
    places of their pages. Scalars are views into the two tables of numbers.

    harmless: an id that is forbidden anyway; it fills the rows of shorter lists of banned tokens.
    """

    def __init__(self, shape: LaneShape, slots: int, harmless: int, device: torch.device) -> None:
        self.shape, self.harmless = shape, harmless
        self.integers_CB = torch.zeros(len(INTEGERS) + 1 + shape.pages, slots, dtype=torch.long, device=device)
        self.floats_CB = torch.zeros(len(FLOATS), slots, device=device)
        *integers, forced_B = self.integers_CB[: len(INTEGERS) + 1]
        self.pages_GB = self.integers_CB[len(INTEGERS) + 1 :]
        integer, real = dict(zip(INTEGERS, integers, strict=True)), dict(zip(FLOATS, self.floats_CB, strict=True))
        sampling = (
            Sampling(
                drawn_BT=self.floats_CB.new_zeros(slots, shape.columns, dtype=torch.float64),
                temperature_B=real["temperature"],
                top_k_B=integer["top_k"],
                top_p_B=real["top_p"],
                min_p_B=real["min_p"],
            )
            if shape.sampled
            else None
        )
        self.params = SearchParams(
            limit_B=integer["limit"],
            min_length_B=integer["min_length"],
            prefix_B=integer["prefix"],
            forced_B=forced_B,
            forced_BT=forced_B.new_zeros(slots, shape.forced),
            start_B=real["start"],
            banned_BM=forced_B.new_zeros(slots, shape.banned),
            max_ended_B=integer["max_ended"],
            nbest_B=integer["nbest"],
            alpha_B=real["alpha"],
            sampling=sampling,
        )
        self.memory_B, self.memory_lengths_B = integer["memory"], integer["memory_length"]
        self.words_B = integer["words"]

    def write(self, slots: NDArray[np.int64], arrivals: Sequence[Arrival]) -> tuple[Tensor, Tensor]:
        """Write the parameters of new searches to the tables; return their slots and initial log-probabilities."""
        device, params, columns = self.integers_CB.device, self.params, Arrival(*zip(*arrivals, strict=True))  # type: ignore[arg-type]
        forced = [len(each.forced) for each in arrivals]
        integers = np.array([*(getattr(columns, name) for name in INTEGERS), forced], np.int64)
        first_B = integers[INTEGERS.index("memory")] + integers[INTEGERS.index("memory_length")]
        pages_GB = first_B + np.arange(self.shape.pages)[:, None] * (PAGE * self.shape.width)
        integers_CB = send(np.concatenate([integers, pages_GB, slots[None]]), device)
        floats_CB = send(np.array([getattr(columns, name) for name in FLOATS], np.float32), device)
        which_B = integers_CB[-1]
        self.integers_CB.index_copy_(1, which_B, integers_CB[:-1])
        self.floats_CB.index_copy_(1, which_B, floats_CB)

        def fill(table: Tensor, rows: object, filler: int = 0) -> None:
            """Write rows of different lengths, padded with `filler`."""
            kind = np.float64 if table.is_floating_point() else np.int64
            array = np.full((len(arrivals), table.shape[1]), filler, kind)
            for number, row in enumerate(cast(Sequence[Sequence[float]], rows)):
                array[number, : len(row)] = row
            table.index_copy_(0, which_B, send(array, device))

        if params.forced_BT.shape[1]:
            fill(params.forced_BT, columns.forced)
        if params.banned_BM.shape[1]:
            fill(params.banned_BM, columns.banned, self.harmless)
        if params.sampling is not None:
            fill(params.sampling.drawn_BT, columns.drawn)
        return which_B, floats_CB[FLOATS.index("start")]
