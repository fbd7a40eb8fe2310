"""Scores one sentence with many changed models in a batch: each without one head or one source word.

Every change is a row of the batch. A head's output enters the rest of the model only through its rows of W^O (paper,
3.2.2), so a zero gate on the output removes the head. The tokens of a hidden word are omitted, and the others keep
their positions: this is the same as masking their keys in the encoder's self-attention and in cross-attention, since
their own outputs are then never read. Deleting the word from the text would also shift all words after it.

Changed models also translate in one batch, as fast as one model, because they share their steps: the memory, which
each search has of its own anyway, is that of the change, and the output of a removed decoder head is set to zero in the
rows of its search, through the hooks of `Watch`.

A text of a model of one stack is not shortened: no other word looks at a hidden word (`TextVariants`).

`without_heads` removes heads for a whole corpus: an ordinary `Model` that shares all unchanged weights with the
original, so that scoring, search and observation work on it.
"""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

import torch
from torch import Tensor, nn

from hark.config import ModelConfig
from hark.engine.interface import Hypothesis
from hark.engine.torch import TorchEngine
from hark.engine.watch import Watch
from hark.errors import HarkError, UserError
from hark.inspect.attention import AttentionKind, Head, count_layers, lay_out, rectangle
from hark.inspect.beam import PLACES
from hark.inspect.reading import TextReading
from hark.inspect.recording import Recording
from hark.model import Layout, Model, OneStack, Transformer
from hark.model.attention import MultiHeadAttention
from hark.model.layers import Layer
from hark.model.layout import padded_text
from hark.model.patterns import Padded, Pattern

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

    def bias_for(self, q: Tensor, k: Tensor) -> Tensor | None:
        return self.pattern.bias_for(q, k)

    def visible(self, q: Tensor, k: Tensor) -> Tensor:
        return self.pattern.visible(q, k)


def open_gates(config: ModelConfig, *axes: int) -> dict[AttentionKind, Tensor]:
    """Gates of one for all heads, (L, ..., H)."""
    return {kind: torch.ones(count, *axes, config.n_heads) for kind, count in count_layers(config).items()}


def gated(layout: Layout, gates: Mapping[AttentionKind, Tensor]) -> Layout:
    """Return the layout with gates on the heads of all layers: (L, H), or (L, B, 1, H)."""
    return layout.wrap(lambda kind, pattern: Gated(pattern, iter(gates[cast(AttentionKind, kind)])))


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
        _, padded = padded_text(lengths_B)
        bias_HSS = self.model.source_positions.bias(len(self.recording.source_ids))
        if bias_HSS is not None:
            bias_BHSS = bias_HSS[:, positions_BS[:, :, None], positions_BS[:, None]].transpose(0, 1)
            padded = replace(padded, bias_BHTS=bias_BHSS)
        pattern = Gated(padded, iter(gates_of(self.model.config, changes)["encoder"]))
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
        lengths = {"source": lengths_B, "target": torch.full_like(lengths_B, read_BT.shape[1])}
        layout = self.model.padded_layout(lengths)
        layout = gated(layout, gates_of(self.model.config, changes))
        decoder, cross = layout.patterns["decoder"], layout.patterns["cross"]
        hidden_BTD = self.model.decode(read_BT, memory_BSD, layout.positions["target"], decoder, cross)
        log_prob_BTV = self.model.logits(hidden_BTD).log_softmax(-1)
        return [tuple(row) for row in log_prob_BTV.gather(2, written_BT[..., None]).squeeze(2).tolist()]


