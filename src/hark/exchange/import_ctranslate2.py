"""Reading of CTranslate2 folders: model.bin, its vocabularies, and a sentencepiece model beside it."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hark.config import ModelConfig
from hark.decode.engines.conversion import sinusoids
from hark.errors import UserError
from hark.exchange.ctranslate2_file import ModelFile
from hark.exchange.files import read_bounded, read_optional_json
from hark.exchange.foreign import NEVER, ForeignModel
from hark.exchange.huggingface_settings import licence_of
from hark.exchange.import_huggingface import default_languages, tagged_table
from hark.exchange.language_codes import Languages
from hark.exchange.own_exports import facts_languages, own_facts
from hark.exchange.parity import Ids, Side
from hark.facts import OriginFacts
from hark.settings import SettingError
from hark.text.vocabulary import SpecialIds
from hark.weights import Array

ACTIVATIONS = {0: "relu", 2: "swish", 3: "gelu"}
SOURCE_MODELS = ("source.spm", "source.model", "sentencepiece.model", "spm.model", "sentencepiece.bpe.model")
TARGET_MODELS = ("target.spm", "target.model", "sentencepiece.model", "spm.model", "sentencepiece.bpe.model")
PADDING = ("<pad>", "<blank>", "<PAD>")
POSITIONS = 1024
"""Size of the table of positions of a model without one; CTranslate2 computes them as needed."""
CLOSE = 1e-4
"""Largest difference between a table of positions and a known formula."""


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
    facts = own_facts(models or folder)
    default = facts_languages(facts) if facts else default_languages(folder, {}, source)
    table, pairs = tagged_table(special, pieces, target_pieces, default, languages, folder)
    if facts and not any(languages):
        pairs = facts.pairs
    silent = tuple(each for each in ("<s>", "<blank>", "<pad>", "<mask>") if each in target_pieces)
    table = replace(table, silent=silent, source_end=has_source_end(settings))
    model = ForeignModel(
        config,
        weights,
        table,
        read_bounded(find_model(models or folder, SOURCE_MODELS)),
        read_bounded(find_model(models or folder, TARGET_MODELS)),
        pairs,
        OriginFacts(kind, source, licence=facts.licence if facts else licence_of((models or folder) / "README.md")),
        "source" if table.tags else "none",
        weights_note=f"dequantised from {file.storage}" if file.storage != "float32" else "",
    )
    model.check(folder)
    return model


def find_model(folder: Path, names: Sequence[str]) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    if (folder / "bpe.model").is_file():
        raise UserError(f"{folder}: has bpe.model of subword-nmt; only sentencepiece models are supported")
    raise UserError(f"{folder}: no sentencepiece model; put it there as {names[0]} or sentencepiece.model")


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


def model_config(file: ModelFile, zero_start: bool) -> ModelConfig:
    """The settings of a model, from the arrays in its file."""
    where = file.path
    embeddings = first_name(file, "encoder/embeddings_0/weight", "encoder/embeddings/weight")
    source, target = file.arrays[embeddings], file.arrays[first_name(file, "decoder/embeddings/weight")]
    output = file.arrays[first_name(file, "decoder/projection/weight")]
    width = int(target.shape[1])
    heads = int(file.number("encoder/num_heads", file.number("num_heads", 8)))
    activation = int(file.number("encoder/activation", 0))
    glu = "encoder/layer_0/ffn/linear_0_noact/weight" in file
    if activation not in ACTIVATIONS or (glu and activation != 2):
        raise UserError(f"{where}: the activation (number {activation}) is not supported")
    for name in ("alibi", "sliding_window", "final_logit_softcapping", "scale_outputs"):
        if file.number(f"decoder/{name}", 0):
            raise UserError(f"{where}: {name} is not supported")
    for name in ("relative_position_keys", "relative_attention_bias", "q_norm/gamma", "num_heads_kv"):
        if f"encoder/layer_0/self_attention/{name}" in file:
            raise UserError(f"{where}: {name} is not supported")
    shared = source is target or (source.shape == target.shape and np.array_equal(source, target))
    tied = output is target or (output.shape == target.shape and np.array_equal(output, target))
    head = int(file.number("encoder/layer_0/self_attention/head_dim", width // heads))
    own_width = None if head * heads == width else head
    try:
        config = ModelConfig(
            d_model=width,
            d_ff=int(file.arrays[first_name(file, "encoder/layer_0/ffn/linear_0/weight")].shape[0]),
            n_heads=heads,
            n_encoder_layers=count_layers(file, "encoder"),
            n_decoder_layers=count_layers(file, "decoder"),
            norm="pre" if file.number("encoder/pre_norm", 1) else "post",
            activation="swiglu" if glu else ACTIVATIONS[activation],  # type: ignore[arg-type]
            attention_bias="encoder/layer_0/self_attention/linear_0/bias" in file,
            vocab_size=len(target) + zero_start,
            source_vocab_size=None if shared else len(source),
            tie=("all" if shared else "target") if tied else "none",
            output_bias=zero_start or "decoder/projection/bias" in file,
            scale_embedding=bool(file.number("encoder/scale_embeddings", 1)),
            embedding_norm="encoder/layernorm_embedding/gamma" in file,
            d_k=own_width,
            d_v=own_width,
        )
        return positions_of(file, config)
    except SettingError as error:
        raise UserError(f"{where}: {error}") from None


def first_name(file: ModelFile, *names: str) -> str:
    for name in names:
        if name in file:
            return name
    raise UserError(f"{file.path}: the array {names[0]} is missing; the architecture is not supported")


def count_layers(file: ModelFile, stack: str) -> int:
    layers = 0
    while f"{stack}/layer_{layers}/ffn/linear_0/weight" in file:
        layers += 1
    return layers


def positions_of(file: ModelFile, config: ModelConfig) -> ModelConfig:
    """The settings of positions: a known formula that gives the stored table, or the table as learned positions."""
    name = "encoder/position_encodings/encodings"
    if "encoder/layer_0/self_attention/rotary_dim" in file:
        dim = int(file.number("encoder/layer_0/self_attention/rotary_dim", 0))
        plain = file.number("encoder/layer_0/self_attention/rotary_base", 10000) == 10000
        if dim != config.k_width or not plain or not file.number("encoder/layer_0/self_attention/rotary_interleave", 1):
            raise UserError(f"{file.path}: this form of rotary positions is not supported")
        return replace(config, positions="rotary", max_positions=POSITIONS)
    if name not in file:  # CTranslate2's own, which begin at 1
        return replace(config, positions="sinusoidal_t2t", position_offset=1, max_positions=POSITIONS)
    tables = [file.floats(f"{stack}/position_encodings/encodings") for stack in ("encoder", "decoder")]
    config = replace(config, max_positions=len(tables[0]))
    kinds = ("sinusoidal", "sinusoidal_halves", "sinusoidal_t2t")
    for candidate in (
        replace(config, positions=kind, position_offset=offset)  # type: ignore[arg-type]
        for kind in kinds
        for offset in (0, 1, 2)
    ):
        known = sinusoids(candidate)
        if all(each.shape == known.shape and np.abs(each - known).max() < CLOSE for each in tables):
            return candidate
    if tables[0].shape != tables[1].shape:
        raise UserError(f"{file.path}: encoder and decoder have different numbers of positions")
    return replace(config, positions="learned" if any(each.any() for each in tables) else "none")


def convert(file: ModelFile, config: ModelConfig, zero_start: bool) -> dict[str, Array]:
    """Return the weights by hark's names."""

    def extended(matrix: Array) -> Array:
        return np.concatenate([matrix, np.zeros((1, matrix.shape[1]), np.float32)]) if zero_start else matrix

    found = {"embedding.weight": extended(file.floats("decoder/embeddings/weight"))}
    if config.tie != "all":
        one_matrix = config.source_vocab_size is None
        source = file.floats(first_name(file, "encoder/embeddings_0/weight", "encoder/embeddings/weight"))
        found["source_embedding.weight"] = extended(source) if one_matrix else source
    if config.tie == "none":
        found["projection.weight"] = extended(file.floats("decoder/projection/weight"))
    if config.output_bias:
        name, own_size = "decoder/projection/bias", config.vocab_size - zero_start
        bias = file.floats(name).reshape(-1) if name in file else np.zeros(own_size, np.float32)
        found["output_bias"] = np.append(bias, np.float32(NEVER)) if zero_start else bias
    for stack, side in (("encoder", "source"), ("decoder", "target")):
        if config.positions == "learned":
            found[f"{side}_positions.weight"] = file.floats(f"{stack}/position_encodings/encodings")
        if config.embedding_norm:
            _add_norm(found, f"{side}_norm", file, f"{stack}/layernorm_embedding")
        if config.norm == "pre":
            _add_norm(found, f"{stack}.norm", file, f"{stack}/layer_norm")
        layers = config.n_encoder_layers if stack == "encoder" else config.n_decoder_layers
        for i in range(layers):
            found |= _layer(file, config, f"{stack}.layers.{i}", f"{stack}/layer_{i}", stack == "decoder")
    return found


