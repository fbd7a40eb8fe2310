"""Reading of Marian's own files: model.npz, decoder.yml, and *.spm with or without *.vocab.yml.

Positions are Marian's own: sines, then cosines, with the wavelengths of tensor2tensor. Hugging Face and CTranslate2
compute slightly different ones for the same models. Marian's layer norm has an epsilon of 1e-6, hark's 1e-5.
"""

import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece

from hark.config import DecodeConfig, ModelConfig
from hark.errors import UserError
from hark.exchange.files import read_bounded
from hark.exchange.foreign import NEVER, ForeignModel
from hark.exchange.huggingface_settings import MAX_BEAM, licence_of
from hark.exchange.import_huggingface import default_languages, tagged_table
from hark.exchange.language_codes import Languages
from hark.exchange.marian_yaml import Value, read_pieces, read_settings
from hark.facts import OriginFacts
from hark.settings import SettingError
from hark.text.vocabulary import SpecialIds
from hark.weights import Array

SETTINGS = "special:model.yml"
POSITIONS = 1024
"""Size of the table of positions; Marian computes them as needed."""
END, UNKNOWN, PAD = "</s>", "<unk>", "<pad>"
ACTIVATIONS = {"relu": "relu", "swish": "swish"}
MAX_RATIO = 50
"""Largest plausible ratio of the arrays to the compressed file; weights hardly compress."""


def read_marian_folder(path: Path, languages: Languages, source: str) -> ForeignModel:
    """Read the model in a folder, or the .npz file itself with its folder."""
    folder = path if path.is_dir() else path.parent
    decoder = read_settings(text_of(folder / "decoder.yml")) if (folder / "decoder.yml").is_file() else {}
    model_file = path if path.is_file() else find_model(folder, decoder)
    weights = read_npz(model_file)
    settings = read_settings(weights.pop(SETTINGS).tobytes().decode(errors="replace"))
    check_settings(settings, model_file)
    config = model_config(settings, weights, model_file)
    sides = vocabularies(folder, decoder)
    pieces, target_pieces = (tuple(each) for each, _ in sides)
    one_matrix = config.source_vocab_size is None
    if one_matrix and pieces != target_pieces:
        raise UserError(f"{folder}: source and target share embeddings, but have different vocabularies")
    special = special_ids(target_pieces, folder)
    # Decoding starts from a zero vector: the embedding of padding, an id that Marian does not have.
    target_pieces = (*target_pieces, PAD)
    pieces = target_pieces if one_matrix else pieces
    table, pairs = tagged_table(
        special, pieces, target_pieces, default_languages(folder, {}, source), languages, folder
    )
    model = ForeignModel(
        config,
        convert(weights, config, model_file),
        table,
        sides[0][1],
        sides[1][1],
        pairs,
        OriginFacts("marian", source, licence=licence_of(folder / "README.md")),
        "source" if table.tags else "none",
        decode_config(decoder),
    )
    model.check(folder)
    return model


def text_of(path: Path) -> str:
    return read_bounded(path).decode("utf-8", errors="replace")


def find_model(folder: Path, decoder: Mapping[str, Value]) -> Path:
    """The model that decoder.yml names, or the only .npz file."""
    named = listed(decoder, "models")
    if len(named) > 1:
        raise UserError(f"{folder / 'decoder.yml'}: names {len(named)} models, an ensemble; name one .npz file instead")
    found = [folder / Path(name).name for name in named] or sorted(folder.glob("*.npz"))
    if len(found) != 1 or not found[0].is_file():
        raise UserError(f"{folder}: no .npz file, or several; name the one to import")
    return found[0]


def listed(settings: Mapping[str, Value], name: str) -> list[str]:
    value = settings.get(name, [])
    return value if isinstance(value, list) else [value] if value else []


def read_npz(path: Path) -> dict[str, Array]:
    """Read all arrays without pickle; an implausible size is refused before anything is unpacked."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(each.file_size for each in archive.infolist())
        if size > MAX_RATIO * path.stat().st_size:
            raise UserError(f"{path}: would unpack to {size:,} bytes, which is not plausible for weights")
        with np.load(path, allow_pickle=False) as arrays:
            found = {name: np.asarray(arrays[name]) for name in arrays.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise UserError(f"{path}: not a valid .npz file, or incomplete ({str(error).splitlines()[0]})") from None
    if SETTINGS not in found:
        raise UserError(f"{path}: has no settings ({SETTINGS}); it is not a model of Marian")
    floats = {name: each.astype(np.float32, copy=False) for name, each in found.items() if each.dtype.kind == "f"}
    return {**floats, SETTINGS: found[SETTINGS]}


def option(settings: Mapping[str, Value], name: str, default: str = "") -> str:
    value = settings.get(name, default)
    return value if isinstance(value, str) else default


def check_settings(settings: Mapping[str, Value], where: object) -> None:
    """Refuse what hark's layers cannot compute."""
    kind = option(settings, "type", "transformer")
    autoregression = option(settings, "transformer-decoder-autoreg", "self-attention")
    refusals = {
        f"is of the type {kind}; only transformer is supported": kind != "transformer",
        f"has a decoder with {autoregression} (SSRU or RNN); only self-attention is supported": autoregression
        != "self-attention",
        "has factored vocabularies": any(
            name.endswith(".fsv") for name in (*listed(settings, "vocabs"), option(settings, "factors-combine"))
        )
        or option(settings, "lemma-dim-emb", "0") not in ("0", "", "-1"),
        "shares layers (transformer-tied-layers)": bool(listed(settings, "transformer-tied-layers")),
        "has no output projections (transformer-no-projection)": option(settings, "transformer-no-projection")
        == "true",
        "has feed-forward networks of another depth than 2": {
            option(settings, "transformer-ffn-depth", "2"),
            option(settings, "transformer-decoder-ffn-depth", "2"),
        }
        - {"2", "0"}
        != set(),
        "has another activation than relu or swish (Marian's gelu is an approximation)": option(
            settings, "transformer-ffn-activation", "swish"
        )
        not in ACTIVATIONS,
    }
    for reason, holds in refusals.items():
        if holds:
            raise UserError(f"{where}: {reason}")


