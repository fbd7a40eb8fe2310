"""The catalogue of public models: names as data, and fetching through the import."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from hark.bundle import Bundle
from hark.errors import UserError
from hark.exchange import catalogue
from hark.exchange.catalogue import find, read_catalogue, read_others, search
from tests.cli.running import make_runner
from tests.exchange.decoder_models import write_gpt2
from tests.exchange.encoder_models import write_bert
from tests.exchange.hub_server import REVISION, HubServer, serve_model
from tests.exchange.marian_models import write_marian


def test_names_are_unique_and_complete() -> None:
    entries = read_catalogue()
    assert len({each.name for each in entries}) == len(entries) > 500
    assert all(each.source and each.target and each.licence and each.megabytes for each in entries)
    assert {"opus-mt-en-de", "opus-mt-de-en", "opus-mt-fr-en", "opus-mt-en-ROMANCE"} <= {each.name for each in entries}


def test_models_of_one_stack() -> None:
    entries = read_others()
    assert all(each.source and not each.target and each.licence and each.megabytes for each in entries)
    assert {each.name for each in entries}.isdisjoint(each.name for each in read_catalogue())
    gpt2 = find("gpt2")
    assert (gpt2.address, gpt2.licence, gpt2.languages) == ("openai-community/gpt2", "MIT", "en")
    assert find("HuggingFaceTB/SmolLM2-135M").name == "SmolLM2-135M"
    assert gpt2 in search("en")
    assert {each.name for each in search("smollm2-135m")} == {"SmolLM2-135M", "SmolLM2-135M-Instruct"}
    assert "opus-mt" in catalogue.advise("en", "de")


def test_known_licences_are_stated() -> None:
    licences = {each.name: each.licence for each in read_catalogue()}
    assert (licences["opus-mt-en-fr"], licences["opus-mt-en-de"]) == ("Apache-2.0", "CC-BY-4.0")
    assert licences["opus-mt-en-fi"] == "CC-BY-4.0 or Apache-2.0"


def test_search_by_language_pair_or_name() -> None:
    german = search("de")
    assert german
    assert all("de" in (each.source, each.target) for each in german)
    assert [each.address for each in search("en-fr")] == ["Helsinki-NLP/opus-mt-en-fr"]
    assert {each.name for each in search("romance")} == {"opus-mt-en-ROMANCE", "opus-mt-ROMANCE-en"}
    assert search("tlh") == []


def test_encoders_have_one_language_and_owners_of_their_own() -> None:
    assert find("bert-base-uncased") == find("google-bert/bert-base-uncased")
    minilm = find("sentence-transformers/all-MiniLM-L6-v2")
    assert (minilm.address, minilm.languages) == ("sentence-transformers/all-MiniLM-L6-v2", "en")
    assert [each.name for each in search("roberta")] == ["roberta-base", "distilroberta-base"]
    assert minilm in search("en")


def test_a_name_may_be_short_and_a_typo_is_explained() -> None:
    assert find("en-fr") == find("opus-mt-en-fr") == find("Helsinki-NLP/opus-mt-en-fr")
    with pytest.raises(UserError, match="not in the catalogue"):
        find("nonsense")
    with pytest.raises(UserError, match="did you mean opus-mt-en-fr"):
        find("opus-mt-en-frr")


def test_fetching_is_one_call_of_the_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    stub: Any = ModuleType("hark.exchange.importer")
    stub.ImportRequest = lambda source: SimpleNamespace(source=source)
    stub.import_model = lambda *arguments: calls.append(arguments)
    monkeypatch.setitem(sys.modules, "hark.exchange.importer", stub)
    catalogue.fetch(find("en-fr"), tmp_path / "model", False, print)
    ((request, folder, force, say),) = calls
    assert (request.source, folder, force, say) == ("Helsinki-NLP/opus-mt-en-fr", tmp_path / "model", False, print)


pytest.importorskip("transformers")
pytest.importorskip("huggingface_hub")
NAME = "Acme/opus-mt-en-fr"
CHUNK = 10_000
"""Bytes that huggingface_hub writes at a time, instead of ten million: a test model is small."""
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy")
OFFLINE = ("HARK_OFFLINE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
KILLED = f"""
import os, sys
import huggingface_hub.constants
import huggingface_hub.file_download as downloads
from hark.cli import main
huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE = {CHUNK}
http_get = downloads.http_get

