"""The peers: the paper's model in Hugging Face's Marian and PyTorch's nn.Transformer, each as fast as possible.

Both compute the same as ours, which tests/benchmarks checks with copied weights: post-norm, ReLU, one matrix for both
embeddings and the output, sinusoidal positions, dropout only on embeddings and outputs of sub-layers, label-smoothed
loss. Both compute on padded rows, with PyTorch's fused attention; `peer_training` trains them.
Tensors are named as in `hark.model`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hark.config import ModelConfig
from hark.data.batches import PaddedBatch
from hark.model.positions import sinusoids
from hark.text.tokenizer import SPECIAL


@dataclass(frozen=True)
class Padded:
    """A batch in rows. `real_BS` is None if no source row has padding, so that a kernel without a mask can be used.

    Target rows need no mask: padding is at their end, and the causal mask hides it from every real token.
    """

    source_BS: Tensor
    real_BS: Tensor | None
    target_in_BT: Tensor
    target_out_BT: Tensor

    @staticmethod
    def of(batch: PaddedBatch, device: torch.device) -> "Padded":
        """Copy a batch from pinned memory, as ours, so that the copy overlaps with the previous batch."""
        source, target = batch.streams["source"], batch.streams["target"]
        assert target.labels is not None
        arrays = [torch.from_numpy(each) for each in (source.tokens, target.tokens, target.labels)]
        if device.type == "cuda":
            arrays = [each.pin_memory().to(device, non_blocking=True) for each in arrays]
        source_BS, target_in_BT, target_out_BT = (each.long() for each in arrays)
        full = (source.lengths == source.tokens.shape[1]).all()
        return Padded(source_BS, None if full else source_BS != SPECIAL.pad, target_in_BT, target_out_BT)


class Peer(nn.Module, ABC):
    """The common interface of other Transformers."""

    @abstractmethod
    def hidden(self, source_BS: Tensor, real_BS: Tensor | None, target_BT: Tensor) -> Tensor:
        """The output of the decoder's last layer."""

    @abstractmethod
    def logits(self, hidden_BTD: Tensor) -> Tensor: ...

    @abstractmethod
    def layers(self) -> Iterable[nn.Module]:
        """The layers of both stacks."""

    def loss(self, hidden_BTD: Tensor, labels_BT: Tensor, smoothing: float) -> Tensor:
        """The label-smoothed loss, summed over real tokens, in float32."""
        return F.cross_entropy(
            self.logits(hidden_BTD).float().flatten(0, 1), labels_BT.flatten(), ignore_index=SPECIAL.pad,
            reduction="sum", label_smoothing=smoothing,
        )  # fmt: skip

    def forward(self, batch: Padded, smoothing: float) -> Tensor:
        return self.loss(
            self.hidden(batch.source_BS, batch.real_BS, batch.target_in_BT), batch.target_out_BT, smoothing
        )

    def compile_parts(self) -> None:
        """Compile the layers, which share one compiled function per stack, and the loss."""
        for layer in self.layers():
            layer.compile(dynamic=True)
        self.loss = torch.compile(self.loss, dynamic=True)  # type: ignore[method-assign]


def marian_config(config: ModelConfig, **changes: Any) -> Any:
    """A `MarianConfig` with our sizes and special ids, ReLU and PyTorch's fused attention."""
    from transformers import MarianConfig

    settings = {
        "vocab_size": config.vocab_size, "d_model": config.d_model, "encoder_layers": config.n_encoder_layers,
        "decoder_layers": config.n_decoder_layers, "encoder_attention_heads": config.n_heads,
        "decoder_attention_heads": config.n_heads, "encoder_ffn_dim": config.d_ff, "decoder_ffn_dim": config.d_ff,
        "activation_function": "relu", "max_position_embeddings": config.max_positions, "scale_embedding": True,
        "pad_token_id": SPECIAL.pad, "bos_token_id": SPECIAL.start, "eos_token_id": SPECIAL.end,
        "decoder_start_token_id": SPECIAL.start, "attn_implementation": "sdpa",
    }  # fmt: skip
    return MarianConfig(**settings | changes)


