"""Small GGUF files, written with numpy: as llama.cpp's own converter writes them from a Llama folder."""

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hark.exchange.decoder_layouts import GGUF
from hark.exchange.import_decoder import read_llama
from hark.weights import Array

ALIGNMENT = 32
Stored = tuple[int, tuple[int, ...], bytes]
"""The type, the shape and the bytes of a tensor."""


def string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def value(item: Any) -> bytes:
    """A value of metadata after its type."""
    match item:
        case bool():
            return struct.pack("<I?", 7, item)
        case int():
            return struct.pack("<II", 4, item)
        case float():
            return struct.pack("<If", 6, item)
        case str():
            return struct.pack("<I", 8) + string(item)
        case [str(), *_]:
            return struct.pack("<IIQ", 9, 8, len(item)) + b"".join(map(string, item))
        case [float(), *_]:
            return struct.pack(f"<IIQ{len(item)}f", 9, 6, len(item), *item)
        case _:
            return struct.pack(f"<IIQ{len(item)}i", 9, 5, len(item), *item)


def q8_0(array: Array) -> bytes:
    blocks = array.reshape(-1, 32)
    scale = (np.abs(blocks).max(1, keepdims=True) / 127).astype("<f2")
    numbers = np.rint(blocks / np.maximum(scale.astype(np.float32), 1e-8)).astype(np.int8)
    return np.concatenate([scale.view(np.uint8), numbers.view(np.uint8)], axis=1).tobytes()


def write_gguf(path: Path, metadata: Mapping[str, Any], tensors: Mapping[str, Stored]) -> Path:
    infos, data = b"", b""
    for name, (kind, shape, content) in tensors.items():
        axes = struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        infos += string(name) + axes + struct.pack("<IQ", kind, len(data))
        data += content
        data += bytes(-len(data) % ALIGNMENT)
    entries = b"".join(string(name) + value(item) for name, item in metadata.items())
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata)) + entries + infos
    path.write_bytes(head + bytes(-len(head) % ALIGNMENT) + data)
    return path


def as_gguf(folder: Path, path: Path, kind: int = 0, **changes: Any) -> Path:
    """The model of a Llama folder as a GGUF file; `kind` is the type of its matrices."""
    foreign = read_llama(folder, (), "a test")
    config, tree = foreign.config, json.loads((folder / "tokenizer.json").read_text())
    special = {token["content"] for token in tree["added_tokens"]}
    pieces = [*({each: i for i, each in enumerate(foreign.table.target) if each})]
    metadata = {
        "general.architecture": "llama", "general.license": "mit", "general.languages": ["fr"],
        "llama.embedding_length": config.d_model, "llama.feed_forward_length": config.d_ff,
        "llama.block_count": config.n_decoder_layers, "llama.context_length": config.max_positions,
        "llama.attention.head_count": config.n_heads, "llama.attention.head_count_kv": config.kv_heads,
        "llama.rope.freq_base": config.rotary_base, "llama.attention.layer_norm_rms_epsilon": config.norm_eps,
        "llama.rope.dimension_count": config.k_width,
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": [piece.replace("\u2581", "\u0120") for piece in pieces],
        "tokenizer.ggml.token_type": [3 if piece in special else 1 for piece in pieces],
        "tokenizer.ggml.merges": [" ".join(pair) for pair in tree["model"]["merges"]],
        "tokenizer.ggml.bos_token_id": foreign.table.special.start,
        "tokenizer.ggml.eos_token_id": foreign.table.special.end, "tokenizer.ggml.add_bos_token": False,
    }  # fmt: skip
    tensors: dict[str, Stored] = {}
    for name, array in foreign.weights.items():
        used = kind if array.ndim == 2 else 0
        tensors[GGUF.of(name)] = used, array.shape, q8_0(array) if used else array.astype("<f4").tobytes()
    return write_gguf(path, metadata | changes, tensors)
