"""Export of models of one decoder to Hugging Face transformers: with layer norm as GPT-2, with RMSNorm as Llama.

A vocabulary of byte pairs is written as vocab.json and merges.txt, as GPT-2 has it, and as tokenizer.json, which also
says how text is split into words; a sentencepiece model as Llama's tokenizer.model.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hark.exchange.decoder_layouts import to_gpt2, to_llama
from hark.exchange.hark_side import hark_text_side
from hark.exchange.huggingface_exporter import HuggingFaceExporter
from hark.exchange.import_decoder import GATED, GPT2_ACTIVATIONS, LLAMA3_WORDS, TOKENIZER, TOKENIZER_MODEL
from hark.exchange.parity import Side
from hark.exchange.transformers_side import transformers_text_side
from hark.text.byte_pairs import HEADER, ORIGINAL_SPACE, Splitting
from hark.text.piece_vocabulary import MERGES, PieceVocabulary
from hark.text.tokenizer import Tokenizer
from hark.text.vocabulary import SPACE
from hark.weights import Array, as_floats

BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}


@dataclass(frozen=True)
class DecoderExporter(HuggingFaceExporter):
    """Writes a GPT2LMHeadModel or a LlamaForCausalLM."""

    @property
    def is_llama(self) -> bool:
        return self.bundle.config.model.norm_kind == "rms"

    @property
    def architecture(self) -> str:
        return "LlamaForCausalLM" if self.is_llama else "GPT2LMHeadModel"

    def refuse(self) -> None:
        config = self.bundle.config.model
        activations = (GATED if self.is_llama else GPT2_ACTIVATIONS).values()
        reasons = {
            f"has {config.norm}-norm": config.norm != "pre",
            f"has the activation {config.activation}": config.activation not in activations,
            "has a norm of embeddings": config.embedding_norm,
            "has an output bias": config.output_bias,
            "has a layer before the output projection": config.prediction_layer,
            f"has {config.positions} positions": config.positions != "rotary"
            if self.is_llama
            else not config.positions.startswith(("learned", "sinusoidal")),
            "has keys of another width than values": config.k_width != config.v_width,
        }
        if not self.is_llama:
            reasons |= {
                "has heads of another width than d_model / n_heads": config.k_width * config.n_heads != config.d_model,
                "has fewer heads of keys and values": config.kv_heads != config.n_heads,
            }
        self.refuse_for(reasons, f"which {self.architecture} has not")
        if not self.is_byte_pairs:
            self.sentencepiece_files()

    def settings(self) -> dict[str, Any]:
        config = self.bundle.config.model
        common = {
            "architectures": [self.architecture],
            "vocab_size": config.vocab_size,
            # A factor on the embeddings is in their weights, which therefore differ from those of the output.
            "tie_word_embeddings": not (config.separate_output or config.scale_embedding),
            "dtype": self.precision,
        }
        return common | self.generation() | self.own_settings()

    def generation(self) -> dict[str, Any]:
        special = self.vocabulary.special
        return {"pad_token_id": special.pad, "bos_token_id": special.start, "eos_token_id": special.end}

    def own_settings(self) -> dict[str, Any]:
        config = self.bundle.config.model
        if not self.is_llama:
            return {
                "model_type": "gpt2",
                "n_embd": config.d_model,
                "n_inner": config.d_ff,
                "n_head": config.n_heads,
                "n_layer": config.n_decoder_layers,
                "n_positions": config.max_positions,
                "activation_function": named(GPT2_ACTIVATIONS, config.activation),
                "layer_norm_epsilon": config.norm_eps,
                **dict.fromkeys(("resid_pdrop", "embd_pdrop"), config.dropout),
                "attn_pdrop": config.attention_dropout,
            }
        return {
            "model_type": "llama",
            "hidden_size": config.d_model,
            "intermediate_size": config.d_ff,
            "num_attention_heads": config.n_heads,
            "num_key_value_heads": config.kv_heads,
            "head_dim": config.k_width,
            "num_hidden_layers": config.n_decoder_layers,
            "max_position_embeddings": config.max_positions,
            "hidden_act": named(GATED, config.activation),
            "rms_norm_eps": config.norm_eps,
            "rope_theta": config.rotary_base,  # the older place, which other programs read
            "rope_parameters": {"rope_type": "default", "rope_theta": config.rotary_base},
            "attention_bias": config.attention_bias,
            "mlp_bias": config.feed_forward_bias,
        }

    def tensors(self) -> Iterator[tuple[str, Array]]:
        convert = to_llama if self.is_llama else to_gpt2
        yield from convert(as_floats(self.weights), self.bundle.config.model)

    def tokenizer_files(self) -> Mapping[str, bytes | dict[str, Any]]:
        vocabulary = self.vocabulary
        start = () if vocabulary.text_start is None else (vocabulary.text_start,)
        return words_files(vocabulary, self.bundle.config.model.max_positions, start, ())

    def hark_side(self) -> Side:
        return hark_text_side(self.bundle)

    def open_side(self, folder: Path) -> Side:
        self.require_libraries()
        return transformers_text_side(folder)

    def usage(self) -> str:
        return f"""```python
from transformers import AutoTokenizer, {self.architecture}

tokenizer = AutoTokenizer.from_pretrained(".")
model = {self.architecture}.from_pretrained(".")
inputs = tokenizer("Once upon a time", return_tensors="pt")
print(tokenizer.decode(model.generate(**inputs, max_new_tokens=50)[0]))
```"""


def named(names: Mapping[str, str], activation: str) -> str:
    """The first name of an activation in transformers."""
    return next(theirs for theirs, ours in names.items() if ours == activation)


def words_files(
    vocabulary: Tokenizer | PieceVocabulary, longest: int, before: Sequence[int], after: Sequence[int]
) -> dict[str, bytes | dict[str, Any]]:
    """The files of a vocabulary of byte pairs, or of a sentencepiece model as Llama's. `before` and `after`: the ids
    that enclose every text."""
    pieces, special = vocabulary.pieces(range(vocabulary.vocab_size)), vocabulary.special
    about: dict[str, Any] = {
        "add_bos_token": bool(before),
        "add_eos_token": bool(after),
        "bos_token": pieces[special.start],
        "eos_token": pieces[special.end],
        "pad_token": pieces[special.pad],
        "model_max_length": longest,
        "clean_up_tokenization_spaces": False,
    }
    if not isinstance(vocabulary, PieceVocabulary) or not vocabulary.is_byte_pairs:
        about |= {"tokenizer_class": "LlamaTokenizer", "unk_token": pieces[special.unknown], "legacy": False}
        return {TOKENIZER_MODEL: vocabulary.model, "tokenizer_config.json": about}
    ids = {piece.replace(SPACE, ORIGINAL_SPACE): token for token, piece in enumerate(pieces) if piece}
    merges = vocabulary.model.decode().replace(SPACE, ORIGINAL_SPACE)  # hark learns them with its own mark
    lines = [line for line in merges.split("\n") if line and not line.startswith(HEADER.decode())]
    return {
        "vocab.json": ids,
        MERGES: merges.encode(),
        TOKENIZER: tokenizer_tree(vocabulary, ids, lines, before, after),
        "tokenizer_config.json": about | {"tokenizer_class": "PreTrainedTokenizerFast"},
    }


def tokenizer_tree(
    vocabulary: PieceVocabulary, ids: Mapping[str, int], merges: list[str], before: Sequence[int], after: Sequence[int]
) -> dict[str, Any]:
    """The file tokenizer.json of a vocabulary of byte pairs."""
    table, hidden = vocabulary.table, vocabulary.hidden
    plain = {"single_word": False, "rstrip": False, "normalized": False, "special": True}
    added = [
        {"id": token, "content": piece, "lstrip": token in hidden, **plain}
        for piece, token in ids.items()
        if vocabulary.is_special(token)
    ]
    last: dict[str, Any] = {**BYTES, "use_regex": True}
    if before or after:
        names = dict(zip((*before, *after), vocabulary.pieces([*before, *after]), strict=True))
        first, end = (
            [{"SpecialToken": {"id": names[each], "type_id": 0}} for each in side] for side in (before, after)
        )
        text, other = {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}
        template = {
            "type": "TemplateProcessing",
            "single": [*first, text, *end],
            "pair": [*first, text, *end, other, *end],
            "special_tokens": {name: {"id": name, "ids": [token], "tokens": [name]} for token, name in names.items()},
        }
        last = {"type": "Sequence", "processors": [last, template]}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": pre_tokenizer(table.splitting),
        "post_processor": last,
        "decoder": {**BYTES, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": table.splitting == "llama3",
            "vocab": ids,
            "merges": [line.split(" ") for line in merges],
        },
    }


def pre_tokenizer(splitting: Splitting) -> dict[str, Any]:
    first: dict[str, Any]
    match splitting:
        case "gpt2":
            return {**BYTES, "use_regex": True}
        case "digits":
            first, second = {"type": "Digits", "individual_digits": True}, {**BYTES, "use_regex": True}
        case "llama3":
            first = {"type": "Split", "pattern": {"Regex": LLAMA3_WORDS}, "behavior": "Isolated", "invert": False}
            second = {**BYTES, "use_regex": False}
    return {"type": "Sequence", "pretokenizers": [first, second]}
