"""What the kinds of export have in common: a bundle in, files out, and both sides of the parity check."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from hark.bundle import Bundle
from hark.card import default_title, describe_pairs
from hark.errors import UserError
from hark.exchange.hark_side import hark_side
from hark.exchange.parity import BOUND, Side
from hark.text.opening import open_vocabularies
from hark.text.piece_vocabulary import PieceVocabulary
from hark.text.tokenizer import Tokenizer
from hark.text.vocabulary import Vocabulary
from hark.weights import Weights, read_weights

ExportPrecision = Literal["float32", "float16", "int16", "int8"]
"""The data type of the matrices in an export."""
SHARED, SOURCE, TARGET = "sentencepiece.model", "source.model", "target.model"
"""Files of the vocabulary: of one for both sides, or of one for each."""
HALF_BOUND = 0.05
"""Largest difference allowed between logits after all numbers were rounded to float16, eleven bits."""


@dataclass(frozen=True)
class Exporter(ABC):
    """Writes a bundle in the format of another program."""

    kind: ClassVar[str]
    precisions: ClassVar[tuple[ExportPrecision, ...]]
    """What the format can store; the first is the default."""

    bundle: Bundle
    precision: ExportPrecision

    @abstractmethod
    def refuse(self) -> None:
        """Raise UserError with the reason if the format cannot express the model."""

    @abstractmethod
    def write(self, folder: Path) -> None:
        """Write the files."""

    @property
    @abstractmethod
    def runtime(self) -> str:
        """The program that the export is for, with its version if it is installed."""

    @abstractmethod
    def open_side(self, folder: Path) -> Side:
        """The exported model, run by that program."""

    @abstractmethod
    def usage(self) -> str:
        """Markdown that shows how to use the export."""

    @property
    def bound(self) -> float:
        """The largest difference allowed between logits."""
        return HALF_BOUND if self.precision == "float16" else BOUND

    def hark_side(self) -> Side:
        """Hark with the weights that the export has."""
        return hark_side(self.bundle)

    @cached_property
    def weights(self) -> Weights:
        return read_weights(self.bundle.weights)

    @cached_property
    def vocabularies(self) -> tuple[Vocabulary, Vocabulary]:
        return open_vocabularies(self.bundle)

    @property
    def is_shared(self) -> bool:
        """Whether both sides have the same vocabulary."""
        source, target = self.vocabularies
        return source.sha256 == target.sha256

    @property
    def adds_end(self) -> bool:
        """Whether EOS follows every source."""
        source, _ = self.vocabularies
        return source.as_source([], *reversed(self.bundle.facts.pairs[0]))[-1:] == [source.special.end]

    @property
    def source_lead(self) -> list[str]:
        """The pieces that precede every source of the first language pair: a language tag, or nothing."""
        source, _ = self.vocabularies
        whole = source.as_source([], *reversed(self.bundle.facts.pairs[0]))
        return source.pieces(whole[: len(whole) - self.adds_end])

    @property
    def target_prefix(self) -> list[str]:
        """The pieces that every translation of the first language pair starts with."""
        _, target = self.vocabularies
        return target.pieces(target.prefix(self.bundle.facts.pairs[0][1]))

    @cached_property
    def is_dequantised(self) -> bool:
        """Whether the bundle has only int8 weights, but the export has wider ones."""
        return self.precision != "int8" and any(each.dtype == np.int8 for each in self.weights.values())

    @property
    def storage(self) -> str:
        return f"{self.precision}, dequantised from int8" if self.is_dequantised else self.precision

    def sentencepiece_files(self) -> dict[str, bytes]:
        """The vocabulary as sentencepiece models."""
        models = []
        for vocabulary in self.vocabularies:
            is_merges = isinstance(vocabulary, PieceVocabulary) and vocabulary.is_byte_pairs
            if is_merges or not isinstance(vocabulary, Tokenizer | PieceVocabulary):
                raise UserError(
                    f"{self.bundle.folder}: has a vocabulary of {'merges of bytes' if is_merges else 'another kind'}; "
                    f"export to {self.kind} supports sentencepiece only"
                )
            models.append(vocabulary.model)
        return {SHARED: models[1]} if self.is_shared else {SOURCE: models[0], TARGET: models[1]}

    def readme(self, proof: str) -> str:
        """The README of the export."""
        facts = self.bundle.facts
        title = facts.title or describe_pairs(facts.pairs) or default_title(facts)
        licence = f"Licence: {facts.licence}. " if facts.licence else ""
        parts = (
            f"# {title}",
            f"Exported by hark to {self.kind}; weights: {self.storage}.",
            self.usage(),
            proof,
            f"{licence}facts.json has the sources of the training text.\n",
        )
        return "\n\n".join(parts)


def with_version(package: str) -> str:
    """The name of a package, with its version if it is installed."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package