def norm_of(settings: Mapping[str, Value], where: object) -> str:
    """post or pre, from strings such as dan: d is dropout, a the residual sum, n the norm."""
    strings = [
        option(settings, f"transformer-{name}").replace("d", "")
        for name in ("preprocess", "postprocess", "postprocess-top")
    ]
    match strings:
        case ["", "an", ""]:
            return "post"
        case ["n", "a", "n"]:
            return "pre"
    raise UserError(
        f"{where}: the order of norms is not supported (preprocess {strings[0]!r}, postprocess {strings[1]!r}, "
        f"top {strings[2]!r}, without dropout); hark has '', 'an', '' and 'n', 'a', 'n'"
    )


def model_config(settings: Mapping[str, Value], weights: Mapping[str, Array], where: object) -> ModelConfig:
    embedding = option(settings, "transformer-postprocess-emb").replace("d", "")
    if embedding not in ("", "n"):
        raise UserError(f"{where}: transformer-postprocess-emb {embedding!r} is not supported")
    shared, learned = "Wemb" in weights, "Wpos" in weights
    tied = not any(f"decoder_ff_logit_out_W{suffix}" in weights for suffix in ("", "t"))
    target = "Wemb" if shared else "decoder_Wemb"
    if target not in weights or weights[target].ndim != 2:
        raise UserError(f"{where}: the weight {target} is missing or not a matrix")
    rows, width = weights[target].shape
    source = weights.get("encoder_Wemb", weights[target]).shape[0]
    tie = ("all" if shared else "target") if tied else "none"
    try:
        return ModelConfig(
            d_model=int(width),
            d_ff=number(settings, "transformer-dim-ffn", "2048"),
            n_heads=number(settings, "transformer-heads", "8"),
            n_encoder_layers=number(settings, "enc-depth", "6"),
            n_decoder_layers=number(settings, "dec-depth", "6"),
            norm=norm_of(settings, where),  # type: ignore[arg-type]
            activation=ACTIVATIONS[option(settings, "transformer-ffn-activation", "swish")],  # type: ignore[arg-type]
            positions="learned" if learned else "sinusoidal_t2t",
            max_positions=len(weights["Wpos"]) if learned else POSITIONS,
            scale_embedding=not learned,  # Marian scales embeddings only with sinusoids
            vocab_size=int(rows) + 1,
            source_vocab_size=None if shared else int(source),
            tie=tie,  # type: ignore[arg-type]
            output_bias=True,
            embedding_norm=embedding == "n",
        )
    except (SettingError, ValueError) as error:
        raise UserError(f"{where}: {error}") from None


def number(settings: Mapping[str, Value], name: str, default: str) -> int:
    return int(option(settings, name, default))


def vocabularies(folder: Path, decoder: Mapping[str, Value]) -> tuple[tuple[list[str], bytes], tuple[list[str], bytes]]:
    """Pieces by id and the sentencepiece model of each side."""
    models = {each.name: each for each in sorted(folder.glob("*.spm"))}
    named = [Path(name).name for name in listed(decoder, "vocabs")]
    if not models:
        raise UserError(f"{folder}: no .spm file; models with another tokenisation (BPE with Moses) are not supported")
    source = models.get("source.spm") or models.get(named[0] if named else "") or next(iter(models.values()))
    target = models.get("target.spm") or models.get(named[-1] if named else "") or list(models.values())[-1]
    tables = [folder / name for name in named if name.endswith((".yml", ".yaml"))]
    tables = tables or sorted(folder.glob("*vocab*.yml")) or sorted(folder.glob("*vocab*.yaml"))
    sides = []
    for path, side in ((source, 0), (target, -1)):
        model = read_bounded(path)
        sides.append((pieces_of_table(tables[side]) if tables else pieces_of_model(model, path), model))
    return sides[0], sides[1]


