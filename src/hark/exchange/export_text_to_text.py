"""Export of models with an encoder and a decoder to the layouts of T5 and BART in Hugging Face transformers.

They need no languages, but may have a pair of them. T5's sentencepiece model is written as it is; other vocabularies
become a tokenizer.json of byte pairs, or Llama's tokenizer.model.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hark.exchange.export_decoder import named, words_files
from hark.exchange.huggingface_exporter import HuggingFaceExporter
from hark.exchange.huggingface_settings import BIAS
from hark.exchange.import_t5 import ACTIVATIONS, VOCABULARY, to_t5
from hark.exchange.language_codes import all_pieces
from hark.exchange.parity import Side
from hark.exchange.transformers_side import transformers_side
from hark.text.piece_vocabulary import PieceTable, PieceVocabulary
from hark.text.tokenizer import Tokenizer
from hark.weights import Array, as_floats


@dataclass(frozen=True)
class TextToTextExporter(HuggingFaceExporter):
    """What both layouts share."""

    @abstractmethod
    def layout_reasons(self) -> dict[str, bool]:
        """Why this layout cannot have the model, and whether it holds."""

    def refuse(self) -> None:
        config, facts = self.bundle.config.model, self.bundle.facts
        reasons = self.layout_reasons() | {
            "has fewer heads of keys and values": config.kv_heads != config.n_heads,
            "has embeddings for each side": config.separate_source,
            "has two vocabularies": not self.is_shared,
            "selects languages by tags": facts.vocabulary.language_tags != "none",
        }
        self.refuse_for(reasons, f"which {self.architecture} has not")
        if not self.is_byte_pairs:
            self.sentencepiece_files()

    @property
    def table(self) -> PieceTable:
        vocabulary = self.vocabulary
        if isinstance(vocabulary, PieceVocabulary):
            return vocabulary.table
        return PieceTable(vocabulary.special, tuple(vocabulary.pieces(range(vocabulary.vocab_size))))

    def generation(self) -> dict[str, Any]:
        lead = self.vocabulary.target_lead
        return super().generation() | {"forced_bos_token_id": lead[0] if lead else None}

    def tokenizer_files(self) -> Mapping[str, bytes | dict[str, Any]]:
        vocabulary, longest = self.vocabulary, self.bundle.config.model.max_positions
        end = () if vocabulary.source_end is None else (vocabulary.source_end,)
        return words_files(vocabulary, longest, vocabulary.source_lead, end)

    def open_side(self, folder: Path) -> Side:
        self.require_libraries()
        pairs, longest, vocabulary = self.bundle.facts.pairs, self.bundle.config.model.max_positions, self.vocabulary
        # Llama's tokenizer puts other signs in the place of bytes that are no characters than sentencepiece does.
        decode = vocabulary.decode_one if isinstance(vocabulary, Tokenizer) else None
        return transformers_side(folder, self.table, "none", pairs[0] if pairs else None, longest, decode)

    def usage(self) -> str:
        return f"""```python
from transformers import AutoTokenizer, {self.architecture}

tokenizer = AutoTokenizer.from_pretrained(".")
model = {self.architecture}.from_pretrained(".")
inputs = tokenizer("Text", return_tensors="pt")
print(tokenizer.decode(model.generate(**inputs)[0], skip_special_tokens=True))
```"""


@dataclass(frozen=True)
class T5Exporter(TextToTextExporter):
    """Writes a T5ForConditionalGeneration: tied as the original, or with an output matrix of its own as version 1.1."""

    architecture = "T5ForConditionalGeneration"

    def layout_reasons(self) -> dict[str, bool]:
        config = self.bundle.config.model
        return {
            f"has the activation {config.activation}": config.activation not in ACTIVATIONS.values(),
            f"is {config.norm}-norm": config.norm != "pre",
            "has layer norm": config.norm_kind != "rms",
            "has a norm of embeddings": config.embedding_norm,
            "has biases": config.attention_bias or config.feed_forward_bias or config.output_bias,
            "has keys of another width than values": config.k_width != config.v_width,
            "has texts that begin with a token": bool(self.vocabulary.source_lead and not self.is_byte_pairs),
        }

    def settings(self) -> dict[str, Any]:
        config, special = self.bundle.config.model, self.vocabulary.special
        return {
            "architectures": [self.architecture],
            "model_type": "t5",
            "d_model": config.d_model,
            "d_kv": config.k_width,
            "d_ff": config.d_ff,
            "num_layers": config.n_encoder_layers,
            "num_decoder_layers": config.n_decoder_layers,
            "num_heads": config.n_heads,
            "relative_attention_num_buckets": config.relative_buckets,
            "relative_attention_max_distance": config.relative_distance,
            "dropout_rate": config.dropout,
            "layer_norm_epsilon": config.norm_eps,
            "feed_forward_proj": named(ACTIVATIONS, config.activation),
            "is_encoder_decoder": True,
            "n_positions": config.max_positions,
            "vocab_size": config.vocab_size,
            "pad_token_id": special.pad,
            "eos_token_id": special.end,
            "decoder_start_token_id": special.start,
            # With which transformers scales the output of the decoder.
            "tie_word_embeddings": not config.separate_output,
            "dtype": self.precision,
        } | self.own_settings()

    def own_settings(self) -> dict[str, Any]:
        return {}

    def tensors(self) -> Iterator[tuple[str, Array]]:
        yield from to_t5(as_floats(self.weights), self.bundle.config.model)

    def tokenizer_files(self) -> Mapping[str, bytes | dict[str, Any]]:
        vocabulary = self.vocabulary
        if not isinstance(vocabulary, PieceVocabulary) or vocabulary.is_byte_pairs:
            return super().tokenizer_files()
        table, special = vocabulary.table, vocabulary.special
        known = all_pieces(vocabulary.model, vocabulary.name)
        count = len(table.sentinels)
        numbered = (*known, *(f"<extra_id_{number}>" for number in reversed(range(count))))
        whole = (*numbered, *[""] * (len(table.target) - len(numbered)))
        self.refuse_for({"numbers its pieces otherwise": whole != table.target}, "than the tokenizer of T5")
        about = {
            "tokenizer_class": "T5Tokenizer",
            "extra_ids": count,
            "pad_token": table.target[special.pad],
            "eos_token": table.target[special.end],
            "unk_token": table.target[special.unknown],
            "model_max_length": self.bundle.config.model.max_positions,
        }
        return {VOCABULARY: vocabulary.model, "tokenizer_config.json": about}


@dataclass(frozen=True)
class BartExporter(TextToTextExporter):
    """Writes a BartForConditionalGeneration."""

    architecture = "BartForConditionalGeneration"

    def layout_reasons(self) -> dict[str, bool]:
        config = self.bundle.config.model
        return {
            f"has {config.positions} positions": config.positions != "learned",
            f"is {config.norm}-norm": config.norm != "post",
            "has no norm of embeddings": not config.embedding_norm,
            "has RMSNorm": config.norm_kind == "rms",
            "has norms with another epsilon": config.norm_eps != type(config).norm_eps,
            "has an output matrix of its own": config.separate_output,
        } | self.reasons()

    def own_settings(self) -> dict[str, Any]:
        lead = self.vocabulary.target_lead
        return {"model_type": "bart", "forced_bos_token_id": lead[0] if lead else None}

    def tensors(self) -> Iterator[tuple[str, Array]]:
        yield from super().tensors()
        if not self.bundle.config.model.output_bias:
            yield BIAS, np.zeros((1, self.bundle.config.model.vocab_size), np.float32)