class Marian(Peer):
    """Hugging Face's MarianMTModel, an implementation of this architecture."""

    def __init__(self, config: ModelConfig) -> None:
        from transformers import MarianMTModel

        super().__init__()
        self.model = MarianMTModel(
            marian_config(
                config, dropout=config.dropout, attention_dropout=0.0, activation_dropout=0.0,
                share_encoder_decoder_embeddings=True, tie_word_embeddings=True, use_cache=False,
                forced_eos_token_id=SPECIAL.end,
            )
        )  # fmt: skip
        # This buffer of zeros in float32 would make the logits float32, twice the size of autocast's.
        self.model.final_logits_bias = self.model.final_logits_bias.bfloat16()

    def hidden(self, source_BS: Tensor, real_BS: Tensor | None, target_BT: Tensor) -> Tensor:
        # A mask with four axes is used as it is; for one with two axes, transformers would check whether all of it is
        # true, and wait for the device.
        mask_B11S = None if real_BS is None else real_BS[:, None, None, :]
        out = self.model.model(
            input_ids=source_BS, attention_mask=mask_B11S, decoder_input_ids=target_BT, use_cache=False
        )
        hidden_BTD: Tensor = out.last_hidden_state
        return hidden_BTD

    def logits(self, hidden_BTD: Tensor) -> Tensor:
        """As at the end of MarianMTModel.forward."""
        logits_BTV: Tensor = self.model.lm_head(hidden_BTD) + self.model.final_logits_bias
        return logits_BTV

    def layers(self) -> Iterable[nn.Module]:
        return [*self.model.model.encoder.layers, *self.model.model.decoder.layers]


class EncoderLayer(nn.TransformerEncoderLayer):
    """PyTorch's layer as our subclass, because torch.compile skips layers called by torch.nn itself."""

    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        return super().forward(*args, **kwargs)


class DecoderLayer(nn.TransformerDecoderLayer):
    """Like `EncoderLayer`."""

    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        return super().forward(*args, **kwargs)


class TorchTransformer(Peer):
    """nn.Transformer with embeddings and output projection, which it leaves to its user."""

    positions: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        sizes = (config.d_model, config.n_heads, config.d_ff, config.dropout)
        encoder, decoder = EncoderLayer(*sizes, batch_first=True), DecoderLayer(*sizes, batch_first=True)
        # The paper has no dropout inside attention and the feed-forward network.
        encoder.dropout.p = encoder.self_attn.dropout = 0.0
        decoder.dropout.p = decoder.self_attn.dropout = decoder.multihead_attn.dropout = 0.0
        # Without the default final norm of the stacks, which is one too many after post-norm layers.
        self.stacks = nn.Transformer(
            config.d_model, config.n_heads, batch_first=True,
            custom_encoder=nn.TransformerEncoder(encoder, config.n_encoder_layers, enable_nested_tensor=False),
            custom_decoder=nn.TransformerDecoder(decoder, config.n_decoder_layers),
        )  # fmt: skip
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.embedding.weight, std=config.d_model**-0.5)
        self.register_buffer("positions", sinusoids(config.max_positions, config.d_model), persistent=False)
        self.scale = math.sqrt(config.d_model)
        self.dropout = config.dropout

    def embed(self, tokens_BT: Tensor) -> Tensor:
        x_BTD = self.embedding(tokens_BT) * self.scale + self.positions[: tokens_BT.shape[1]]
        return F.dropout(x_BTD, self.dropout, self.training)

    def hidden(self, source_BS: Tensor, real_BS: Tensor | None, target_BT: Tensor) -> Tensor:
        padding_BS = None if real_BS is None else ~real_BS
        memory_BSD = self.stacks.encoder(self.embed(source_BS), src_key_padding_mask=padding_BS)
        # The mask is required but not used: with tgt_is_causal, PyTorch uses its causal kernel.
        causal_TT = nn.Transformer.generate_square_subsequent_mask(
            target_BT.shape[1], target_BT.device, memory_BSD.dtype
        )
        hidden_BTD: Tensor = self.stacks.decoder(
            self.embed(target_BT), memory_BSD, tgt_mask=causal_TT, memory_key_padding_mask=padding_BS,
            tgt_is_causal=True,
        )  # fmt: skip
        return hidden_BTD

    def logits(self, hidden_BTD: Tensor) -> Tensor:
        return F.linear(hidden_BTD, self.embedding.weight)

    def layers(self) -> Iterable[nn.Module]:
        return [*self.stacks.encoder.layers, *self.stacks.decoder.layers]
