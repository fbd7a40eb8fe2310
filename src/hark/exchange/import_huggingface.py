"""Reading of Hugging Face folders: Marian, Pegasus and BART, and through `import_multilingual` those with many tags.

All have the layout of BART. Marian is post-norm, Pegasus pre-norm, both with sinusoids; BART is post-norm with learned
positions, a norm of embeddings, and byte-level BPE. Its every source begins with <s>, and every translation is forced
to begin with a token, usually <s>: as with M2M100, where these are the tags of languages. So both are the tags of the
model's only languages. Without languages, BART turns texts into others, and both are tokens that precede these.
"""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hark.config import ModelConfig
from hark.errors import UserError
from hark.exchange.files import read_bounded, read_huggingface_weights, read_json, read_optional_json
from hark.exchange.foreign import ForeignModel
from hark.exchange.huggingface_settings import (
    OUTPUT,
    POSITIONS,
    checked_model,
    default_languages,
    model_config,
    read_byte_pairs,
    setting,
    vocabulary,
)
from hark.exchange.import_decoder import (
    DEFAULT_LANGUAGES,
    TOKENIZER,
    decoder_vocabulary,
    read_gpt2,
    read_llama,
    text_lead,
)
from hark.exchange.import_multilingual import read_multilingual
from hark.exchange.import_t5 import read_t5
from hark.exchange.language_codes import Languages, all_pieces, hark_codes, refuse_others
from hark.exchange.recognition import own_facts
from hark.facts import LanguagePair
from hark.text.piece_vocabulary import PieceTable
from hark.text.vocabulary import SpecialIds
from hark.weights import Weights, sinusoids

PEGASUS_MODEL = "spiece.model"
PEGASUS_OFFSET = 103
PEGASUS_SPECIAL = re.compile(r"<(?:mask_[12]|unk_\d+)>")
POSITIONS_BOUND = 1e-3
"""Largest difference from the computed table of positions: half precision rounds by less."""
LANGUAGE_TAG = re.compile(r">>(.+)<<")
START, UNKNOWN, MASK = "<s>", "<unk>", "<mask>"
BART_SILENT = ("<pad>", "</s>", MASK)


def read_huggingface(folder: Path, languages: Languages, source: str, of_text: tuple[str, ...] = ()) -> ForeignModel:
    """Read a Hugging Face folder of any supported architecture; `source` is its name in the facts.

    of_text: the languages of a model without pairs."""
    kind = read_json(folder / "config.json").get("model_type")
    match kind:
        case "marian":
            return read_marian(folder, languages, source)
        case "bart":
            return read_bart(folder, languages, source, of_text)
        case "pegasus":
            return read_pegasus(folder, languages, source)
        case "m2m_100" | "mbart":
            return read_multilingual(folder, kind, languages, source)
        case "t5":
            return read_t5(folder, of_text, source)
        case "gpt2":
            return read_gpt2(folder, of_text, source)
        case "llama" | "mistral":
            return read_llama(folder, of_text, source)
    known = "marian, pegasus, bart, m2m_100, mbart, t5, bert, gpt2, llama, mistral and roberta"
    raise UserError(f"{folder}: the architecture {kind!r} is not supported; hark has {known}")


def read_marian(folder: Path, languages: Languages, source: str) -> ForeignModel:
    """Read a MarianMTModel."""
    settings = read_json(folder / "config.json")
    weights = read_huggingface_weights(folder)
    size = setting(settings, "vocab_size", int)
    shared = setting(settings, "share_encoder_decoder_embeddings", bool, True)
    tied = setting(settings, "tie_word_embeddings", bool, True) or OUTPUT not in weights
    for name in ("normalize_before", "normalize_embedding", "add_final_layer_norm"):
        if setting(settings, name, bool, False):
            raise UserError(f"{folder}: {name} is set, which Hugging Face's Marian does not implement either")
    config = model_config(
        settings,
        weights,
        folder,
        positions="sinusoidal_halves",
        tie=("all" if shared else "target") if tied else "none",
        vocab_size=size if shared else setting(settings, "decoder_vocab_size", int, size),
        source_vocab_size=None if shared else size,
    )
    return marian_model(folder, settings, weights, config, languages, source)


