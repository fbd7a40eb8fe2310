"""Every setting of hark: one frozen tree of data, batches, model, train and decode.

The defaults are the paper's base model and recipe (Vaswani et al., 2017). Standard library only.
"""

from dataclasses import dataclass, field
from typing import Literal

from hark.settings import Section, SettingError, any_seed, at_least, between, fraction, more_than, setting

Norm = Literal["post", "pre"]
Activation = Literal["relu", "gelu", "swiglu"]
Positions = Literal["sinusoidal", "learned", "rotary", "none"]
Tie = Literal["all", "target", "none"]
Batching = Literal["packed", "padded"]
Precision = Literal["auto", "float32", "bfloat16"]
Compile = Literal["auto", "on", "off"]
Parallel = Literal["ddp", "fsdp"]
Schedule = Literal["paper", "linear"]
Updates = Literal["adam", "muon"]
Best = Literal["dev", "last"]


@dataclass(frozen=True)
class CorpusConfig(Section):
    """One parallel corpus: two line-aligned files, or one file (TSV, JSONL, TMX) that holds both sides."""

    source: str = setting(
        "", "file of the source side, or the one file that holds both sides; hark:sample/NAME comes with hark"
    )
    target: str = setting("", "file of the target side; empty where `source` holds both")
    name: str = setting("", "what reports call it; empty: the name of the file")
    weight: float = setting(1.0, "times that it is seen while a corpus of weight 1 is seen once", more_than(0))

    def check(self) -> None:
        if not self.source:
            raise SettingError("source", "is empty; name a file")


@dataclass(frozen=True)
class CleanConfig(Section):
    """The rules of cleaning, in the order in which they are applied; each drop is counted and sampled in the report."""

    normalise: bool = setting(True, "bring text to Unicode NFC, and runs of odd white space to single spaces")
    garbled: bool = setting(True, "drop pairs with control or replacement characters, or wrongly decoded text")
    empty: bool = setting(True, "drop pairs with an empty side")
    max_words: int = setting(200, "drop pairs with a side of more words", at_least(1))
    max_chars: int = setting(1500, "drop pairs with a side of more characters", at_least(1))
    max_ratio: float = setting(
        3.0,
        "drop pairs with one side this many times as long as the other, in characters; lenient on short lines",
        more_than(1),
    )
    identical: bool = setting(True, "drop pairs with the same text on both sides")
    min_letters: float = setting(
        0.25, "drop pairs with a side of a smaller share of letters; 0 turns it off", between(0, 1)
    )
    language: float = setting(
        0.8,
        "drop pairs with a side in another language, where the detector is at least this sure; 1 turns it off",
        between(0, 1),
    )
    held_out: bool = setting(True, "drop pairs with a side that stands in a dev or test set")
    duplicates: bool = setting(True, "drop all but the first of equal pairs")


@dataclass(frozen=True)
class AugmentConfig(Section):
    """Shares of the training pairs that are also written as people type them; all 0: none, as in the paper."""

    lower: float = setting(0.0, "source in small letters, target as it is", between(0, 1))
    upper: float = setting(0.0, "both sides in capitals", between(0, 1))
    unpunctuated: float = setting(0.0, "neither side with its last full stop or question mark", between(0, 1))
    hasty: float = setting(0.0, "source in small letters, neither side with its last full stop", between(0, 1))
    names: float = setting(0.0, "of both sides only the capitalised words that they share: a bare name", between(0, 1))
    renamed: float = setting(0.0, "another name on both sides for one that they share", between(0, 1))
    renumbered: float = setting(0.0, "other numbers on both sides, of as many digits", between(0, 1))
    words: float = setting(0.0, "besides each, any word of the text alone, with what translates it", between(0, 1))


@dataclass(frozen=True)
class DataConfig(Section):
    """The text: which languages, how it is cleaned, how it becomes tokens. `hark prepare` makes a dataset of it."""

    # `dataset` is where preparing writes and training reads. It stays here, with `reverse`, which turns `source` and
    # `target` around: both say which text a run is about, and neither says how it is cut into batches.
    dataset: str = setting("", "folder of the prepared dataset (made by `hark prepare`)")
    source: str = setting("en", "language code of the source side")
    target: str = setting("de", "language code of the target side")
    reverse: bool = setting(False, "read the dataset the other way round: train from its target language to its source")
    train: tuple[CorpusConfig, ...] = setting((), "corpora to train on")
    dev: tuple[CorpusConfig, ...] = setting((), "sets to watch during training; kept out of the training text")
    test: tuple[CorpusConfig, ...] = setting((), "sets to measure on in the end; kept out of the training text")
    clean: CleanConfig = field(default_factory=CleanConfig)
    augment: AugmentConfig = field(default_factory=AugmentConfig)
    tokenizer: str = setting("", "a tokenizer.model to use; empty: learn one from the training text")
    vocab_size: int = setting(37000, "size of the BPE vocabulary to learn (paper, 5.1)", between(300, 16_777_216))
    shared_vocab: bool = setting(True, "one vocabulary for both languages (paper, 5.1), or one for each")
    bpe_dropout: float = setting(
        0.0, "probability of leaving out a BPE merge in training text; 0 turns it off", fraction()
    )
    bpe_variants: int = setting(
        4, "segmentations written of each sentence, one a pass, when bpe_dropout is on", between(1, 1_000)
    )
    seed: int = setting(1, "seed of everything random in preparing text", any_seed())


