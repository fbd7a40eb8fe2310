"""Reading of Marian's own files: model.npz, decoder.yml, and *.spm with or without *.vocab.yml."""

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hark.config import ModelConfig
from hark.errors import UserError
from hark.exchange.files import read_bounded
from hark.exchange.foreign import NEVER, ForeignModel
from hark.exchange.huggingface_settings import licence_of
from hark.exchange.import_huggingface import tagged_table
from hark.exchange.language_codes import Languages, all_pieces
from hark.exchange.marian_settings import (
    Value,
    check_settings,
    decode_config,
    listed,
    model_config,
    read_pieces,
    read_settings,
)
from hark.facts import OriginFacts
from hark.text.vocabulary import SpecialIds
from hark.weights import Array

SETTINGS = "special:model.yml"
END, UNKNOWN, PAD = "</s>", "<unk>", "<pad>"
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
    table, pairs = tagged_table(folder, {}, special, pieces, target_pieces, languages, source)
    model = ForeignModel(
        config,
        convert(weights, config, model_file),
        table,
        sides[0][1],
        sides[1][1],
        pairs,
        OriginFacts("marian", source, licence=licence_of(folder)),
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
        sides.append((pieces_of_table(tables[side]) if tables else all_pieces(model, path), model))
    return sides[0], sides[1]


def pieces_of_table(path: Path) -> list[str]:
    ids = read_pieces(text_of(path), path)
    pieces = [""] * len(ids)
    for piece, token in ids.items():
        if not 0 <= token < len(ids):
            raise UserError(f"{path}: ids are not the numbers from 0 to {len(ids) - 1} ({token})")
        pieces[token] = piece
    return pieces


def special_ids(pieces: tuple[str, ...], where: object) -> SpecialIds:
    if END not in pieces or UNKNOWN not in pieces:
        raise UserError(f"{where}: the vocabulary lacks {END} or {UNKNOWN}")
    return SpecialIds(pad=len(pieces), unknown=pieces.index(UNKNOWN), start=len(pieces), end=pieces.index(END))


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
