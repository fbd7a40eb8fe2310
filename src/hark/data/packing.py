"""Bin packing of pairs into batches with limits on the tokens of each side and on pairs."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hark.data.pool import Lengths

_STEPS = 2  # swaps per column before balancing gives up
_SPARE = 32  # maximum number of free entries added to a column
_PARTNERS = 8  # columns considered as swap partners, those with the most room
_CANDIDATES = 1 << 13  # swaps evaluated at once


class Capacity(NamedTuple):
    """Limits of one batch: slots of each side, and pairs."""

    slots: tuple[int, ...]
    pairs: int


def balance(lengths: Lengths, capacity: Capacity) -> NDArray[np.intp] | None:
    """Make every column fit by a few swaps between columns; return None if that fails.

    `lengths` has a table for each side. Rows are strata, columns are batches, and an entry of length 0 is free. The
    result holds the index of the entry (in the flattened table, -1 for none) now at each position; it has up to
    `_SPARE` more rows than the input. The most overfull column repeatedly swaps one entry with a column that has room,
    until all columns fit.
    """
    _, n_rows, n_columns = lengths.shape
    # Free entries let a pair move without another in return.
    n_free = min(n_rows, _SPARE, capacity.pairs - n_rows)
    entries = np.vstack([np.arange(n_rows * n_columns).reshape(n_rows, -1), np.full((n_free, n_columns), -1)])
    # float32 is exact far beyond any length, and its products do not overflow.
    tables = np.pad(lengths.astype(np.float32), ((0, 0), (0, n_free), (0, 0)))
    limits = np.array(capacity.slots)[:, None]
    loads = tables.sum(1, dtype=np.float64)
    if np.any(loads.sum(1) > limits[:, 0] * n_columns):
        return None
    for _ in range(_STEPS * n_columns):
        over = (loads - limits).max(0)
        full = int(over.argmax())
        if over[full] <= 0:
            return entries
        partners = np.argsort(over, kind="stable")[:_PARTNERS]
        swap = _best_swap(tables, loads, full, partners)
        if swap is None:
            return None
        row, partner_row, partner = swap
        moved = tables[:, row, full] - tables[:, partner_row, partner]
        loads[:, full] -= moved
        loads[:, partner] += moved
        for table in (entries, *tables):
            table[row, full], table[partner_row, partner] = table[partner_row, partner], table[row, full]
    return None


def _best_swap(
    lengths: NDArray[np.float32], loads: NDArray[np.float64], full: int, partners: NDArray[np.intp]
) -> tuple[int, int, int] | None:
    """Return a swap that balances the loads: a row of the full column, and the row and column of its partner.

    It is the best swap of the first window of rows that has any. Considers partners in the same row first. In long
    columns these differ enough; in short ones, and if none helps, it considers other rows as well.
    """
    n_rows = lengths.shape[1]
    excess = (loads[:, full, None] - loads[:, partners]).astype(np.float32)
    partner_lengths = lengths[:, None, :, partners]
    window = max(1, _CANDIDATES // (n_rows * len(partners)))
    for start in range(0, n_rows, window):
        rows = (np.arange(n_rows) + np.arange(start, min(start + window, n_rows))[:, None]) % n_rows
        # Moving d from load a to load b changes a^2 + b^2 by 2 d (d - (a - b)).
        d = lengths[:, rows, full, None] - partner_lengths
        change = d * (d - excess[:, None, None])
        change = change.sum(0)
        shift, partner_row, partner = np.unravel_index(int(change.argmin()), change.shape)
        if change[shift, partner_row, partner] < 0:
            return int(rows[shift, partner_row]), int(partner_row), int(partners[partner])
    return None


def pack(lengths: Lengths, n_bins: int, capacity: Capacity) -> NDArray[np.intp]:
    """Return the bin of each pair, placed longest first; -1 if no bin has room.

    The result depends only on the lengths, not on their order, up to the exchange of equal pairs.
    """
    size = (lengths / np.array(capacity.slots)[:, None]).max(0)
    order = np.lexsort((*lengths[::-1], -size))
    need = np.stack([*lengths, np.ones_like(lengths[0])], axis=1) / np.array([*capacity.slots, capacity.pairs])
    # Filling the emptiest bin balances many small pairs; first fit wastes less if there are few large ones.
    bins = _fill_bins(need, order, n_bins, emptiest=True)
    if (bins >= 0).all():
        return bins
    return min(bins, _fill_bins(need, order, n_bins, emptiest=False), key=lambda found: (found < 0).sum())


def _fill_bins(need: NDArray[np.float64], order: NDArray[np.intp], n_bins: int, emptiest: bool) -> NDArray[np.intp]:
    bins = np.full(len(need), -1, np.intp)
    room = np.ones((n_bins, need.shape[1])) + 1e-9  # tolerates rounding
    for item in order:
        left = (room - need[item]).min(1)
        best = int(left.argmax() if emptiest else (left >= 0).argmax())
        if left[best] >= 0:
            bins[item] = best
            room[best] -= need[item]
    return bins
