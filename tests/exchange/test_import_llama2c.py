"""Import of models of llama2.c, whose files are written here as its own export writes them."""

import struct
from pathlib import Path

import numpy as np
import pytest
import sentencepiece

from hark.bundle import Bundle
from hark.errors import UserError
from hark.exchange.import_decoder import read_llama
from hark.exchange.importer import ImportRequest, import_model
from hark.text.opening import open_vocabularies
from hark.weights import read_floats
from tests.exchange.decoder_models import write_llama
from tests.exchange.marian_models import SENTENCES, TARGETS

pytest.importorskip("transformers")
ORDER = ("self_attention_residual.norm", *(f"self_attention.w_{each}" for each in "qkvo"),
         "feed_forward_residual.norm", "feed_forward.w_gate", "feed_forward.w_2", "feed_forward.w_1")  # fmt: skip


def write_llama2c(folder: Path, llama: Path) -> Path:
    """The model of a Llama 2 folder."""
    foreign = read_llama(llama, (), "a test")
    config, weights = foreign.config, foreign.weights
    names = ["embedding.weight"]
    names += [f"decoder.layers.{i}.{each}.weight" for each in ORDER for i in range(config.n_decoder_layers)]
    arrays = [*(weights[name] for name in [*names, "decoder.norm.weight"])]
    arrays.append(np.zeros((config.max_positions, config.k_width)))
    size = config.vocab_size
    if config.tie == "none":
        arrays.append(weights["projection.weight"])
        size = -size
    shape = (config.d_model, config.d_ff, config.n_decoder_layers, config.n_heads, config.kv_heads, size)
    folder.mkdir()
    raw = struct.pack("<7i", *shape, config.max_positions) + b"".join(each.astype("<f4").tobytes() for each in arrays)
    (folder / "model.bin").write_bytes(raw)
    processor = sentencepiece.SentencePieceProcessor(model_proto=foreign.source_model)
    vocabulary = struct.pack("<i", 20)
    for i in range(config.vocab_size):
        known = i < processor.get_piece_size()
        piece = processor.id_to_piece(i).replace("\u2581", " ") if known else f"<unused{i}>"
        if piece in ("<s>", "</s>"):
            piece = f"\n{piece}\n"
        if known and processor.is_byte(i):
            piece = chr(i - 3)
        score = processor.get_score(i) if known else -1e6
        vocabulary += struct.pack("<fi", score, len(piece.encode())) + piece.encode()
    (folder / "tokenizer.bin").write_bytes(vocabulary)
    return folder


@pytest.mark.parametrize("tied", [True, False])
def test_the_model_is_that_of_hugging_face(tmp_path: Path, tied: bool) -> None:
    llama = write_llama(tmp_path / "llama", None, tie_word_embeddings=tied, rms_norm_eps=1e-5)
    import_model(ImportRequest(str(llama)), tmp_path / "one")
    import_model(ImportRequest(str(write_llama2c(tmp_path / "c", llama))), tmp_path / "two")
    expected, found = Bundle.open(tmp_path / "one"), Bundle.open(tmp_path / "two")
    assert found.config.model == expected.config.model
    one, two = read_floats(expected), read_floats(found)
    assert one.keys() == two.keys()
    assert all(np.array_equal(one[name], two[name]) for name in one)
    first, second = (open_vocabularies(each)[1] for each in (expected, found))
    for text in (*SENTENCES, *TARGETS, "你好 🙂\n\n two  spaces "):
        assert first.encode_one(text) == second.encode_one(text)
        assert second.decode_one(second.encode_one(text)) == text


def test_damaged_files(tmp_path: Path) -> None:
    folder = write_llama2c(tmp_path / "c", write_llama(tmp_path / "llama", None))
    whole, vocabulary = ((folder / name).read_bytes() for name in ("model.bin", "tokenizer.bin"))
    for content, message in (
        (whole[:10], "not a checkpoint"),
        (whole[:-4], "incomplete"),
        (whole + b"1234", "has 4 bytes more"),
        (b"\0" * 28 + whole[28:], r"config|d_model|n_heads"),
    ):
        (folder / "model.bin").write_bytes(content)
        refused(folder, message)
    (folder / "model.bin").write_bytes(whole)
    (folder / "tokenizer.bin").write_bytes(vocabulary[:-3])
    refused(folder, "not a vocabulary of llama2.c for 420 pieces, or damaged")
    (folder / "other.bin").write_bytes(b"")
    refused(folder, "has 2 checkpoints beside tokenizer.bin")


def refused(folder: Path, message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        import_model(ImportRequest(str(folder)), folder.parent / "bundle")
    assert "\n" not in str(error.value)