@dataclass(frozen=True)
class BatchConfig(Section):
    """How training reads a prepared dataset: its batches, and their order."""

    kind: Batching = setting("packed", "sentences end to end with no padding (packed), or in rows by length (padded)")
    batch_tokens: int = setting(
        25000, "source tokens, and target tokens, in one batch (paper, 5.1)", between(1, 16_777_216)
    )
    max_length: int = setting(
        250, "longest sentence, in tokens, to train on; longer pairs are skipped", between(2, 16_777_216)
    )
    seed: int = setting(1, "seed of the order of sentences; a recipe that sets only data.seed sets both", any_seed())

    def check(self) -> None:
        if self.max_length > self.batch_tokens:
            raise SettingError(
                "max_length",
                f"{self.max_length} is more than batch_tokens {self.batch_tokens}: a sentence must fit in a batch",
            )


@dataclass(frozen=True)
class ModelConfig(Section):
    """The Transformer (paper, section 3)."""

    d_model: int = setting(512, "width of every layer's input and output", between(1, 65_536))
    d_ff: int = setting(2048, "width inside the feed-forward network", between(1, 1_048_576))
    n_heads: int = setting(8, "attention heads", between(1, 4_096))
    d_k: int | None = setting(None, "width of a head's queries and keys; unset: d_model / n_heads", at_least(1))
    d_v: int | None = setting(None, "width of a head's values; unset: d_model / n_heads", at_least(1))
    n_encoder_layers: int = setting(6, "layers of the encoder", between(1, 1_000))
    n_decoder_layers: int = setting(6, "layers of the decoder", between(1, 1_000))
    dropout: float = setting(0.1, "dropout on sub-layer outputs and on embeddings (paper, 5.4)", fraction())
    norm: Norm = setting("post", "layer norm after the residual sum (post, the paper) or before the sub-layer (pre)")
    activation: Activation = setting("relu", "non-linearity of the feed-forward network; the paper's is relu")
    positions: Positions = setting("sinusoidal", "how positions are told apart (paper, 3.5)")
    max_positions: int = setting(2048, "positions that the tables of position encodings reach", between(1, 16_777_216))
    attention_bias: bool = setting(
        True,
        "biases in the attention projections, as PyTorch and most toolkits have; the paper's formula has none",
    )
    vocab_size: int = setting(
        37000, "entries of the target vocabulary, and of the source's where it is shared", between(2, 16_777_216)
    )
    source_vocab_size: int | None = setting(
        None, "entries of a source vocabulary of its own; unset: shared", between(2, 16_777_216)
    )
    tie: Tie = setting(
        "all",
        "which matrices are one: source, target and output (all, the paper), target and output (target), or none",
    )
    output_bias: bool = setting(False, "a bias on the logits, as models of the Marian family have; the paper has none")

    @property
    def k_width(self) -> int:
        return self.d_k if self.d_k is not None else self.d_model // self.n_heads

    @property
    def v_width(self) -> int:
        return self.d_v if self.d_v is not None else self.d_model // self.n_heads

    def check(self) -> None:
        if (self.d_k is None or self.d_v is None) and self.d_model % self.n_heads:
            raise SettingError(
                "d_model",
                f"{self.d_model} is not divisible by n_heads {self.n_heads}; change one, or set d_k and d_v",
            )
        if self.positions == "sinusoidal" and self.d_model % 2:
            raise SettingError(
                "d_model", f"{self.d_model} is odd; sinusoidal positions come in pairs, so it must be even"
            )
        if self.positions == "rotary" and self.k_width % 2:
            raise SettingError("d_k", f"{self.k_width} is odd; rotary positions turn pairs, so it must be even")
        if self.tie == "all" and self.source_vocab_size not in (None, self.vocab_size):
            raise SettingError(
                "source_vocab_size",
                f"{self.source_vocab_size} differs from vocab_size {self.vocab_size}, so one matrix cannot serve both; "
                "unset it, or set tie to target or none",
            )