def _layer(file: ModelFile, config: ModelConfig, ours: str, theirs: str, cross: bool) -> dict[str, Array]:
    found: dict[str, Array] = {}
    names = {"w_1": "linear_0", "w_2": "linear_1"}
    if config.activation == "swiglu":
        names = {"w_gate": "linear_0", "w_1": "linear_0_noact", "w_2": "linear_1"}
    for name, linear in names.items():
        found[f"{ours}.feed_forward.{name}.weight"] = file.floats(f"{theirs}/ffn/{linear}/weight")
        found[f"{ours}.feed_forward.{name}.bias"] = file.floats(f"{theirs}/ffn/{linear}/bias")
    _add_norm(found, f"{ours}.feed_forward_residual.norm", file, f"{theirs}/ffn/layer_norm")
    for attention in _attentions(ours, theirs, cross):
        found |= attention.weights(file, config)
        _add_norm(found, f"{attention.ours}_residual.norm", file, f"{attention.theirs}/layer_norm")
    return found


@dataclass(frozen=True)
class StackedAttention:
    """The projections of an attention, some of which CTranslate2 stacks into one matrix."""

    ours: str
    theirs: str
    linears: tuple[str, ...]
    """For each matrix, its parts: q, k, v or o."""

    def weights(self, file: ModelFile, config: ModelConfig) -> dict[str, Array]:
        found: dict[str, Array] = {}
        usual = 1 / math.sqrt(config.k_width)
        factor = np.float32(file.number(f"{self.theirs}/queries_scale", usual) / usual)
        for number, parts in enumerate(self.linears):
            for kind in ("weight", "bias") if config.attention_bias else ("weight",):
                whole = file.floats(f"{self.theirs}/linear_{number}/{kind}")
                if len(whole) % len(parts):
                    raise UserError(f"{file.path}: {self.theirs}/linear_{number} has {len(whole)} rows")
                for part, each in zip(parts, np.split(whole, len(parts)), strict=True):
                    scaled = part == "q" and abs(factor - 1) > 1e-6
                    found[f"{self.ours}.w_{part}.{kind}"] = each * factor if scaled else each
        return found


