"""Reading of Hugging Face folders: MarianMTModel, and through `import_multilingual` M2M100, NLLB and mBART-50."""

import re
from pathlib import Path
from typing import Any

from hark.config import DecodeConfig, ModelConfig
from hark.errors import UserError
from hark.exchange.files import read_bounded, read_huggingface_weights, read_json, read_optional_json
from hark.exchange.foreign import ForeignModel
from hark.exchange.huggingface_layers import BIAS, OUTPUT, convert
from hark.exchange.language_codes import hark_codes, shortened
from hark.facts import LanguagePair, OriginFacts
from hark.settings import SettingError
from hark.text.piece_vocabulary import PieceTable
from hark.text.vocabulary import SpecialIds
from hark.weights import Weights

ACTIVATIONS = {"swish": "swish", "silu": "swish", "relu": "relu", "gelu": "gelu"}
LANGUAGE_TAG = re.compile(r">>(.+)<<")
OPUS_NAME = re.compile(r"opus-mt(?:-tc(?:-big|-base|-bible-big)?(?:[-_]\w+)?|-tatoeba|_?tiny\w*)?-([\w+]+)-([\w+]+)$")
MAX_BEAM = 64


Languages = tuple[tuple[str, ...], tuple[str, ...]]
"""Source and target codes given by the user; empty: those in the model's files."""


def read_huggingface(folder: Path, languages: Languages, source: str) -> ForeignModel:
    """Read a Hugging Face folder of any supported architecture; `source` is its name in the facts."""
    kind = read_json(folder / "config.json").get("model_type")
    match kind:
        case "marian":
            return read_marian(folder, languages, source)
    raise UserError(f"{folder}: the architecture {kind!r} is not supported; hark has marian, m2m_100 and mbart")


def read_marian(folder: Path, languages: Languages, source: str) -> ForeignModel:
    """Read a MarianMTModel."""
    settings = read_json(folder / "config.json")
    weights = read_huggingface_weights(folder)
    shared = setting(settings, "share_encoder_decoder_embeddings", bool, True)
    tied = setting(settings, "tie_word_embeddings", bool, True)
    together = "all" if shared else "target"
    tie = together if tied or OUTPUT not in weights else "none"
    for name in ("normalize_before", "normalize_embedding", "add_final_layer_norm"):
        if setting(settings, name, bool, False):
            raise UserError(f"{folder}: {name} is set, which Hugging Face's Marian does not implement either")
    config = model_config(
        settings,
        weights,
        folder,
        positions="sinusoidal_halves",
        tie=tie,
        vocab_size=setting(settings, "vocab_size", int)
        if shared
        else setting(settings, "decoder_vocab_size", int, setting(settings, "vocab_size", int)),
        source_vocab_size=None if shared else setting(settings, "vocab_size", int),
    )
    pieces = vocabulary(folder / "vocab.json", config.source_vocab_size or config.vocab_size)
    own_target = folder / "target_vocab.json"
    target_pieces = vocabulary(own_target, config.vocab_size) if own_target.is_file() else pieces
    table, pairs = marian_vocabulary(settings, folder, pieces, target_pieces, languages)
    model = ForeignModel(
        config,
        convert(weights, config, folder),
        table,
        read_bounded(folder / "source.spm"),
        read_bounded(folder / "target.spm"),
        pairs,
        origin(folder, settings, source),
        "source" if table.tags else "none",
        decode_config(folder, settings),
        stored_as(settings),
    )
    model.check(folder)
    return model