class Target:
    def __init__(self, file):
        self.file = file

    def write(self, chunk):
        self.file.write(chunk)
        if self.file.tell() >= {2 * CHUNK}:
            self.file.flush()
            os._exit(9)

downloads.http_get = lambda url, target, **more: http_get(url, Target(target), **more)
sys.argv[0] = "hark"
main()
"""
Run = Callable[[], "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_marian(tmp_path_factory.mktemp("marian") / "opus-mt-en-fr")


@pytest.fixture
def hub(model: Path) -> Iterator[HubServer]:
    with serve_model(NAME, model) as server:
        yield server


@pytest.fixture
def hark_import(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Run]:
    """A function that runs `hark import` with this hub and an empty cache."""
    import huggingface_hub
    from huggingface_hub import constants, file_download

    for name in (*PROXIES, *OFFLINE):
        monkeypatch.delenv(name, raising=False)
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, hub.address)
    settings = {
        "HUGGINGFACE_CO_URL_TEMPLATE": template,
        "ENDPOINT": hub.address,
        "HF_HUB_CACHE": str(tmp_path / "cache" / "hub"),
        "HF_HUB_OFFLINE": False,
        "HF_HUB_DISABLE_PROGRESS_BARS": True,
        "DOWNLOAD_CHUNK_SIZE": CHUNK,
    }
    for name, value in settings.items():
        monkeypatch.setattr(constants, name, value)
    monkeypatch.setattr(file_download, "time", SimpleNamespace(sleep=lambda _: None))  # before it tries again
    run = make_runner("import", tmp_path, {}, monkeypatch, capfd)
    huggingface_hub.close_session()  # which may use a proxy
    yield lambda: run(NAME, "-o", "bundle", "--no-check")
    huggingface_hub.close_session()


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A function that sets HARK_OFFLINE, after which opening a socket is an error."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    def cut() -> None:
        monkeypatch.setenv("HARK_OFFLINE", "1")
        for owner, name in (
            (socket.socket, "connect"),
            (socket.socket, "connect_ex"),
            (socket, "create_connection"),
            (socket, "getaddrinfo"),
        ):
            monkeypatch.setattr(owner, name, refuse)

    return cut


def kill_download(hub: HubServer, folder: Path) -> int:
    """Run `hark import` in a process that ends after two chunks of the weights; return its exit status."""
    inherited = {name: value for name, value in os.environ.items() if name not in (*PROXIES, *OFFLINE)}
    own = {"HF_ENDPOINT": hub.address, "HF_HOME": str(folder / "cache"), "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    arguments = ["import", NAME, "-o", str(folder / "bundle"), "--no-check"]
    return subprocess.run([sys.executable, "-c", KILLED, *arguments], env=inherited | own, check=False).returncode


def test_download_resume_and_offline_use(
    hub: HubServer, tmp_path: Path, hark_import: Run, offline: Callable[[], None]
) -> None:
    """A connection that breaks in the middle of the weights continues where it broke; offline, the cache serves."""
    hub.cut["model.safetensors"] = 1
    run = hark_import()
    assert run.returncode == 0, run.stderr
    assert f"downloading {NAME}" in run.stderr
    arrived = len(hub.files["model.safetensors"]) // 2
    assert hub.ranges == [f"bytes={arrived - arrived % CHUNK}-"]
    bundle = Bundle.open(tmp_path / "bundle")
    assert bundle.facts.origin is not None
    assert (bundle.facts.origin.source, bundle.facts.origin.revision) == (NAME, REVISION)

    asked = len(hub.requests)
    (tmp_path / "bundle").rename(tmp_path / "first")
    offline()
    run = hark_import()
    assert run.returncode == 0, run.stderr
    assert "downloading" not in run.stderr
    assert len(hub.requests) == asked
    assert Bundle.open(tmp_path / "bundle").weights.read_bytes() == bundle_weights(tmp_path / "first")


def test_a_killed_download_is_resumed_by_the_next_run(hub: HubServer, tmp_path: Path, hark_import: Run) -> None:
    assert kill_download(hub, tmp_path) == 9
    run = hark_import()
    assert run.returncode == 0, run.stderr
    assert hub.ranges == [f"bytes={2 * CHUNK}-"]
    asked = [each for each in hub.requests if each.startswith("GET") and each.endswith("model.safetensors")]
    assert len(asked) == 2
    (blob,) = (path for path in (tmp_path / "cache").rglob("blobs/*") if path.name == hub.etag("model.safetensors"))
    blob.rename(blob.with_name(f"{blob.name}.hark"))
    with blob.with_name(f"{blob.name}.hark").open("ab") as partial:
        partial.write(b"more than there should be")
    (tmp_path / "bundle").rename(tmp_path / "first")
    run = hark_import()
    assert run.returncode == 0, run.stderr
    assert bundle_weights(tmp_path / "bundle") == bundle_weights(tmp_path / "first")
    assert list((tmp_path / "cache").rglob("*.hark")) == []


def bundle_weights(folder: Path) -> bytes:
    return Bundle.open(folder).weights.read_bytes()


@pytest.mark.parametrize("name", ["model.safetensors", "vocab.json"])
def test_a_damaged_download_is_an_error_and_is_not_kept(
    hub: HubServer, tmp_path: Path, name: str, hark_import: Run
) -> None:
    """Same size, one bit changed: huggingface_hub does not notice. Small files have git's hash, large ones sha256."""
    hub.damaged.add(name)
    run = hark_import()
    assert run.returncode == 1, run.stderr
    last = run.stderr.strip().splitlines()[-1]
    assert f"{name}: damaged in transfer (hash " in last
    assert not (tmp_path / "bundle").exists()
    hub.damaged.clear()
    run = hark_import()
    assert run.returncode == 0, run.stderr