def marian_model(
    folder: Path, settings: dict[str, Any], weights: Weights, config: ModelConfig, languages: Languages, source: str
) -> ForeignModel:
    """A model with the files of a MarianTokenizer: two sentencepiece models, and the pieces of each side by id."""
    pieces = vocabulary(folder / "vocab.json", config.source_vocab_size or config.vocab_size)
    own_target = folder / "target_vocab.json"
    target_pieces = vocabulary(own_target, config.vocab_size) if own_target.is_file() else pieces
    table, pairs = marian_vocabulary(folder, settings, pieces, target_pieces, languages, source)
    return checked_model(
        folder,
        settings,
        weights,
        config,
        source,
        table=table,
        source_model=read_bounded(folder / "source.spm"),
        target_model=read_bounded(folder / "target.spm"),
        pairs=pairs,
        language_tags="source" if table.tags else "none",
    )


def read_pegasus(folder: Path, languages: Languages, source: str) -> ForeignModel:
    """Read a PegasusForConditionalGeneration: with its own tokenizer, or that of Marian, as hark exports it."""
    settings = read_json(folder / "config.json")
    weights = read_huggingface_weights(folder)
    size = setting(settings, "vocab_size", int)
    config = model_config(settings, weights, folder, positions="sinusoidal_halves", norm="pre", vocab_size=size)
    refuse_other_positions(weights, config, folder)
    if (folder / "source.spm").is_file():
        return marian_model(folder, settings, weights, config, languages, source)
    if not (folder / PEGASUS_MODEL).is_file():  # transformers 5 saves it without
        raise UserError(
            f"{folder}: there is no {PEGASUS_MODEL}; copy it there from the model that this one was trained from"
        )
    model_file = read_bounded(folder / PEGASUS_MODEL)
    pieces = pegasus_pieces(folder, model_file, size)
    table, pairs = marian_vocabulary(folder, settings, pieces, pieces, languages, source)
    return checked_model(
        folder,
        settings,
        weights,
        config,
        source,
        table=replace(table, silent=tuple(piece for piece in pieces if PEGASUS_SPECIAL.fullmatch(piece))),
        source_model=model_file,
        target_model=model_file,
        pairs=pairs,
    )


def refuse_other_positions(weights: Weights, config: ModelConfig, folder: Path) -> None:
    """Pegasus stores its table of positions, which is always computed by one formula."""
    known = sinusoids(config)
    for name in (f"{module}.weight" for module in POSITIONS.values()):
        stored = weights.get(name, known)
        if stored.shape != known.shape or not np.abs(stored - known).max() < POSITIONS_BOUND:  # NaN is refused, too
            raise UserError(f"{folder}: {name} is not Pegasus's table of sines and cosines, which hark computes itself")


def pegasus_pieces(folder: Path, model: bytes, size: int) -> tuple[str, ...]:
    """All pieces by id: two special ones, masks and unused ones up to the offset, then those of sentencepiece."""
    offset = setting(read_optional_json(folder / "tokenizer_config.json"), "offset", int, PEGASUS_OFFSET)
    masks = ("<mask_1>", "<mask_2>") if offset else ()
    first = ("<pad>", "</s>", *masks, *(f"<unk_{i}>" for i in range(2, offset)))
    pieces = (*first, *all_pieces(model, folder / PEGASUS_MODEL)[2:])
    if len(pieces) > size:
        raise UserError(f"{folder}: its vocabulary has {len(pieces)} entries, but the weights are for {size}")
    return (*pieces, *[""] * (size - len(pieces)))


def marian_vocabulary(
    folder: Path,
    settings: dict[str, Any],
    pieces: tuple[str, ...],
    target_pieces: tuple[str, ...],
    languages: Languages,
    source: str,
) -> tuple[PieceTable, tuple[LanguagePair, ...]]:
    generation = read_optional_json(folder / "generation_config.json")
    if UNKNOWN not in pieces or UNKNOWN not in target_pieces:
        raise UserError(f"{folder / 'vocab.json'}: has no {UNKNOWN}")
    start = generation.get("decoder_start_token_id", settings.get("decoder_start_token_id"))
    pad, end = setting(settings, "pad_token_id", int), setting(settings, "eos_token_id", int)
    start = pad if type(start) is not int else start
    special = SpecialIds(pad, target_pieces.index(UNKNOWN), start, end)
    return tagged_table(folder, settings, special, pieces, target_pieces, languages, source)


