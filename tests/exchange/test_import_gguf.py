"""Import of GGUF files: against the same model in Hugging Face's form, and numbers computed one by one."""

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece

from hark.bundle import Bundle
from hark.errors import UserError
from hark.exchange.gguf import QUANTISATIONS, GgufFile
from hark.exchange.importer import ImportRequest, import_model
from hark.exchange.sentencepiece_file import PieceKind, sentencepiece_bpe
from hark.weights import read_floats
from tests.exchange.decoder_models import write_llama
from tests.exchange.gguf_files import as_gguf, write_gguf
from tests.exchange.marian_models import SENTENCES, TARGETS, sentencepiece_model
from tests.exchange.test_import_decoder import imported, same_tokens

pytest.importorskip("transformers")


def read(path: Path, to: Path, **settings: Any) -> Bundle:
    proof = import_model(replace(ImportRequest(str(path)), **settings), to)
    assert proof.skipped
    return Bundle.open(to)


@pytest.mark.parametrize("tied", [True, False])
def test_the_model_is_that_of_hugging_face(tmp_path: Path, tied: bool) -> None:
    folder = write_llama(tmp_path / "llama", tie_word_embeddings=tied)
    expected = imported(folder, tmp_path / "one")
    found = read(as_gguf(folder, tmp_path / "model.gguf"), tmp_path / "two")
    one, two = read_floats(expected), read_floats(found)
    assert one.keys() == two.keys()
    assert all(np.array_equal(one[name][: len(two[name])], two[name]) for name in one)
    about = found.config.model
    assert about == replace(expected.config.model, norm_eps=about.norm_eps)  # which is stored in 32 bits
    assert (found.facts.languages, found.facts.licence) == (("fr",), "mit")
    same_tokens(folder, found)


def test_eight_bits(tmp_path: Path) -> None:
    folder = write_llama(tmp_path / "llama", intermediate_size=64)
    found = read(as_gguf(folder, tmp_path / "model.gguf", 8), tmp_path / "two")
    one, two = read_floats(imported(folder, tmp_path / "one")), read_floats(found)
    for name, array in one.items():
        assert np.abs(array[: len(two[name])] - two[name]).max() <= np.abs(array).max() / 250
    assert found.facts.making.weights == "imported from Q8_0"