@dataclass(frozen=True, eq=False)
class TextVariants:
    """A recorded text under changed models of one stack.

    A hidden word still sees itself: what a decoder expects right after it is read there, and knows the word.
    """

    model: OneStack
    reading: TextReading

    def log_probs(self, changes: Sequence[Change | None], advance: Advance = lambda: None) -> list[tuple[float, ...]]:
        """Return the log-probabilities of the text's tokens under each change; 0 for those that are not scored."""
        found: list[tuple[float, ...]] = []
        size = max(1, BATCH_TOKENS // len(self.reading.ids))
        for first in range(0, len(changes), size):
            batch = changes[first : first + size]
            found += self._score(batch)
            for _ in batch:
                advance()
        return found

    @torch.no_grad()
    def _score(self, changes: Sequence[Change | None]) -> list[tuple[float, ...]]:
        reading = self.reading
        streams, layout = lay_out(self.model, [(reading.ids,)] * len(changes))
        hiding_BTS = torch.stack([self._hiding(change) for change in changes])
        layout = gated(layout.wrap(lambda _, pattern: hide(pattern, hiding_BTS)), gates_of(self.model.config, changes))
        hidden_BND = self.model.hidden(streams, layout)[:, list(reading.rows)]
        log_prob_BNV = self.model.logits(hidden_BND).log_softmax(-1)
        wanted_BN = torch.tensor(reading.wanted).expand(len(changes), -1)
        log_prob_BT = torch.zeros(len(changes), len(reading.ids))
        log_prob_BT[:, list(reading.scored)] = log_prob_BNV.gather(2, wanted_BN[..., None]).squeeze(2)
        return [tuple(row) for row in log_prob_BT.tolist()]

    def _hiding(self, change: Change | None) -> Tensor:
        """Added to the scores of attention, (T, S): minus infinity where others would look at a hidden word."""
        length = len(self.reading.ids)
        hidden = torch.zeros(length, dtype=torch.bool)
        if isinstance(change, int):
            hidden[list(self.reading.spelling.tokens_of(change))] = True
        return torch.zeros(length, length).masked_fill(~hidden[:, None] & hidden[None, :], -torch.inf)


def hide(pattern: Pattern, bias_BTS: Tensor) -> Pattern:
    """Return a padded pattern with a bias added, the same for all heads."""
    assert isinstance(pattern, Padded)
    bias_B1TS = bias_BTS[:, None]
    return replace(pattern, bias_BHTS=bias_B1TS if pattern.bias_BHTS is None else pattern.bias_BHTS + bias_B1TS)


def gates_of(config: ModelConfig, changes: Sequence[Change | None]) -> dict[AttentionKind, Tensor]:
    """Gates for each row: zero for its removed head, otherwise one."""
    gates = open_gates(config, len(changes), 1)
    for row, change in enumerate(changes):
        if isinstance(change, Head):
            gates[change.kind][change.layer, row, 0, change.number] = 0.0
    return gates


def encoder_change(change: Change | None) -> Change | None:
    """The change if it affects the encoder, otherwise None."""
    return None if isinstance(change, Head) and change.kind != "encoder" else change


ModuleT = TypeVar("ModuleT", bound=nn.Module)
ModelT = TypeVar("ModelT", bound=Model)


def without_heads(model: ModelT, heads: Iterable[Head]) -> ModelT:
    """Return a copy of the model in which the outputs of some heads are zero.

    A head's output enters the rest of the model only through its rows of W^O (paper, 3.2.2), which are columns of the
    weight of an `nn.Linear`: zeroing them removes the output exactly. Only the matrices that change are copied.
    """
    pruned = shallow_copy(model)
    with torch.no_grad():
        for head in heads:
            attention = attention_of(pruned, head)
            weight = attention.w_o.weight
            if weight is attention_of(model, head).w_o.weight:
                weight = nn.Parameter(weight.clone())
                attention.w_o.weight = weight
            weight[:, head.number * attention.v_width : (head.number + 1) * attention.v_width] = 0.0
    return pruned


def shallow_copy(module: ModuleT) -> ModuleT:
    """Copy a module and its submodules, but share parameters and buffers."""
    copied = copy.copy(module)
    copied._modules = {
        name: shallow_copy(child) if child is not None else None for name, child in module._modules.items()
    }
    copied._parameters, copied._buffers = module._parameters.copy(), module._buffers.copy()
    return copied


def attention_of(model: Model, head: Head) -> MultiHeadAttention:
    layers = model.stacks["encoder" if head.kind == "encoder" else "decoder"].layers
    if not (0 <= head.layer < len(layers) and 0 <= head.number < model.config.n_heads):
        heads = model.config.n_heads
        raise UserError(f"{head}: no such head; {head.kind} attention has {len(layers)} layers of {heads} heads")
    layer = cast(Layer, layers[head.layer])
    return layer.cross_attention if head.kind == "cross" else layer.self_attention


class Changes(Watch):
    """Hooks that apply a different change to the model for each request."""

    def __init__(self, variants: Variants) -> None:
        self.variants = variants
        self.of: dict[int, Change] = {}
        """Changes by request number."""

    def memory(self, number: int, encode: Callable[[], Tensor]) -> Tensor:  # noqa: ARG002
        (memory_SD,) = self.variants.memories([self.of[number]])
        return memory_SD

    def attended(self, kind: AttentionKind, layer: int, out_BWHK: Tensor, weights_BHWS: Tensor) -> Tensor:  # noqa: ARG002
        """Zero the outputs of removed heads."""
        gates_BH = torch.ones(len(self.numbers), out_BWHK.shape[2])
        for sentence, number in enumerate(self.numbers):
            head = self.of.get(number)
            if isinstance(head, Head) and (head.kind, head.layer) == (kind, layer):
                gates_BH[sentence, head.number] = 0.0
        return out_BWHK * gates_BH[:, None, :, None]


def translations(variants: Variants, changes: Sequence[Change], advance: Advance = lambda: None) -> list[Hypothesis]:
    """Return the best translation of the sentence for each change; `advance` is called after each."""
    if not changes:
        return []
    watch, recording = Changes(variants), variants.recording
    engine = TorchEngine(variants.model, recording.special, "cpu", "float32", places=PLACES, watch=watch)
    assert recording.search is not None  # there is none if the output was given
    original = recording.search.request
    variants.memories(changes)  # in batches; the engine would request them one by one
    for change in changes:
        request = replace(original, source=variants.source(change))
        watch.of[engine.submit(request)] = change
    found: dict[int, Hypothesis] = {}
    while len(found) < len(changes):
        for number, answer in engine.step():
            if isinstance(answer, HarkError):
                raise answer
            found[number] = answer[0]
            advance()
    return [found[number] for number in watch.of]