def tagged_table(
    folder: Path,
    settings: dict[str, Any],
    special: SpecialIds,
    pieces: tuple[str, ...],
    target_pieces: tuple[str, ...],
    given: Languages,
    source: str,
) -> tuple[PieceTable, tuple[LanguagePair, ...]]:
    """A vocabulary of both sides with its language pairs: tags such as >>fra<< among its pieces are languages."""
    facts, default = own_facts(folder), default_languages(folder, settings, source)
    tagged = [match[1] for piece in pieces if (match := LANGUAGE_TAG.fullmatch(piece))]
    tags = {ours: f">>{theirs}<<" for theirs, ours in hark_codes(tagged).items()}
    refuse_others(given, (default[0], () if tags else default[1]), folder)
    if tags and given[1]:
        if missing := sorted(set(given[1]) - tags.keys()):
            raise UserError(f"{folder}: no tag for {', '.join(missing)} in the vocabulary; it has {', '.join(tags)}")
        tags = {code: tags[code] for code in given[1]}
    sources, targets = given[0] or default[0], tuple(tags) or given[1] or default[1]
    if not sources or not targets:
        raise UserError(f"{folder}: its files do not tell the languages; name them with -s and -t")
    table = PieceTable(special, target_pieces, None if pieces == target_pieces else pieces, tags)
    if facts and not any(given):
        return table, facts.pairs
    return table, tuple((one, two) for one in sources for two in targets if one != two)


def read_bart(folder: Path, languages: Languages, source: str, of_text: tuple[str, ...] = ()) -> ForeignModel:
    """Read a BartForConditionalGeneration: with languages as a translation model, without as one that turns texts into
    others."""
    settings = read_json(folder / "config.json")
    weights = read_huggingface_weights(folder)
    if not setting(settings, "tie_word_embeddings", bool, True) and OUTPUT in weights:
        raise UserError(f"{folder}: has an output matrix of its own, which BART's layout in hark does not have")
    size = setting(settings, "vocab_size", int)
    config = model_config(settings, weights, folder, positions="learned", embedding_norm=True, vocab_size=size)
    default = default_languages(folder, settings, source)
    if not any(languages + default):
        table, merges = bart_text_table(folder, settings, size)
        own = own_facts(folder)
        return checked_model(
            folder,
            settings,
            weights,
            config,
            source,
            table=table,
            source_model=merges,
            target_model=merges,
            pairs=(),
            languages=of_text or (own.languages if own else DEFAULT_LANGUAGES),
        )
    pieces, merges = read_byte_pairs(folder, size)
    refuse_others(languages, default, folder)
    sides = [given or known for given, known in zip(languages, default, strict=True)]
    if [len(side) for side in sides] != [1, 1] or sides[0] == sides[1]:
        raise UserError(f"{folder}: BART has one pair of languages; name two different ones with -s and -t")
    tags = language_tokens(folder, settings, pieces)
    special = special_ids(settings, folder, pieces)
    (source_language,), (target_language,) = sides
    return checked_model(
        folder,
        settings,
        weights,
        config,
        source,
        table=PieceTable(
            special, pieces, None, dict(zip((source_language, target_language), tags, strict=True)), BART_SILENT
        ),
        source_model=merges,
        target_model=merges,
        pairs=((source_language, target_language),),
        language_tags="target",
    )


def bart_text_table(folder: Path, settings: dict[str, Any], size: int) -> tuple[PieceTable, bytes]:
    """A vocabulary of texts whose languages nobody names. BART's tokenizer puts <s> before each, unless its files say
    otherwise."""
    table, merges = decoder_vocabulary(folder, settings, size)
    generation = {**settings, **read_optional_json(folder / "generation_config.json")}
    forced = generation.get("forced_bos_token_id")
    if forced is not None and not (type(forced) is int and 0 <= forced < size):
        raise UserError(f"{folder}: forced_bos_token_id is {forced!r}, which is not in the vocabulary of {size}")
    lead = START if START in table.target else None
    if processor := read_optional_json(folder / TOKENIZER).get("post_processor"):
        lead = text_lead(processor)
    end = setting(settings, "eos_token_id", int)
    return replace(
        table,
        special=replace(
            table.special,
            unknown=table.target.index(UNKNOWN) if UNKNOWN in table.target else table.special.unknown,
            start=setting(settings, "decoder_start_token_id", int, end),
        ),
        silent=tuple(dict.fromkeys((*table.silent, *BART_SILENT))),
        mask=table.target.index(MASK) if MASK in table.target else None,
        source_lead=() if lead is None else (table.target.index(lead),),
        target_lead=() if forced is None else (forced,),
    ), merges


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
