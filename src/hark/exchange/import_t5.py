"""Reading of T5 in Hugging Face folders: the original, with ReLU and one matrix for all embeddings, and version 1.1 and
FLAN-T5, with gated GELU and an output matrix of their own.

T5 does not divide scores by sqrt(d_k), so the weights of queries are multiplied by it. Where the output matrix is that
of the embeddings, T5 multiplies what it is applied to by d_model^-0.5: that goes into the norm before it.
"""

import base64
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece

from hark.config import ModelConfig
from hark.errors import UserError
from hark.exchange.files import read_bounded, read_huggingface_weights, read_json, read_optional_json
from hark.exchange.foreign import ForeignModel, make_config
from hark.exchange.huggingface_settings import decode_config, known, licence_of, setting, stored_as
from hark.exchange.import_decoder import DEFAULT_LANGUAGES, TOKENIZER, decoder_vocabulary, steps
from hark.exchange.language_codes import all_pieces
from hark.exchange.recognition import own_facts
from hark.exchange.sentencepiece_file import PieceKind, sentencepiece_unigram
from hark.facts import OriginFacts
from hark.text.piece_vocabulary import PieceTable
from hark.text.vocabulary import SpecialIds
from hark.weights import Array, Weights

ACTIVATIONS = {
    "relu": "relu", "gated-gelu": "geglu", "gated-silu": "swiglu", "gelu": "gelu", "gelu_new": "gelu_tanh",
    "silu": "swish", "gated-gelu_new": "geglu", "gated-swish": "swiglu", "swish": "swish",
}  # fmt: skip
"""By T5's feed_forward_proj. What it calls gated-gelu is the approximation with tanh."""
VOCABULARY = "spiece.model"
SENTINEL = re.compile(r"<extra_id_(\d+)>")
SHARED, OUTPUT = "shared.weight", "lm_head.weight"
COPIES = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"}
UNUSED = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
"""Stored with the first models, but used by none."""
POSITIONS = 2048
"""The tokens of a text, at least: T5 has no table of positions that would end, but was trained with 512."""
CHANGES_OF_TEXT = {"Precompiled", "Replace", "Strip"}
"""Steps that sentencepiece takes, too: its table of characters, and white space."""


def read_t5(folder: Path, languages: tuple[str, ...], source: str) -> ForeignModel:
    """Read a T5ForConditionalGeneration. `languages`: those of its text, from the user."""
    settings = read_json(folder / "config.json")
    weights = read_huggingface_weights(folder)
    table, model_file = t5_vocabulary(folder, settings)
    own = own_facts(folder)
    config = t5_config(settings, weights, folder)
    model = ForeignModel(
        config,
        from_t5(weights, config, scales_output(settings), folder),
        table,
        model_file,
        model_file,
        pairs=own.pairs if own else (),
        origin=OriginFacts("huggingface t5", source, licence=licence_of(folder)),
        decode=decode_config(folder, settings),
        weights_note=stored_as(settings),
        languages=languages or (own.languages if own else DEFAULT_LANGUAGES),
    )
    model.check(folder)
    return model


def t5_config(settings: dict[str, Any], weights: Weights, folder: Path) -> ModelConfig:
    layers, name = setting(settings, "num_layers", int), "feed_forward_proj"
    own_output = OUTPUT in weights and SHARED in weights and not np.array_equal(weights[OUTPUT], weights[SHARED])
    return make_config(
        folder / "config.json",
        d_model=setting(settings, "d_model", int),
        d_ff=setting(settings, "d_ff", int),
        n_heads=setting(settings, "num_heads", int),
        d_k=setting(settings, "d_kv", int),
        d_v=setting(settings, "d_kv", int),
        n_encoder_layers=layers,
        n_decoder_layers=settings.get("num_decoder_layers") or layers,
        dropout=float(setting(settings, "dropout_rate", (int, float), 0.1)),
        norm="pre",
        norm_kind="rms",
        norm_eps=float(setting(settings, "layer_norm_epsilon", (int, float), 1e-6)),
        activation=known(ACTIVATIONS, setting(settings, name, str, "relu"), folder, name),
        positions="relative",
        relative_buckets=setting(settings, "relative_attention_num_buckets", int, 32),
        relative_distance=setting(settings, "relative_attention_max_distance", int, 128),
        max_positions=max(POSITIONS, setting(settings, "n_positions", int, POSITIONS)),
        attention_bias=False,
        feed_forward_bias=False,
        vocab_size=setting(settings, "vocab_size", int),
        tie="inputs" if own_output else "all",
        scale_embedding=False,
    )


