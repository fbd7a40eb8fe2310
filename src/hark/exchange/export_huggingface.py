"""Export to Hugging Face transformers: weights, settings and a `MarianTokenizer`.

A post-norm model becomes a `MarianMTModel`. That class has no pre-norm variant, but `PegasusForConditionalGeneration`
is exactly that: the same layers and positions with the norm before each sub-layer and at the end of each stack. Both
put all sines before all cosines, where the paper interleaves them. Sorting the features of the residual stream in the
same way, in every matrix that reads or writes it, leaves the model unchanged.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hark.config import ModelConfig
from hark.decode.engines.conversion import sinusoids
from hark.errors import UserError, require
from hark.exchange.exporter import Exporter, ExportPrecision
from hark.exchange.layers import recorded
from hark.exchange.parity import Ids, Side
from hark.exchange.transformers_side import silence
from hark.text.piece_vocabulary import PieceVocabulary
from hark.text.tokenizer import Tokenizer
from hark.weights import Array, as_floats, write_weights

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "swish"}
"""Activations by their names in transformers."""
NORMS = {
    "self_attention_residual": "self_attn_layer_norm",
    "cross_attention_residual": "encoder_attn_layer_norm",
    "feed_forward_residual": "final_layer_norm",
}
ATTENTIONS = {"self_attention": "self_attn", "cross_attention": "encoder_attn"}
PROJECTIONS = {"w_q": "q_proj", "w_k": "k_proj", "w_v": "v_proj", "w_o": "out_proj"}


@dataclass(frozen=True)
class HuggingFaceExporter(Exporter):
    """Writes a folder for `from_pretrained`."""

    kind: ClassVar[str] = "huggingface"
    precisions: ClassVar[tuple[ExportPrecision, ...]] = ("float32", "float16")

    def refuse(self) -> None:
        config = self.bundle.config.model
        reasons = {
            f"has the activation {config.activation}": config.activation not in ACTIVATIONS,
            f"has {config.positions} positions": config.positions not in ("sinusoidal", "sinusoidal_halves")
            or bool(config.position_offset),
            "has a norm of embeddings": config.embedding_norm,
            "has heads of another width than d_model / n_heads": (
                config.n_heads * config.k_width != config.d_model or config.n_heads * config.v_width != config.d_model
            ),
            "has separate embeddings": config.tie != "all" or not (self.is_shared or self.is_imported),
            "selects languages by tags": self.bundle.facts.vocabulary.language_tags
            not in (("none", "source") if self.is_imported else ("none",)),
        }
        for reason, holds in reasons.items():
            if holds:
                raise UserError(
                    f"{self.bundle.folder}: {reason}, which neither MarianMTModel nor PegasusForConditionalGeneration "
                    "has; export to ctranslate2 or onnx instead"
                )
        if not self.is_imported:
            self.sentencepiece_files("source.spm", "source.spm", "target.spm")

    @property
    def is_imported(self) -> bool:
        """Whether the vocabulary is that of an imported Marian model: one list of pieces, two sentencepiece models."""
        vocabulary = self.vocabularies[1]
        return isinstance(vocabulary, PieceVocabulary) and vocabulary.table.source is None

    @property
    def architecture(self) -> str:
        return "PegasusForConditionalGeneration" if self.bundle.config.model.norm == "pre" else "MarianMTModel"

    def write(self, folder: Path) -> None:
        source, target = self.vocabularies
        for name, vocabulary in (("source.spm", source), ("target.spm", target)):
            assert isinstance(vocabulary, Tokenizer | PieceVocabulary)
            (folder / name).write_bytes(vocabulary.model)
        pieces = target.pieces(range(target.vocab_size))
        languages = self.bundle.facts.pairs[0]
        tokenizer = {
            "tokenizer_class": "MarianTokenizer",
            "source_lang": languages[0],
            "target_lang": languages[1],
            "model_max_length": self.bundle.config.model.max_positions,
            "unk_token": pieces[source.special.unknown],
            "eos_token": pieces[source.special.end],
            "pad_token": pieces[source.special.pad],
            "separate_vocabs": False,
        }
        files = {
            "config.json": self.settings(),
            "generation_config.json": self.generation(),
            "tokenizer_config.json": tokenizer,
            "vocab.json": {piece: token for token, piece in enumerate(pieces)},
        }
        for name, tree in files.items():
            (folder / name).write_text(json.dumps(tree, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        stored = np.float16 if self.precision == "float16" else np.float32
        weights = {name: np.ascontiguousarray(array, stored) for name, array in self.tensors()}
        write_weights(folder / "model.safetensors", weights, {"format": "pt"})

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
            "model_type": "pegasus" if config.norm == "pre" else "marian",
            "d_model": config.d_model,
            **stacks,
            "activation_function": ACTIVATIONS[config.activation],
            "dropout": config.dropout,
            "attention_dropout": 0.0,
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
        own = {"decoder_vocab_size": config.vocab_size, "share_encoder_decoder_embeddings": True}
        return common | (own if config.norm == "post" else {})

    def generation(self) -> dict[str, Any]:
        """The file generation_config.json: hark's defaults, as far as transformers has them."""
        special, search = self.vocabularies[1].special, self.bundle.config.decode
        return {
            "pad_token_id": special.pad,
            "bos_token_id": special.start,
            "eos_token_id": special.end,
            "decoder_start_token_id": special.start,
            "suppress_tokens": list(special.forbidden),
            "num_beams": search.beam,
            "length_penalty": search.alpha,
            "early_stopping": True,
            "max_length": 512,
        }

    @cached_property
    def order(self) -> Array:
        """The features of the residual stream in their order there: sines first, then cosines."""
        config = self.bundle.config.model
        return sine_first(config.d_model) if config.positions == "sinusoidal" else np.arange(config.d_model)

    def tensors(self) -> Iterator[tuple[str, Array]]:
        """The weights under their names in transformers."""
        weights, config = as_floats(self.weights), self.bundle.config.model
        bias = weights["output_bias"] if config.output_bias else np.zeros(config.vocab_size, np.float32)
        table = sinusoids(config)
        yield "model.shared.weight", weights["embedding.weight"][:, self.order]
        yield "final_logits_bias", bias[None]
        for stack, layers in (("encoder", config.n_encoder_layers), ("decoder", config.n_decoder_layers)):
            for i in range(layers):
                ours, theirs = f"{stack}.layers.{i}", f"model.{stack}.layers.{i}"
                yield from self.layer_tensors(weights, config, ours, theirs)
            if config.norm == "pre":
                yield from self.norm_tensors(weights, f"{stack}.norm", f"model.{stack}.layer_norm")
                # Pegasus computes this table, but warns if the file lacks it; Marian does neither.
                yield f"model.{stack}.embed_positions.weight", table[:, self.order]

    def layer_tensors(
        self, weights: Mapping[str, Array], config: ModelConfig, ours: str, theirs: str
    ) -> Iterator[tuple[str, Array]]:
        order = self.order
        for name, other in NORMS.items():
            if f"{ours}.{name}.norm.weight" in weights:
                yield from self.norm_tensors(weights, f"{ours}.{name}.norm", f"{theirs}.{other}")
        for name, other in ATTENTIONS.items():
            for projection, that in PROJECTIONS.items():
                matrix = weights.get(f"{ours}.{name}.{projection}.weight")
                if matrix is None:
                    continue
                written = projection == "w_o"  # writes the residual stream; the others read it
                yield f"{theirs}.{other}.{that}.weight", matrix[order] if written else matrix[:, order]
                bias = weights.get(f"{ours}.{name}.{projection}.bias", np.zeros(config.d_model, np.float32))
                yield f"{theirs}.{other}.{that}.bias", bias[order] if written else bias
        yield f"{theirs}.fc1.weight", weights[f"{ours}.feed_forward.w_1.weight"][:, order]
        yield f"{theirs}.fc1.bias", weights[f"{ours}.feed_forward.w_1.bias"]
        yield f"{theirs}.fc2.weight", weights[f"{ours}.feed_forward.w_2.weight"][order]
        yield f"{theirs}.fc2.bias", weights[f"{ours}.feed_forward.w_2.bias"][order]

    def norm_tensors(self, weights: Mapping[str, Array], ours: str, theirs: str) -> Iterator[tuple[str, Array]]:
        yield f"{theirs}.weight", weights[f"{ours}.weight"][self.order]
        yield f"{theirs}.bias", weights[f"{ours}.bias"][self.order]

    @property
    def runtime(self) -> str:
        try:
            return f"transformers {version('transformers')}, {self.architecture}"
        except PackageNotFoundError:
            return f"transformers, {self.architecture}"

    def open_side(self, folder: Path) -> Side:
        for package, extra in (("torch", "train"), ("transformers", "hf")):
            require(package, extra, "checking an export to huggingface (or use --no-check)")
        lead = "".join(self.source_lead)
        return TransformersModel(folder, self.architecture, np.argsort(self.order), lead).side(self.runtime)

    def usage(self) -> str:
        return f"""```python
from transformers import {self.architecture}, MarianTokenizer

tokenizer = MarianTokenizer.from_pretrained(".")
model = {self.architecture}.from_pretrained(".")
inputs = tokenizer(["Text"], return_tensors="pt", padding=True)
print(tokenizer.batch_decode(model.generate(**inputs), skip_special_tokens=True))
```

Translate sentence by sentence. Hark normalises text first: Unicode NFC, single spaces, no invisible characters."""


