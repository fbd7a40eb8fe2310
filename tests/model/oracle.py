"""The oracle: nn.Transformer with our weights; and ragged batches for comparison."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hark.config import ModelConfig
from hark.model import Layout, Stack, Transformer, packed_layout, padded_layout
from hark.model.attention import MultiHeadAttention
from hark.model.layers import Layer
from hark.model.patterns import packed_positions

Pairs = Iterator[tuple[Tensor, Tensor]]


def small(**changes: object) -> ModelConfig:
    values: dict[str, object] = {
        "d_model": 32, "d_ff": 64, "n_heads": 4, "n_encoder_layers": 2, "n_decoder_layers": 2,
        "vocab_size": 40, "dropout": 0.0, "max_positions": 64,
    }  # fmt: skip
    return ModelConfig(**{**values, **changes})  # type: ignore[arg-type]


def build(**changes: object) -> Transformer:
    """A small model with every weight random, so that a missing bias or norm shows."""
    model = Transformer(small(**changes)).eval()
    stir(model)
    return model


@torch.no_grad()
def stir(module: nn.Module) -> None:
    """Randomise the weights that are initialised to zeros or ones: biases and norms."""
    for weight in module.parameters():
        if weight.ndim == 1:
            weight.add_(torch.randn_like(weight) * 0.2)


def twin(config: ModelConfig) -> nn.Transformer:
    """nn.Transformer of the same shape. Post-norm stacks have no final norm, as in the paper but unlike its default."""
    pre = config.norm == "pre"
    activation = {"relu": "relu", "gelu": "gelu"}[config.activation]
    shape = {"d_model": config.d_model, "nhead": config.n_heads, "dim_feedforward": config.d_ff, "dropout": 0.0}
    style = {"activation": activation, "batch_first": True, "norm_first": pre}
    encoder_layer = nn.TransformerEncoderLayer(**shape, **style)  # type: ignore[arg-type]
    decoder_layer = nn.TransformerDecoderLayer(**shape, **style)  # type: ignore[arg-type]
    norm = lambda: nn.LayerNorm(config.d_model) if pre else None  # noqa: E731
    return nn.Transformer(
        **shape,  # type: ignore[arg-type]
        batch_first=True,
        custom_encoder=nn.TransformerEncoder(
            encoder_layer, config.n_encoder_layers, norm(), enable_nested_tensor=False
        ),
        custom_decoder=nn.TransformerDecoder(decoder_layer, config.n_decoder_layers, norm()),
    )


def attention_pairs(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> Pairs:
    width = ours.w_q.out_features
    for part, linear in enumerate((ours.w_q, ours.w_k, ours.w_v)):
        rows = slice(part * width, (part + 1) * width)
        yield linear.weight, theirs.in_proj_weight[rows]
        yield linear.bias, theirs.in_proj_bias[rows]
    yield ours.w_o.weight, theirs.out_proj.weight
    yield ours.w_o.bias, theirs.out_proj.bias


def module_pairs(ours: nn.Module, theirs: nn.Module) -> Pairs:
    yield from zip(ours.parameters(), theirs.parameters(), strict=True)


def layer_pairs(ours: Layer, theirs: nn.Module) -> Pairs:
    yield from attention_pairs(ours.self_attention, theirs.self_attn)  # type: ignore[arg-type]
    if "cross_attention" in ours.sublayers:
        yield from attention_pairs(ours.cross_attention, theirs.multihead_attn)  # type: ignore[arg-type]
    yield from module_pairs(ours.feed_forward.w_1, theirs.linear1)  # type: ignore[arg-type]
    yield from module_pairs(ours.feed_forward.w_2, theirs.linear2)  # type: ignore[arg-type]
    for i, name in enumerate(ours.sublayers, start=1):
        yield from module_pairs(getattr(ours, f"{name}_residual").norm, getattr(theirs, f"norm{i}"))


def stack_pairs(ours: Stack, theirs: nn.TransformerEncoder | nn.TransformerDecoder) -> Pairs:
    """Pair every weight of our stack with the corresponding view of theirs."""
    for my_layer, other_layer in zip(ours.layers, theirs.layers, strict=True):
        yield from layer_pairs(my_layer, other_layer)  # type: ignore[arg-type]
    if ours.norm is not None:
        yield from module_pairs(ours.norm, theirs.norm)  # type: ignore[arg-type]


def weight_pairs(ours: Transformer, theirs: nn.Transformer) -> Pairs:
    yield from stack_pairs(ours.encoder, theirs.encoder)  # type: ignore[arg-type]
    yield from stack_pairs(ours.decoder, theirs.decoder)  # type: ignore[arg-type]


def copy_weights(pairs: Pairs) -> None:
    """Copy our weights to theirs."""
    with torch.no_grad():
        for mine, other in pairs:
            other.copy_(mine)


@dataclass(frozen=True)
class Ragged:
    """The same sentence pairs, padded and packed."""

    source_lengths_B: Tensor
    target_lengths_B: Tensor
    source_BS: Tensor
    target_BT: Tensor

    @property
    def padded(self) -> Layout:
        return padded_layout(self.source_lengths_B, self.target_lengths_B)

    @property
    def packed(self) -> Layout:
        source_cu, target_cu = cumulative(self.source_lengths_B), cumulative(self.target_lengths_B)
        longest = max(self.source_BS.shape[1], self.target_BT.shape[1])
        positions = (packed_positions(cu, int(cu[-1])) for cu in (source_cu, target_cu))
        return packed_layout(source_cu, target_cu, *positions, longest)

    @property
    def source_N(self) -> Tensor:
        return pack(self.source_BS, self.source_lengths_B)

    @property
    def target_N(self) -> Tensor:
        return pack(self.target_BT, self.target_lengths_B)


def ragged(source_lengths: list[int], target_lengths: list[int], vocab_size: int = 40) -> Ragged:
    source_lengths_B, target_lengths_B = torch.tensor(source_lengths), torch.tensor(target_lengths)
    rows = len(source_lengths)
    source_BS = torch.randint(vocab_size, (rows, max(source_lengths)))
    target_BT = torch.randint(vocab_size, (rows, max(target_lengths)))
    return Ragged(source_lengths_B, target_lengths_B, source_BS, target_BT)


def cumulative(lengths_B: Tensor) -> Tensor:
    return torch.cat([lengths_B.new_zeros(1), lengths_B.cumsum(0)]).int()


def pack(rows: Tensor, lengths_B: Tensor) -> Tensor:
    return torch.cat([row[:length] for row, length in zip(rows, lengths_B.tolist(), strict=True)])
