"""Batches for an encoder that reads corrupted text and a decoder that restores it.

The windows are those of `TextBatches`. The part of a document in a window is a text of its own, with EOS on both sides:
documents do not see each other, as elsewhere. (T5 joins documents before it corrupts them.) A window has a token less
than `max_length`, because its last document gets EOS even if it goes on in the next one.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hark.config import BatchConfig
from hark.data.corruption import Corruption, Sizes
from hark.data.packed import number_slots
from hark.data.pool import Corpus
from hark.data.stream import Batch, PackedStream, Tokens
from hark.data.windows import TextBatches, TextSlots, Window
from hark.text.vocabulary import SpecialIds

SAFETY = 4.0
"""Room in a batch beyond the mean, in standard deviations: parts for which there is none are left out of a pass."""


class DenoisingBatches(TextBatches):
    """Windows of text, corrupted and as they were."""

    def __init__(
        self, corpora: Sequence[Corpus], config: BatchConfig, special: SpecialIds, corruption: Corruption
    ) -> None:
        self.corruption = corruption
        super().__init__(corpora, config, special)
        n_windows, means, variances, largest = self.measure_windows()
        spread = SAFETY * np.sqrt(variances * self.per_batch)
        room = np.maximum(largest, means * self.per_batch + spread)
        room = np.minimum(room, largest * self.per_batch)
        self.room: tuple[int, int] = tuple((8 * np.ceil(room / 8)).astype(int).tolist())
        """Slots of source and target."""
        self.fill = tuple((means * n_windows / (self.batches_per_epoch * room)).tolist())
        self.sentences += -(-max(self.room) // config.max_length)

    @property
    def window_length(self) -> int:
        return self.config.max_length - 1 - max(map(len, self.corruption.leads))

    @property
    def identity(self) -> object:
        return self.corruption.identity, super().identity

    def measure_windows(self) -> tuple[int, NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Return the windows of an epoch, and the mean, variance and largest of their sizes, of source and target."""
        sums, squares = np.zeros(2), np.zeros(2)
        largest = np.stack(self.corruption.sizes(np.arange(self.window_length + 1))).max(axis=1)
        for text, count in zip(self.texts, self.counts, strict=True):
            if count:
                sizes = self.sizes_of(text)
                sums += count * sizes.mean(axis=1)
                squares += count * (sizes.astype(float) ** 2).mean(axis=1)
                largest = np.maximum(largest, sizes.max(axis=1))
        n_windows = sum(self.counts)
        means = sums / n_windows
        return n_windows, means, np.maximum(0, squares / n_windows - means**2), largest

    def sizes_of(self, text: TextSlots) -> Sizes:
        """Return the slots of source and target that each window of the first pass takes."""
        cuts = np.union1d(text.starts, np.arange(0, text.slots, text.length))
        sizes = np.diff(cuts) - np.isin(cuts[1:], text.starts)  # without the slot of EOS
        window = cuts[:-1] // text.length
        of_sides = [np.bincount(window, of_side, text.windows) for of_side in self.corruption.sizes(sizes)]
        return np.stack(of_sides).astype(np.int64)

    def parts(self, windows: Sequence[Window]) -> Iterator[Tokens]:
        """Yield the parts of documents, without EOS."""
        for window in windows:
            for part in np.split(window.labels, window.cuts[1:]):
                yield part[:-1] if part[-1] == self.special.end else part

    def _assemble(self, index: int, rows: NDArray[np.int64], windows: Sequence[Window]) -> Batch[PackedStream[Tokens]]:
        parts = list(self.parts(windows))
        sizes = np.array([len(part) for part in parts], np.int64)
        taken = [np.cumsum(of_side) for of_side in self.corruption.sizes(sizes)]
        kept = int(min(np.searchsorted(ends, room, "right") for ends, room in zip(taken, self.room, strict=True)))
        done = self.corruption.corrupt(np.concatenate(parts[:kept]), sizes[:kept], self.generator(index))
        source, target = done.source, done.target
        streams = {
            "source": self._stream(source, done.source_sizes, self.room[0], None),
            "target": self._stream(target, done.target_sizes, self.room[1], self.special.start),
        }
        n_tokens = {"source": len(source), "target": len(target)}
        return Batch(index, rows, streams, n_tokens, n_skipped=len(parts) - kept)

    def worst_case(self) -> Batch[PackedStream[Tokens]]:
        """Return a batch with every slot filled by sentences of maximum length."""
        count = max(-(-room // self.config.max_length) for room in self.room)
        streams = {}
        for name, room, start in zip(("source", "target"), self.room, (None, self.special.start), strict=True):
            sizes = np.diff(np.arange(count + 1) * room // count)
            streams[name] = self._stream(np.full(room, self.special.end, np.int32), sizes, room, start)
        n_tokens = dict(zip(streams, self.room, strict=True))
        return Batch(-1, np.full((self.per_batch, 3), -1, np.int64), streams, n_tokens)

    def _stream(self, tokens: Tokens, sizes: Sizes, slots: int, start: int | None) -> PackedStream[Tokens]:
        """Lay texts out in slots. With a start token they are labels, and the inputs are one token behind."""
        ends, size = np.cumsum(sizes), len(tokens)
        cu = np.full(self.sentences + 1, slots, np.int32)
        cu[0], cu[1 : len(sizes) + 1] = 0, ends
        dummies = np.arange(size + self.config.max_length, slots, self.config.max_length)
        cu[len(sizes) + 1 : len(sizes) + 1 + len(dummies)] = dummies
        laid = np.full(slots, self.special.pad, np.int32)
        laid[:size] = tokens
        if start is None:
            return PackedStream(laid, number_slots(cu, slots), cu)
        inputs = np.full_like(laid, self.special.pad)
        inputs[1:size] = laid[: size - 1]
        inputs[cu[: len(sizes)]] = start
        return PackedStream(inputs, number_slots(cu, slots), cu, laid)
