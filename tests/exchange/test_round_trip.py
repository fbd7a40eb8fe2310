"""A model that is imported and exported to the same kind is the same model."""

import json
from pathlib import Path

import numpy as np
import pytest

from hark.bundle import Bundle
from hark.errors import UserError
from hark.exchange.export import export_bundle, open_exporter
from hark.exchange.import_ctranslate2 import read_ctranslate2
from hark.exchange.import_huggingface import read_marian
from hark.exchange.parity import compare_numbers, compare_tokens
from hark.weights import read_weights
from tests.exchange.marian_models import SENTENCES, TARGETS, write_marian

pytest.importorskip("transformers")


@pytest.mark.parametrize("tags", [(), ("fra", "spa")])
def test_marian_of_hugging_face(tmp_path: Path, tags: tuple[str, ...]) -> None:
    folder = write_marian(tmp_path / "opus-mt-en-fr", tags=tags)
    read_marian(folder, ((), ()), "a test").write(tmp_path / "bundle")
    export_bundle(Bundle.open(tmp_path / "bundle"), "huggingface", tmp_path / "back", check=False)
    one, two = (read_weights(each / "model.safetensors") for each in (folder, tmp_path / "back"))
    assert one.keys() == two.keys()
    assert all(np.array_equal(one[name], two[name]) for name in one)
    for name in ("source.spm", "target.spm"):
        assert (folder / name).read_bytes() == (tmp_path / "back" / name).read_bytes()
    assert json.loads((folder / "vocab.json").read_text()) == json.loads((tmp_path / "back" / "vocab.json").read_text())
    before, after = (json.loads((each / "config.json").read_text()) for each in (folder, tmp_path / "back"))
    same = set(before) & set(after) - {
        "transformers_version",
        "init_std",
        "dtype",
        "bos_token_id",
        "forced_eos_token_id",
    }
    assert {name: before[name] for name in same} == {name: after[name] for name in same}
    again = read_marian(tmp_path / "back", ((), ()), "a test")
    assert again.config == Bundle.open(tmp_path / "bundle").config.model


def test_marian_to_ctranslate2_and_back(tmp_path: Path) -> None:
    """Two sentencepiece models with one list of pieces, which numbers them otherwise than sentencepiece."""
    folder = write_marian(tmp_path / "opus-mt-en-fr")
    read_marian(folder, ((), ()), "a test").write(tmp_path / "bundle")
    exporter = open_exporter(Bundle.open(tmp_path / "bundle"), "ctranslate2", "float32")
    exporter.refuse()
    (tmp_path / "ct2").mkdir()
    exporter.write(tmp_path / "ct2")
    ours, theirs = exporter.hark_side(), exporter.open_side(tmp_path / "ct2")
    compare_tokens(ours, theirs, SENTENCES)
    quantity, _ = compare_numbers(ours, theirs, SENTENCES, TARGETS, exporter.bound)
    assert quantity == "log-probabilities"
    again = read_ctranslate2(tmp_path / "ct2", (("en",), ("fr",)), "a test")
    assert again.config.positions == "sinusoidal_halves"
    pytest.importorskip("onnx")
    with pytest.raises(UserError, match="numbers its pieces otherwise"):
        open_exporter(Bundle.open(tmp_path / "bundle"), "onnx", None).refuse()
