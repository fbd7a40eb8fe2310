"""Import from end to end: recognition, the parity check, the facts, errors and the command line."""

import json
import pickle
import shutil
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from hark.bundle import Bundle
from hark.cli import app
from hark.errors import HarkError, UserError
from hark.exchange import hub, importer
from hark.exchange.export import export_bundle
from hark.exchange.importer import ImportRequest, import_model, read_foreign
from hark.exchange.parity import ParityError
from hark.exchange.recognition import recognise
from hark.weights import read_weights, write_weights
from tests.exchange.marian_models import SENTENCES, write_marian
from tests.translate.bundles import make_bundle

transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_marian(tmp_path_factory.mktemp("marian") / "opus-mt-en-fr")


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "opus-mt-en-fr"))


@pytest.fixture(autouse=True)
def few_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "check_sentences", lambda _language, _file: [SENTENCES[0], SENTENCES[4]])


def test_the_proof_is_in_the_facts(folder: Path, tmp_path: Path) -> None:
    said: list[str] = []
    proof = import_model(ImportRequest(str(folder)), tmp_path / "en-fr", say=said.append)
    assert (proof.sentences, proof.equal, proof.what) == (2, 2, "import from huggingface")
    assert proof.largest_difference is not None
    assert proof.largest_difference < 1e-4
    assert proof.against.startswith("transformers ")
    bundle = Bundle.open(tmp_path / "en-fr")
    assert bundle.facts.parity == (proof,)
    assert bundle.facts.origin is not None
    assert bundle.facts.origin.source == "opus-mt-en-fr"  # not a path of this machine
    assert "identical to those of transformers" in bundle.card
    assert said[0] == f"reading {folder} (huggingface)"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    with pytest.raises(UserError, match="already exists; name another folder, or replace it with --force"):
        import_model(ImportRequest(str(folder)), tmp_path / "en-fr")


def test_a_difference_is_an_error_and_leaves_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = importer.read_foreign

    def changed(*arguments: Any) -> Any:
        model = read(*arguments)
        name = "encoder.layers.1.feed_forward.w_1.weight"
        model.weights[name] = model.weights[name] + 0.1
        return model

    monkeypatch.setattr(importer, "read_foreign", changed)
    with pytest.raises(ParityError, match="first difference: encoder layer 2"):
        import_model(ImportRequest(str(folder)), tmp_path / "en-fr")
    assert not (tmp_path / "en-fr").exists()


@pytest.mark.parametrize(("check", "reason"), [(False, "--no-check"), (True, "transformers not installed")])
def test_no_check_is_recorded(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, check: bool, reason: str
) -> None:
    found = importer.find_spec
    monkeypatch.setattr(importer, "find_spec", lambda name: None if name == "transformers" else found(name))
    proof = import_model(ImportRequest(str(folder), check=check), tmp_path / "en-fr")
    assert (proof.skipped, proof.sentences) == (True, 0)
    assert f"not compared with transformers ({reason})" in Bundle.open(tmp_path / "en-fr").card


def test_recognition(folder: Path, tmp_path: Path) -> None:
    assert recognise(folder) == "huggingface"
    empty = tmp_path / "empty"
    empty.mkdir()
    for path, message in (
        (empty, "not a model that hark knows; expected config.json with weights"),
        (tmp_path / "none", "no such file or folder"),
        (folder / "README.md", r"name its folder, or an .argosmodel, .npz or .gguf file"),
        (make_bundle(tmp_path / "bundle"), "is already a model of hark"),
    ):
        with pytest.raises(UserError, match=message):
            recognise(path)
    (empty / "model.npz").touch()
    assert recognise(empty) == recognise(empty / "model.npz") == "marian"
    (empty / "model.bin").touch()
    (empty / "shared_vocabulary.json").touch()
    assert recognise(empty) == "ctranslate2"


def test_other_architectures_are_refused(folder: Path) -> None:
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**settings, "model_type": "mt5"}))
    with pytest.raises(
        UserError,
        match="the architecture 'mt5' is not supported; hark has marian, pegasus, bart, m2m_100, mbart, t5, bert, gpt2",
    ):
        read_foreign(folder, "huggingface", ImportRequest("x"))


class Evil:
    """Runs code when it is unpickled."""

    def __reduce__(self) -> Any:
        return sys.exit, (77,)


