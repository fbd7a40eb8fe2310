"""Learns a shortlist from the text that a model learnt from: which target tokens translate which source tokens.

By the first of IBM's models (Brown et al., 1993): each target token comes from one of the source's tokens, each of them
as likely, and which one it was is guessed from all sentences together, a little better with each round.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hark.data.dataset import Dataset
from hark.data.lexicon import count_keys
from hark.data.progress import Progress, silent
from hark.data.store import id_type
from hark.errors import UserError
from hark.shortlist import MAX_CANDIDATES, Shortlist

PAIRS = 250_000
"""Pairs that are read, each corpus by its weight."""
LONGEST = 40
"""Tokens of a sentence that is read: a longer one costs more, and tells less."""
CHUNK = 20_000
"""Pairs that are counted at a time."""
ROUNDS = 4
COMMON = 500
"""The most frequent target tokens, which any translation may have."""
CANDIDATES = 16
"""Of a source token in the mean, besides these: as many as are likely, few of one and many of another."""


@dataclass(frozen=True, eq=False)
class PairChunk:
    """Which source token stands beside which target token, for each target token of each sentence."""

    keys: NDArray[np.signedinteger]
    groups: NDArray[np.int32]


def learn_shortlist(
    dataset: Dataset,
    vocab_size: int,
    source_vocab_size: int | None = None,
    seed: int = 1,
    progress: Progress = silent,
) -> Shortlist:
    """`source_vocab_size` where the source has a vocabulary of its own."""
    frequency = np.zeros(vocab_size, np.int64)
    chunks = list(read_chunks(dataset, vocab_size, frequency, seed, progress))
    if not chunks:
        raise UserError(f"{dataset.folder}: no sentence has at most {LONGEST} tokens on both sides")
    keys, chances = learn_chances(chunks, vocab_size, progress)
    sources, targets = np.divmod(keys, vocab_size)
    common = np.sort(np.argsort(-frequency, kind="stable")[:COMMON])
    # What is common needs no place, and a token itself has one for certain, where both sides have the same tokens.
    wanted = ~np.isin(targets, common)
    if source_vocab_size is None:
        itself = np.setdiff1d(np.arange(vocab_size), common)
        wanted &= sources != targets
    else:
        itself = np.empty(0, np.int64)
    room = CANDIDATES * (source_vocab_size or vocab_size) - len(itself)
    best = np.flatnonzero(wanted)[np.argsort(-chances[wanted], kind="stable")][:room]
    return arrange(
        common,
        np.append(sources[best], itself),
        np.append(targets[best], itself),
        source_vocab_size or vocab_size,
        vocab_size,
    )


def read_chunks(
    dataset: Dataset, vocab_size: int, frequency: NDArray[np.int64], seed: int, progress: Progress
) -> Iterator[PairChunk]:
    """A sample of the training pairs; `frequency` counts the pairs in which a target token stands."""
    rng = np.random.default_rng(seed)
    shards = dataset.shards("train")
    total = sum(shard.weight * shard.pairs for shard in shards)
    done = 0
    for shard in shards:
        store = dataset.store(shard)
        count = min(len(store), round(PAIRS * shard.weight * shard.pairs / total))
        indices = np.sort(rng.choice(len(store), count, replace=False))
        for begin in range(0, count, CHUNK):
            keys, groups, group = [], [], 0
            for i in indices[begin : begin + CHUNK].tolist():
                source, target = store[i]
                if max(len(source), len(target)) > LONGEST or not min(len(source), len(target)):
                    continue
                ours, theirs = np.unique(source).astype(np.int64), np.unique(target).astype(np.int64)
                frequency[theirs] += 1
                keys.append((ours * vocab_size + theirs[:, None]).ravel())
                groups.append(np.repeat(np.arange(group, group + len(theirs), dtype=np.int32), len(ours)))
                group += len(theirs)
            done += min(CHUNK, count - begin)
            progress("reading", done, done / PAIRS)
            if keys:
                yield PairChunk(np.concatenate(keys), np.concatenate(groups))


def learn_chances(
    chunks: list[PairChunk], vocab_size: int, progress: Progress
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Pairs of tokens as numbers, source x vocabulary + target, and how likely the source becomes the target.

    The chunks are used up: their keys become places among these.
    """
    keys, seen = count_keys(chunk.keys for chunk in chunks)
    keys = keys[seen > 1]  # what stands together once only may be anything
    for number, chunk in enumerate(chunks):
        chunks[number] = locate(chunk, keys)
    sources = keys // vocab_size
    chances = np.ones(len(keys), np.float32)
    for round_number in range(ROUNDS):
        progress("learning", round_number, round_number / ROUNDS)
        counts = np.zeros(len(keys))
        for chunk in chunks:
            chance = chances[chunk.keys]
            chance /= np.bincount(chunk.groups, chance)[chunk.groups]
            counts += np.bincount(chunk.keys, chance, len(keys))
        chances = (counts / np.bincount(sources, counts)[sources]).astype(np.float32)
    return keys, chances


def locate(chunk: PairChunk, keys: NDArray[np.int64]) -> PairChunk:
    """A chunk with the places of its keys among some keys, without those that are not there."""
    places = np.searchsorted(keys, chunk.keys)
    places[places == len(keys)] = 0
    there = keys[places] == chunk.keys if len(keys) else np.zeros(len(places), bool)
    return PairChunk(places[there].astype(np.int32), chunk.groups[there])


def arrange(
    common: NDArray[np.int64],
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    source_vocab_size: int,
    vocab_size: int,
) -> Shortlist:
    """Pairs of tokens, the likeliest first, by source tokens: of one not more than there is room for."""
    order = np.argsort(sources, kind="stable")
    sources, targets = sources[order], targets[order]
    rank = np.arange(len(sources)) - np.searchsorted(sources, sources)
    kept = rank < MAX_CANDIDATES
    sources, targets = sources[kept], targets[kept]
    counts = np.bincount(sources, minlength=source_vocab_size).astype(np.uint8)
    order = np.lexsort((targets, sources))
    kind = id_type(vocab_size)
    return Shortlist(common.astype(kind), counts, targets[order].astype(kind))
