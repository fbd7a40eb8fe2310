"""Scores one sentence with many changed models in a batch: each without one head or one source word.

Every change is a row of the batch. A head's output enters the rest of the model only through its rows of W^O (paper,
3.2.2), so a zero gate on the output removes the head. The tokens of a hidden word are omitted, and the others keep
their positions: this is the same as masking their keys in the encoder's self-attention and in cross-attention, since
their own outputs are then never read. Deleting the word from the text would also shift all words after it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hark.config import ModelConfig
from hark.errors import UserError
from hark.inspect.attention import AttentionKind, Head, rectangle
from hark.inspect.recording import Recording
from hark.model import Layout, Transformer, padded_layout
from hark.model.layout import padded_text
from hark.model.patterns import Pattern

BATCH_TOKENS = 512
"""Tokens per batch, padding included. More are hardly faster on a CPU, and progress is reported after each batch."""

Change = Head | int
"""The head to remove, or the index of the source word to hide."""
Advance = Callable[[], object]
"""Called after each measurement."""


@dataclass(frozen=True, eq=False)
class Gated(Pattern):
    """Wraps a pattern and multiplies each head's output by a gate; one tensor per layer: (H), or (B, 1, H) per row."""

    pattern: Pattern
    gates: Iterator[Tensor]

    def __call__(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return self.pattern(q, k, v) * next(self.gates)[..., None]

    def visible(self, q: Tensor, k: Tensor) -> Tensor:
        return self.pattern.visible(q, k)


def open_gates(config: ModelConfig, *axes: int) -> dict[AttentionKind, Tensor]:
    """Gates of one for all heads, (L, ..., H)."""
    layers: dict[AttentionKind, int] = {
        "encoder": config.n_encoder_layers,
        "decoder": config.n_decoder_layers,
        "cross": config.n_decoder_layers,
    }
    return {kind: torch.ones(count, *axes, config.n_heads) for kind, count in layers.items()}


def gated(layout: Layout, gates: dict[AttentionKind, Tensor]) -> Layout:
    """Return the layout with gates on the heads of all layers: (L, H), or (L, B, 1, H)."""
    return replace(
        layout,
        encoder=Gated(layout.encoder, iter(gates["encoder"])),
        decoder=Gated(layout.decoder, iter(gates["decoder"])),
        cross=Gated(layout.cross, iter(gates["cross"])),
    )


class Variants:
    """A recorded sentence under changed models; the change `None` is the original model. Memories are cached."""

    def __init__(self, model: Transformer, recording: Recording) -> None:
        self.model, self.recording = model, recording
        self._memories: dict[Change | None, Tensor] = {}

    def source(self, change: Change | None) -> tuple[int, ...]:
        """The encoder's input."""
        return tuple(self.recording.source_ids[position] for position in self._kept(change))

    def memories(self, changes: Sequence[Change | None]) -> list[Tensor]:
        """Return the encoder's output for each change, (S, D). All changes to the decoder share one."""
        encoder_changes = [encoder_change(change) for change in changes]
        for batch in self._batches([each for each in dict.fromkeys(encoder_changes) if each not in self._memories]):
            self._encode(batch)
        return [self._memories[each] for each in encoder_changes]

    def log_probs(self, changes: Sequence[Change | None], advance: Advance = lambda: None) -> list[tuple[float, ...]]:
        """Return the log-probabilities of the original translation's tokens under each change."""
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
            raise UserError("every word of the source is hidden; keep at least one")
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

    def _gates(self, changes: Sequence[Change | None]) -> dict[AttentionKind, Tensor]:
        """Gates for each row: zero for its removed head, otherwise one."""
        gates = open_gates(self.model.config, len(changes), 1)
        for row, change in enumerate(changes):
            if isinstance(change, Head):
                gates[change.kind][change.layer, row, 0, change.number] = 0.0
        return gates


def encoder_change(change: Change | None) -> Change | None:
    """The change if it affects the encoder, otherwise None."""
    return None if isinstance(change, Head) and change.kind != "encoder" else change
