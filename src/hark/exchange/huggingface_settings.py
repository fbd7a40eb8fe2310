"""What Hugging Face's Marian, Pegasus, BART, M2M100 and mBART models share: settings, files and names of weights.

They have one layout, that of BART: what differs are norms, positions and biases, which the settings tell.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hark.config import DecodeConfig, ModelConfig
from hark.errors import UserError
from hark.exchange.files import read_bounded, read_json, read_optional_json
from hark.exchange.foreign import ForeignModel, make_config
from hark.exchange.language_codes import Languages, shortened
from hark.exchange.recognition import facts_languages, own_facts
from hark.facts import OriginFacts
from hark.text.byte_pairs import HEADER, ORIGINAL_SPACE
from hark.text.piece_vocabulary import MERGES
from hark.text.vocabulary import SPACE
from hark.weights import Array, Weights

ACTIVATIONS = {"swish": "swish", "silu": "swish", "relu": "relu", "gelu": "gelu"}
MAX_BEAM = 64
OPUS_NAME = re.compile(r"opus-mt(?:-tc(?:-big|-base|-bible-big)?(?:[-_]\w+)?|-tatoeba|_?tiny\w*)?-([\w+]+)-([\w+]+)$")
ATTENTION = {"q_proj": "w_q", "k_proj": "w_k", "v_proj": "w_v", "out_proj": "w_o"}
SHARED = "model.shared.weight"
SOURCE, TARGET = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
OUTPUT, BIAS = "lm_head.weight", "final_logits_bias"
POSITIONS = {"source_positions": "model.encoder.embed_positions", "target_positions": "model.decoder.embed_positions"}
LEARNED_OFFSET = 2
"""Rows at the beginning of a table of learned positions that are never used: BART reserves one for padding."""


def model_config(settings: dict[str, Any], weights: Weights, folder: Path, **own: Any) -> ModelConfig:
    """The settings that all architectures of BART's layout share."""
    for name in ("layers", "ffn_dim", "attention_heads"):  # of which only the number of layers may differ
        one, two = (setting(settings, f"{stack}_{name}", int) for stack in ("encoder", "decoder"))
        if name != "layers" and one != two:
            raise UserError(
                f"{folder}: encoder and decoder have different {name} ({one} and {two}); hark has one for both"
            )
    values = {
        "d_model": setting(settings, "d_model", int),
        "d_ff": setting(settings, "encoder_ffn_dim", int),
        "n_heads": setting(settings, "encoder_attention_heads", int),
        "n_encoder_layers": setting(settings, "encoder_layers", int),
        "n_decoder_layers": setting(settings, "decoder_layers", int),
        "dropout": float(setting(settings, "dropout", (int, float), 0.1)),
        "activation": known(ACTIVATIONS, setting(settings, "activation_function", str), folder),
        "max_positions": setting(settings, "max_position_embeddings", int),
        "scale_embedding": setting(settings, "scale_embedding", bool, False),
        "output_bias": BIAS in weights,
    }
    return make_config(folder / "config.json", **values | own)


def known(names: dict[str, str], activation: str, folder: Path, what: str = "activation") -> str:
    """Our name of an activation."""
    if activation not in names:
        raise UserError(f"{folder}: {what} {activation!r} is not supported; hark has {', '.join(sorted(names))}")
    return names[activation]


def setting(settings: dict[str, Any], name: str, kind: Any, default: Any = None) -> Any:
    """A value of config.json, of the given type."""
    value = settings.get(name, default)
    if value is None and default is None:
        raise UserError(f"config.json: {name} is missing")
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise UserError(f"config.json: {name} is {value!r}, which is not of the expected type")
    return value


def vocabulary(path: Path, size: int) -> tuple[str, ...]:
    """The pieces of a vocab.json by id; ids without a piece are empty."""
    return by_id(read_json(path), size, path)


def by_id(ids: dict[str, Any], size: int, path: Path) -> tuple[str, ...]:
    """The pieces of a vocabulary by id; ids without a piece are empty."""
    pieces = [""] * size
    for piece, token in ids.items():
        if type(token) is not int or not 0 <= token < size:
            raise UserError(f"{path}: the id {token!r} of {piece!r} is not in the vocabulary of {size}")
        pieces[token] = piece
    return tuple(pieces)


