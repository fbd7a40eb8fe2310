"""Padded groups of rows hold the same pairs as the packed batch."""

from collections import Counter
from itertools import combinations, pairwise

import numpy as np
import pytest
from benchmarks.rows import MULTIPLE, cut, lay_out

from hark.config import BatchConfig
from hark.data.batches import Corpus, PackedBatches
from hark.text.tokenizer import SPECIAL
from tests.data.test_batches import realistic, sentences


@pytest.mark.parametrize("groups", [1, 2, 5, 100])
def test_groups_hold_the_same_pairs(groups: int) -> None:
    batches = PackedBatches([Corpus("a", 1.0, [realistic(3000)])], BatchConfig(batch_tokens=2000), SPECIAL)
    for number in range(5):
        packed = batches[number]
        laid = lay_out(packed, groups)
        assert len(laid) <= groups
        assert Counter(map(repr, sentences(packed))) == Counter(repr(each) for rows in laid for each in sentences(rows))
        assert sum(rows.n_target_tokens for rows in laid) == packed.n_target_tokens
        assert sorted(np.concatenate([rows.pairs for rows in laid]).tolist()) == sorted(packed.pairs.tolist())
        for rows in laid:
            source, target = rows.streams["source"], rows.streams["target"]
            assert source.tokens.shape == target.tokens.shape == target.labels.shape
            assert source.tokens.shape[1] % MULTIPLE == 0
            assert source.tokens.dtype == np.int32


@pytest.mark.parametrize("groups", [1, 2, 3, 4, 9])
def test_no_other_groups_have_fewer_slots(groups: int) -> None:
    """By exhaustive search."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        widths = np.sort(rng.integers(1, 9, 9)).astype(np.int32) * MULTIPLE
        found = cut(widths, groups)
        assert found[0][0] == 0
        assert found[-1][1] == len(widths)
        assert all(end == begin for (_, end), (begin, _) in pairwise(found))
        ways = [[0, *inner, 9] for n in range(groups) for inner in combinations(range(1, 9), n)]
        fewest = min(sum((b - a) * widths[b - 1] for a, b in pairwise(way)) for way in ways)
        assert sum((b - a) * widths[b - 1] for a, b in found) == fewest
