"""Batches of running text: documents end to end, cut into windows of one length, so every batch has the same shape.

A window may hold the ends and beginnings of several documents, which do not see each other. Each pass cuts the text at
other places, and together its windows hold every token once.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hark.config import BatchConfig
from hark.data.masking import Masking
from hark.data.packed import number_slots
from hark.data.pool import Corpus
from hark.data.store import TokenStore
from hark.data.strata import derive, permute
from hark.data.stream import Batch, Batches, PackedStream, Tokens
from hark.errors import UserError
from hark.text.vocabulary import SpecialIds


@dataclass(frozen=True, eq=False)
class TextSlots:
    """The documents of a corpus, each followed by EOS, as slots that are numbered from the first to the last."""

    name: str
    weight: float
    store: TokenStore
    length: int
    """Slots in a window."""
    both_sides: bool = False
    """Whether a model sees both sides of a token: then a document is the start token, its own, and EOS. Otherwise each
    token is the label of the one before, so that a document has one slot less."""

    @property
    def more(self) -> int:
        """Slots of a document beyond its tokens."""
        return 2 if self.both_sides else 1

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The first slot of each document, and the end."""
        lengths = self.store.lengths("target").astype(np.int64) + self.more
        return np.concatenate([[0], np.cumsum(lengths)])

    @property
    def slots(self) -> int:
        return int(self.starts[-1])

    @property
    def windows(self) -> int:
        return -(-self.slots // self.length)

    @cached_property
    def most_starts(self) -> int:
        """The most documents that begin in one window, wherever it is cut."""
        around = np.concatenate([self.starts[:-1], self.starts + self.slots])
        first = np.arange(len(self.starts) - 1)
        return int((np.searchsorted(around, self.starts[:-1] + self.length) - first).max(initial=0))

    def window(self, shift: int, index: int, special: SpecialIds) -> "Window":
        """Return a window of a pass that begins at slot `shift` of the text and goes round."""
        first = index * self.length
        count = min(self.length, self.slots - first)
        begin = (shift + first) % self.slots
        until_end = min(count, self.slots - begin)
        parts = [self.part(begin, begin + until_end, special)]
        if count > until_end:
            parts.append(self.part(0, count - until_end, special))
        offsets = (0, until_end)
        return Window(
            np.concatenate([part.inputs for part in parts]),
            np.concatenate([part.labels for part in parts]),
            np.concatenate([part.cuts + offset for part, offset in zip(parts, offsets, strict=False)]),
        )

    def part(self, begin: int, end: int, special: SpecialIds) -> "Window":
        """Return the slots from `begin` to `end`, which do not go round."""
        document = int(np.searchsorted(self.starts, begin, side="right")) - 1
        after = int(np.searchsorted(self.starts, end, side="right"))
        inside = self.starts[document + 1 : after] - begin  # where documents end, and perhaps others begin
        cuts = inside[inside < end - begin]
        fresh = begin == self.starts[document]
        labels = np.full(end - begin, special.end, np.int32)
        tokens = np.ones(end - begin, bool)
        tokens[inside - 1] = False
        first = begin - document * self.more
        if self.both_sides:
            starts = np.concatenate([[0], cuts]) if fresh else cuts
            tokens[starts], labels[starts] = False, special.start
            first -= not fresh
        labels[tokens] = self.store.stretch(first, int(tokens.sum()))
        if self.both_sides:
            return Window(labels, labels, np.concatenate([[0], cuts]))
        inputs = np.empty_like(labels)
        inputs[1:] = labels[:-1]
        inputs[0] = special.start if fresh else self.store.stretch(first - 1, 1)[0]
        inputs[cuts] = special.start
        return Window(inputs, labels, np.concatenate([[0], cuts]))


@dataclass(frozen=True, eq=False)
class Window:
    """Consecutive slots of a text."""

    inputs: Tokens
    """The tokens before the labels, and the start token where a document begins; with both sides, the labels."""
    labels: Tokens
    cuts: NDArray[np.int64]
    """The beginning, and the slots where further documents begin."""


class TextBatches(Batches[PackedStream[Tokens]]):
    """Windows of several corpora, in proportion to their weights."""

    def __init__(
        self, corpora: Sequence[Corpus], config: BatchConfig, special: SpecialIds, masking: Masking | None = None
    ) -> None:
        super().__init__(config, special)
        self.masking = masking
        if config.kind != "packed":
            raise UserError("text is cut into windows of one length, without padding; leave out batches.kind")
        length, both_sides = self.window_length, masking is not None
        self.texts = [TextSlots(c.name, c.weight, c.variants[0], length, both_sides) for c in corpora]
        if not any(text.slots for text in self.texts):
            raise UserError("no text to train on")
        self.per_batch = config.batch_tokens // config.max_length
        self.counts = [max(1, int(text.weight * text.windows + 0.5)) if text.slots else 0 for text in self.texts]
        """Windows of each corpus in an epoch."""
        self.ends = np.cumsum(self.counts)
        self.batches_per_epoch = -(-int(self.ends[-1]) // self.per_batch)
        slots = sum(
            count * text.slots / max(1, text.windows) for count, text in zip(self.counts, self.texts, strict=True)
        )
        self.fill = (slots / (self.batches_per_epoch * self.slots),)
        # One more, because the last window of a pass may be shorter, and a dummy follows it.
        self.sentences = self.per_batch * (1 + max(text.most_starts for text in self.texts)) + 1

    @property
    def window_length(self) -> int:
        return self.config.max_length

    @property
    def slots(self) -> int:
        return self.per_batch * self.window_length

    @property
    def n_pairs(self) -> int:
        return sum(len(text.store) for text in self.texts)

    @property
    def n_excluded(self) -> int:
        return 0

    @property
    def identity(self) -> object:
        return self.masking and self.masking.identity, [
            (text.weight, text.slots, zlib.crc32(text.starts.data)) for text in self.texts
        ]

    def __getitem__(self, index: int) -> Batch[PackedStream[Tokens]]:
        if index < 0:
            raise IndexError(f"batch {index}: the stream starts at 0")
        epoch, position = divmod(index, self.batches_per_epoch)
        first = position * self.per_batch
        ranks = np.arange(first, min(first + self.per_batch, int(self.ends[-1])))
        seed = self.config.seed
        order = permute(ranks, int(self.ends[-1]), derive(derive(seed, len(self.texts)), epoch))
        corpus = np.searchsorted(self.ends, order, side="right")
        counts, ends = np.array(self.counts)[corpus], self.ends[corpus]
        windows, slots = np.array([(text.windows, text.slots) for text in self.texts])[corpus].T
        passes, places = np.divmod(epoch * counts + order - (ends - counts), windows)
        keys = derive(derive(seed, corpus), passes)
        rows = permute(places, windows, keys)
        # The first pass begins with the text, later ones anywhere.
        shifts = np.where(passes == 0, np.uint64(0), keys % slots.astype(np.uint64)).tolist()
        drawn = [
            self.texts[c].window(shift, row, self.special)
            for c, shift, row in zip(corpus.tolist(), shifts, rows.tolist(), strict=True)
        ]
        return self._assemble(index, np.stack([corpus, rows, passes], 1), drawn)

    def generator(self, index: int) -> np.random.Generator:
        """The random choices of a batch."""
        return np.random.default_rng([self.config.seed, index])

    def worst_case(self) -> Batch[PackedStream[Tokens]]:
        length = self.config.max_length
        tokens = np.full(length, self.special.end if self.masking is None else self.masking.text, np.int32)
        full = Window(tokens, tokens, np.zeros(1, np.int64))
        return self._assemble(-1, np.full((self.per_batch, 3), -1, np.int64), [full] * self.per_batch)

    def _assemble(self, index: int, rows: NDArray[np.int64], windows: Sequence[Window]) -> Batch[PackedStream[Tokens]]:
        """Make a batch of windows; those of the synthetic one, whose index is negative, have no gaps."""
        inputs, labels = (np.full(self.slots, self.special.pad, np.int32) for _ in range(2))
        cu = np.full(self.sentences + 1, self.slots, np.int32)
        at = done = 0
        for window in windows:
            size = len(window.inputs)
            inputs[at : at + size], labels[at : at + size] = window.inputs, window.labels
            cu[done : done + len(window.cuts)] = at + window.cuts
            at, done = at + size, done + len(window.cuts)
        dummies = np.arange(at, self.slots, self.config.max_length)
        cu[done : done + len(dummies)] = dummies
        stream = PackedStream(inputs, number_slots(cu, self.slots), cu, labels)
        hidden = None
        if self.masking is not None:
            stream = self.masking.apply(stream, at, self.generator(max(index, 0)))
            hidden = int(np.count_nonzero(stream.labels != self.special.pad))
        return Batch(index, rows, {"target": stream}, {"target": at}, hidden)
