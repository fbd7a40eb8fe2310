"""Reading of M2M100, NLLB and mBART-50 in Hugging Face folders: many-to-many models with a tag for each language.

A source begins with the tag of its language, a translation is forced to begin with that of the target language.
"""

from pathlib import Path
from typing import Any

from hark.errors import UserError
from hark.exchange.files import read_bounded, read_huggingface_weights, read_json, read_optional_json
from hark.exchange.foreign import ForeignModel
from hark.exchange.huggingface_settings import checked_model, model_config, setting
from hark.exchange.huggingface_settings import vocabulary as read_vocabulary
from hark.exchange.language_codes import (
    M2M100_TAGS,
    MASK,
    MODEL,
    START,
    Languages,
    hark_codes,
    sentencepiece_pieces,
    with_languages,
)
from hark.exchange.recognition import facts_languages, own_facts
from hark.text.piece_vocabulary import PieceTable
from hark.text.vocabulary import SpecialIds


def read_multilingual(folder: Path, kind: str, languages: Languages, source: str) -> ForeignModel:
    """Read a model of the architecture `m2m_100`, which NLLB shares, or `mbart`."""
    settings = read_json(folder / "config.json")
    weights = read_huggingface_weights(folder)
    own = {"positions": "sinusoidal_t2t", "position_offset": setting(settings, "pad_token_id", int) + 1}
    if kind == "mbart":
        own = {"positions": "learned", "embedding_norm": True}
    facts = None if any(languages) else own_facts(folder)
    languages = facts_languages(facts) if facts else languages
    size = setting(settings, "vocab_size", int)
    config = model_config(settings, weights, folder, norm="pre", vocab_size=size, **own)
    if not (folder / MODEL).is_file():
        # transformers 5 saves NLLB and mBART-50 without it.
        raise UserError(f"{folder}: there is no {MODEL}; copy it there from the model that this one was trained from")
    model_file = read_bounded(folder / MODEL)
    pieces, codes = pieces_of(folder, model_file, size)
    tags = tags_of(codes, languages, folder)
    sources, targets = (given or tuple(tags) for given in languages)
    pairs = tuple((one, two) for one in sources for two in targets if one != two)
    return checked_model(
        folder,
        settings,
        weights,
        config,
        source,
        table=PieceTable(special_ids(settings, folder, pieces), pieces, None, tags, (START, MASK, *codes)),
        source_model=model_file,
        target_model=model_file,
        pairs=facts.pairs if facts else pairs,
        language_tags="target",
    )


def special_ids(settings: dict[str, Any], folder: Path, pieces: tuple[str, ...]) -> SpecialIds:
    generation = read_optional_json(folder / "generation_config.json")
    end = setting(settings, "eos_token_id", int)
    start = generation.get("decoder_start_token_id", settings.get("decoder_start_token_id"))
    start = end if start is None else start
    if "<unk>" not in pieces or type(start) is not int:
        raise UserError(f"{folder}: the vocabulary has no <unk>, or decoder_start_token_id is not an id")
    return SpecialIds(setting(settings, "pad_token_id", int), pieces.index("<unk>"), start, end)


def pieces_of(folder: Path, model: bytes, size: int) -> tuple[tuple[str, ...], list[str]]:
    """All pieces by id, and the language tags among them."""
    codes = language_tokens(folder)
    if (folder / "vocab.json").is_file():  # M2M100
        known = len(read_json(folder / "vocab.json"))
        text = read_vocabulary(folder / "vocab.json", max(size, known))[:known]
        pieces = with_languages(text, codes, size, has_mask=False)
    else:
        pieces = with_languages(sentencepiece_pieces(model, folder / MODEL), codes, size, has_mask=True)
    if len(pieces) > size:
        raise UserError(f"{folder}: its vocabulary has {len(pieces)} entries, but the weights are for {size}")
    return pieces, codes


def language_tokens(folder: Path) -> list[str]:
    """The language tags, in the order of their ids."""
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        tree = read_optional_json(folder / name)
        for key in ("additional_special_tokens", "extra_special_tokens"):
            listed = tree.get(key)
            if isinstance(listed, list) and listed:
                tokens = [each.get("content") if isinstance(each, dict) else each for each in listed]
                return [each for each in tokens if isinstance(each, str) and each != MASK]
    # transformers 5 saves the name of M2M100's list instead of the list.
    if tags := M2M100_TAGS.get(str(read_optional_json(folder / "tokenizer_config.json").get("language_codes"))):
        return list(tags)
    raise UserError(f"{folder}: no list of languages in special_tokens_map.json or tokenizer_config.json")


def tags_of(codes: list[str], languages: Languages, folder: Path) -> dict[str, str]:
    """The tags of the languages to keep, by hark's codes."""
    named = {code.strip("_"): code for code in codes}
    tags = {ours: named[theirs] for theirs, ours in hark_codes(named).items()}
    wanted = {*languages[0], *languages[1]}
    if missing := sorted(wanted - tags.keys()):
        raise UserError(f"{folder}: no language {', '.join(missing)}; it has {', '.join(tags)}")
    both = languages[0] and languages[1]
    return {code: tag for code, tag in tags.items() if code in wanted} if both else tags
