"""A model read from another program's files: hark's settings and names of weights, before it becomes a bundle."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hark.bundle import write_bundle
from hark.card import describe_shape
from hark.config import BatchConfig, Config, DataConfig, DecodeConfig, ModelConfig
from hark.errors import HarkError, UserError
from hark.facts import Facts, LabelFacts, LanguagePair, LanguageTags, MakingFacts, OriginFacts, VocabularyFacts
from hark.settings import SettingError
from hark.text.piece_vocabulary import PieceTable, piece_files
from hark.weights import Weights, store, write_weights

NEVER = -1e4
"""The output bias of a padding id that the original does not have: no probability, also in 16 bits."""
BLOCK = 1 << 20
"""Numbers of a weight to look at together."""
Shape = tuple[int, ...]


def make_config(where: object, **values: Any) -> ModelConfig:
    """The settings of a model that `where` tells."""
    try:
        return ModelConfig(**values)
    except SettingError as error:
        raise UserError(f"{where}: {error}") from None


@dataclass(frozen=True, eq=False)
class ForeignModel:
    """An imported model in hark's terms."""

    config: ModelConfig
    weights: Weights
    """In float32, by hark's names; memory-mapped where the file allows it."""
    table: PieceTable
    source_model: bytes
    """The sentencepiece model of the source."""
    target_model: bytes
    pairs: tuple[LanguagePair, ...]
    """None, if the model has one stack, or turns texts into others of any kind."""
    origin: OriginFacts
    language_tags: LanguageTags = "none"
    decode: DecodeConfig = DecodeConfig()
    weights_note: str = ""
    """How the weights were stored, if not in float32."""
    languages: tuple[str, ...] = ()
    """The languages of the text that a model without pairs was trained on."""
    labels: LabelFacts | None = None

    @property
    def first_language(self) -> str:
        """Of the check sentences."""
        return self.pairs[0][0] if self.pairs else self.languages[0]

    def check(self, where: object) -> None:
        """Check names and shapes of all weights, and the sizes of the vocabularies."""
        check_weights(self.weights, self.config, where)
        self.table.check(where)
        source = self.table.target if self.table.source is None else self.table.source
        for side, pieces, size in (
            ("source", source, self.config.source_vocab_size or self.config.vocab_size),
            ("target", self.table.target, self.config.vocab_size),
        ):
            if len(pieces) != size:
                raise UserError(
                    f"{where}: the {side} vocabulary has {len(pieces)} entries, but the weights are for {size}"
                )

    def facts(self) -> Facts:
        parameters = sum(array.size for array in self.weights.values())
        summary = f"Imported from {self.origin.source} ({self.origin.kind}): {describe_shape(self.config)}."
        return Facts(
            pairs=self.pairs,
            languages=self.languages,
            summary=summary,
            licence=self.origin.licence,
            vocabulary=VocabularyFacts(kind="pieces", language_tags=self.language_tags),
            making=MakingFacts(weights=self.weights_note, parameters=parameters, storage="float32"),
            origin=self.origin,
            labels=self.labels,
        )

    def write(self, folder: Path) -> None:
        """Write a bundle."""
        source, target = self.pairs[0] if self.pairs else (self.languages[0],) * 2
        data = DataConfig(source=source, target=target, vocab_size=max(300, self.config.vocab_size))
        batches = BatchConfig(max_length=min(BatchConfig().max_length, self.config.max_positions))
        config = Config(data=data, batches=batches, model=self.config, decode=self.decode)
        files = piece_files(self.table, self.source_model, self.target_model)
        stored = store(self.weights, "float32")
        try:
            write_bundle(folder, config, lambda path: write_weights(path, stored), files, self.facts(), force=False)
        except OSError as error:
            raise HarkError(f"{folder}: cannot be written: {error.strerror}; existing files are unchanged") from None


