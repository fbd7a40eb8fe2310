"""All settings of hark: the sections data and batches (from `text_config`), model, train and decode.

The defaults are the paper's base model and recipe (Vaswani et al., 2017). Standard library only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

from hark.errors import UserError
from hark.facts import LabelsOf
from hark.settings import Section, SettingError, any_seed, at_least, between, fraction, more_than, setting
from hark.text_config import (
    AugmentConfig,
    BatchConfig,
    Batching,
    CleanConfig,
    CorpusConfig,
    Corrupted,
    DataConfig,
    Documents,
    TreeTag,
    is_language_code,
)

__all__ = [
    "WIDEST",
    "Activation",
    "AugmentConfig",
    "BatchConfig",
    "Batching",
    "Best",
    "CleanConfig",
    "Compile",
    "Config",
    "CorpusConfig",
    "Corrupted",
    "DataConfig",
    "DecodeConfig",
    "Documents",
    "ModelConfig",
    "Norm",
    "NormKind",
    "Parallel",
    "Positions",
    "Precision",
    "Schedule",
    "Shape",
    "Tie",
    "TrainConfig",
    "TreeTag",
    "Updates",
    "is_language_code",
]

Shape = Literal["encoder-decoder", "decoder", "encoder"]
Norm = Literal["post", "pre"]
NormKind = Literal["layer", "rms"]
Activation = Literal["relu", "gelu", "gelu_tanh", "swish", "swiglu", "geglu"]
Positions = Literal[
    "sinusoidal", "sinusoidal_halves", "sinusoidal_t2t", "learned", "rotary", "alibi", "relative", "none"
]
Tie = Literal["all", "target", "inputs", "none"]
Precision = Literal["auto", "float32", "bfloat16"]
Compile = Literal["auto", "on", "off"]
Parallel = Literal["ddp", "fsdp"]
Schedule = Literal["paper", "linear"]
Updates = Literal["adam", "muon"]
Best = Literal["dev", "score", "last"]


@dataclass(frozen=True)
class ModelConfig(Section):
    """The Transformer (paper, section 3)."""

    shape: Shape = setting(
        "encoder-decoder", "its stacks: both (the paper), a decoder alone (GPT) or an encoder alone (BERT)"
    )
    d_model: int = setting(512, "width of every layer's input and output", between(1, 65_536))
    d_ff: int = setting(2048, "width inside the feed-forward network", between(1, 1_048_576))
    n_heads: int = setting(8, "attention heads", between(1, 4_096))
    n_kv_heads: int | None = setting(
        None, "heads of keys and values, each shared by several heads of queries; unset: n_heads", at_least(1)
    )
    d_k: int | None = setting(None, "width of a head's queries and keys; unset: d_model / n_heads", at_least(1))
    d_v: int | None = setting(None, "width of a head's values; unset: d_model / n_heads", at_least(1))
    n_encoder_layers: int = setting(6, "layers of the encoder", between(1, 1_000))
    n_decoder_layers: int = setting(6, "layers of the decoder", between(1, 1_000))
    dropout: float = setting(0.1, "dropout on sub-layer outputs and on embeddings (paper, 5.4)", fraction())
    attention_dropout: float = setting(0.0, "dropout on attention weights, which the paper does not have", fraction())
    norm: Norm = setting("post", "layer norm after the residual sum (post, the paper) or before the sub-layer (pre)")
    norm_kind: NormKind = setting(
        "layer", "layer norm (the paper), or RMSNorm, which subtracts no mean and adds no bias"
    )
    norm_eps: float = setting(1e-5, "added to the variance in norms", more_than(0))
    activation: Activation = setting("relu", "non-linearity of the feed-forward network; the paper's is relu")
    positions: Positions = setting(
        "sinusoidal",
        "position encoding (paper, 3.5); imported models may have all sines before all cosines (sinusoidal_halves), "
        "also with the wavelengths of tensor2tensor (sinusoidal_t2t)",
    )
    rotary_base: float = setting(10_000.0, "the longest wavelength of rotary positions, over 2 pi", more_than(1))
    relative_buckets: int = setting(
        32,
        "relative positions, as in T5: kinds of distance, each with a learned bias for each head",
        between(4, 65_536),
    )
    relative_distance: int = setting(
        128,
        "relative positions: all distances from this on share a bias; must exceed half of relative_buckets",
        at_least(3),
    )
    max_positions: int = setting(2048, "size of the table of position encodings", between(1, 16_777_216))
    position_offset: int = setting(
        0, "the position of the first token, for sinusoidal positions; M2M100 begins with 2", between(0, 65_536)
    )
    attention_bias: bool = setting(
        True,
        "biases in the attention projections, as in PyTorch and most toolkits; the paper's formula has none",
    )
    feed_forward_bias: bool = setting(True, "biases in the feed-forward network (paper, 3.3)")
    vocab_size: int = setting(37000, "size of the target vocabulary, or of the shared one", between(2, 16_777_216))
    source_vocab_size: int | None = setting(
        None, "size of a separate source vocabulary; unset: shared", between(2, 16_777_216)
    )
    tie: Tie = setting(
        "all",
        "weight tying: source, target and output embeddings (all, the paper), target and output (target), source and "
        "target (inputs), or none",
    )
    labels: LabelsOf | None = setting(
        None,
        "an encoder predicts labels instead of tokens: of the text, from its first token (text), or of each word, from "
        "the first of its tokens (words). The dataset decides",
    )
    n_labels: int | None = setting(None, "with labels: how many there are; the dataset decides", between(2, 65_000))
    prediction_layer: bool = setting(
        False, "with one stack: a dense layer and a norm before the output projection, as in BERT"
    )
    output_bias: bool = setting(False, "a bias on the logits, as in Marian models; the paper has none")
    scale_embedding: bool = setting(True, "multiply embeddings by the square root of d_model (paper, 3.4)")
    embedding_norm: bool = setting(False, "layer norm of the sums of embeddings and positions, as in mBART")

    @property
    def n_outputs(self) -> int:
        """How many labels or tokens it chooses from."""
        return self.n_labels if self.labels and self.n_labels else self.vocab_size

    @property
    def kv_heads(self) -> int:
        return self.n_kv_heads or self.n_heads

    @property
    def k_width(self) -> int:
        return self.d_k if self.d_k is not None else self.d_model // self.n_heads

    @property
    def v_width(self) -> int:
        return self.d_v if self.d_v is not None else self.d_model // self.n_heads

    @property
    def separate_source(self) -> bool:
        """Whether the source has embeddings of its own."""
        return self.tie in ("target", "none")

    @property
    def separate_output(self) -> bool:
        """Whether the matrix before the softmax is not that of the embeddings."""
        return self.tie in ("inputs", "none") or self.labels is not None

    @property
    def biases_scores(self) -> bool:
        """Whether positions are added to the scores of attention, not to the embeddings."""
        return self.positions in ("alibi", "relative")

    def check(self) -> None:
        if (self.d_k is None or self.d_v is None) and self.d_model % self.n_heads:
            raise SettingError(
                "d_model",
                f"{self.d_model} is not divisible by n_heads {self.n_heads}; change one, or set d_k and d_v",
            )
        if self.n_heads % self.kv_heads:
            raise SettingError("n_kv_heads", f"{self.kv_heads} does not divide n_heads {self.n_heads}")
        if self.positions.startswith("sinusoidal") and self.d_model % 2:
            raise SettingError("d_model", f"{self.d_model} is odd; sinusoidal positions need an even width")
        if self.relative_distance <= self.relative_buckets // 2:
            raise SettingError(
                "relative_distance",
                f"{self.relative_distance} is not more than half of relative_buckets {self.relative_buckets}; raise it",
            )
        if self.prediction_layer and self.shape == "encoder-decoder":
            raise SettingError("prediction_layer", "needs model.shape = encoder or decoder")
        if self.labels and (self.shape != "encoder" or self.n_labels is None):
            raise SettingError("labels", "needs model.shape = encoder, and n_labels")
        if self.positions == "rotary" and self.k_width % 2:
            raise SettingError("d_k", f"{self.k_width} is odd; rotary positions need an even width")
        if not self.separate_source and self.source_vocab_size not in (None, self.vocab_size):
            raise SettingError(
                "source_vocab_size",
                f"{self.source_vocab_size} differs from vocab_size {self.vocab_size}, so tie = {self.tie} is impossible"
                "; unset it, or set tie to target or none",
            )


@dataclass(frozen=True)
class TrainConfig(Section):
    """Training (paper, section 5)."""

    from_: str = setting("", "model to fine-tune, a folder or a name; empty: train from scratch")
    steps: int = setting(100_000, "optimiser steps", at_least(1))
    batches_per_step: int = setting(1, "batches per step, over all processes", at_least(1))
    warmup_steps: int = setting(4000, "steps over which the learning rate rises (paper, 5.3)", at_least(1))
    schedule: Schedule = setting(
        "paper",
        "decay after the warm-up: with the inverse square root of the step (paper, 5.3), or linearly to 0 (linear)",
    )
    rate_scale: float = setting(1.0, "factor on the paper's learning rate", more_than(0))
    optimiser: Updates = setting(
        "adam", "Adam for all weights (the paper), or Muon for the matrices inside layers and Adam for the rest"
    )
    beta1: float = setting(0.9, "decay of Adam's mean of gradients", fraction())
    beta2: float = setting(0.98, "decay of Adam's mean of squared gradients", fraction())
    eps: float = setting(1e-9, "Adam's guard against division by zero", more_than(0))
    weight_decay: float = setting(
        0.0, "decay of all matrices towards 0 per step, times the learning rate (AdamW); 0: none", fraction()
    )
    clip_norm: float | None = setting(None, "maximum norm of the gradient; unset: no clipping", more_than(0))
    label_smoothing: float = setting(0.1, "probability spread over the whole vocabulary (paper, 5.4)", fraction())
    ema: float | None = setting(None, "decay of a moving average of the weights; unset: no average", fraction())
    seed: int = setting(1, "seed of initial weights and of dropout", any_seed())
    log_steps: int = setting(50, "steps between log records", at_least(1))
    eval_steps: int = setting(1000, "steps between evaluations on the dev sets", at_least(1))
    best: Best = setting(
        "dev",
        "the model to keep: the one with the lowest loss on the dev sets (dev), with the best accuracy or BLEU there "
        "(score), or the last (for students, as teachers word translations "
        "differently from dev sets)",
    )
    early_stop: int | None = setting(
        None, "evaluations without a better dev score before stopping; unset: never", at_least(1)
    )
    save_minutes: float = setting(10.0, "minutes between checkpoints (paper, 6.1)", more_than(0))
    save_steps: int | None = setting(None, "steps between checkpoints, in addition to the minutes", at_least(1))
    keep_last: int = setting(5, "checkpoints to keep; older ones are removed", at_least(1))
    average_last: int = setting(5, "checkpoints averaged into the final model (paper, 6.1)", at_least(1))
    max_bad_steps: int = setting(
        10, "consecutive steps with a non-finite loss or gradient before stopping", at_least(1)
    )
    device: str = setting("auto", "device: auto, cpu, cuda or cuda:1")
    precision: Precision = setting("auto", "precision of matrix products; auto: bfloat16 on a GPU, float32 on a CPU")
    compile: Compile = setting(
        "auto", "torch.compile; auto: on several GPUs; a single GPU uses hark's kernels in a CUDA graph instead"
    )
    parallel: Parallel = setting("ddp", "with several processes: each holds all weights (ddp) or a share (fsdp)")
    tensorboard: bool = setting(False, "also write event files for TensorBoard")

    def check(self) -> None:
        if self.keep_last < self.average_last:
            raise SettingError("keep_last", f"{self.keep_last} is less than average_last {self.average_last}; raise it")
        if self.best == "score" and self.parallel == "fsdp":
            raise SettingError("best", "score needs whole weights, and parallel = fsdp shards them; use ddp")
        if self.optimiser == "muon" and self.parallel == "fsdp":
            raise SettingError("optimiser", "muon needs whole matrices, and parallel = fsdp shards them; use ddp")
        if self.schedule == "linear" and self.warmup_steps >= self.steps:
            raise SettingError(
                "warmup_steps", f"{self.warmup_steps} leaves none of {self.steps} steps for the decay; lower it"
            )


WIDEST = 200
"""The largest beam, and the most translations of a sentence: larger ones take minutes and gigabytes."""


@dataclass(frozen=True)
class DecodeConfig(Section):
    """Beam search and sampling (paper, section 6.1)."""

    beam: int = setting(4, "beam size; 1 is greedy", between(1, WIDEST))
    alpha: float = setting(0.6, "length penalty: 0 favours short output, larger favours long", between(0, 5))
    max_extra: int = setting(50, "maximum length of the output beyond that of the input, in tokens", at_least(0))
    patience: float = setting(1.0, "the search ends when this many times `beam` hypotheses are finished", at_least(1))
    min_length: int = setting(0, "minimum length of the output in tokens", at_least(0))
    nbest: int = setting(1, "translations per sentence, best first", between(1, WIDEST))
    diverse: bool = setting(False, "n-best translations that begin with different tokens, each from its own search")
    sample: bool = setting(False, "sample each token instead of searching")
    temperature: float = setting(1.0, "sampling: below 1 favours likely tokens", more_than(0))
    top_k: int = setting(0, "sampling: draw from the k most likely tokens; 0: from all", at_least(0))
    top_p: float = setting(1.0, "sampling: draw from the most likely tokens with this total probability", between(0, 1))
    min_p: float = setting(
        0.0, "sampling: draw only from tokens with at least this share of the likeliest one's probability", fraction()
    )
    shortlist: bool = setting(True, "restrict output to the model's vocabulary shortlist, if it has one")
    seed: int = setting(1, "sampling: the same seed gives the same translation", any_seed())

    @property
    def max_ended(self) -> int:
        """Finished hypotheses that end a search; half is rounded up, as in CTranslate2."""
        return int(self.beam * self.patience + 0.5)

    def check(self) -> None:
        if not self.sample and not self.diverse and self.nbest > self.max_ended:
            raise SettingError("nbest", f"{self.nbest} is more than beam {self.beam} can return; raise decode.beam")
        if not self.top_p:
            raise SettingError("top_p", "0 leaves no tokens to sample; use 1 for all")

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """Return the settings with `changes` applied. `nbest` widens the beam if `beam` is not among the changes."""
        if not changes:
            return self
        if "nbest" in changes and "beam" not in changes:
            changes = {**changes, "beam": max(self.beam, min(changes["nbest"], WIDEST))}
        try:
            return replace(self, **changes)
        except SettingError as error:
            raise UserError(f"decode.{error}") from None
        except TypeError:
            unknown = ", ".join(sorted(set(changes) - set(self.__dataclass_fields__)))
            raise UserError(f"{unknown}: no such search setting; list them with hark config --explain") from None


@dataclass(frozen=True)
class Config(Section):
    """All settings."""

    data: DataConfig = field(default_factory=DataConfig)
    batches: BatchConfig = field(default_factory=BatchConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    decode: DecodeConfig = field(default_factory=DecodeConfig)

    def check(self) -> None:
        if self.model.max_positions < self.batches.max_length:
            raise SettingError(
                "model.max_positions",
                f"{self.model.max_positions} is less than batches.max_length {self.batches.max_length}; raise it",
            )
        if self.batches.any_order and self.model.positions == "none":
            raise SettingError(
                "model.positions", "none leaves open which token to predict; with batches.any_order, choose others"
            )
