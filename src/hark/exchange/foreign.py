"""A model read from another program's files: hark's settings and names of weights, before it becomes a bundle."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hark.bundle import write_bundle
from hark.card import describe_shape
from hark.config import BatchConfig, Config, DataConfig, DecodeConfig, ModelConfig
from hark.errors import HarkError, UserError
from hark.exchange.shapes import weight_shapes
from hark.facts import Facts, LanguagePair, LanguageTags, MakingFacts, OriginFacts, ParityProof, VocabularyFacts
from hark.text.piece_vocabulary import PieceTable, piece_files
from hark.weights import Weights, store, write_weights

NEVER = -1e4
"""The output bias of a padding id that the original does not have: no probability, also in 16 bits."""


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
    origin: OriginFacts
    language_tags: LanguageTags = "none"
    decode: DecodeConfig = DecodeConfig()
    weights_note: str = ""
    """How the weights were stored, if not in float32."""

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

    def facts(self, parity: tuple[ParityProof, ...] = ()) -> Facts:
        parameters = sum(math.prod(array.shape) for array in self.weights.values())
        summary = f"Imported from {self.origin.source} ({self.origin.kind}): {describe_shape(self.config)}."
        return Facts(
            pairs=self.pairs,
            summary=summary,
            licence=self.origin.licence,
            vocabulary=VocabularyFacts(kind="pieces", language_tags=self.language_tags),
            making=MakingFacts(weights=self.weights_note, parameters=parameters, storage="float32"),
            origin=self.origin,
            parity=parity,
        )

    def write(self, folder: Path, force: bool = False) -> None:
        """Write a bundle."""
        source, target = self.pairs[0]
        data = DataConfig(source=source, target=target, vocab_size=max(300, self.config.vocab_size))
        batches = BatchConfig(max_length=min(BatchConfig().max_length, self.config.max_positions))
        config = Config(data=data, batches=batches, model=self.config, decode=self.decode)
        files = piece_files(self.table, self.source_model, self.target_model)
        stored = store(self.weights, "float32")
        try:
            write_bundle(folder, config, lambda path: write_weights(path, stored), files, self.facts(), force)
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
        # Row by row, because a matrix of truth values for all rows takes a quarter of the embeddings' memory.
        if array.dtype.kind == "f" and not all(np.isfinite(row).all() for row in array):
            raise UserError(f"{where}: {name} contains NaN or infinity; the model is damaged, or its training diverged")
