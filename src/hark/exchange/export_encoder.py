"""Export of an encoder alone to Hugging Face transformers: in BERT's layout with WordPiece, in RoBERTa's with merges.

The embeddings of segments are zero: where there was one, it is part of the table of positions.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hark.exchange.encoder_parity import loader_of, transformers_encoder
from hark.exchange.huggingface_exporter import HuggingFaceExporter
from hark.exchange.import_encoder import (
    BERT,
    BERT_SPECIAL,
    EMBEDDING,
    POSITIONS,
    ROBERTA,
    TOKEN_TYPES,
    EncoderLayout,
    label_output,
)
from hark.exchange.import_encoder import names as module_names
from hark.exchange.parity import Side
from hark.text.byte_pairs import ORIGINAL_SPACE
from hark.text.piece_vocabulary import MERGES, PieceVocabulary
from hark.text.vocabulary import SPACE
from hark.text.word_pieces import WordPieceRules, is_word_pieces, with_original_marks
from hark.weights import Array, as_floats

ACTIVATIONS = {"gelu": "gelu", "gelu_tanh": "gelu_new", "relu": "relu", "swish": "silu"}


@dataclass(frozen=True)
class EncoderExporter(HuggingFaceExporter):
    """Writes a BertForMaskedLM, BertModel, RobertaForMaskedLM or RobertaModel, or one ...ForSequenceClassification or
    ...ForTokenClassification."""

    def refuse(self) -> None:
        config, words = self.bundle.config.model, self.vocabularies[1]
        heads = {config.n_heads * config.k_width, config.n_heads * config.v_width, config.kv_heads * config.k_width}
        kept, labels = WordPieceRules.max_characters, self.bundle.facts.labels
        known = isinstance(words, PieceVocabulary) and (
            words.is_byte_pairs
            or (is_word_pieces(words.model) and WordPieceRules.load(words.model, words.name).max_characters == kept)
        )
        reasons = {
            f"has the activation {config.activation}": config.activation not in ACTIVATIONS
            or (self.layout is ROBERTA and config.prediction_layer and config.activation != "gelu"),
            "has heads of another width than d_model / n_heads": heads != {config.d_model},
            f"is {config.norm}-norm": config.norm != "post",
            "has RMSNorm": config.norm_kind != "layer",
            "has no norm of the embeddings (model.embedding_norm)": not config.embedding_norm,
            f"has {config.positions} positions": config.positions != "learned",
            "scales its embeddings": config.scale_embedding,
            "lacks biases": not (config.attention_bias and config.feed_forward_bias),
            "has an output bias, but no prediction layer": config.output_bias and not config.prediction_layer,
            "has separate embeddings": config.separate_output and not config.labels,
            "reads pairs with one token between them": self.layout is ROBERTA and labels is not None and labels.pairs,
            "has a vocabulary of another kind than BERT or RoBERTa": not known,
        }
        self.refuse_for(reasons, "which neither BERT nor RoBERTa has")

    @property
    def words(self) -> PieceVocabulary:
        vocabulary = self.vocabularies[1]
        assert isinstance(vocabulary, PieceVocabulary)
        return vocabulary

    @property
    def layout(self) -> EncoderLayout:
        vocabulary = self.vocabularies[1]
        return ROBERTA if isinstance(vocabulary, PieceVocabulary) and vocabulary.is_byte_pairs else BERT

    @property
    def first_row(self) -> int:
        """The row of the table of positions that the first token has."""
        return self.words.special.pad + 1 if self.layout is ROBERTA else 0

    @property
    def architecture(self) -> str:
        name = "Roberta" if self.layout is ROBERTA else "Bert"
        task = loader_of(self.bundle.config.model).removeprefix("AutoModel")
        return name + (task or "Model")

    def own_settings(self) -> dict[str, Any]:
        return {"model_type": "roberta", "type_vocab_size": 1} if self.layout is ROBERTA else {"model_type": "bert"}

    def files(self) -> dict[str, bytes | dict[str, Any]]:
        return {"config.json": self.settings(), **self.tokenizer_files()}

    def settings(self) -> dict[str, Any]:
        config, special = self.bundle.config.model, self.words.special
        common = {
            "architectures": [self.architecture],
            "hidden_size": config.d_model,
            "intermediate_size": config.d_ff,
            "num_attention_heads": config.n_heads,
            "num_hidden_layers": config.n_encoder_layers,
            "hidden_act": ACTIVATIONS[config.activation],
            "hidden_dropout_prob": config.dropout,
            "attention_probs_dropout_prob": config.attention_dropout,
            "layer_norm_eps": config.norm_eps,
            "max_position_embeddings": config.max_positions + self.first_row,
            "type_vocab_size": 2,
            "vocab_size": config.vocab_size,
            "pad_token_id": special.pad,
            "bos_token_id": special.start,
            "eos_token_id": special.end,
            "tie_word_embeddings": True,
            "dtype": self.precision,
        }
        return common | self.label_settings() | self.own_settings()

    def label_settings(self) -> dict[str, Any]:
        labels = self.bundle.facts.labels
        if labels is None:
            return {}
        names = dict(enumerate(labels.names))
        return {"id2label": names, "label2id": {name: number for number, name in names.items()}}

    def tokenizer_files(self) -> Mapping[str, bytes | dict[str, Any]]:
        words = self.words
        pieces = [piece or f"[empty{token}]" for token, piece in enumerate(words.pieces(range(words.vocab_size)))]
        about: dict[str, Any] = {"model_max_length": self.bundle.config.model.max_positions}
        if self.layout is ROBERTA:
            ids = {piece.replace(SPACE, ORIGINAL_SPACE): token for token, piece in enumerate(pieces)}
            mask = {"__type": "AddedToken", "content": "<mask>", "lstrip": True, "special": True}
            config = {"tokenizer_class": "RobertaTokenizer", "mask_token": mask, **about}
            merges = words.model.decode().replace(SPACE, ORIGINAL_SPACE)  # hark learns them with its own mark
            return {"vocab.json": ids, MERGES: merges.encode(), "tokenizer_config.json": config}
        rules = WordPieceRules.load(words.model, words.name)
        flags = {"do_lower_case": rules.lower_case, "strip_accents": rules.strip_accents}
        config = {"tokenizer_class": "BertTokenizer", **flags, "tokenize_chinese_chars": rules.split_chinese, **about}
        special = (*BERT_SPECIAL, *(piece for piece in pieces if piece.startswith("[empty")))
        return {
            "vocab.txt": "".join(f"{piece}\n" for piece in with_original_marks(pieces, special)).encode(),
            "tokenizer_config.json": config,
        }

    def tensors(self) -> Iterator[tuple[str, Array]]:
        weights, config = as_floats(self.weights), self.bundle.config.model
        prefix = self.layout.prefix if config.prediction_layer or config.labels else ""
        yield prefix + EMBEDDING, weights["embedding.weight"]
        unused = np.zeros((self.first_row, config.d_model), np.float32)
        yield prefix + POSITIONS, np.concatenate([unused, weights["target_positions.weight"]])
        yield prefix + TOKEN_TYPES, np.zeros((self.settings()["type_vocab_size"], config.d_model), np.float32)
        for ours, theirs in module_names(config, self.layout):
            in_head = ours.startswith("prediction.") and theirs != BERT.label_dense  # BERT's is part of the model
            name = theirs if in_head else prefix + theirs
            yield f"{name}.weight", weights[f"{ours}.weight"]
            yield f"{name}.bias", weights[f"{ours}.bias"]
        if config.labels:
            yield f"{label_output(config, self.layout)}.weight", weights["projection.weight"]
            yield f"{label_output(config, self.layout)}.bias", weights["output_bias"]
        elif config.prediction_layer:
            yield self.layout.bias, weights.get("output_bias", np.zeros(config.vocab_size, np.float32))

    def open_side(self, folder: Path) -> Side:
        self.require_libraries()
        return transformers_encoder(folder, self.bundle.config.model)

    def usage(self) -> str:
        return f"""```python
from transformers import {self.architecture}, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(".")
model = {self.architecture}.from_pretrained(".")
output = model(**tokenizer("Text", return_tensors="pt"))
```"""
