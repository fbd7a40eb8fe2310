"""Source sentences for the decoding benchmarks: drawn like news, or read from a dataset."""

import numpy as np

from hark.text.tokenizer import SPECIAL

EOS = SPECIAL.end
FIRST_TOKEN = 300
"""Smaller ids are special tokens and bytes."""

Source = list[int]


def draw_sources(count: int, vocabulary: int) -> list[Source]:
    """Draw sources with the lengths of news: most of 10 to 50 tokens, few of more than 100. Each ends with EOS."""
    rng = np.random.default_rng(0)
    lengths = np.clip(rng.lognormal(3.17, 0.5, count), 3, 200).astype(int)
    return [[*rng.integers(min(FIRST_TOKEN, vocabulary // 2), vocabulary, n - 1).tolist(), EOS] for n in lengths]


def read_sources(folder: str, count: int) -> list[Source]:
    """Read the source side of the first test set of a dataset."""
    from hark.data.dataset import Dataset

    dataset = Dataset.open(folder)
    store = dataset.store(dataset.shards("test")[0])
    return [[*store[i][0].tolist(), EOS] for i in range(min(count, len(store)))]