def _attentions(ours: str, theirs: str, cross: bool) -> Iterator[StackedAttention]:
    yield StackedAttention(f"{ours}.self_attention", f"{theirs}/self_attention", ("qkv", "o"))
    if cross:
        yield StackedAttention(f"{ours}.cross_attention", f"{theirs}/attention", ("q", "kv", "o"))


def _add_norm(found: dict[str, Array], ours: str, file: ModelFile, theirs: str) -> None:
    found[f"{ours}.weight"] = file.floats(f"{theirs}/gamma")
    found[f"{ours}.bias"] = file.floats(f"{theirs}/beta")


def original_side(folder: Path, foreign: ForeignModel) -> Side:
    """The original folder in CTranslate2 itself, computed in float32, as a side of a parity check."""
    import ctranslate2  # type: ignore[import-untyped]
    import sentencepiece

    from hark.config import DecodeConfig
    from hark.decode.engines.ctranslate2_runtime import BY_LOG_PROB

    translator: Any = ctranslate2.Translator(str(folder), compute_type="float32", inter_threads=1, intra_threads=1)
    source, target = (
        sentencepiece.SentencePieceProcessor(model_proto=model)
        for model in (foreign.source_model, foreign.target_model)
    )
    table = foreign.table
    pieces = table.target if table.source is None else table.source
    lead = [table.tags[foreign.pairs[0][1]]] if table.tags else []
    adds_end = bool(read_optional_json(folder / "config.json").get("add_source_eos"))
    last = [table.target[table.special.end]] if table.source_end and not adds_end else []

    def encode(text: str) -> list[str]:
        return [*lead, *source.encode(text, out_type=str), *last]

    def translate(texts: Sequence[str], beam: int) -> list[str]:
        extra = DecodeConfig().max_extra
        found = []
        for text in texts:
            tokens = encode(text)
            (result,) = translator.translate_batch(
                [tokens],
                beam_size=beam,
                num_hypotheses=beam,
                length_penalty=BY_LOG_PROB,
                max_input_length=0,
                max_decoding_length=min(len(tokens) + adds_end + extra, foreign.config.max_positions),
                suppress_sequences=[[table.target[token]] for token in suppressed],
                return_scores=True,
            )
            found.append(target.decode_pieces(result.hypotheses[0]).replace("\u2581", " ").strip())
        return found

    own_size = len(table.target) - bool(foreign.table.special.start >= len(translator_tokens(folder)))
    suppressed = [token for token in table.special.forbidden if token < own_size]

    def log_probs(source_ids: Ids, target_ids: Ids) -> Array:
        ids = list(source_ids)[:-1] if adds_end else list(source_ids)
        (found,) = translator.score_batch(
            [[pieces[token] for token in ids]], [[table.target[token] for token in target_ids]], max_input_length=0
        )
        return np.array(found.log_probs)

    return Side(f"ctranslate2 {ctranslate2.__version__}, float32", translate, log_probs=log_probs)


def translator_tokens(folder: Path) -> tuple[str, ...]:
    """The target tokens of the original."""
    return read_vocabularies(folder)[1]
