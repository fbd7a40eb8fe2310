"""What exports to Hugging Face transformers have in common: the layout of BART, settings and files."""

import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hark.errors import UserError, require
from hark.exchange.exporter import Exporter, ExportPrecision, with_version
from hark.exchange.huggingface_settings import convert_back
from hark.text.piece_vocabulary import PieceVocabulary
from hark.text.tokenizer import Tokenizer
from hark.weights import Array, as_floats, write_weights

ACTIVATIONS = ("relu", "gelu", "swish")
"""Those that transformers has under the same names."""
CHECKING = "checking an export to huggingface (or use --no-check)"
MAX_LENGTH = 512
"""Tokens of a translation, unless the model has fewer positions."""


@dataclass(frozen=True)
class HuggingFaceExporter(Exporter):
    """Writes a folder for `from_pretrained`."""

    kind: ClassVar[str] = "huggingface"
    precisions: ClassVar[tuple[ExportPrecision, ...]] = ("float32", "float16")

    @property
    @abstractmethod
    def architecture(self) -> str:
        """The class of the model in transformers."""

    @abstractmethod
    def own_settings(self) -> dict[str, Any]:
        """What config.json has beside the settings that all architectures share."""

    @abstractmethod
    def tokenizer_files(self) -> Mapping[str, bytes | dict[str, Any]]:
        """The files of the tokenizer by name: content, or what to write as JSON."""

    @property
    def vocabulary(self) -> Tokenizer | PieceVocabulary:
        """That of the text which the model writes."""
        vocabulary = self.vocabularies[1]
        assert isinstance(vocabulary, Tokenizer | PieceVocabulary)
        return vocabulary

    @property
    def is_byte_pairs(self) -> bool:
        vocabulary = self.vocabularies[1]
        return isinstance(vocabulary, PieceVocabulary) and vocabulary.is_byte_pairs

    def reasons(self) -> dict[str, bool]:
        """Why no class of this layout has such a model, and whether it holds."""
        config = self.bundle.config.model
        heads = {config.n_heads * config.k_width, config.n_heads * config.v_width}
        return {
            f"has the activation {config.activation}": config.activation not in ACTIVATIONS,
            "has heads of another width than d_model / n_heads": heads != {config.d_model},
        }

    def refuse_for(self, reasons: Mapping[str, bool], way_out: str) -> None:
        """Raise UserError with the first reason that holds."""
        for reason, holds in reasons.items():
            if holds:
                raise UserError(f"{self.bundle.folder}: {reason}, {way_out}")

    def write(self, folder: Path) -> None:
        for name, content in self.files().items():
            if not isinstance(content, bytes):
                content = (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()
            (folder / name).write_bytes(content)
        stored = np.float16 if self.precision == "float16" else np.float32
        weights = {name: np.ascontiguousarray(array, stored) for name, array in self.tensors()}
        write_weights(folder / "model.safetensors", weights, {"format": "pt"})

    def files(self) -> dict[str, bytes | dict[str, Any]]:
        """The files beside the weights by name: content, or what to write as JSON."""
        return {"config.json": self.settings(), "generation_config.json": self.generation(), **self.tokenizer_files()}

    def settings(self) -> dict[str, Any]:
        """The file config.json."""
        config, special = self.bundle.config.model, self.vocabularies[1].special
        stacks: dict[str, Any] = {}
        for stack, layers in (("encoder", config.n_encoder_layers), ("decoder", config.n_decoder_layers)):
            stacks |= {
                f"{stack}_layers": layers,
                f"{stack}_attention_heads": config.n_heads,
                f"{stack}_ffn_dim": config.d_ff,
                f"{stack}_layerdrop": 0.0,
            }
        common = {
            "architectures": [self.architecture],
            "d_model": config.d_model,
            **stacks,
            "activation_function": config.activation,
            "dropout": config.dropout,
            "attention_dropout": config.attention_dropout,
            "activation_dropout": 0.0,
            "init_std": 0.02,
            "scale_embedding": config.scale_embedding,
            "is_encoder_decoder": True,
            "num_hidden_layers": config.n_encoder_layers,
            "max_position_embeddings": config.max_positions,
            "vocab_size": config.vocab_size,
            "pad_token_id": special.pad,
            "bos_token_id": special.start,
            "eos_token_id": special.end,
            "decoder_start_token_id": special.start,
            "forced_eos_token_id": None,
            "tie_word_embeddings": True,
            "dtype": self.precision,
        }
        return common | self.own_settings()

    def generation(self) -> dict[str, Any]:
        """The file generation_config.json: hark's defaults, as far as transformers has them."""
        special, config = self.vocabularies[1].special, self.bundle.config
        return {
            "pad_token_id": special.pad,
            "bos_token_id": special.start,
            "eos_token_id": special.end,
            "decoder_start_token_id": special.start,
            "suppress_tokens": list(special.forbidden),
            "num_beams": config.decode.beam,
            "length_penalty": config.decode.alpha,
            "early_stopping": True,
            "max_length": min(MAX_LENGTH, config.model.max_positions),
        }

    @property
    def order(self) -> Array | slice:
        """The features of the residual stream in their order in transformers."""
        return slice(None)

    def tensors(self) -> Iterator[tuple[str, Array]]:
        """The weights under their names in transformers."""
        yield from convert_back(as_floats(self.weights), self.bundle.config.model, self.order)

    @property
    def runtime(self) -> str:
        return f"{with_version('transformers')}, {self.architecture}"

    def require_libraries(self) -> None:
        """Raise UserError if the export cannot be checked here."""
        for package, extra in (("torch", "train"), ("transformers", "hf")):
            require(package, extra, CHECKING)
