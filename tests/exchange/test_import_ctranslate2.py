"""Import of CTranslate2 folders and Argos packages, against CTranslate2 itself."""

import json
import shutil
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import ctranslate2  # type: ignore[import-untyped]
import numpy as np
import pytest

from hark.bundle import Bundle
from hark.config import ModelConfig
from hark.engine.conversion import convert
from hark.errors import UserError
from hark.exchange.ctranslate2_original import original_side
from hark.exchange.hark_side import hark_side
from hark.exchange.import_argos import read_argos, unpack
from hark.exchange.import_ctranslate2 import read_ctranslate2
from hark.exchange.importer import ImportRequest, read_foreign
from hark.exchange.parity import compare
from tests.engine.oracle import random_model, weights_of
from tests.exchange.marian_models import SENTENCES, TARGETS, pieces_of, sentencepiece_model, write_marian

LANGUAGES = (("en",), ("fr",))
SHORT = SENTENCES[:2] + SENTENCES[4:]


@pytest.fixture(scope="module")
def marian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_marian(tmp_path_factory.mktemp("marian") / "opus-mt-en-fr")


def convert_marian(marian: Path, folder: Path, quantization: str | None) -> Path:
    converter = ctranslate2.converters.TransformersConverter(str(marian))
    converter.convert(str(folder), quantization=quantization)
    for name in ("source.spm", "target.spm"):
        shutil.copy(marian / name, folder / name)
    return folder


@pytest.mark.parametrize("quantization", [None, "float16", "int16", "int8", "bfloat16"])
def test_equal_to_ctranslate2(tmp_path: Path, marian: Path, quantization: str | None) -> None:
    """A folder from CTranslate2's own converter: log-probabilities, greedy and beam search."""
    pytest.importorskip("transformers")
    folder = convert_marian(marian, tmp_path / "ct2", quantization)
    model = read_ctranslate2(folder, LANGUAGES, "a test")
    assert model.config.positions == ("sinusoidal_halves" if quantization in (None, "int8", "int16") else "learned")
    # CTranslate2 removes padding and starts from zeros; hark needs an id to start from.
    assert model.table.special.start == len(model.table.target) - 1
    assert not model.weights["embedding.weight"][-1].any()
    assert model.weights_note == ("" if quantization is None else f"dequantised from {quantization}")
    model.write(tmp_path / "bundle")
    ours = hark_side(Bundle.open(tmp_path / "bundle"))
    proof = compare(ours, original_side(folder, model), SHORT, bound=1e-3)
    assert (proof.equal, proof.quantity) == (len(SHORT), "log-probabilities")


def write_opennmt(folder: Path, **changes: Any) -> Path:
    """A folder as OpenNMT's models have: <s> as the start, no EOS after the source."""
    folder.mkdir(parents=True)
    model_file = sentencepiece_model((*SENTENCES, *TARGETS), 120)
    (folder / "sentencepiece.model").write_bytes(model_file)
    pieces = ["<unk>", "<s>", "</s>", *pieces_of(model_file)[3:]]
    values = {
        "d_model": 32,
        "d_ff": 48,
        "n_heads": 4,
        "n_encoder_layers": 2,
        "n_decoder_layers": 2,
        "max_positions": 90,
    }
    config = ModelConfig(**values, vocab_size=len(pieces), **changes)
    from hark.text.vocabulary import SpecialIds

    files = convert(weights_of(random_model(config)), config, SpecialIds(1, 0, 1, 2), "float32")
    settings = json.loads(files["config.json"])
    settings |= {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "decoder_start_token": "<s>"}
    (folder / "config.json").write_text(json.dumps(settings))
    (folder / "shared_vocabulary.json").write_text(json.dumps(pieces))
    (folder / "model.bin").write_bytes(files["model.bin"])
    return folder


VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {},
    "pre-norm": {"norm": "pre", "activation": "gelu"},
    "untied": {"tie": "none", "output_bias": True},
    "rotary": {"positions": "rotary", "attention_bias": False, "activation": "swiglu"},
    "learned": {"positions": "learned", "embedding_norm": True},
    "narrow heads": {"d_k": 6, "d_v": 6},
    "m2m100": {"positions": "sinusoidal_t2t", "position_offset": 2, "norm": "pre"},
}


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_our_own_files_come_back(tmp_path: Path, changes: dict[str, Any]) -> None:
    folder = write_opennmt(tmp_path / "ct2", **changes)
    model = read_ctranslate2(folder, LANGUAGES, "a test")
    values = {name: changes[name] for name in changes if name not in ("d_k", "d_v")}
    assert {name: getattr(model.config, name) for name in values} == values
    assert not model.table.source_end
    model.write(tmp_path / "bundle")
    ours = hark_side(Bundle.open(tmp_path / "bundle"))
    assert ours.source_tokens is not None
    assert model.table.special.end not in ours.source_tokens(SHORT[0])
    proof = compare(ours, original_side(folder, model), SHORT, bound=1e-4)
    assert proof.equal == len(SHORT)


def write_argos(path: Path, **entries: bytes) -> Path:
    folder = write_opennmt(path.with_suffix(".folder"))
    with zipfile.ZipFile(path, "w") as package:
        root = "translate-en_fr-1_0"
        metadata = {"from_code": "en", "to_code": "fr", "type": "translate", "package_version": "1.0"}
        package.writestr(f"{root}/metadata.json", json.dumps(metadata))
        for file in folder.iterdir():
            inner = file.name if file.name == "sentencepiece.model" else f"model/{file.name}"
            package.write(file, f"{root}/{inner}")
        package.writestr(f"{root}/stanza/en/tokenize.pt", b"not needed")
        for name, content in entries.items():
            package.writestr(name, content)
    return path


def test_an_argos_package(tmp_path: Path) -> None:
    folder = unpack(write_argos(tmp_path / "en_fr.argosmodel"), tmp_path / "unpacked")
    assert not (folder / "stanza").exists()
    model = read_argos(folder, ((), ()), "a test")
    assert (model.pairs, model.origin.kind) == ((("en", "fr"),), "argos")
    model.write(tmp_path / "bundle")
    ours = hark_side(Bundle.open(tmp_path / "bundle"))
    assert compare(ours, original_side(folder / "model", model), SHORT, bound=1e-4).equal == len(SHORT)


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "translate-en_fr-1_0/../../evil", "a\\evil", "outside"])
def test_paths_out_of_the_package_are_refused(tmp_path: Path, name: str) -> None:
    path = write_argos(tmp_path / "en_fr.argosmodel", **{name: b"evil"})
    with pytest.raises(UserError, match=r"leads out of the package|contains files outside"):
        unpack(path, tmp_path / "unpacked")
    assert not list(tmp_path.rglob("evil"))


def test_bombs_links_and_damage_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.argosmodel"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("a/metadata.json", b"{}")
        package.writestr("a/model/model.bin", bytes(20_000_000))
    with pytest.raises(UserError, match="would unpack to 2 files with 20,000,002 bytes"):
        unpack(path, tmp_path / "unpacked")
    link = zipfile.ZipInfo("a/model/link")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("a/metadata.json", b"{}")
        package.writestr(link, "/etc/passwd")
    with pytest.raises(UserError, match="contains a link"):
        unpack(path, tmp_path / "unpacked")
    path.write_bytes(b"PK not a zip")
    with pytest.raises(UserError, match="not a valid package"):
        unpack(path, tmp_path / "unpacked")


def test_truncated_and_fuzzed_files_are_one_clear_error(tmp_path: Path) -> None:
    folder = write_opennmt(tmp_path / "ct2")
    whole = (folder / "model.bin").read_bytes()
    random = np.random.default_rng(1)
    for length in (0, 3, 30, 1000, len(whole) // 2, len(whole) - 1):
        (folder / "model.bin").write_bytes(whole[:length])
        with pytest.raises(UserError, match=r"model\.bin: not a model.bin of CTranslate2, or incomplete"):
            read_ctranslate2(folder, LANGUAGES, "a test")
    for _ in range(60):
        changed = bytearray(whole)
        for at in random.integers(0, 3000, 4):
            changed[at] = int(random.integers(256))
        (folder / "model.bin").write_bytes(bytes(changed))
        with suppress(UserError):  # a changed weight is not noticed
            read_foreign(folder, "ctranslate2", ImportRequest("a test", None, "en", "fr"))


def test_a_folder_without_sentencepiece(tmp_path: Path) -> None:
    folder = write_opennmt(tmp_path / "ct2")
    (folder / "sentencepiece.model").rename(folder / "bpe.model")
    with pytest.raises(UserError, match="subword-nmt; only sentencepiece"):
        read_ctranslate2(folder, LANGUAGES, "a test")
