"""Reading of Marian's own files: model.npz, decoder.yml, and *.spm with or without *.vocab.yml."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from hark.errors import UserError
from hark.exchange.fairseq_pieces import all_pieces
from hark.exchange.files import read_bounded
from hark.exchange.foreign import ForeignModel
from hark.exchange.huggingface_settings import default_languages, licence_of
from hark.exchange.import_huggingface import tagged_table
from hark.exchange.language_codes import Languages
from hark.exchange.marian_settings import check_settings, decode_config, listed, model_config
from hark.exchange.marian_weights import convert
from hark.exchange.marian_yaml import Value, read_pieces, read_settings
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
