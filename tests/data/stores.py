"""In-memory token stores for tests: given lengths, random tokens."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hark.data.store import ONE_SIDED, SIDES, TokenStore


def store_of(lengths: Sequence[tuple[int, ...]], seed: int = 0) -> TokenStore:
    """Return a store of pairs with these source and target lengths, without EOS; or of one side."""
    chance = np.random.default_rng(seed)
    tokens, offsets = {}, {}
    for side, of_side in zip(SIDES if len(lengths[0]) == 2 else ONE_SIDED, zip(*lengths, strict=True), strict=True):
        widths = np.array(of_side, np.int64)
        offsets[side] = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
        tokens[side] = chance.integers(4, 1 << 16, int(widths.sum()), dtype=np.uint16)
    return TokenStore(Path("memory"), tokens, offsets)


def realistic(pairs: int, seed: int = 0) -> TokenStore:
    """Return a store with lengths like real text: log-normal, target close to source."""
    chance = np.random.default_rng(seed)
    source = np.clip(chance.lognormal(3.15, 0.62, pairs), 2, 250).astype(int)
    target = np.clip(source * chance.lognormal(0.03, 0.18, pairs), 2, 250).astype(int)
    return store_of(list(zip(source - 1, target - 1, strict=True)), seed)
