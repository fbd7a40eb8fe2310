"""Export to Hugging Face transformers: models of one vocabulary, with a `MarianTokenizer`.

A post-norm model becomes a `MarianMTModel`. That class has no pre-norm variant, but `PegasusForConditionalGeneration`
is exactly that: the same layers and positions with the norm before each sub-layer and at the end of each stack. Both
put all sines before all cosines, where the paper interleaves them. Sorting the features of the residual stream in the
same way, in every matrix that reads or writes it, leaves the model unchanged.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hark.config import DecodeConfig
from hark.exchange.huggingface_exporter import HuggingFaceExporter
from hark.exchange.huggingface_settings import BIAS
from hark.exchange.parity import Ids, Side
from hark.exchange.transformers_side import run_layers, silence
from hark.text.piece_vocabulary import PieceVocabulary
from hark.text.tokenizer import Tokenizer
from hark.weights import Array, sinusoids


@dataclass(frozen=True)
class MarianExporter(HuggingFaceExporter):
    """Writes a MarianMTModel or a PegasusForConditionalGeneration."""

    def refuse(self) -> None:
        config = self.bundle.config.model
        reasons = self.reasons() | {
            f"has {config.positions} positions": config.positions not in ("sinusoidal", "sinusoidal_halves")
            or bool(config.position_offset),
            "has a norm of embeddings": config.embedding_norm,
            "has separate embeddings": config.tie != "all" or not (self.is_shared or self.is_imported),
            "selects languages by tags": self.bundle.facts.vocabulary.language_tags == "target",
        }
        classes = "MarianMTModel nor PegasusForConditionalGeneration"
        self.refuse_for(reasons, f"which neither {classes} has; export to ctranslate2 or onnx instead")
        if not self.is_imported:
            self.sentencepiece_files()

    @property
    def is_imported(self) -> bool:
        """Whether the vocabulary is that of an imported Marian model: one list of pieces, two sentencepiece models."""
        vocabulary = self.vocabularies[1]
        return isinstance(vocabulary, PieceVocabulary) and vocabulary.table.source is None

    @property
    def architecture(self) -> str:
        return "PegasusForConditionalGeneration" if self.bundle.config.model.norm == "pre" else "MarianMTModel"

    def own_settings(self) -> dict[str, Any]:
        config = self.bundle.config.model
        if config.norm == "pre":
            return {"model_type": "pegasus"}
        size = config.vocab_size
        return {"model_type": "marian", "decoder_vocab_size": size, "share_encoder_decoder_embeddings": True}

    def tokenizer_files(self) -> Mapping[str, bytes | dict[str, Any]]:
        source, target = self.vocabularies
        assert isinstance(source, Tokenizer | PieceVocabulary)
        assert isinstance(target, Tokenizer | PieceVocabulary)
        pieces = self.pieces
        languages = self.bundle.facts.pairs[0]
        settings = {
            "tokenizer_class": "MarianTokenizer",
            "source_lang": languages[0],
            "target_lang": languages[1],
            "model_max_length": self.bundle.config.model.max_positions,
            "unk_token": pieces[source.special.unknown],
            "eos_token": pieces[source.special.end],
            "pad_token": pieces[source.special.pad],
            "separate_vocabs": False,
        }
        return {
            "source.spm": source.model,
            "target.spm": target.model,
            "tokenizer_config.json": settings,
            "vocab.json": {piece: token for token, piece in enumerate(pieces)},
        }

    @property
    def pieces(self) -> list[str]:
        """All pieces by id. MarianTokenizer knows a language tag by its form."""
        _, target = self.vocabularies
        tags: dict[int, str] = {}
        if not self.is_imported and self.source_lead:  # a vocabulary may have tags that its model never uses
            tags = {target.tag(language): tag_of(language) for language in target.languages}
        return [tags.get(token, piece) for token, piece in enumerate(target.pieces(range(target.vocab_size)))]

    @property
    def source_lead(self) -> list[str]:
        lead = super().source_lead
        return [tag_of(self.bundle.facts.pairs[0][1])] if lead and not self.is_imported else lead

    @cached_property
    def order(self) -> Array:
        """Sines first, then cosines."""
        config = self.bundle.config.model
        return sine_first(config.d_model) if config.positions == "sinusoidal" else np.arange(config.d_model)

    def tensors(self) -> Iterator[tuple[str, Array]]:
        yield from super().tensors()
        config = self.bundle.config.model
        if not config.output_bias:
            yield BIAS, np.zeros((1, config.vocab_size), np.float32)
        if config.norm == "pre":
            # Pegasus computes this table, but warns if the file lacks it; Marian does neither.
            for stack in ("encoder", "decoder"):
                yield f"model.{stack}.embed_positions.weight", sinusoids(config)[:, self.order]

    def open_side(self, folder: Path) -> Side:
        self.require_libraries()
        return exported_side(self.runtime, folder, self.architecture, np.argsort(self.order), "".join(self.source_lead))

    def usage(self) -> str:
        lead = "".join(self.source_lead)
        advice = f"The tag {lead} before the text names the target language, without a space. " if lead else ""
        return f"""```python
from transformers import {self.architecture}, MarianTokenizer

tokenizer = MarianTokenizer.from_pretrained(".")
model = {self.architecture}.from_pretrained(".")
inputs = tokenizer(["{lead}Text"], return_tensors="pt", padding=True)
print(tokenizer.batch_decode(model.generate(**inputs), skip_special_tokens=True))
```

{advice}Translate sentence by sentence. Hark normalises text first: Unicode NFC, single spaces, no
invisible characters."""


def tag_of(language: str) -> str:
    return f">>{language}<<"


def sine_first(d_model: int) -> Array:
    """Indices that turn interleaved sines and cosines into all sines, then all cosines."""
    order: Array = np.concatenate([np.arange(0, d_model, 2), np.arange(1, d_model, 2)])
    return order


def exported_side(name: str, folder: Path, architecture: str, back: Array, lead: str) -> Side:
    """An exported model in transformers. `back` restores the order of features, to compare layers; `lead` is the
    language tag of every source."""
    import torch
    import transformers

    with silence():
        tokenizer: Any = transformers.MarianTokenizer.from_pretrained(str(folder))
        model: Any = getattr(transformers, architecture).from_pretrained(str(folder), dtype=torch.float32)
    model.eval()

    def translate(texts: Sequence[str], beam: int) -> list[str]:
        search = {"length_penalty": 0.0, "early_stopping": True} if beam > 1 else {}
        found: list[str] = []
        for text in texts:  # one by one, because each has a limit of its own
            inputs = tokenizer([lead + text], return_tensors="pt")
            longest = inputs["input_ids"].shape[1] + DecodeConfig().max_extra
            limit = {"max_length": None, "max_new_tokens": min(longest, model.config.max_position_embeddings)}
            with torch.inference_mode(), silence():
                output = model.generate(**inputs, num_beams=beam, **search, **limit)
            found += tokenizer.batch_decode(output, skip_special_tokens=True)
        return found

    def run(source: Ids, target: Ids) -> dict[str, Array]:
        found = run_layers(model, source, [model.config.decoder_start_token_id, *target])
        return {name: array if name == "logits" else array[:, back] for name, array in found.items()}

    return Side(
        name,
        translate,
        lambda text: tokenizer(lead + text)["input_ids"],
        logits=lambda source, target: run(source, target)["logits"],
        layers=run,
    )
