"""What packed and padded batches have in common: an endless stream in which any batch is found by its number."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from hark.config import BatchConfig
from hark.data.pool import Corpus, Pool
from hark.data.token_streams import Tokens, TokenStream
from hark.errors import UserError
from hark.text.vocabulary import SpecialIds

# Raised whenever the same data and settings come to give other batches: a run never resumes into a different stream.
STREAM_VERSION = 1


class StreamState(TypedDict):
    """Where a stream stands: all that a checkpoint needs of it."""

    seed: int
    next: int
    fingerprint: int


S = TypeVar("S", bound=TokenStream[Tokens])


@dataclass(frozen=True, eq=False)
class Batch(Generic[S]):
    """Token streams by name, and what is known of them without looking at the tokens."""

    index: int  # its number in the stream of batches
    pairs: NDArray[np.int64]  # (n_pairs, 3): corpus, row in its store, pass over the corpus
    streams: Mapping[str, S]
    n_tokens: Mapping[str, int]  # of each stream, padding not counted; a sentence of n tokens counts n + 1 (start, EOS)
    n_skipped: int = 0  # pairs left out of this pass because they fitted nowhere; told by the first batch of a group

    @property
    def n_pairs(self) -> int:
        return len(self.pairs)

    @property
    def n_source_tokens(self) -> int:
        """Tokens that are only read: those of streams without labels."""
        return sum(self.n_tokens[name] for name, stream in self.streams.items() if stream.labels is None)

    @property
    def n_target_tokens(self) -> int:
        """Tokens that are predicted, over which the loss is summed: those of streams with labels."""
        return sum(self.n_tokens[name] for name, stream in self.streams.items() if stream.labels is not None)

    @property
    def n_target_slots(self) -> int:
        """Target tokens and padding together."""
        return sum(stream.labels.size for stream in self.streams.values() if stream.labels is not None)


class Batches(ABC, Generic[S]):
    """An endless stream of batches. `batches[i]` depends on i, the data and the settings, and on nothing else.

    Training on several ranks shares it out: rank r of w takes batches r, r + w, r + 2w and so on, so that together they
    see the same stream whatever their number.
    """

    batches_per_epoch: int  # one pass over each corpus of weight 1
    fill: tuple[float, float]  # share of source and of target slots that hold tokens, over the whole stream

    def __init__(self, corpora: Sequence[Corpus], config: BatchConfig, special: SpecialIds) -> None:
        self.config = config
        self.special = special
        self.pools = [Pool.of(Corpus(*corpus), config.max_length) for corpus in corpora]
        if not any(len(pool) for pool in self.pools):
            raise UserError(
                f"no pair to train on: none has at most {config.max_length} tokens (batches.max_length) on each side"
            )

    @abstractmethod
    def __getitem__(self, index: int) -> Batch[S]: ...

    @abstractmethod
    def worst_case(self) -> Batch[S]:
        """A made-up batch that needs as much memory as any: if it fits, they all do."""

    @property
    def n_pairs(self) -> int:
        """Pairs of all corpora, those that are too long among them."""
        return sum(len(pool.variants[0]) for pool in self.pools)

    @property
    def n_excluded(self) -> int:
        """Pairs that never enter a batch, because they are longer than `max_length`."""
        return sum(pool.n_excluded for pool in self.pools)

    def iterate(self, start: int = 0, rank: int = 0, world: int = 1) -> Iterator[Batch[S]]:
        """The batches of one rank, without end; `start` is the same for all ranks."""
        index = start + rank
        while True:
            yield self[index]
            index += world

    @property
    def fingerprint(self) -> int:
        """A number that stands for all that shapes the stream besides the seed."""
        config = self.config
        shapes = (
            STREAM_VERSION,
            config.kind,
            config.batch_tokens,
            config.max_length,
            *(self.special.pad, self.special.start, self.special.end),
            self.batches_per_epoch,
        )
        corpora = [(pool.weight, pool.totals, len(pool), pool.checksum) for pool in self.pools]
        return int.from_bytes(hashlib.sha256(repr((shapes, corpora)).encode()).digest()[:6], "little")

    def state(self, following: int) -> StreamState:
        """The state of a stream whose next batch has the number `following`."""
        return {"seed": self.config.seed, "next": following, "fingerprint": self.fingerprint}

    def following(self, state: StreamState) -> int:
        """The number of the batch at which a saved stream goes on; refused where this is another stream."""
        if state["seed"] != self.config.seed:
            raise UserError(
                f"the saved order of batches has seed {state['seed']}, but batches.seed is {self.config.seed}; "
                "resume with the seed, the data and the batch settings that the run began with"
            )
        if state["fingerprint"] != self.fingerprint:
            raise UserError(
                "the data or the batch settings (batches.kind, batch_tokens, max_length, weights) are not those "
                "that the run began with; restore them to resume, or start a new run"
            )
        return state["next"]
