"""The peers: the paper's model in Hugging Face's Marian and PyTorch's nn.Transformer, each as fast as possible.

Both compute the same as ours, which tests/benchmarks checks with copied weights: post-norm, ReLU, one matrix for both
embeddings and the output, sinusoidal positions, dropout only on embeddings and outputs of sub-layers, label-smoothed
loss. Both compute on padded rows, with PyTorch's fused attention, and train with its fused Adam, in the precisions that
are compared, compiled or not. Tensors are named as in `hark.model`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hark.config import Config, ModelConfig
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


Step = Callable[[int], int]
"""Runs a training step, including the optimiser, on the batch of that index; returns its real target tokens."""
RATE = 1e-4


@dataclass(frozen=True)
class Variant:
    """How a peer is run. Weights are always kept and updated in float32: updates of pure bfloat16 weights are mostly
    lost in rounding, so such a model does not train properly.

    `autocast` computes in bfloat16 where PyTorch considers it safe. With `bfloat16` the whole model is in that type, as
    a copy of the optimiser's float32 weights, as in fairseq. Compiled are the layers and the loss, once for all shapes.
    """

    precision: Literal["autocast", "bfloat16"]
    compiled: bool

    def __str__(self) -> str:
        return f"{self.precision}, {'compiled' if self.compiled else 'eager'}"


VARIANTS = {
    "eager": Variant("autocast", False), "compiled": Variant("autocast", True), "bf16": Variant("bfloat16", True),
    "bf16-eager": Variant("bfloat16", False),
}  # fmt: skip


class MasterAdam:
    """Fused Adam on float32 weights, of which the model holds a bfloat16 copy."""

    def __init__(self, weights: Sequence[nn.Parameter], **settings: object) -> None:
        self.weights = weights
        self.masters = [nn.Parameter(weight.detach().float()) for weight in weights]
        for master in self.masters:
            master.grad = torch.zeros_like(master)
        self.adam = torch.optim.Adam(self.masters, **settings)  # type: ignore[arg-type]

    def zero_grad(self) -> None:
        for weight in self.weights:
            weight.grad = None

    @torch.no_grad()
    def step(self) -> None:
        gradients = [weight.grad for weight in self.weights if weight.grad is not None]
        torch._foreach_copy_([master.grad for master in self.masters], gradients)  # type: ignore[misc]
        self.adam.step()
        torch._foreach_copy_([weight.detach() for weight in self.weights], [each.detach() for each in self.masters])


def peer_step(
    peer: Peer, config: Config, device: torch.device, batches: Sequence[PaddedBatch], variant: Variant
) -> Step:
    """A training step of a peer, with batches already on the device, like ours."""
    # cuDNN's attention makes a new plan for every shape, which takes longer than a step.
    torch.backends.cuda.enable_cudnn_sdp(False)
    peer.to(device).train()
    weights = [weight for weight in peer.parameters() if weight.requires_grad]
    train = config.train
    settings: dict[str, object] = {"lr": RATE, "betas": (train.beta1, train.beta2), "eps": train.eps, "fused": True}
    optimiser: MasterAdam | torch.optim.Adam
    if variant.precision == "bfloat16":
        optimiser = MasterAdam(weights, **settings)
        peer.bfloat16()
    else:
        optimiser = torch.optim.Adam(weights, **settings)  # type: ignore[arg-type]
    if variant.compiled:
        peer.compile_parts()
    autocast = variant.precision == "autocast" and device.type == "cuda"
    ready = [(Padded.of(batch, device), batch.n_target_tokens) for batch in batches]

    def step(number: int) -> int:
        batch, tokens = ready[number % len(ready)]
        with torch.autocast(device.type, torch.bfloat16, enabled=autocast):
            loss = peer(batch, train.label_smoothing)
        (loss / tokens).backward()
        optimiser.step()
        optimiser.zero_grad()
        return tokens

    return step