def one_by_one(name: str, block: bytes) -> list[float]:
    """The numbers of a block, by the description of the format."""
    (scale,) = struct.unpack_from("<e", block, 208 if name == "Q6_K" else 0)
    match name:
        case "Q4_0":
            return [scale * ((block[2 + i % 16] >> (4 * (i // 16)) & 15) - 8) for i in range(32)]
        case "Q4_1":
            (least,) = struct.unpack_from("<e", block, 2)
            return [least + scale * (block[4 + i % 16] >> (4 * (i // 16)) & 15) for i in range(32)]
        case "Q8_0":
            return [scale * each for each in struct.unpack_from("<32b", block, 2)]
    found = []
    for i in range(256):
        half, place = divmod(i, 128)
        low = block[64 * half + place % 64] >> (4 * (place // 64)) & 15
        high = block[128 + 32 * half + place % 32] >> (2 * (place // 32)) & 3
        (own,) = struct.unpack_from("<b", block, 192 + i // 16)
        found.append(scale * own * ((low | high << 4) - 32))
    return found


@pytest.mark.parametrize(("kind", "name"), [(2, "Q4_0"), (3, "Q4_1"), (8, "Q8_0"), (14, "Q6_K")])
def test_quantisations(tmp_path: Path, kind: int, name: str) -> None:
    quantisation = QUANTISATIONS[kind]
    assert quantisation.name == name
    raw = np.random.default_rng(3).integers(0, 256, (6, quantisation.size), np.uint8)
    scale = np.array([[0.5, -0.25]] * 6, "<f2").view(np.uint8)
    raw[:, 208:] = scale[:, :2] if name == "Q6_K" else raw[:, 208:]
    raw[:, : 4 if name == "Q4_1" else 2] = scale[:, : 4 if name == "Q4_1" else 2]
    path = write_gguf(tmp_path / "x.gguf", {}, {"x": (kind, (3, 2 * quantisation.numbers), raw.tobytes())})
    expected = [number for block in raw for number in one_by_one(name, block.tobytes())]
    found = GgufFile(path).read("x")
    assert found.shape == (3, 2 * quantisation.numbers)
    np.testing.assert_allclose(found.ravel(), np.array(expected, np.float32), rtol=1e-6)


def test_half_precision(tmp_path: Path) -> None:
    values = np.array([[1.5, -2.0, 0.1, 3e4]], np.float32)
    tensors = {"half": (1, (1, 4), values.astype("<f2").tobytes()), "whole": (0, (4,), values.tobytes())}
    path = write_gguf(tmp_path / "x.gguf", {}, tensors)
    file = GgufFile(path)
    assert np.array_equal(file.read("half"), values.astype(np.float16).astype(np.float32))
    assert np.array_equal(file.read("whole"), values[0])


def test_a_sentencepiece_vocabulary_is_made_again() -> None:
    model_file = sentencepiece_model(
        (*SENTENCES, *TARGETS), 400, "bpe", byte_fallback=True, normalization_rule_name="identity",
        remove_extra_whitespaces=False,
    )  # fmt: skip
    original = sentencepiece.SentencePieceProcessor(model_proto=model_file)
    ids = range(original.get_piece_size())

    def kind(i: int) -> PieceKind:
        if original.is_unknown(i):
            return "unknown"
        return "control" if original.is_control(i) else "byte" if original.is_byte(i) else "normal"

    scores = [original.get_score(i) for i in ids]
    made = sentencepiece_bpe([original.id_to_piece(i) for i in ids], scores, [kind(i) for i in ids])
    again = sentencepiece.SentencePieceProcessor(model_proto=made)
    for text in (*SENTENCES, *TARGETS, "", " x", "你好 🙂\n\n two  spaces "):
        assert again.encode(text) == original.encode(text)
        assert again.decode(again.encode(text)) == text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"general.architecture": "mamba"}, "the architecture 'mamba' is not supported"),
        ({"llama.rope.scaling.type": "yarn"}, "rotary positions of the kind yarn"),
        ({"llama.rope.dimension_count": 4}, "rotates a part of each head only"),
        ({"tokenizer.ggml.pre": "qwen2"}, "splits text as 'qwen2', which hark does not have"),
        ({"tokenizer.ggml.model": "bert"}, "the vocabulary 'bert' is not supported"),
        ({"tokenizer.ggml.token_type": [1]}, "its vocabulary has"),
        ({"llama.block_count": 3}, r"the weight blk\.2\.attn_q\.weight is missing"),
    ],
)
def test_settings_that_hark_does_not_have(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = as_gguf(write_llama(tmp_path / "llama"), tmp_path / "model.gguf", **changes)
    refused(path, message)


def test_damaged_files(tmp_path: Path) -> None:
    path = as_gguf(write_llama(tmp_path / "llama"), tmp_path / "model.gguf")
    whole = path.read_bytes()
    for size in (5, 30, 500, 9000, len(whole) // 2, len(whole) - 40):
        path.write_bytes(whole[:size])
        refused(path, "the GGUF file is damaged or incomplete; download it again")
    path.write_bytes(b"")
    refused(path, "the file is empty")
    path.write_bytes(b"GGML" + whole[4:])
    refused(path, "not a GGUF file")
    path.write_bytes(whole[:4] + struct.pack("<I", 9) + whole[8:])
    refused(path, "version 9 of GGUF is not supported")
    path.write_bytes(whole[:8] + struct.pack("<QQ", 1 << 60, 1 << 60) + whole[24:])
    refused(path, "damaged or incomplete")
    place = whole.index(b"token_embd.weight") + len("token_embd.weight") + 4 + 16
    for number, name in ((12, "Q4_K"), (99, "type 99")):
        path.write_bytes(whole[:place] + struct.pack("<I", number) + whole[place + 4 :])
        refused(path, f"token_embd.weight is stored as {name}, which hark does not read")


def refused(path: Path, message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        read(path, path.parent / "bundle")
    assert "\n" not in str(error.value)
    assert not (path.parent / "bundle").exists()