def scales_output(settings: dict[str, Any]) -> bool:
    """Whether the output of the decoder is scaled, as that of the original: transformers tells the versions apart by
    whether embeddings and output are tied. Since version 5, what it saves has a setting of its own."""
    if "scale_decoder_outputs" in settings:
        return bool(setting(settings, "scale_decoder_outputs", bool))
    return bool(setting(settings, "tie_word_embeddings", bool, True))


def names(config: ModelConfig) -> Iterator[tuple[str, str]]:
    """Pairs of hark's and T5's names of weights, but for embeddings and output."""
    gate = {"w_gate": "wi_0", "w_1": "wi_1"} if config.activation in ("swiglu", "geglu") else {"w_1": "wi"}
    for stack, layers in (("encoder", config.n_encoder_layers), ("decoder", config.n_decoder_layers)):
        positions = "source_positions" if stack == "encoder" else "target_positions"
        yield f"{positions}.weight", f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        yield f"{stack}.norm.weight", f"{stack}.final_layer_norm.weight"
        attentions = {"self_attention": "SelfAttention"}
        if stack == "decoder":
            attentions["cross_attention"] = "EncDecAttention"
        for i in range(layers):
            ours, theirs = f"{stack}.layers.{i}", f"{stack}.block.{i}.layer"
            for number, (attention, name) in enumerate(attentions.items()):
                for part in "qkvo":
                    yield f"{ours}.{attention}.w_{part}.weight", f"{theirs}.{number}.{name}.{part}.weight"
                yield f"{ours}.{attention}_residual.norm.weight", f"{theirs}.{number}.layer_norm.weight"
            last = f"{theirs}.{len(attentions)}"
            for part, name in {**gate, "w_2": "wo"}.items():
                yield f"{ours}.feed_forward.{part}.weight", f"{last}.DenseReluDense.{name}.weight"
            yield f"{ours}.feed_forward_residual.norm.weight", f"{last}.layer_norm.weight"


def from_t5(weights: Weights, config: ModelConfig, scaled: bool, where: object) -> dict[str, Array]:
    """The weights by hark's names. `scaled`: whether the output of the decoder is multiplied by d_model^-0.5."""
    left = dict(weights)

    def take(*names: str) -> Array:
        for name in names:
            if name in left:
                return left.pop(name)
        raise UserError(f"{where}: the weight {names[0]} is missing; the file is incomplete or of another architecture")

    found = {ours: take(theirs) for ours, theirs in names(config)}
    for name in found:
        if name.endswith(".w_q.weight"):
            found[name] = found[name] * np.float32(math.sqrt(config.k_width))
    if scaled:
        found["decoder.norm.weight"] = found["decoder.norm.weight"] * np.float32(config.d_model**-0.5)
    if config.separate_output:
        found["projection.weight"] = take(OUTPUT)
    found["embedding.weight"] = take(SHARED, *sorted(COPIES), OUTPUT)
    if others := sorted(left.keys() - COPIES - {OUTPUT, UNUSED}):
        raise UserError(f"{where}: the weight {others[0]} has no place in hark's model, which would compute another")
    return found


def to_t5(weights: Weights, config: ModelConfig) -> Iterator[tuple[str, Array]]:
    """The inverse of `from_t5`. A factor on the embeddings, which T5 has not, moves into them."""
    factor = math.sqrt(config.d_model) if config.scale_embedding else 1.0
    yield SHARED, weights["embedding.weight"] * np.float32(factor)
    if config.separate_output:
        yield OUTPUT, weights["projection.weight"]
    for ours, theirs in names(config):
        array = weights[ours]
        if ours.endswith(".w_q.weight"):
            array = array / np.float32(math.sqrt(config.k_width))
        elif ours == "decoder.norm.weight" and not config.separate_output:
            array = array * np.float32(math.sqrt(config.d_model) / factor)
        yield theirs, array