def read_byte_pairs(folder: Path, size: int) -> tuple[tuple[str, ...], bytes]:
    """The pieces by id, with hark's mark of a space, and the merges."""
    if (folder / "vocab.json").is_file() and (folder / MERGES).is_file():
        return marked_spaces(vocabulary(folder / "vocab.json", size)), with_header(read_bounded(folder / MERGES))
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise UserError(f"{folder}: no tokenizer; vocab.json and {MERGES} are needed, or tokenizer.json")
    return tokenizer_pieces(read_json(path), size, path)


def tokenizer_pieces(tree: dict[str, Any], size: int, path: Path) -> tuple[tuple[str, ...], bytes]:
    """The pieces by id, also those added to it, and the merges of a tokenizer.json."""
    model = tree.get("model", {})
    if model.get("type") != "BPE" or not (isinstance(model.get("vocab"), dict) and model.get("merges")):
        raise UserError(f"{path}: has no byte-level BPE vocabulary, which is all that hark reads of it")
    added = {each["content"]: each["id"] for each in tree.get("added_tokens") or ()}
    lines = [each if isinstance(each, str) else " ".join(each) for each in model["merges"]]
    return marked_spaces(by_id(model["vocab"] | added, size, path)), with_header("\n".join(lines).encode())


def marked_spaces(pieces: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(piece.replace(ORIGINAL_SPACE, SPACE) for piece in pieces)


def with_header(merges: bytes) -> bytes:
    return merges if merges.startswith(HEADER) else HEADER + b": 0.2\n" + merges


def decode_config(folder: Path, settings: dict[str, Any]) -> DecodeConfig:
    """The model's own search settings, as far as hark has them.

    Hugging Face divides by length^penalty, hark by ((5 + length) / 6)^alpha, which favours long output less."""
    generation = {**settings, **read_optional_json(folder / "generation_config.json")}
    beam, penalty = generation.get("num_beams"), generation.get("length_penalty")
    beam = beam if type(beam) is int and 1 <= beam <= MAX_BEAM else DecodeConfig.beam
    alpha = float(penalty) if isinstance(penalty, int | float) and 0 <= penalty <= 5 else 1.0
    return DecodeConfig(beam=beam, alpha=alpha)


def stored_as(settings: dict[str, Any]) -> str:
    kind = settings.get("torch_dtype") or settings.get("dtype") or ""
    return f"imported from {kind}" if kind in ("float16", "bfloat16") else ""


def checked_model(
    folder: Path, settings: dict[str, Any], weights: Weights, config: ModelConfig, source: str, **vocabulary: Any
) -> ForeignModel:
    """The model in a folder. `vocabulary`: its table, its sentencepiece models, and its language pairs and tags."""
    model = ForeignModel(
        config=config,
        weights=convert(weights, config, folder),
        origin=OriginFacts(f"huggingface {settings['model_type']}", source, licence=licence_of(folder)),
        decode=decode_config(folder, settings),
        weights_note=stored_as(settings),
        **vocabulary,
    )
    model.check(folder)
    return model


def licence_of(folder: Path) -> str:
    """The licence in the facts of an own export, or in the YAML front matter of README.md."""
    if facts := own_facts(folder):
        return facts.licence
    readme = folder / "README.md"
    lines = read_bounded(readme).decode(errors="replace").splitlines() if readme.is_file() else []
    if not lines or lines[0].strip() != "---":
        return ""
    for line in lines[1:200]:
        if line.strip() == "---":
            break
        if match := re.match(r"licen[sc]e:\s*['\"]?([\w.+ -]+)", line):
            return match[1].strip()
    return ""


def default_languages(folder: Path, settings: dict[str, Any], source: str = "") -> Languages:
    """The languages of an own export, or those in tokenizer_config.json, or in a name such as opus-mt-en-fr."""
    if facts := own_facts(folder):
        return facts_languages(facts)
    tokenizer = read_optional_json(folder / "tokenizer_config.json")
    found = tokenizer.get("source_lang"), tokenizer.get("target_lang")
    if not all(isinstance(each, str) and each for each in found):
        for name in (str(settings.get("_name_or_path", "")), source, folder.resolve().name):
            if match := OPUS_NAME.search(name):
                found = match[1], match[2]
                break
        else:
            return (), ()
    sources, targets = (tuple(shortened(code)[0] for code in str(each).split("+")) for each in found)
    return sources, targets


def layer_names(config: ModelConfig) -> Iterator[tuple[str, str]]:
    """Pairs of hark's and Hugging Face's names of the modules in and around layers."""
    for stack, layers in (("encoder", config.n_encoder_layers), ("decoder", config.n_decoder_layers)):
        side = "source" if stack == "encoder" else "target"
        if config.embedding_norm:
            yield f"{side}_norm", f"model.{stack}.layernorm_embedding"
        if config.norm == "pre":
            yield f"{stack}.norm", f"model.{stack}.layer_norm"
        for i in range(layers):
            ours, theirs = f"{stack}.layers.{i}", f"model.{stack}.layers.{i}"
            attentions = {"self_attention": "self_attn"}
            if stack == "decoder":
                attentions["cross_attention"] = "encoder_attn"
            for attention, name in attentions.items():
                for part, w in ATTENTION.items():
                    yield f"{ours}.{attention}.{w}", f"{theirs}.{name}.{part}"
                yield f"{ours}.{attention}_residual.norm", f"{theirs}.{name}_layer_norm"
            yield f"{ours}.feed_forward.w_1", f"{theirs}.fc1"
            yield f"{ours}.feed_forward.w_2", f"{theirs}.fc2"
            yield f"{ours}.feed_forward_residual.norm", f"{theirs}.final_layer_norm"


def convert(weights: Weights, config: ModelConfig, where: object) -> dict[str, Array]:
    """Return the weights of a model by hark's names. Tied matrices are stored once under any of their names."""

    def first(*names: str) -> Array:
        for name in names:
            if name in weights:
                return weights[name]
        raise UserError(f"{where}: the weight {names[0]} is missing; the file is incomplete or of another architecture")

    found: dict[str, Array] = {}
    match config.tie:
        case "all":
            found["embedding.weight"] = first(SHARED, TARGET, SOURCE, OUTPUT)
        case "target":
            found["embedding.weight"] = first(TARGET, OUTPUT)
            found["source_embedding.weight"] = first(SOURCE, SHARED)
        case "none":
            found["embedding.weight"] = first(TARGET, SHARED)
            found["source_embedding.weight"] = first(SOURCE, SHARED)
            found["projection.weight"] = first(OUTPUT)
    if config.output_bias:
        found["output_bias"] = first(BIAS).reshape(-1)
    if config.positions == "learned":
        for ours, theirs in POSITIONS.items():
            found[f"{ours}.weight"] = first(f"{theirs}.weight")[LEARNED_OFFSET:]
    for ours, theirs in layer_names(config):
        found[f"{ours}.weight"], found[f"{ours}.bias"] = first(f"{theirs}.weight"), first(f"{theirs}.bias")
    return found


def convert_back(weights: Weights, config: ModelConfig, order: Array | slice) -> Iterator[tuple[str, Array]]:
    """The inverse of `convert`, for tied embeddings. `order`: the features of the residual stream in their order there.

    Zeros fill the biases of attention that a model lacks, and the unused rows of learned positions.
    """
    yield SHARED, weights["embedding.weight"][:, order]
    if config.output_bias:
        yield BIAS, weights["output_bias"][None]
    if config.positions == "learned":
        unused = np.zeros((LEARNED_OFFSET, config.d_model), np.float32)
        for ours, theirs in POSITIONS.items():
            yield f"{theirs}.weight", np.concatenate([unused, weights[f"{ours}.weight"][:, order]])
    for ours, theirs in layer_names(config):
        weight = weights[f"{ours}.weight"]
        bias = weights.get(f"{ours}.bias", np.zeros(len(weight), np.float32))
        # Norms and the last matrix of a sub-layer write the residual stream; the others read it.
        writes = weight.ndim == 1 or ours.endswith((".w_o", ".w_2"))
        yield f"{theirs}.weight", weight[order] if writes else weight[:, order]
        yield f"{theirs}.bias", bias[order] if writes else bias