def test_a_pickle_with_code_is_refused(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    for write in (
        lambda path: torch.save({"a": Evil()}, path),
        lambda path: path.write_bytes(pickle.dumps(Evil())),
    ):
        write(folder / "pytorch_model.bin")
        with pytest.raises(UserError, match=r"contains code or objects other than tensors|cannot be read: damaged"):
            read_foreign(folder, "huggingface", ImportRequest("x"))


@pytest.mark.parametrize("name", ["model.safetensors", "source.spm", "vocab.json", "config.json"])
def test_damaged_files_are_one_line(folder: Path, name: str) -> None:
    whole = (folder / name).read_bytes()
    (folder / name).unlink()
    messages = []
    for content in (None, b"", whole[: len(whole) // 2], b"\xff" * 100):
        if content is not None:
            (folder / name).write_bytes(content)
        if name == "source.spm" and content is not None:
            continue  # checked when the bundle is opened
        with pytest.raises(UserError) as error:
            read_foreign(folder, "huggingface", ImportRequest("x"))
        messages.append(str(error.value))
    assert all("\n" not in each and str(folder) in each for each in messages)


def test_a_damaged_sentencepiece_model_is_one_line(folder: Path, tmp_path: Path) -> None:
    (folder / "source.spm").write_bytes(b"\xff" * 100)
    with pytest.raises(UserError, match="not a sentencepiece model, or damaged"):
        import_model(ImportRequest(str(folder)), tmp_path / "en-fr")
    assert not (tmp_path / "en-fr").exists()


def test_fuzzed_weights_never_crash(folder: Path) -> None:
    whole = (folder / "model.safetensors").read_bytes()
    random = np.random.default_rng(3)
    for _ in range(40):
        changed = bytearray(whole)
        for at in random.integers(0, 2000, 5):
            changed[at] = int(random.integers(256))
        (folder / "model.safetensors").write_bytes(bytes(changed))
        with suppress(HarkError):  # a changed weight is not noticed
            read_foreign(folder, "huggingface", ImportRequest("x"))


def test_large_files_are_refused(folder: Path) -> None:
    with (folder / "vocab.json").open("r+b") as file:
        file.truncate(65 << 20)
    with pytest.raises(UserError, match="more than the 67,108,864 of any known model"):
        read_foreign(folder, "huggingface", ImportRequest("x"))


def test_offline_never_opens_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: Any, **_named: Any) -> Any:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setenv("HARK_OFFLINE", "1")
    with pytest.raises(UserError, match="no such folder here, and HARK_OFFLINE is set"):
        import_model(ImportRequest("Helsinki-NLP/opus-mt-xx-yy"), tmp_path / "model")


def test_names_on_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert hub.is_hub_name("Helsinki-NLP/opus-mt-en-fr")
    assert not hub.is_hub_name("./model")
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert not hub.is_hub_name("a/b")
    assert hub.weight_files({"model.safetensors", "pytorch_model.bin"}) == ["model.safetensors"]
    assert hub.weight_files({"pytorch_model.bin", "config.json"}) == ["pytorch_model.bin"]


def test_the_command(folder: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke(app, ["import", str(folder), "-o", str(tmp_path / "m"), "--no-check", "-t", "fr-CA"])
    assert run.exit_code == 0, run.output
    assert "Import from huggingface: not compared with transformers (--no-check)." in run.output
    assert Bundle.open(tmp_path / "m").facts.pairs == (("en", "fr-CA"),)


@pytest.mark.parametrize(("given", "wrong"), [(("en", "fr"), "-t fr"), (("fr", "de"), "-s fr"), (("", "en"), "-t en")])
def test_languages_that_contradict_a_package_are_refused(given: tuple[str, str], wrong: str, tmp_path: Path) -> None:
    export_bundle(Bundle.open(make_bundle(tmp_path / "own")), "argos", tmp_path / "argos", "float32", check=False)
    (package,) = (tmp_path / "argos").glob("*.argosmodel")
    with pytest.raises(UserError, match=f"translates en to de, so that {wrong} is wrong; leave out -s and -t"):
        import_model(ImportRequest(str(package), None, *given, check=False), tmp_path / "x")
    assert not (tmp_path / "x").exists()
    import_model(ImportRequest(str(package), None, "en-GB", "de", check=False), tmp_path / "x")
    assert Bundle.open(tmp_path / "x").facts.pairs == (("en-GB", "de"),)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_numbers_are_named(value: float, tmp_path: Path) -> None:
    folder = write_marian(tmp_path / "opus-mt-en-fr")
    weights = {name: np.array(each) for name, each in read_weights(folder / "model.safetensors").items()}
    weights["model.decoder.layers.1.fc2.weight"][3, 5] = value
    write_weights(folder / "model.safetensors", weights, {"format": "pt"})
    named = r"decoder.layers.1.feed_forward.w_2.weight contains NaN or infinity"
    with pytest.raises(UserError, match=named):
        import_model(ImportRequest(str(folder), check=False), tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_marians_binary_form_is_named(tmp_path: Path) -> None:
    (tmp_path / "model.enpt.intgemm.alphas.bin").write_bytes(b"\0" * 64)
    with pytest.raises(UserError, match=r"is Marian's binary form in 8 bits, which hark does not read"):
        import_model(ImportRequest(str(tmp_path)), tmp_path.parent / "x")
