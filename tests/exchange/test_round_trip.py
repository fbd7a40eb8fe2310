"""A model that is imported and exported to the same kind is the same model."""

import json
from pathlib import Path

import numpy as np
import pytest

from hark.bundle import Bundle
from hark.errors import UserError
from hark.exchange.ctranslate2_weights import ModelFile
from hark.exchange.export import export_bundle, open_exporter
from hark.exchange.import_argos import unpack
from hark.exchange.import_ctranslate2 import read_ctranslate2
from hark.exchange.import_huggingface import read_marian
from hark.exchange.importer import ImportRequest, import_model
from hark.exchange.parity import compare_numbers, compare_tokens
from hark.weights import read_weights
from tests.exchange.marian_models import SENTENCES, TARGETS, write_marian
from tests.translate.bundles import make_bundle

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
    with pytest.raises(UserError, match="do not tell the languages; name them with -s and -t"):
        read_ctranslate2(tmp_path / "ct2", ((), ()), "a test")
    again = read_ctranslate2(tmp_path / "ct2", (("en",), ("fr",)), "a test")
    assert again.config.positions == "sinusoidal_halves"
    pytest.importorskip("onnx")
    with pytest.raises(UserError, match="numbers its pieces otherwise"):
        open_exporter(Bundle.open(tmp_path / "bundle"), "onnx", None).refuse()


def test_an_export_of_hark_tells_its_languages(tmp_path: Path) -> None:
    """A folder in CTranslate2's format has none; the facts beside it do, and the licence."""
    folder = write_marian(tmp_path / "opus-mt-en-fr")
    read_marian(folder, ((), ()), "a test").write(tmp_path / "bundle")
    bundle = Bundle.open(tmp_path / "bundle")
    export_bundle(bundle, "ctranslate2", tmp_path / "exported", "float32", check=False)
    import_model(ImportRequest(str(tmp_path / "exported"), check=False), tmp_path / "again")
    again = Bundle.open(tmp_path / "again").facts
    assert (again.pairs, again.licence) == ((("en", "fr"),), "apache-2.0")
    import_model(ImportRequest(str(tmp_path / "exported"), None, "en", "fr-CA", check=False), tmp_path / "other")
    assert Bundle.open(tmp_path / "other").facts.pairs == (("en", "fr-CA"),)


def test_argos(tmp_path: Path) -> None:
    """The weights and the vocabulary of a package are those of the package that it was imported from."""
    export_bundle(Bundle.open(make_bundle(tmp_path / "own")), "argos", tmp_path / "one", "float32", check=False)
    (first,) = (tmp_path / "one").glob("*.argosmodel")
    import_model(ImportRequest(str(first)), tmp_path / "imported")
    imported = Bundle.open(tmp_path / "imported")
    assert imported.facts.parity[0].equal == imported.facts.parity[0].sentences > 0
    export_bundle(imported, "argos", tmp_path / "two", "float32", check=False)
    (second,) = (tmp_path / "two").glob("*.argosmodel")
    folders = [unpack(each, tmp_path / f"unpacked{i}") for i, each in enumerate((first, second))]
    one, two = (ModelFile.read(each / "model" / "model.bin").arrays for each in folders)
    assert one.keys() == two.keys()
    assert all(np.array_equal(one[name], two[name]) for name in one)
    for name in ("sentencepiece.model", "model/shared_vocabulary.json", "metadata.json"):
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes(), name