@dataclass(frozen=True)
class TrainConfig(Section):
    """The recipe (paper, section 5), and how it is run."""

    from_: str = setting("", "model to fine-tune, by its folder or name: training starts from its weights; empty: anew")
    steps: int = setting(100_000, "updates of the weights", at_least(1))
    batches_per_step: int = setting(1, "batches in one update, over all processes together", at_least(1))
    warmup_steps: int = setting(4000, "steps over which the learning rate rises (paper, 5.3)", at_least(1))
    schedule: Schedule = setting(
        "paper",
        "after the warm-up the rate falls with the square root of the step (paper, 5.3), or in a line to 0 (linear)",
    )
    rate_scale: float = setting(1.0, "factor on the paper's learning rate", more_than(0))
    optimiser: Updates = setting(
        "adam", "Adam for all weights (the paper), or Muon for the matrices inside layers and Adam for the others"
    )
    beta1: float = setting(0.9, "Adam's decay of the mean of gradients", fraction())
    beta2: float = setting(0.98, "Adam's decay of the mean of squared gradients", fraction())
    eps: float = setting(1e-9, "Adam's guard against division by zero", more_than(0))
    clip_norm: float | None = setting(None, "largest norm of the gradient; unset: not clipped", more_than(0))
    label_smoothing: float = setting(0.1, "probability spread over the whole vocabulary (paper, 5.4)", fraction())
    ema: float | None = setting(None, "decay of a moving average of the weights; unset: none is kept", fraction())
    seed: int = setting(1, "seed of initial weights and of dropout", any_seed())
    log_steps: int = setting(50, "steps between records of the loss", at_least(1))
    eval_steps: int = setting(1000, "steps between measurements on the dev sets", at_least(1))
    best: Best = setting(
        "dev",
        "the model that a run keeps: the best on the dev sets, or the last (for a student, whose teacher puts things "
        "otherwise than the dev sets do)",
    )
    early_stop: int | None = setting(None, "measurements without a better dev score before stopping", at_least(1))
    save_minutes: float = setting(10.0, "minutes between checkpoints (paper, 6.1)", more_than(0))
    save_steps: int | None = setting(None, "steps between checkpoints, besides the minutes", at_least(1))
    keep_last: int = setting(5, "checkpoints that are kept; older ones are removed", at_least(1))
    average_last: int = setting(5, "checkpoints averaged into the final model (paper, 6.1)", at_least(1))
    max_bad_steps: int = setting(
        10, "steps in a row with a loss or gradient that is no number, before stopping", at_least(1)
    )
    device: str = setting("auto", "where to train: auto, cpu, cuda or cuda:1")
    precision: Precision = setting("auto", "of matrix products; auto: bfloat16 on a GPU, float32 on a CPU")
    compile: Compile = setting(
        "auto", "torch.compile; auto: on GPUs, but one GPU alone is given our own kernels in a CUDA graph"
    )
    parallel: Parallel = setting("ddp", "with several processes: each holds all weights (ddp) or a share (fsdp)")
    tensorboard: bool = setting(False, "write records for TensorBoard too")

    def check(self) -> None:
        if self.keep_last < self.average_last:
            raise SettingError(
                "keep_last", f"{self.keep_last} is less than average_last {self.average_last}; as many must be kept"
            )
        if self.optimiser == "muon" and self.parallel == "fsdp":
            raise SettingError("optimiser", "muon needs whole matrices, and parallel = fsdp shares them out; use ddp")
        if self.schedule == "linear" and self.warmup_steps >= self.steps:
            raise SettingError(
                "warmup_steps", f"{self.warmup_steps} leaves none of {self.steps} steps for the rate to fall; lower it"
            )


@dataclass(frozen=True)
class DecodeConfig(Section):
    """The search for a translation (paper, section 6.1)."""

    beam: int = setting(4, "hypotheses kept at each step; 1 is greedy", at_least(1))
    alpha: float = setting(0.6, "length penalty: 0 favours short output, larger favours long", between(0, 5))
    max_extra: int = setting(50, "tokens that the output may have beyond the input's length", at_least(0))
    patience: float = setting(
        1.0, "the search of a sentence ends when this many times `beam` hypotheses have ended", at_least(1)
    )
    min_length: int = setting(0, "tokens that the output must have", at_least(0))
    nbest: int = setting(1, "translations given of each sentence, the best first", at_least(1))
    diverse: bool = setting(False, "translations that begin with different tokens, each found by its own search")
    sample: bool = setting(False, "draw each token by chance instead of searching")
    temperature: float = setting(1.0, "of sampling: below 1 keeps to likely tokens", more_than(0))
    top_k: int = setting(0, "of sampling: draw from so many of the likeliest tokens; 0: from all", at_least(0))
    top_p: float = setting(1.0, "of sampling: draw from the likeliest tokens of this probability", between(0, 1))
    shortlist: bool = setting(True, "choose from the tokens that the model's shortlist has, where it has one")
    seed: int = setting(1, "of sampling: the same seed gives the same translation", any_seed())

    @property
    def wanted(self) -> int:
        """Hypotheses that end a search when they have ended; half is rounded up, as in CTranslate2."""
        return int(self.beam * self.patience + 0.5)

    def check(self) -> None:
        if not self.sample and not self.diverse and self.nbest > self.wanted:
            raise SettingError("nbest", f"{self.nbest} is more than a beam of {self.beam} finds; raise decode.beam")
        if not self.top_p:
            raise SettingError("top_p", "0 leaves nothing to draw from; 1 leaves all")


@dataclass(frozen=True)
class Config(Section):
    """The whole tree."""

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