def t5_vocabulary(folder: Path, settings: dict[str, Any]) -> tuple[PieceTable, bytes]:
    """T5's pieces, then its sentinels in reverse, then empty ids up to a round number; and the sentencepiece model.

    Other models in T5's layout may have the vocabularies of decoders."""
    size, path = setting(settings, "vocab_size", int), folder / TOKENIZER
    start = setting(settings, "decoder_start_token_id", int, setting(settings, "pad_token_id", int, 0))
    tree = read_optional_json(path)
    if (folder / VOCABULARY).is_file():
        model_file = read_bounded(folder / VOCABULARY)
        count = setting(read_optional_json(folder / "tokenizer_config.json"), "extra_ids", int, 100)
        known = all_pieces(model_file, folder / VOCABULARY)
        pieces = (*known, *(name for i in reversed(range(count)) if (name := f"<extra_id_{i}>") not in known))
    elif tree.get("model", {}).get("type") == "Unigram":
        model_file, pieces = unigram_model(tree, path), pieces_of(tree)
    elif not tree and not (folder / "tokenizer.model").is_file():
        raise UserError(f"{folder}: no tokenizer; {VOCABULARY} is needed, or {TOKENIZER}")
    else:
        table, model_file = decoder_vocabulary(folder, settings, size)
        return with_sentinels(replace(table, special=replace(table.special, start=start))), model_file
    if len(pieces) > size:
        raise UserError(f"{folder}: its vocabulary has {len(pieces)} entries, but the weights are for {size}")
    unknown = sentencepiece.SentencePieceProcessor(model_proto=model_file).unk_id()
    special = SpecialIds(
        setting(settings, "pad_token_id", int, 0), unknown, start, setting(settings, "eos_token_id", int, 1)
    )
    pieces += ("",) * (size - len(pieces))
    return with_sentinels(PieceTable(special, pieces, verbatim=True)), model_file


def with_sentinels(table: PieceTable) -> PieceTable:
    """The same vocabulary, whose pieces with the names of sentinels stand for hidden spans."""
    found = {int(match[1]): token for token, name in enumerate(table.target) if (match := SENTINEL.fullmatch(name))}
    sentinels = tuple(found[number] for number in sorted(found))
    names = {table.target[token] for token in sentinels}
    return replace(table, sentinels=sentinels, silent=tuple(each for each in table.silent if each not in names))


def pieces_of(tree: dict[str, Any]) -> tuple[str, ...]:
    """The pieces of a tokenizer.json of sentencepiece's unigram kind, also those added to it."""
    by_id = {token: str(piece) for token, (piece, _) in enumerate(tree["model"]["vocab"])}
    by_id |= {each["id"]: each["content"] for each in tree.get("added_tokens") or ()}
    return tuple(by_id.get(token, "") for token in range(max(by_id) + 1))


def unigram_model(tree: dict[str, Any], path: Path) -> bytes:
    """The sentencepiece model that a tokenizer.json was made from."""
    changes = steps(tree.get("normalizer"))
    words = [each["type"] for each in steps(tree.get("pre_tokenizer"))]
    unknown = [each["type"] for each in changes if each["type"] not in CHANGES_OF_TEXT]
    if unknown or "Metaspace" not in words or not set(words) <= {"Metaspace", "WhitespaceSplit"}:
        raise UserError(f"{path}: splits text as sentencepiece does not ({' + '.join((*unknown, *words))})")
    tables = [each["precompiled_charsmap"] for each in changes if each["type"] == "Precompiled"]
    special = {each["content"] for each in tree.get("added_tokens") or ()}
    vocabulary = [entry for entry in tree["model"]["vocab"] if not SENTINEL.fullmatch(entry[0])]
    pieces, scores = zip(*vocabulary, strict=True)

    unknown_piece = tree["model"]["vocab"][tree["model"]["unk_id"]][0]

    def kind(piece: str) -> PieceKind:
        return "unknown" if piece == unknown_piece else "control" if piece in special else "normal"

    kinds = list(map(kind, pieces))
    return sentencepiece_unigram(pieces, scores, kinds, base64.b64decode(tables[0]) if tables else b"")
