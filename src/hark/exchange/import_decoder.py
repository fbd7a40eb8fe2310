"""Reading of Hugging Face folders of models of one decoder: GPT-2, Llama, and Mistral, which has Llama's layout.

Their vocabularies are merges of bytes, which tokenizer.json says how to apply, or a sentencepiece model.
"""

from pathlib import Path
from typing import Any

import sentencepiece

from hark.config import ModelConfig
from hark.errors import UserError
from hark.exchange.decoder_layouts import from_gpt2, from_llama
from hark.exchange.files import read_bounded, read_huggingface_weights, read_json, read_optional_json
from hark.exchange.foreign import ForeignModel, make_config
from hark.exchange.huggingface_settings import (
    known,
    licence_of,
    read_byte_pairs,
    setting,
    stored_as,
    tokenizer_pieces,
)
from hark.exchange.language_codes import all_pieces
from hark.exchange.recognition import own_facts
from hark.facts import OriginFacts
from hark.text.byte_pairs import Splitting
from hark.text.piece_vocabulary import PieceTable
from hark.text.vocabulary import SpecialIds
from hark.weights import Weights

GPT2_ACTIVATIONS = {
    "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu": "gelu", "relu": "relu", "silu": "swish",
    "swish": "swish",
}  # fmt: skip
GATED = {"silu": "swiglu", "swish": "swiglu", "gelu_pytorch_tanh": "geglu", "gelu_new": "geglu"}
"""By the activation of the gate."""
GPT2_FIXED = {"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False, "add_cross_attention": False}
"""What GPT-2's settings can change in a way that hark does not have."""
TOKENIZER, TOKENIZER_MODEL = "tokenizer.json", "tokenizer.model"
LLAMA3_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEFAULT_LANGUAGES = ("en",)
"""Of the text of a model whose files name none."""


def read_gpt2(folder: Path, languages: tuple[str, ...], source: str) -> ForeignModel:
    """Read a GPT2LMHeadModel."""
    settings = read_json(folder / "config.json")
    for name, value in GPT2_FIXED.items():
        if settings.get(name, value) != value:
            raise UserError(f"{folder}: {name} is {settings[name]!r}, which hark's GPT-2 does not have")
    width, positions = setting(settings, "n_embd", int), setting(settings, "n_positions", int)
    config = decoder_config(
        folder,
        d_model=width,
        d_ff=settings.get("n_inner") or 4 * width,
        n_heads=setting(settings, "n_head", int),
        n_decoder_layers=setting(settings, "n_layer", int),
        dropout=float(setting(settings, "resid_pdrop", (int, float), 0.1)),
        activation=known(GPT2_ACTIVATIONS, setting(settings, "activation_function", str, "gelu_new"), folder),
        norm_eps=float(setting(settings, "layer_norm_epsilon", (int, float), 1e-5)),
        positions="learned",
        max_positions=positions,
        vocab_size=setting(settings, "vocab_size", int),
        tie="all" if setting(settings, "tie_word_embeddings", bool, True) else "none",
    )
    weights = from_gpt2(read_huggingface_weights(folder), config, folder)
    return decoder_model(folder, settings, config, weights, languages, source)


def read_llama(folder: Path, languages: tuple[str, ...], source: str) -> ForeignModel:
    """Read a LlamaForCausalLM or a MistralForCausalLM."""
    settings = read_json(folder / "config.json")
    positions = setting(settings, "max_position_embeddings", int, 2048)
    window = settings.get("sliding_window")
    if settings.get("model_type") == "mistral" and window is not None and window < positions:
        raise UserError(f"{folder}: attends to the last {window} tokens only, which hark does not have")
    rotary = settings.get("rope_parameters") or settings.get("rope_scaling") or {}
    kind = rotary.get("rope_type", rotary.get("type", "default"))
    if kind != "default":
        raise UserError(f"{folder}: has rotary positions of the kind {kind}, which hark does not have")
    heads, width = setting(settings, "num_attention_heads", int), setting(settings, "hidden_size", int)
    shared, head_width = settings.get("num_key_value_heads") or heads, settings.get("head_dim")
    own_width = head_width if head_width is not None and head_width * heads != width else None
    config = decoder_config(
        folder,
        d_model=width,
        d_ff=setting(settings, "intermediate_size", int),
        n_heads=heads,
        n_kv_heads=None if shared == heads else shared,
        d_k=own_width,
        d_v=own_width,
        n_decoder_layers=setting(settings, "num_hidden_layers", int),
        dropout=0.0,
        norm_kind="rms",
        norm_eps=float(setting(settings, "rms_norm_eps", (int, float), 1e-6)),
        activation=known(GATED, setting(settings, "hidden_act", str, "silu"), folder),
        positions="rotary",
        rotary_base=float(rotary.get("rope_theta", settings.get("rope_theta", 10_000.0))),
        max_positions=positions,
        attention_bias=setting(settings, "attention_bias", bool, False),
        feed_forward_bias=setting(settings, "mlp_bias", bool, False),
        vocab_size=setting(settings, "vocab_size", int),
        tie="all" if setting(settings, "tie_word_embeddings", bool, False) else "none",
    )
    weights = from_llama(read_huggingface_weights(folder), config, folder)
    return decoder_model(folder, settings, config, weights, languages, source)


def decoder_config(where: object, **values: Any) -> ModelConfig:
    """The settings of a pre-norm decoder whose embeddings have no factor."""
    return make_config(where, shape="decoder", norm="pre", scale_embedding=False, **values)


def decoder_model(
    folder: Path,
    settings: dict[str, Any],
    config: ModelConfig,
    weights: Weights,
    languages: tuple[str, ...],
    source: str,
) -> ForeignModel:
    table, model_file = decoder_vocabulary(folder, settings, config.vocab_size)
    own = own_facts(folder)
    model = ForeignModel(
        config,
        weights,
        table,
        model_file,
        model_file,
        pairs=(),
        origin=OriginFacts(f"huggingface {settings['model_type']}", source, licence=licence_of(folder)),
        weights_note=stored_as(settings),
        languages=languages or (own.languages if own else DEFAULT_LANGUAGES),
    )
    model.check(folder)
    return model


def decoder_vocabulary(folder: Path, settings: dict[str, Any], size: int) -> tuple[PieceTable, bytes]:
    """The pieces of a model of one decoder, and its merges or sentencepiece model.

    Where a model has both kinds of files, they say the same."""
    tree, path = read_optional_json(folder / TOKENIZER), folder / TOKENIZER
    end = first_id(settings, "eos_token_id")
    start, pad = (first_id(settings, name, end) for name in ("bos_token_id", "pad_token_id"))
    begins = read_optional_json(folder / "tokenizer_config.json").get("add_bos_token")
    silent = tuple(each["content"] for each in tree.get("added_tokens") or () if each.get("special"))
    if (folder / TOKENIZER_MODEL).is_file():
        model_file = read_bounded(folder / TOKENIZER_MODEL)
        pieces = all_pieces(model_file, folder / TOKENIZER_MODEL)
        if len(pieces) > size:
            raise UserError(f"{folder}: its vocabulary has {len(pieces)} entries, but the weights are for {size}")
        unknown = sentencepiece.SentencePieceProcessor(model_proto=model_file).unk_id()
        special = SpecialIds(pad, unknown, start, end)
        table = text_table(special, (*pieces, *[""] * (size - len(pieces))), silent, begins is not False)
        return table, model_file
    if tree and not any(each.get("type") == "ByteLevel" for each in steps(tree.get("pre_tokenizer"))):
        raise UserError(f"{path}: is not of bytes; copy {TOKENIZER_MODEL} there from the original model")
    splitting = splitting_of(tree, path) if tree else "gpt2"
    pieces_there, merges = tokenizer_pieces(tree, size, path) if tree else read_byte_pairs(folder, size)
    special = SpecialIds(pad, end, start, end)  # no text has an unknown token
    text_start = text_lead(tree.get("post_processor")) is not None if begins is None else begins is True
    return text_table(special, pieces_there, silent, text_start, splitting), merges


def text_table(
    special: SpecialIds,
    pieces: tuple[str, ...],
    silent: tuple[str, ...],
    text_start: bool,
    splitting: Splitting = "gpt2",
) -> PieceTable:
    return PieceTable(special, pieces, silent=silent, text_start=text_start, verbatim=True, splitting=splitting)


def first_id(settings: dict[str, Any], name: str, default: int | None = None) -> int:
    """A special id, of which some models have several: the first ends every text."""
    value = settings.get(name)
    value = value[0] if isinstance(value, list) and value else value
    return int(setting({name: default if value is None else value}, name, int))


def steps(tree: Any) -> list[dict[str, Any]]:
    """The steps of a part of tokenizer.json, in order."""
    if not tree:
        return []
    if tree["type"] == "Sequence":
        inner = tree.get("pretokenizers") or tree.get("normalizers") or tree.get("processors") or []
        return [step for each in inner for step in steps(each)]
    return [tree]


def text_lead(processor: Any) -> str | None:
    """The special token that the last step of tokenizer.json puts before every text, if it does."""
    for step in steps(processor):
        if "cls" in step:  # of BERT's and RoBERTa's own kinds
            return str(step["cls"][0])
        if step.get("single") and "SpecialToken" in step["single"][0]:
            return str(step["single"][0]["SpecialToken"]["id"])
    return None


def splitting_of(tree: dict[str, Any], path: Path) -> Splitting:
    """How a tokenizer.json splits text into words, which must be one of the ways that hark has."""
    model, parts = tree.get("model", {}), steps(tree.get("pre_tokenizer"))
    changes = [each["type"] for each in steps(tree.get("normalizer"))]
    settings = ("byte_fallback", "dropout", "continuing_subword_prefix", "end_of_word_suffix")
    if changes or any(model.get(name) for name in settings) or any(part.get("add_prefix_space") for part in parts):
        what = changes[0] if changes else "its settings"
        raise UserError(f"{path}: changes text before it is split ({what}), which hark's byte-level BPE does not")
    found: Splitting | None = None
    match parts:
        case [{"type": "ByteLevel", **rest}] if rest.get("use_regex", True):
            found = "gpt2"
        case [{"type": "Digits", "individual_digits": True}, {"type": "ByteLevel", **rest}] if rest.get(
            "use_regex", True
        ):
            found = "digits"
        case [
            {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "use_regex": False},
        ] if pattern == LLAMA3_WORDS:
            found = "llama3"
    if found is None or bool(model.get("ignore_merges")) != (found == "llama3"):
        kinds = " + ".join(part["type"] for part in parts)
        raise UserError(
            f"{path}: splits text as hark does not ({kinds}); it has the ways of GPT-2, SmolLM2 and Llama 3"
        )
    return found
