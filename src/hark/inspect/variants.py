"""One sentence run by many changed models at once: each goes without a head, or without a source word.

Every change is a row of one batch. A head's output meets the rest of the model only in its columns of W^O (paper,
3.2.2), so that a gate of zero on the output takes the head away. The tokens of a hidden word are left out, and the
others keep their positions: that is the same as hiding their keys from the encoder's attention and the decoder's, since
what they compute themselves then reaches nobody. Leaving words out of the text would also move all words after them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hark.config import ModelConfig
from hark.errors import UserError
from hark.inspect.attention import Head, Kind, rectangle
from hark.inspect.recording import Recording
from hark.model import Layout, Transformer, padded_layout
from hark.model.layout import padded_text
from hark.model.patterns import Pattern

BATCH_TOKENS = 512
"""Tokens of a batch, padding included. More are hardly faster on a CPU, and progress is told after each batch."""

Change = Head | int
"""Without a head, or without a source word, by its number."""
Advance = Callable[[], object]
"""Told of each measurement that is done."""


@dataclass(frozen=True, eq=False)
class Gated(Pattern):
    """Another pattern, each head's output multiplied by a gate, layer after layer: (H), or (B, 1, H) for each row."""

    pattern: Pattern
    gates: Iterator[Tensor]

    def __call__(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return self.pattern(q, k, v) * next(self.gates)[..., None]

    def visible(self, q: Tensor, k: Tensor) -> Tensor:
        return self.pattern.visible(q, k)


def open_gates(config: ModelConfig, *axes: int) -> dict[Kind, Tensor]:
    """Ones for all heads, (L, ..., H)."""
    layers: dict[Kind, int] = {
        "encoder": config.n_encoder_layers,
        "decoder": config.n_decoder_layers,
        "cross": config.n_decoder_layers,
    }
    return {kind: torch.ones(count, *axes, config.n_heads) for kind, count in layers.items()}


def gated(layout: Layout, gates: dict[Kind, Tensor]) -> Layout:
    """The layout with gates on the heads of all layers: (L, H), or (L, B, 1, H)."""
    return replace(
        layout,
        encoder=Gated(layout.encoder, iter(gates["encoder"])),
        decoder=Gated(layout.decoder, iter(gates["decoder"])),
        cross=Gated(layout.cross, iter(gates["cross"])),
    )


class Variants:
    """A recorded sentence as changed models see it; `None` is the model as it is. Memories are computed once."""

    def __init__(self, model: Transformer, recording: Recording) -> None:
        self.model, self.recording = model, recording
        self._memories: dict[Change | None, Tensor] = {}

    def source(self, change: Change | None) -> tuple[int, ...]:
        """What the encoder reads."""
        return tuple(self.recording.source_ids[position] for position in self._kept(change))

    def memories(self, changes: Sequence[Change | None]) -> list[Tensor]:
        """The encoder's output for each change, (S, D). All changes of the decoder share one."""
        wanted = [encoder_change(change) for change in changes]
        for batch in self._batches([each for each in dict.fromkeys(wanted) if each not in self._memories]):
            self._encode(batch)
        return [self._memories[each] for each in wanted]

    def log_probs(self, changes: Sequence[Change | None], advance: Advance = lambda: None) -> list[tuple[float, ...]]:
        """The log-probability of each token that was written with everything there, for each change."""
        found: list[tuple[float, ...]] = []
        for batch in self._batches(changes):
            found += self._score(batch)
            for _ in batch:
                advance()
        return found

    def _kept(self, change: Change | None) -> list[int]:
        """Positions of the source tokens that are not hidden."""
        hidden = self.recording.source.tokens_of(change) if isinstance(change, int) else ()
        kept = [position for position in range(len(self.recording.source_ids)) if position not in hidden]
        if not kept:
            raise UserError("every word of the source is hidden; leave one to be seen")
        return kept

    def _batches(self, changes: Sequence[Change | None]) -> Iterator[Sequence[Change | None]]:
        longest = max(len(self.recording.source_ids), len(self.recording.written_ids))
        size = max(1, BATCH_TOKENS // longest)
        return (changes[first : first + size] for first in range(0, len(changes), size))

    @torch.no_grad()
    def _encode(self, changes: Sequence[Change | None]) -> None:
        kept = [self._kept(change) for change in changes]
        source_BS, lengths_B = rectangle([self.source(change) for change in changes])
        positions_BS, _ = rectangle(kept)
        pattern = Gated(padded_text(lengths_B)[1], iter(self._gates(changes)["encoder"]))
        memory_BSD = self.model.encode(source_BS, positions_BS, pattern)
        for change, memory_SD, positions in zip(changes, memory_BSD, kept, strict=True):
            self._memories[change] = memory_SD[: len(positions)]

    @torch.no_grad()
    def _score(self, changes: Sequence[Change | None]) -> list[tuple[float, ...]]:
        memories = self.memories(changes)
        lengths_B = torch.tensor([len(each) for each in memories])
        memory_BSD = torch.nn.utils.rnn.pad_sequence(memories, batch_first=True)
        read_BT, written_BT = (
            torch.tensor(ids).expand(len(changes), -1) for ids in (self.recording.read_ids, self.recording.written_ids)
        )
        layout = padded_layout(lengths_B, torch.full_like(lengths_B, read_BT.shape[1]))
        layout = gated(layout, self._gates(changes))
        hidden_BTD = self.model.decode(read_BT, memory_BSD, layout.target_positions, layout.decoder, layout.cross)
        log_prob_BTV = self.model.logits(hidden_BTD).log_softmax(-1)
        return [tuple(row) for row in log_prob_BTV.gather(2, written_BT[..., None]).squeeze(2).tolist()]

    def _gates(self, changes: Sequence[Change | None]) -> dict[Kind, Tensor]:
        """Zero for the head that a row goes without, else one."""
        gates = open_gates(self.model.config, len(changes), 1)
        for row, change in enumerate(changes):
            if isinstance(change, Head):
                gates[change.kind][change.layer, row, 0, change.number] = 0.0
        return gates


def encoder_change(change: Change | None) -> Change | None:
    """What of a change there is for the encoder to know."""
    return None if isinstance(change, Head) and change.kind != "encoder" else change
