"""The batch stream: an endless, randomly accessible sequence of batches, packed or padded.

A batch holds named token streams, which a training objective looks up by name. Translation has two, "source" and
"target"; a language model has one. Their arrays are numpy arrays on the host and tensors on a device; the classes are
generic over both, so this package does not import torch.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from hark.config import BatchConfig
from hark.data.pool import Corpus, Pool, apply_temperature
from hark.data.store import Side
from hark.errors import UserError
from hark.text.vocabulary import SideIds, SpecialIds

# Incremented whenever the same data and settings give other batches, so a run never resumes into a different stream.
STREAM_VERSION = 1

Tokens = NDArray[np.int32]
A = TypeVar("A")
C = TypeVar("C")


class StreamState(TypedDict):
    """The position of a stream, as saved in a checkpoint."""

    seed: int
    next: int
    fingerprint: int


class TokenStream(Generic[A]):
    """Token ids of sentences, packed or padded, with labels if the model is to predict them."""

    tokens: A
    labels: A | None

    def arrays(self) -> dict[str, A]:
        """Return the arrays by name; an input-only stream has no labels."""
        return {name: array for name, array in vars(self).items() if array is not None}

    def map(self, change: Callable[[A], C]) -> "TokenStream[C]":
        """Return the stream with `change` applied to each array, e.g. to move it to a device."""
        kind: Any = type(self)
        mapped: TokenStream[C] = kind(**{name: change(array) for name, array in self.arrays().items()})
        return mapped


@dataclass(frozen=True, eq=False)
class PackedStream(TokenStream[A]):
    """Concatenated sentences: sentence j occupies the slots cu[j] to cu[j + 1].

    Unused slots hold the pad id and form dummy sentences of at most `max_length` slots after the real ones; the
    remaining entries of `cu` repeat the number of slots. So `cu` always covers every slot.
    """

    tokens: A  # (N,): model inputs
    positions: A  # (N,): 0, 1, 2 .. within each sentence
    cu: A  # (C + 1,): cumulative lengths
    labels: A | None = None  # (N,): the next token; pad where there is no prediction


@dataclass(frozen=True, eq=False)
class PaddedStream(TokenStream[A]):
    """One row per sentence, filled with the pad id."""

    tokens: A  # (B, T)
    lengths: A  # (B,)
    labels: A | None = None  # (B, T)


S = TypeVar("S", bound=TokenStream[Tokens])


@dataclass(frozen=True, eq=False)
class Batch(Generic[S]):
    """Token streams by name, with their token counts and the pairs they come from."""

    index: int  # position in the stream of batches
    pairs: NDArray[np.int64]  # (n_pairs, 3): corpus, row in its store, pass over the corpus
    streams: Mapping[str, S]
    n_tokens: Mapping[str, int]  # of each stream, with start and EOS, without padding
    n_hidden: int | None = None  # tokens that are predicted, if not all of the streams with labels
    n_skipped: int = 0  # pairs left out of this pass for lack of room; reported by the first batch of a group

    @property
    def n_pairs(self) -> int:
        return len(self.pairs)

    @property
    def n_source_tokens(self) -> int:
        """Input tokens: those of streams without labels."""
        return sum(self.n_tokens[name] for name, stream in self.streams.items() if stream.labels is None)

    @property
    def n_target_tokens(self) -> int:
        """Tokens of streams with labels."""
        return sum(self.n_tokens[name] for name, stream in self.streams.items() if stream.labels is not None)

    @property
    def n_predicted(self) -> int:
        """Tokens over which the loss is summed."""
        return self.n_target_tokens if self.n_hidden is None else self.n_hidden

    @property
    def n_target_slots(self) -> int:
        """Target slots: tokens and padding."""
        return sum(stream.labels.size for stream in self.streams.values() if stream.labels is not None)


class Batches(ABC, Generic[S]):
    """An endless stream of batches. `batches[i]` depends only on i, the data and the settings.

    Ranks split the stream: rank r of w takes batches r, r + w, r + 2w and so on, so together they see the same stream
    for any number of ranks.
    """

    batches_per_epoch: int  # one pass over each corpus of weight 1
    n_bytes: int = 0  # size of running text in UTF-8, if known
    fill: tuple[float, ...]  # share of the slots of each side that hold tokens, over the whole stream

    def __init__(self, config: BatchConfig, special: SpecialIds) -> None:
        """`special`: the ids of the target."""
        self.config, self.special = config, special

    @abstractmethod
    def __getitem__(self, index: int) -> Batch[S]: ...

    @abstractmethod
    def worst_case(self) -> Batch[S]:
        """Return a synthetic batch that needs as much memory as any real one: if it fits, all do."""

    @property
    @abstractmethod
    def n_pairs(self) -> int:
        """Pairs or documents of all corpora, including those that are too long."""

    @property
    @abstractmethod
    def n_excluded(self) -> int:
        """Pairs that never enter a batch because they exceed `max_length`."""

    @property
    @abstractmethod
    def identity(self) -> object:
        """What the fingerprint hashes of the corpora."""

    @property
    def ignored(self) -> int:
        """The label where nothing is predicted."""
        return self.special.pad

    @property
    def own_source(self) -> SideIds | None:
        """The special ids of a source that differ from those of the target."""
        return None

    def iterate(self, start: int = 0, rank: int = 0, world: int = 1) -> Iterator[Batch[S]]:
        """Yield the batches of one rank, without end; `start` is the same for all ranks."""
        index = start + rank
        while True:
            yield self[index]
            index += world

    @property
    def fingerprint(self) -> int:
        """A hash of everything that determines the stream except the seed."""
        config, source = self.config, self.own_source
        shapes = (
            STREAM_VERSION,
            config.kind,
            config.batch_tokens,
            config.max_length,
            *(self.special.pad, self.special.start, self.special.end),
            self.batches_per_epoch,
            # Only if they differ, so that streams from before they could differ keep their fingerprints.
            *([(source.pad, source.end)] if source is not None else []),
        )
        return int.from_bytes(hashlib.sha256(repr((shapes, self.identity)).encode()).digest()[:6], "little")

    def state(self, following: int) -> StreamState:
        """Return the state of a stream whose next batch has index `following`."""
        return {"seed": self.config.seed, "next": following, "fingerprint": self.fingerprint}

    def following(self, state: StreamState) -> int:
        """Return the index of the next batch of a saved stream; raise an error if this is a different stream."""
        if state["seed"] != self.config.seed:
            raise UserError(
                f"batches.seed is {self.config.seed}, but the run started with {state['seed']}; "
                "resume with the original seed, data and batch settings"
            )
        if state["fingerprint"] != self.fingerprint:
            raise UserError(
                "the data or the batch settings (batches.kind, batch_tokens, max_length, temperature, weights) changed "
                "since the run started; restore them to resume, or start a new run"
            )
        return state["next"]


class PairBatches(Batches[S]):
    """Batches of whole sentences: pairs, or text of one side."""

    def __init__(
        self, corpora: Sequence[Corpus], config: BatchConfig, special: SpecialIds, source: SideIds | None = None
    ) -> None:
        """`special`: the ids of the target; `source`: those of the source, by default the same."""
        super().__init__(config, special)
        target = SideIds(special.pad, special.end)
        ids: Mapping[Side, SideIds] = {"source": source or target, "target": target}
        pools = [Pool.of(Corpus(*corpus), config.max_length) for corpus in corpora]
        if len({pool.sides for pool in pools}) > 1:
            raise UserError("pairs and text of one side cannot be mixed in a run; prepare them apart")
        self.sides: Mapping[Side, SideIds] = {side: ids[side] for side in pools[0].sides}
        self.pools = apply_temperature(pools, config.temperature)
        if not any(len(pool) for pool in self.pools):
            raise UserError(
                f"no pairs to train on: all exceed batches.max_length ({config.max_length} tokens) on a side; raise it"
            )

    def filler(self, side: Side) -> int:
        """Return the id that fills the synthetic batch of `worst_case`."""
        ids = self.sides[side]
        return ids.pad if ids.end is None else ids.end

    @property
    def n_pairs(self) -> int:
        return sum(len(pool.variants[0]) for pool in self.pools)

    @property
    def n_excluded(self) -> int:
        return sum(pool.n_excluded for pool in self.pools)

    @property
    def own_source(self) -> SideIds | None:
        target = self.sides["target"]
        source = self.sides.get("source", target)
        return source if source != target else None

    @property
    def identity(self) -> object:
        return [(pool.weight, pool.totals, len(pool), pool.checksum) for pool in self.pools]