def sine_first(d_model: int) -> Array:
    """Indices that turn interleaved sines and cosines into all sines, then all cosines."""
    order: Array = np.concatenate([np.arange(0, d_model, 2), np.arange(1, d_model, 2)])
    return order


class TransformersModel:
    """An exported model in transformers. `back` restores the order of features, to compare layers; `lead` is the
    language tag of every source."""

    def __init__(self, folder: Path, architecture: str, back: Array, lead: str = "") -> None:
        import torch
        import transformers

        self.torch = torch
        with silence():
            self.tokenizer: Any = transformers.MarianTokenizer.from_pretrained(str(folder))
            model: Any = getattr(transformers, architecture).from_pretrained(str(folder), dtype=torch.float32)
        self.model = model.eval()
        self.back, self.lead = back, lead

    def side(self, name: str) -> Side:
        return Side(
            name,
            self.translate,
            lambda text: self.tokenizer(self.lead + text)["input_ids"],
            logits=lambda source, target: self.run(source, target)["logits"],
            layers=self.run,
        )

    def translate(self, texts: Sequence[str], beam: int) -> list[str]:
        inputs = self.tokenizer([self.lead + text for text in texts], return_tensors="pt", padding=True)
        with self.torch.inference_mode(), silence():
            search = {"length_penalty": 0.0, "early_stopping": True} if beam > 1 else {}
            found = self.model.generate(**inputs, num_beams=beam, **search)
        translations: list[str] = self.tokenizer.batch_decode(found, skip_special_tokens=True)
        return translations

    def run(self, source: Ids, target: Ids) -> dict[str, Array]:
        """The outputs of all layers, and the logits, of one sentence pair."""
        torch, inner = self.torch, self.model.model
        stacks = {"encoder": inner.encoder, "decoder": inner.decoder}
        modules = {
            f"{name} layer {i}": layer for name, stack in stacks.items() for i, layer in enumerate(stack.layers, 1)
        }
        modules |= {f"{name} norm": stack.layer_norm for name, stack in stacks.items() if hasattr(stack, "layer_norm")}
        start = self.model.config.decoder_start_token_id
        with torch.inference_mode(), recorded(modules) as found:
            output = self.model(
                input_ids=torch.tensor([list(source)]), decoder_input_ids=torch.tensor([[start, *target]])
            )
        return {name: array[:, self.back] for name, array in found.items()} | {"logits": output.logits[0].numpy()}
