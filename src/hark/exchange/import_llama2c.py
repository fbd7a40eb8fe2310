"""Reading of models of llama2.c: a checkpoint of seven numbers and all weights, and tokenizer.bin beside it.

The vocabulary is that of a sentencepiece model without its other settings, and is made one again. Its pieces have a
space for sentencepiece's mark, and line ends around the names of special tokens.
"""

import math
import struct
from pathlib import Path

import numpy as np

from hark.config import ModelConfig
from hark.errors import UserError
from hark.exchange.files import read_bounded
from hark.exchange.foreign import ForeignModel, weight_shapes
from hark.exchange.import_decoder import DEFAULT_LANGUAGES, decoder_config, text_table
from hark.exchange.recognition import LLAMA2C_VOCABULARY
from hark.exchange.sentencepiece_file import PieceKind, sentencepiece_bpe
from hark.facts import OriginFacts
from hark.text.piece_vocabulary import PieceTable
from hark.text.vocabulary import SPACE, SpecialIds
from hark.weights import Array

HEADER = struct.Struct("<7i")
UNKNOWN, START, END = 0, 1, 2
NAMES = {UNKNOWN: "<unk>", START: "<s>", END: "</s>"}
BYTES = range(3, 3 + 256)
INNER = (
    "self_attention_residual.norm", "self_attention.w_q", "self_attention.w_k", "self_attention.w_v",
    "self_attention.w_o", "feed_forward_residual.norm", "feed_forward.w_gate", "feed_forward.w_2", "feed_forward.w_1",
)  # fmt: skip
"""The order of the weights; each follows for all layers."""


def read_llama2c(folder: Path, languages: tuple[str, ...], source: str) -> ForeignModel:
    others = [each for each in sorted(folder.glob("*.bin")) if each.name != LLAMA2C_VOCABULARY]
    if len(others) != 1:
        raise UserError(f"{folder}: has {len(others)} checkpoints beside {LLAMA2C_VOCABULARY}; one .bin file is needed")
    path = others[0]
    raw = np.memmap(path, np.uint8, "r")
    if len(raw) < HEADER.size:
        raise UserError(f"{path}: not a checkpoint of llama2.c")
    width, inner, layers, heads, shared, size, positions = HEADER.unpack(raw[: HEADER.size].tobytes())
    config = decoder_config(
        path,
        d_model=width,
        d_ff=inner,
        n_heads=heads,
        n_kv_heads=None if shared == heads else shared,
        n_decoder_layers=layers,
        dropout=0.0,
        norm_kind="rms",
        activation="swiglu",
        positions="rotary",
        max_positions=positions,
        attention_bias=False,
        feed_forward_bias=False,
        vocab_size=abs(size),  # negative, if the output matrix is another than that of the embeddings
        tie="all" if size > 0 else "none",
    )
    table, model_file = llama2c_vocabulary(folder / LLAMA2C_VOCABULARY, config.vocab_size)
    model = ForeignModel(
        config,
        llama2c_weights(raw[HEADER.size :], config, path),
        table,
        model_file,
        model_file,
        pairs=(),
        origin=OriginFacts("llama2.c", source),
        languages=languages or DEFAULT_LANGUAGES,
    )
    model.check(folder)
    return model


def llama2c_weights(raw: Array, config: ModelConfig, path: Path) -> dict[str, Array]:
    """The weights by hark's names, each in its place; a table of rotations, which hark computes, is passed over."""
    shapes, place = weight_shapes(config), 0
    found: dict[str, Array] = {}

    def take(name: str) -> None:
        nonlocal place
        size = 4 * math.prod(shapes[name])
        if place + size > len(raw):
            raise UserError(f"{path}: the checkpoint is incomplete, or not one of llama2.c")
        found[name] = raw[place : place + size].view("<f4").reshape(shapes[name])
        place += size

    take("embedding.weight")
    for module in INNER:
        for layer in range(config.n_decoder_layers):
            take(f"decoder.layers.{layer}.{module}.weight")
    take("decoder.norm.weight")
    place += 4 * config.max_positions * config.k_width
    if config.tie == "none":
        take("projection.weight")
    if place != len(raw):
        raise UserError(f"{path}: has {len(raw) - place:,} bytes more or fewer than a checkpoint of llama2.c")
    return found


def llama2c_vocabulary(path: Path, size: int) -> tuple[PieceTable, bytes]:
    raw, place = read_bounded(path), 4  # after the length of the longest piece
    pieces: list[str] = []
    scores: list[float] = []
    try:
        for token in range(size):
            score, length = struct.unpack_from("<fi", raw, place)
            text = raw[place + 8 : place + 8 + length].decode()
            place += 8 + length
            if place > len(raw):
                raise struct.error
            # The bytes were written as characters, some of which are also other pieces.
            spelled = f"<0x{token - BYTES.start:02X}>" if token in BYTES else text.replace(" ", SPACE)
            pieces.append(NAMES.get(token, spelled))
            scores.append(score)
    except (struct.error, UnicodeDecodeError):
        raise UserError(f"{path}: not a vocabulary of llama2.c for {size} pieces, or damaged") from None
    kinds: dict[int, PieceKind] = {UNKNOWN: "unknown", START: "control", END: "control"}
    model = sentencepiece_bpe(
        pieces, scores, [kinds.get(i, "byte" if i in BYTES else "normal") for i in range(len(pieces))]
    )
    special = SpecialIds(END, UNKNOWN, START, END)
    return text_table(special, tuple(pieces), (), text_start=True), model
