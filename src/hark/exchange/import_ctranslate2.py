"""Reading of CTranslate2 folders: model.bin, its vocabularies, and a sentencepiece model beside it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from hark.errors import UserError
from hark.exchange.ctranslate2_weights import ModelFile, convert, model_config
from hark.exchange.files import read_bounded, read_optional_json
from hark.exchange.foreign import ForeignModel
from hark.exchange.huggingface_settings import licence_of
from hark.exchange.import_huggingface import tagged_table
from hark.exchange.language_codes import Languages
from hark.facts import OriginFacts
from hark.text.vocabulary import SpecialIds

SHARED_MODELS = ("sentencepiece.model", "spm.model", "sentencepiece.bpe.model")
PADDING = ("<pad>", "<blank>", "<PAD>")


def read_ctranslate2(
    folder: Path, languages: Languages, source: str, models: Path | None = None, kind: str = "ctranslate2"
) -> ForeignModel:
    """Read a model; `models` is the folder with its sentencepiece models, by default the same."""
    file = ModelFile.read(folder / "model.bin")
    settings = read_optional_json(folder / "config.json")
    pieces, target_pieces = read_vocabularies(folder)
    zero_start = file.number("decoder/start_from_zero_embedding", 0) != 0
    config = model_config(file, zero_start)
    weights = convert(file, config, zero_start)
    special = special_ids(settings, target_pieces, zero_start, folder)
    one_matrix = config.source_vocab_size is None
    if zero_start:  # as in Marian: the embedding of padding, an id that the model does not have
        target_pieces = (*target_pieces, PADDING[0])
        pieces = target_pieces if one_matrix else pieces
    table, pairs = tagged_table(folder, {}, special, pieces, target_pieces, languages, source)
    silent = tuple(piece for piece in ("<s>", "<blank>", "<pad>", "<mask>") if piece in target_pieces)
    table = replace(table, silent=silent, source_end=has_source_end(settings))
    model = ForeignModel(
        config,
        weights,
        table,
        read_bounded(find_model(models or folder, "source")),
        read_bounded(find_model(models or folder, "target")),
        pairs,
        OriginFacts(kind, source, licence=licence_of(models or folder)),
        "source" if table.tags else "none",
        weights_note=f"dequantised from {file.storage}" if file.storage != "float32" else "",
    )
    model.check(folder)
    return model


def find_model(folder: Path, side: str) -> Path:
    for name in (f"{side}.spm", f"{side}.model", *SHARED_MODELS):
        if (folder / name).is_file():
            return folder / name
    if (folder / "bpe.model").is_file():
        raise UserError(f"{folder}: has bpe.model of subword-nmt; only sentencepiece models are supported")
    raise UserError(f"{folder}: no sentencepiece model; put it there as {side}.spm or sentencepiece.model")


def read_vocabularies(folder: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tokens of both sides by id."""
    shared = read_tokens(folder, "shared_vocabulary")
    if shared is not None:
        return shared, shared
    source, target = (read_tokens(folder, f"{side}_vocabulary") for side in ("source", "target"))
    if source is None or target is None:
        raise UserError(f"{folder}: no vocabulary; shared_vocabulary.json or .txt is needed, or one for each side")
    return source, target


def read_tokens(folder: Path, name: str) -> tuple[str, ...] | None:
    """A vocabulary as JSON, or as text with one token per line."""
    path = folder / f"{name}.json"
    if path.is_file():
        try:
            tokens = json.loads(read_bounded(path))
        except ValueError:
            raise UserError(f"{path}: not valid JSON; the file is damaged or incomplete") from None
        if not isinstance(tokens, list) or not all(isinstance(each, str) for each in tokens):
            raise UserError(f"{path}: must be a list of tokens")
        return tuple(tokens)
    path = folder / f"{name}.txt"
    if path.is_file():
        return tuple(read_bounded(path).decode("utf-8", errors="replace").removesuffix("\n").split("\n"))
    return None


def has_source_end(settings: dict[str, Any]) -> bool:
    """Whether EOS follows a source: CTranslate2 adds it, or the caller does, as for models from transformers.

    Models of OpenNMT, which start decoding with <s>, are trained without it."""
    if settings.get("add_source_eos"):
        return True
    return bool(settings.get("decoder_start_token", "<s>") != settings.get("bos_token", "<s>"))


def special_ids(settings: dict[str, Any], pieces: tuple[str, ...], zero_start: bool, where: object) -> SpecialIds:
    def token(name: str, default: str) -> int:
        piece = settings.get(name) or default
        if piece not in pieces:
            raise UserError(f"{where}: the vocabulary lacks the {name} {piece!r}")
        return pieces.index(piece)

    end, unknown = token("eos_token", "</s>"), token("unk_token", "<unk>")
    if zero_start:
        return SpecialIds(len(pieces), unknown, len(pieces), end)
    bos = str(settings.get("bos_token") or "<s>")
    start = token("decoder_start_token", bos if bos in pieces else "</s>")
    pad = next((pieces.index(each) for each in PADDING if each in pieces), start)
    return SpecialIds(pad, unknown, start, end)