def pieces_of_table(path: Path) -> list[str]:
    ids = read_pieces(text_of(path), path)
    pieces = [""] * len(ids)
    for piece, token in ids.items():
        if not 0 <= token < len(ids):
            raise UserError(f"{path}: ids are not the numbers from 0 to {len(ids) - 1} ({token})")
        pieces[token] = piece
    return pieces


def pieces_of_model(model: bytes, path: Path) -> list[str]:
    try:
        processor: Any = sentencepiece.SentencePieceProcessor(model_proto=model)
    except RuntimeError:
        raise UserError(f"{path}: not a sentencepiece model, or damaged") from None
    return [processor.id_to_piece(i) for i in range(processor.get_piece_size())]


def special_ids(pieces: tuple[str, ...], where: object) -> SpecialIds:
    if END not in pieces or UNKNOWN not in pieces:
        raise UserError(f"{where}: the vocabulary lacks {END} or {UNKNOWN}")
    return SpecialIds(pad=len(pieces), unknown=pieces.index(UNKNOWN), start=len(pieces), end=pieces.index(END))


def decode_config(decoder: Mapping[str, Value]) -> DecodeConfig:
    """Beam and length penalty of decoder.yml; Marian divides by length^normalize."""
    beam, penalty = option(decoder, "beam-size"), option(decoder, "normalize")
    alpha = float(penalty) if re.fullmatch(r"[0-4](\.\d+)?", penalty) else 1.0
    return DecodeConfig(beam=int(beam) if beam.isdigit() and 1 <= int(beam) <= MAX_BEAM else 6, alpha=alpha)


def convert(weights: Mapping[str, Array], config: ModelConfig, where: object) -> dict[str, Array]:
    """Return the weights by hark's names. Marian multiplies from the left, so matrices are transposed."""

    def get(name: str) -> Array:
        if name not in weights:
            raise UserError(
                f"{where}: the weight {name} is missing; the file is incomplete, or of another architecture"
            )
        return weights[name]

    def extended(matrix: Array) -> Array:
        """With a row of zeros for padding."""
        return np.concatenate([matrix, np.zeros((1, matrix.shape[1]), np.float32)])

    found = {"embedding.weight": extended(get("Wemb" if "Wemb" in weights else "decoder_Wemb"))}
    if config.tie != "all":
        found["source_embedding.weight"] = found["embedding.weight"] if "Wemb" in weights else get("encoder_Wemb")
    if config.tie == "none":
        output = weights.get("decoder_ff_logit_out_Wt")
        found["projection.weight"] = extended(get("decoder_ff_logit_out_W").T if output is None else output)
    bias = weights.get("decoder_ff_logit_out_b", np.zeros(config.vocab_size - 1, np.float32))
    found["output_bias"] = np.append(bias.reshape(-1), np.float32(NEVER))
    for stack, side in (("encoder", "source"), ("decoder", "target")):
        if config.positions == "learned":
            found[f"{side}_positions.weight"] = get("Wpos")
        if config.embedding_norm:
            _add_norm(found, f"{side}_norm", get, f"{stack}_emb", "_pre")
        if config.norm == "pre":
            _add_norm(found, f"{stack}.norm", get, f"{stack}_top", "")
    suffix = "_pre" if config.norm == "pre" else ""
    for ours, theirs, norm in layer_names(config):
        if norm:
            _add_norm(found, ours, get, theirs, suffix)
        else:
            matrix, _, part = theirs.rpartition("_")
            found[f"{ours}.weight"] = get(f"{matrix}_W{part}").T
            found[f"{ours}.bias"] = get(f"{matrix}_b{part}").reshape(-1)
    return found


def _add_norm(found: dict[str, Array], ours: str, get: Any, theirs: str, suffix: str) -> None:
    found[f"{ours}.weight"] = get(f"{theirs}_ln_scale{suffix}").reshape(-1)
    found[f"{ours}.bias"] = get(f"{theirs}_ln_bias{suffix}").reshape(-1)


def layer_names(config: ModelConfig) -> Iterator[tuple[str, str, bool]]:
    """Hark's and Marian's names of projections and norms in layers, and which are norms."""
    for stack, layers in (("encoder", config.n_encoder_layers), ("decoder", config.n_decoder_layers)):
        for i in range(layers):
            ours, theirs = f"{stack}.layers.{i}", f"{stack}_l{i + 1}"
            attentions = {"self_attention": "self"} | ({"cross_attention": "context"} if stack == "decoder" else {})
            for attention, name in attentions.items():
                for part in "qkvo":
                    yield f"{ours}.{attention}.w_{part}", f"{theirs}_{name}_{part}", False
                yield f"{ours}.{attention}_residual.norm", f"{theirs}_{name}_Wo", True
            for part in "12":
                yield f"{ours}.feed_forward.w_{part}", f"{theirs}_ffn_{part}", False
            yield f"{ours}.feed_forward_residual.norm", f"{theirs}_ffn_ffn", True