def test_offline_without_a_copy_says_so_and_nothing_else(
    hub: HubServer, hark_import: Run, offline: Callable[[], None]
) -> None:
    offline()
    run = hark_import()
    assert run.returncode == 2
    assert run.stderr.strip().splitlines() == [
        f"hark: {NAME}: no such folder here, and HARK_OFFLINE is set; download it elsewhere and name its folder"
    ]
    assert hub.requests == []


def test_an_unknown_name(hub: HubServer, hark_import: Run) -> None:
    hub.name = "Acme/other"
    run = hark_import()
    assert run.returncode == 2
    assert "the Hugging Face hub has no such model" in run.stderr


def test_an_encoder_is_downloaded_with_its_vocabulary(hub: HubServer, hark_import: Run, tmp_path: Path) -> None:
    folder = write_bert(tmp_path / "bert")
    assert (folder / "vocab.txt").is_file()
    hub.files = {path.name: path.read_bytes() for path in folder.iterdir()}
    run = hark_import()
    assert run.returncode == 0, run.stderr
    assert Bundle.open("bundle").facts.languages == ("en",)


def test_a_model_of_one_stack_is_downloaded_as_any_other(hub: HubServer, tmp_path: Path, hark_import: Run) -> None:
    folder = write_gpt2(tmp_path / "gpt2")
    hub.files = {path.name: path.read_bytes() for path in folder.iterdir()}
    run = hark_import()
    assert run.returncode == 0, run.stderr
    facts = Bundle.open(tmp_path / "bundle").facts
    assert (facts.pairs, facts.languages) == ((), ("en",))
