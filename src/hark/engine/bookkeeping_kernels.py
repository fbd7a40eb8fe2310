"""Triton kernels for the bookkeeping of a step: three kernels replace about a hundred small operations of `Lane.step`.

Each program handles one sentence, and reads and writes only its slot of the lane's tables. `settle` does what
`rules.force` and `search.advance` do, which are its oracle in the tests; the shape letters are theirs.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from hark.engine.lane import Lane
from hark.engine.lane_tables import PAGE, LaneShape
from hark.engine.search import Candidates
from hark.model.cache import Rows

POSITIONS = 64
"""Columns of the tables of places per iteration."""
WIDEST, MOST_KEPT = 16, 48
"""The maximum beam width, and number of ended hypotheses kept per sentence, that these kernels support."""


@triton.jit
def prepare_kernel(
    which_at, tokens_at, position_at, log_prob_at, memory_at, lengths_at, pages_at, places_at,
    out_tokens, out_positions, out_log_prob, out_memory, out_lengths, out_places, slots, T,
    W: tl.constexpr, W_BLOCK: tl.constexpr, POSITIONS: tl.constexpr, PAGE: tl.constexpr,
):  # fmt: skip
    """Gather the decoder's inputs from the tables, and compute the place of each row's new key."""
    sentence = tl.program_id(0).to(tl.int64)
    slot = tl.load(which_at + sentence)
    w = tl.arange(0, W_BLOCK)
    real = w < W
    position, memory, length = tl.load(position_at + slot), tl.load(memory_at + slot), tl.load(lengths_at + slot)
    tl.store(out_memory + sentence, memory)
    tl.store(out_lengths + sentence, length)
    tl.store(out_tokens + sentence * W + w, tl.load(tokens_at + slot * W + w, mask=real), mask=real)
    tl.store(out_log_prob + sentence * W + w, tl.load(log_prob_at + slot * W + w, mask=real), mask=real)
    tl.store(out_positions + sentence * W + w, position + tl.zeros([W_BLOCK], tl.int64), mask=real)
    page = tl.load(pages_at + (position // PAGE) * slots + slot)
    here = (page + (position % PAGE) * W + w).to(tl.int32)
    for first in range(0, position + 1, POSITIONS):
        t = first + tl.arange(0, POSITIONS)
        old = tl.load(
            places_at + (slot * W + w)[:, None] * T + t[None, :], mask=real[:, None] & (t < position)[None, :]
        )
        now = tl.where((t == position)[None, :], here[:, None], old)
        inside = real[:, None] & (t <= position)[None, :]
        tl.store(out_places + (sentence * W + w)[:, None] * T + t[None, :], now, mask=inside)


@triton.jit
def forbid_kernel(
    which_at, logits_at, position_at, min_length_at, forbidden_at, banned_at, vocabulary,
    W: tl.constexpr, N: tl.constexpr, N_BLOCK: tl.constexpr, M: tl.constexpr, M_BLOCK: tl.constexpr, EOS: tl.constexpr,
):  # fmt: skip
    """`rules.forbid` for one row."""
    row = tl.program_id(0).to(tl.int64)
    slot = tl.load(which_at + row // W)
    n = tl.arange(0, N_BLOCK)
    # One more entry: EOS, if the output is too short.
    too_short = tl.load(position_at + slot) < tl.load(min_length_at + slot)
    forbidden = tl.where(n < N, tl.load(forbidden_at + n, mask=n < N, other=0), EOS)
    mask = n < N + tl.where(too_short, 1, 0)
    tl.store(logits_at + row * vocabulary + forbidden, tl.full([N_BLOCK], float("-inf"), tl.float32), mask=mask)
    if M > 0:
        m = tl.arange(0, M_BLOCK)
        banned = tl.load(banned_at + slot * M + m, mask=m < M, other=0)
        tl.store(logits_at + row * vocabulary + banned, tl.full([M_BLOCK], float("-inf"), tl.float32), mask=m < M)


@triton.jit
def penalty(length, alpha):
    return tl.exp(alpha * tl.log((5.0 + length.to(tl.float32)) / 6.0))


@triton.jit
def settle_kernel(
    which_at, found_log_prob, found_rows, found_tokens, places_from,
    limit_at, prefix_at, forced_length_at, forced_at, max_ended_at, nbest_at, alpha_at,
    tokens_at, parents_at, log_prob_at, position_at,
    score_at, ended_log_prob_at, length_at, choice_at, n_ended_at, done_at, places_at, trace_at, T, forced_columns,
    W: tl.constexpr, F: tl.constexpr, W_BLOCK: tl.constexpr, C_BLOCK: tl.constexpr, N_BLOCK: tl.constexpr,
    EOS: tl.constexpr, POSITIONS: tl.constexpr,
):  # fmt: skip
    sentence = tl.program_id(0).to(tl.int64)
    slot = tl.load(which_at + sentence)
    was_done = tl.load(done_at + slot) != 0
    position, limit, prefix = tl.load(position_at + slot), tl.load(limit_at + slot), tl.load(prefix_at + slot)
    alpha, n_forced = tl.load(alpha_at + slot), tl.load(forced_length_at + slot)
    length = position + 1
    last = length >= limit
    is_forced = position < n_forced

    # The candidates, or the forced token alone.
    c = tl.arange(0, C_BLOCK)
    inside = c < 2 * W
    log_prob = tl.load(found_log_prob + sentence * (2 * W) + c, mask=inside, other=float("-inf"))
    rows = tl.load(found_rows + sentence * (2 * W) + c, mask=inside, other=0)
    tokens = tl.load(found_tokens + sentence * (2 * W) + c, mask=inside, other=0)
    forced_token = tl.load(forced_at + slot * forced_columns + position, mask=is_forced, other=0)
    only = tl.where(c == 0, tl.load(log_prob_at + slot * W), float("-inf"))
    log_prob, rows = tl.where(is_forced, only, log_prob), tl.where(is_forced, 0, rows)
    tokens = tl.where(is_forced, forced_token, tokens)
    # Empty candidates (-inf) do not count as EOS; so at least W candidates are not EOS.
    end = (tokens == EOS) & (log_prob > float("-inf")) & (is_forced == 0)

    # Merge hypotheses that end at this step, among the first W, with those that ended before: each is stored by rank.
    n = tl.arange(0, N_BLOCK)
    kept, new = n < F, (n >= F) & (n < F + W)
    at = tl.where(new, n - F, 0)
    new_log_prob = tl.load(found_log_prob + sentence * (2 * W) + at, mask=new, other=float("-inf"))
    new_tokens = tl.load(found_tokens + sentence * (2 * W) + at, mask=new, other=0)
    new_rows = tl.load(found_rows + sentence * (2 * W) + at, mask=new, other=0)
    ends = new & ((new_tokens == EOS) | last) & (new_log_prob > float("-inf")) & (is_forced == 0) & (was_done == 0)
    old_score = tl.load(score_at + slot * F + n, mask=kept, other=float("-inf"))
    old_log_prob = tl.load(ended_log_prob_at + slot * F + n, mask=kept, other=0.0)
    old_length = tl.load(length_at + slot * F + n, mask=kept, other=0)
    old_choice = tl.load(choice_at + slot * F + n, mask=kept, other=0)
    score = tl.where(ends, new_log_prob / penalty(length - prefix, alpha), tl.where(kept, old_score, float("-inf")))
    better = (score[None, :] > score[:, None]) | ((score[None, :] == score[:, None]) & (n[None, :] < n[:, None]))
    rank = tl.sum(better.to(tl.int32), 1)
    tl.debug_barrier()  # finish all loads before the first store
    stays = (rank < F) & (kept | new)
    tl.store(score_at + slot * F + rank, score, mask=stays)
    tl.store(ended_log_prob_at + slot * F + rank, tl.where(new, new_log_prob, old_log_prob), mask=stays)
    tl.store(length_at + slot * F + rank, tl.where(new, length, old_length), mask=stays)
    tl.store(choice_at + slot * F + rank, tl.where(new, new_tokens * W + new_rows, old_choice), mask=stays)
    n_ended = tl.load(n_ended_at + slot) + tl.sum(ends.to(tl.int64), 0)
    tl.store(n_ended_at + slot, n_ended)

    # Hypotheses that stay live: the first W that are not EOS.
    stays_live = inside & (end == 0)
    before = tl.sum((stays_live[None, :] & (c[None, :] < c[:, None])).to(tl.int32), 1)
    w = tl.arange(0, W_BLOCK)
    real = w < W
    here = stays_live[None, :] & (before[None, :] == w[:, None])
    live_log_prob = tl.max(tl.where(here, log_prob[None, :], float("-inf")), 1)
    live_rows = tl.sum(tl.where(here, rows[None, :], 0), 1)
    live_tokens = tl.sum(tl.where(here, tokens[None, :], 0), 1)

    # Whether the search is finished (see `search.advance` for the bound).
    most = tl.max(tl.where(real, live_log_prob, float("-inf")), 0) / penalty(limit - prefix, alpha)
    least = tl.max(tl.where(rank == tl.load(nbest_at + slot) - 1, score, float("-inf")), 0)
    done = was_done | last | (n_ended >= tl.load(max_ended_at + slot)) | (least >= most)
    tl.store(done_at + slot, done.to(tl.int8))
    if done == 0:
        tl.store(position_at + slot, length)
        tl.store(tokens_at + slot * W + w, live_tokens, mask=real)
        tl.store(parents_at + slot * W + w, live_rows, mask=real)
        tl.store(log_prob_at + slot * W + w, live_log_prob, mask=real)
        tl.store(trace_at + (slot * (T + 1) + length) * W + w, (live_tokens * W + live_rows).to(tl.int32), mask=real)
        for first in range(0, length, POSITIONS):
            t = first + tl.arange(0, POSITIONS)
            seen = real[:, None] & (t < length)[None, :]
            place = tl.load(places_from + (sentence * W + live_rows)[:, None] * T + t[None, :], mask=seen, other=0)
            tl.store(places_at + (slot * W + w)[:, None] * T + t[None, :], place, mask=seen)


def prepare(lane: Lane, which_B: Tensor) -> tuple[Rows, Tensor]:
    """Return the rows of a step and their log-probabilities so far."""
    sentences, width, columns = len(which_B), lane.shape.width, lane.shape.columns
    beams, new = lane.beams, which_B.new_empty
    tokens_R, positions_R = new(sentences * width), new(sentences * width)
    memory_B, lengths_B = new(sentences), new(sentences)
    places_RT = lane.places_BWT.new_empty(sentences * width, columns)
    log_prob_BW = beams.log_prob_BW.new_empty(sentences, width)
    prepare_kernel[(sentences,)](
        which_B, beams.tokens_BW, beams.position_B, beams.log_prob_BW, lane.memory_B, lane.memory_lengths_B,
        lane.pages_GB, lane.places_BWT, tokens_R, positions_R, log_prob_BW, memory_B, lengths_B, places_RT,
        lane.pages_GB.shape[1], columns,
        W=width, W_BLOCK=triton.next_power_of_2(width), POSITIONS=POSITIONS, PAGE=PAGE, num_warps=2,
    )  # fmt: skip
    return Rows(tokens_R, positions_R, places_RT, memory_B, lengths_B, columns), log_prob_BW


def forbid(lane: Lane, which_B: Tensor, logits_BWV: Tensor) -> None:
    sentences, width, vocabulary = logits_BWV.shape
    banned, forbidden = lane.shape.banned, lane.context.forbidden
    forbid_kernel[(sentences * width,)](
        which_B, logits_BWV, lane.beams.position_B, lane.params.min_length_B, forbidden, lane.params.banned_BM,
        vocabulary, W=width, N=len(forbidden), N_BLOCK=triton.next_power_of_2(len(forbidden) + 1),
        M=banned, M_BLOCK=triton.next_power_of_2(max(1, banned)), EOS=lane.context.special.end, num_warps=1,
    )  # fmt: skip


def settle(lane: Lane, which_B: Tensor, found: Candidates, places_RT: Tensor) -> None:
    """Select live and ended hypotheses and write them to the tables."""
    shape, beams, params, endings = lane.shape, lane.beams, lane.params, lane.beams.endings
    settle_kernel[(len(which_B),)](
        which_B, found.log_prob_BC, found.rows_BC, found.tokens_BC, places_RT,
        params.limit_B, params.prefix_B, params.forced_B, params.forced_BT,
        params.max_ended_B, params.nbest_B, params.alpha_B,
        beams.tokens_BW, beams.parents_BW, beams.log_prob_BW, beams.position_B,
        endings.score_BF, endings.log_prob_BF, endings.length_BF, endings.choice_BF, beams.n_ended_B,
        beams.done_B.view(dtype=torch.int8), lane.places_BWT, lane.trace_BTW, shape.columns, shape.forced,
        W=shape.width, F=shape.keep, W_BLOCK=triton.next_power_of_2(shape.width),
        C_BLOCK=triton.next_power_of_2(2 * shape.width), N_BLOCK=triton.next_power_of_2(shape.keep + shape.width),
        EOS=lane.context.special.end, POSITIONS=POSITIONS, num_warps=1,
    )  # fmt: skip


def quick_step(lane: Lane, which_B: Tensor) -> None:
    """`Lane.step` with these kernels."""
    context = lane.context
    rows, log_prob_BW = prepare(lane, which_B)
    logits_BWV = context.logits(context.decoder.step(rows, context.cache)).unflatten(0, log_prob_BW.shape)
    forbid(lane, which_B, logits_BWV)
    settle(lane, which_B, context.choose(logits_BWV, log_prob_BW), rows.places_RT)


def serve(shape: LaneShape) -> bool:
    """Whether these kernels support lanes of this shape."""
    return not shape.sampled and shape.tree is None and shape.width <= WIDEST and shape.keep <= MOST_KEPT