def check_weights(weights: Weights, config: ModelConfig, where: object) -> None:
    expected = weight_shapes(config)
    if missing := sorted(expected.keys() - weights.keys()):
        raise UserError(f"{where}: {len(missing)} weights are missing, such as {missing[0]}")
    if extra := sorted(weights.keys() - expected.keys()):
        raise UserError(f"{where}: {len(extra)} weights do not belong to the model, such as {extra[0]}")
    for name, shape in expected.items():
        if weights[name].shape != shape:
            raise UserError(f"{where}: {name} has the shape {weights[name].shape}, but the settings say {shape}")
    refuse_not_finite(weights, where)


def refuse_not_finite(weights: Weights, where: object) -> None:
    """Name the first weight that contains NaN or infinity: a model with it translates nothing."""
    for name, array in weights.items():
        # A few rows at a time, because a matrix of truth values for all rows takes a quarter of the embeddings' memory.
        rows = max(1, BLOCK * len(array) // max(1, array.size))
        blocks = (array[start : start + rows] for start in range(0, len(array), rows))
        if array.dtype.kind == "f" and not all(np.isfinite(block).all() for block in blocks):
            raise UserError(f"{where}: {name} contains NaN or infinity; the model is damaged, or its training diverged")


def weight_shapes(config: ModelConfig) -> dict[str, Shape]:
    """The shape of every weight of `hark.model.new_model(config)`, by name, without building it in torch."""
    return dict(_all(config))


def _all(config: ModelConfig) -> Iterator[tuple[str, Shape]]:
    width, source = config.d_model, config.source_vocab_size or config.vocab_size
    translates = config.shape == "encoder-decoder"
    yield "embedding.weight", (config.vocab_size, width)
    if config.separate_source and translates:
        yield "source_embedding.weight", (source, width)
    if config.separate_output:
        yield "projection.weight", (config.n_outputs, width)
    if config.output_bias or config.labels:
        yield "output_bias", (config.n_outputs,)
    for side in ("source", "target") if translates else ("target",):
        if config.positions == "learned":
            yield f"{side}_positions.weight", (config.max_positions, width)
        if config.positions == "relative":
            yield f"{side}_positions.weight", (config.relative_buckets, config.n_heads)
        if config.embedding_norm:
            yield from _norm(f"{side}_norm", config)
    for stack, layers in (("encoder", config.n_encoder_layers), ("decoder", config.n_decoder_layers)):
        if not translates and stack != config.shape:
            continue
        if config.norm == "pre":
            yield from _norm(f"{stack}.norm", config)
        for layer in range(layers):
            yield from _layer(f"{stack}.layers.{layer}", config, cross=stack == "decoder" and translates)
    if config.labels == "text" or (config.prediction_layer and not config.labels):
        yield "prediction.dense.weight", (width, width)
        yield "prediction.dense.bias", (width,)
    if config.prediction_layer and not config.labels:
        yield from _norm("prediction.norm", config)


def _layer(name: str, config: ModelConfig, cross: bool) -> Iterator[tuple[str, Shape]]:
    width, heads, shared = config.d_model, config.n_heads, config.kv_heads
    for attention in ("self_attention", "cross_attention") if cross else ("self_attention",):
        outer = {
            "w_q": (heads * config.k_width, width),
            "w_k": (shared * config.k_width, width),
            "w_v": (shared * config.v_width, width),
            "w_o": (width, heads * config.v_width),
        }
        for part, shape in outer.items():
            yield f"{name}.{attention}.{part}.weight", shape
            if config.attention_bias:
                yield f"{name}.{attention}.{part}.bias", shape[:1]
        yield from _norm(f"{name}.{attention}_residual.norm", config)
    inner = {"w_1": (config.d_ff, width), "w_2": (width, config.d_ff)}
    if config.activation in ("swiglu", "geglu"):
        inner["w_gate"] = (config.d_ff, width)
    for part, shape in inner.items():
        yield f"{name}.feed_forward.{part}.weight", shape
        if config.feed_forward_bias:
            yield f"{name}.feed_forward.{part}.bias", shape[:1]
    yield from _norm(f"{name}.feed_forward_residual.norm", config)


def _norm(name: str, config: ModelConfig) -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight", (config.d_model,)
    if config.norm_kind == "layer":
        yield f"{name}.bias", (config.d_model,)
