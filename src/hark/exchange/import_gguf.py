"""Reading of GGUF files of the architecture llama. Their queries and keys rotate neighbours, as hark's do."""

from pathlib import Path
from typing import Any

from hark.errors import UserError
from hark.exchange.decoder_layouts import GGUF, from_llama
from hark.exchange.foreign import ForeignModel
from hark.exchange.gguf import GgufFile
from hark.exchange.huggingface_settings import marked_spaces, with_header
from hark.exchange.import_decoder import DEFAULT_LANGUAGES, decoder_config, text_table
from hark.exchange.sentencepiece_file import KINDS, sentencepiece_bpe
from hark.facts import OriginFacts
from hark.text.byte_pairs import Splitting
from hark.text.piece_vocabulary import PieceTable
from hark.text.vocabulary import SpecialIds

ARCHITECTURE = "llama"
SPLITTINGS: dict[str, Splitting] = {"gpt-2": "gpt2", "smollm": "digits", "llama-bpe": "llama3"}
"""By llama.cpp's names."""
NORMAL, CONTROL = 1, 3
"""Types of tokens."""


def read_gguf(path: Path, languages: tuple[str, ...], source: str) -> ForeignModel:
    file = GgufFile(path)
    about = file.metadata
    if (architecture := about.get("general.architecture")) != ARCHITECTURE:
        raise UserError(f"{path}: the architecture {architecture!r} is not supported; hark reads {ARCHITECTURE}")

    def setting(name: str, default: Any = None) -> Any:
        value = about.get(f"{ARCHITECTURE}.{name}", default)
        if value is None:
            raise UserError(f"{path}: {ARCHITECTURE}.{name} is missing")
        return value

    if (scaling := setting("rope.scaling.type", "none")) != "none":
        raise UserError(f"{path}: has rotary positions of the kind {scaling}, which hark does not have")
    heads, width = setting("attention.head_count"), setting("embedding_length")
    shared, head_width = setting("attention.head_count_kv", heads), setting("attention.key_length", width // heads)
    if setting("rope.dimension_count", head_width) != head_width:
        raise UserError(f"{path}: rotates a part of each head only, which hark does not")
    if "token_embd.weight" not in file.tensors:
        raise UserError(f"{path}: the weight token_embd.weight is missing")
    size = file.tensors["token_embd.weight"].shape[0]
    config = decoder_config(
        path,
        d_model=width,
        d_ff=setting("feed_forward_length"),
        n_heads=heads,
        n_kv_heads=None if shared == heads else shared,
        d_k=None if head_width * heads == width else head_width,
        d_v=None if head_width * heads == width else setting("attention.value_length", head_width),
        n_decoder_layers=setting("block_count"),
        dropout=0.0,
        norm_kind="rms",
        norm_eps=setting("attention.layer_norm_rms_epsilon"),
        activation="swiglu",
        positions="rotary",
        rotary_base=setting("rope.freq_base", 10_000.0),
        max_positions=setting("context_length"),
        attention_bias=False,
        feed_forward_bias=False,
        vocab_size=size,
        tie="none" if "output.weight" in file.tensors else "all",
    )
    table, model_file = gguf_vocabulary(about, size, path)
    model = ForeignModel(
        config,
        from_llama({name: file.read(name) for name in file.tensors}, config, path, GGUF),
        table,
        model_file,
        model_file,
        pairs=(),
        origin=OriginFacts(f"gguf {ARCHITECTURE}", source, licence=str(about.get("general.license", ""))),
        weights_note=f"imported from {file.storage}",
        languages=languages or tuple(about.get("general.languages", ())) or DEFAULT_LANGUAGES,
    )
    model.check(path)
    return model


def gguf_vocabulary(about: dict[str, Any], size: int, path: Path) -> tuple[PieceTable, bytes]:
    def value(name: str, default: Any = None) -> Any:
        found = about.get(f"tokenizer.ggml.{name}", default)
        if found is None:
            raise UserError(f"{path}: tokenizer.ggml.{name} is missing")
        return found

    tokens, kind = value("tokens"), value("model")
    kinds = value("token_type", [NORMAL] * len(tokens))
    if not len(tokens) == len(kinds) <= size:
        raise UserError(f"{path}: its vocabulary has {len(tokens)} entries, but the weights are for {size}")
    end = value("eos_token_id")
    start, pad = value("bos_token_id", end), value("padding_token_id", end)
    silent = tuple(token for token, each in zip(tokens, kinds, strict=True) if each == CONTROL)
    pieces = (*tokens, *[""] * (size - len(tokens)))
    match kind:
        case "gpt2":
            before = value("pre", "missing")
            if before not in SPLITTINGS:
                known = ", ".join(SPLITTINGS)
                raise UserError(f"{path}: splits text as {before!r}, which hark does not have; it has {known}")
            special = SpecialIds(pad, value("unknown_token_id", end), start, end)
            begins = value("add_bos_token", before == "llama-bpe")
            merges = with_header("\n".join(value("merges")).encode())
            return text_table(special, marked_spaces(pieces), silent, begins, SPLITTINGS[before]), merges
        case "llama":
            names = {number: name for name, number in KINDS.items()}
            special = SpecialIds(pad, value("unknown_token_id", 0), start, end)
            model = sentencepiece_bpe(
                tokens, value("scores"), [names[each] for each in kinds], value("add_space_prefix", True)
            )
            return text_table(special, pieces, silent, value("add_bos_token", True)), model
    raise UserError(f"{path}: the vocabulary {kind!r} is not supported; hark reads gpt2 and llama")