def model_config(settings: dict[str, Any], weights: Weights, folder: Path, **own: Any) -> ModelConfig:
    """The settings that all architectures of BART's layout share."""
    for name in ("layers", "ffn_dim", "attention_heads"):  # of which only the number of layers may differ
        one, two = (setting(settings, f"{stack}_{name}", int) for stack in ("encoder", "decoder"))
        if name != "layers" and one != two:
            raise UserError(
                f"{folder}: encoder and decoder have different {name} ({one} and {two}); hark has one for both"
            )
    activation = setting(settings, "activation_function", str)
    if activation not in ACTIVATIONS:
        raise UserError(
            f"{folder}: activation {activation!r} is not supported; hark has {', '.join(sorted(ACTIVATIONS))}"
        )
    values = {
        "d_model": setting(settings, "d_model", int),
        "d_ff": setting(settings, "encoder_ffn_dim", int),
        "n_heads": setting(settings, "encoder_attention_heads", int),
        "n_encoder_layers": setting(settings, "encoder_layers", int),
        "n_decoder_layers": setting(settings, "decoder_layers", int),
        "dropout": float(setting(settings, "dropout", (int, float), 0.1)),
        "activation": ACTIVATIONS[activation],
        "max_positions": setting(settings, "max_position_embeddings", int),
        "scale_embedding": setting(settings, "scale_embedding", bool, False),
        "output_bias": BIAS in weights,
    }
    try:
        return ModelConfig(**values | own)
    except SettingError as error:
        raise UserError(f"{folder / 'config.json'}: {error}") from None


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
    pieces = [""] * size
    for piece, token in read_json(path).items():
        if type(token) is not int or not 0 <= token < size:
            raise UserError(f"{path}: the id {token!r} of {piece!r} is not in the vocabulary of {size}")
        pieces[token] = piece
    return tuple(pieces)


def marian_vocabulary(
    settings: dict[str, Any],
    folder: Path,
    pieces: tuple[str, ...],
    target_pieces: tuple[str, ...],
    languages: Languages,
) -> tuple[PieceTable, tuple[LanguagePair, ...]]:
    generation = read_optional_json(folder / "generation_config.json")
    if "<unk>" not in pieces or "<unk>" not in target_pieces:
        raise UserError(f"{folder / 'vocab.json'}: has no <unk>")
    start = generation.get("decoder_start_token_id", settings.get("decoder_start_token_id"))
    pad, end = setting(settings, "pad_token_id", int), setting(settings, "eos_token_id", int)
    special = SpecialIds(
        pad=pad, unknown=target_pieces.index("<unk>"), start=pad if start is None else int(start), end=end
    )
    tagged = [match[1] for piece in pieces if (match := LANGUAGE_TAG.fullmatch(piece))]
    sources, targets = default_languages(folder, settings)
    tags = {ours: f">>{theirs}<<" for theirs, ours in hark_codes(tagged).items()}
    if tags:
        targets = tuple(tags)
        if languages[1]:
            tags = {code: tag for code, tag in tags.items() if code in languages[1]}
            targets = tuple(tags)
            if missing := set(languages[1]) - set(tags):
                raise UserError(f"{folder}: no tag for {', '.join(sorted(missing))} in the vocabulary")
    sources, targets = languages[0] or sources, targets if tags else languages[1] or targets
    if not sources or not targets:
        raise UserError(f"{folder}: the languages are not given in its files; name them with -s and -t")
    own = None if pieces == target_pieces else pieces
    table = PieceTable(special, target_pieces, own, tags)
    return table, tuple((one, two) for one in sources for two in targets if one != two)


def default_languages(folder: Path, settings: dict[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The languages in tokenizer_config.json, or in a name such as opus-mt-en-fr."""
    tokenizer = read_optional_json(folder / "tokenizer_config.json")
    found = tokenizer.get("source_lang"), tokenizer.get("target_lang")
    if not all(isinstance(each, str) and each for each in found):
        for name in (str(settings.get("_name_or_path", "")), folder.resolve().name):
            if match := OPUS_NAME.search(name):
                found = match[1], match[2]
                break
        else:
            return (), ()
    sources, targets = (tuple(shortened(code)[0] for code in str(each).split("+")) for each in found)
    return sources, targets


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


def origin(folder: Path, settings: dict[str, Any], source: str) -> OriginFacts:
    """Where the model is from, and the licence in the front matter of its README.md."""
    kind = f"huggingface {settings.get('model_type', '')}".strip()
    return OriginFacts(kind, source, licence=licence_of(folder / "README.md"))


def licence_of(readme: Path) -> str:
    """The licence in the YAML front matter of a README.md, or nothing."""
    if not readme.is_file():
        return ""
    lines = read_bounded(readme).decode(errors="replace").splitlines()
    if not lines or lines[0].strip() != "---":
        return ""
    for line in lines[1:200]:
        if line.strip() == "---":
            break
        if match := re.match(r"licen[sc]e:\s*['\"]?([\w.+ -]+)", line):
            return match[1].strip()
    return ""
