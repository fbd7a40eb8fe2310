"""Reading of BART: post-norm, learned positions, a norm of embeddings, and byte-level BPE.

Every source begins with <s>, and every translation is forced to begin with a token, usually <s>: as with M2M100, where
these are the tags of languages. So both are the tags of the model's only languages.
"""

from pathlib import Path
from typing import Any

from hark.errors import UserError
from hark.exchange.files import read_bounded, read_huggingface_weights, read_json, read_optional_json
from hark.exchange.foreign import ForeignModel
from hark.exchange.huggingface_layers import OUTPUT, convert
from hark.exchange.huggingface_settings import (
    by_id,
    decode_config,
    default_languages,
    model_config,
    origin,
    setting,
    stored_as,
    vocabulary,
)
from hark.exchange.language_codes import Languages, refuse_others
from hark.exchange.own_exports import facts_languages, own_facts
from hark.text.byte_pairs import HEADER, ORIGINAL_SPACE
from hark.text.piece_vocabulary import MERGES, PieceTable
from hark.text.vocabulary import SPACE, SpecialIds

START, UNKNOWN = "<s>", "<unk>"
SILENT = ("<pad>", "</s>", "<mask>")


def read_bart(folder: Path, languages: Languages, source: str) -> ForeignModel:
    """Read a BartForConditionalGeneration."""
    settings = read_json(folder / "config.json")
    weights = read_huggingface_weights(folder)
    if not setting(settings, "tie_word_embeddings", bool, True) and OUTPUT in weights:
        raise UserError(f"{folder}: has an output matrix of its own, which BART's layout in hark does not have")
    size = setting(settings, "vocab_size", int)
    config = model_config(settings, weights, folder, positions="learned", embedding_norm=True, vocab_size=size)
    pieces, merges = read_byte_pairs(folder, size)
    facts = own_facts(folder)
    default = facts_languages(facts) if facts else default_languages(folder, settings, source)
    refuse_others(languages, default, folder)
    sides = [given or known for given, known in zip(languages, default, strict=True)]
    if [len(side) for side in sides] != [1, 1] or sides[0] == sides[1]:
        raise UserError(f"{folder}: BART has one pair of languages; name two different ones with -s and -t")
    tags = language_tokens(folder, settings, pieces)
    special = special_ids(settings, folder, pieces)
    model = ForeignModel(
        config,
        convert(weights, config, folder),
        PieceTable(special, pieces, None, {side[0]: tag for side, tag in zip(sides, tags, strict=True)}, SILENT),
        merges,
        merges,
        ((sides[0][0], sides[1][0]),),
        origin(folder, settings, source),
        "target",
        decode_config(folder, settings),
        stored_as(settings),
    )
    model.check(folder)
    return model


def read_byte_pairs(folder: Path, size: int) -> tuple[tuple[str, ...], bytes]:
    """The pieces by id, with hark's mark of a space, and the merges."""
    if (folder / "vocab.json").is_file() and (folder / MERGES).is_file():
        pieces, merges = vocabulary(folder / "vocab.json", size), read_bounded(folder / MERGES)
    else:
        path = folder / "tokenizer.json"
        if not path.is_file():
            raise UserError(f"{folder}: no tokenizer; vocab.json and {MERGES} are needed, or tokenizer.json")
        model = read_json(path).get("model", {})
        if model.get("type") != "BPE" or not (isinstance(model.get("vocab"), dict) and model.get("merges")):
            raise UserError(f"{path}: has no byte-level BPE vocabulary, which is all that hark reads of BART")
        pieces = by_id(model["vocab"], size, path)
        lines = [each if isinstance(each, str) else " ".join(each) for each in model["merges"]]
        merges = "\n".join(lines).encode()
    if not merges.startswith(HEADER):
        merges = HEADER + b": 0.2\n" + merges
    return tuple(piece.replace(ORIGINAL_SPACE, SPACE) for piece in pieces), merges


def language_tokens(folder: Path, settings: dict[str, Any], pieces: tuple[str, ...]) -> tuple[str, str]:
    """The tokens that begin every source and every translation."""
    generation = {**settings, **read_optional_json(folder / "generation_config.json")}
    forced = generation.get("forced_bos_token_id")
    if START not in pieces or type(forced) is not int or not 0 <= forced < len(pieces):
        raise UserError(f"{folder}: lacks {START}, or does not force translations to begin with a token as BART does")
    return START, pieces[forced]


def special_ids(settings: dict[str, Any], folder: Path, pieces: tuple[str, ...]) -> SpecialIds:
    if UNKNOWN not in pieces:
        raise UserError(f"{folder}: the vocabulary has no {UNKNOWN}")
    end = setting(settings, "eos_token_id", int)
    start = setting(settings, "decoder_start_token_id", int, end)
    return SpecialIds(setting(settings, "pad_token_id", int), pieces.index(UNKNOWN), start, end)
