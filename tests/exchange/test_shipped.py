"""The model that comes with hark, exported, translates the same in other programs, greedy and with a beam."""

import json
import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from hark.bundle import Bundle
from hark.engine.ctranslate2_runtime import ComputeType
from hark.engine.opening import default_precision
from hark.exchange.export import Export, ExportKind, export_bundle, open_exporter
from hark.exchange.export_huggingface import sine_first
from hark.exchange.exporter import Exporter, ExportPrecision
from hark.exchange.hark_side import hark_side
from hark.exchange.huggingface_settings import convert_back
from hark.exchange.importer import ImportRequest, import_model
from hark.exchange.parity import Side
from hark.facts import ParityProof
from hark.models import shipped_folder
from hark.rundir import RunDir
from hark.weights import read_floats
from tests.exchange.conftest import FEW, some_sentences


@cache
def shipped() -> Bundle:
    return Bundle.open(shipped_folder() / "seven")


@cache
def our_side(precision: ComputeType) -> Side:
    """Hark's side, which computes everything once for all exports."""
    side = hark_side(shipped(), precision=precision)
    translate = cache(side.translate)
    logits = side.logits and cache(side.logits)
    return replace(
        side,
        translate=lambda texts, beam: translate(tuple(texts), beam),
        logits=logits and (lambda source, target: logits(tuple(source), tuple(target))),
    )


def keep_stored_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it loads a model, transformers spends seconds on a table of positions, which the stored one replaces."""
    from transformers.models.pegasus.modeling_pegasus import PegasusSinusoidalPositionalEmbedding

    monkeypatch.setattr(PegasusSinusoidalPositionalEmbedding, "create_weight", lambda self: self.weight)


def run_onnx_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise onnxruntime starts a thread per core, and they spin while they wait."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    monkeypatch.setattr(onnxruntime, "InferenceSession", partial(onnxruntime.InferenceSession, sess_options=options))


def export(
    kind: ExportKind, precision: ExportPrecision, computed: ComputeType, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Export:
    made = type(open_exporter(shipped(), kind, precision))
    assert issubclass(made, Exporter)
    monkeypatch.setattr(made, "hark_side", lambda _: our_side(computed))
    monkeypatch.setattr("hark.exchange.export.check_sentences", some_sentences)
    return export_bundle(shipped(), kind, folder, precision)


@pytest.fixture(scope="module")
def in_huggingface(tmp_path_factory: pytest.TempPathFactory) -> Export:
    pytest.importorskip("transformers")
    with pytest.MonkeyPatch.context() as monkeypatch:
        keep_stored_positions(monkeypatch)
        return export("huggingface", "float32", "float32", tmp_path_factory.mktemp("exported") / "hf", monkeypatch)


def check(proof: ParityProof) -> None:
    assert (proof.sentences, proof.equal) == (FEW, FEW)
    assert proof.largest_difference is not None
    assert proof.largest_difference < 1e-3


def test_equal_translations_in_ctranslate2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(export("ctranslate2", "int8", default_precision(), tmp_path / "ct2", monkeypatch).proof)


def test_equal_translations_in_transformers(in_huggingface: Export) -> None:
    check(in_huggingface.proof)


def test_equal_translations_in_onnxruntime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("onnx", "onnxruntime"):
        pytest.importorskip(package)
    run_onnx_in_one_thread(monkeypatch)
    check(export("onnx", "int8", "float32", tmp_path / "onnx", monkeypatch).proof)


def test_it_comes_back_from_hugging_face(
    in_huggingface: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its features are in another order, sines first; otherwise the weights are equal bit for bit."""
    keep_stored_positions(monkeypatch)
    sentences = ["Good morning!"]
    monkeypatch.setattr("hark.exchange.importer.check_sentences", lambda *_: sentences)
    proof = import_model(ImportRequest(str(in_huggingface.folder)), tmp_path / "back")
    assert (proof.sentences, proof.equal) == (len(sentences), len(sentences))
    back = Bundle.open(tmp_path / "back")
    assert (back.facts.pairs, back.facts.licence) == (shipped().facts.pairs, shipped().facts.licence)
    pair = ("en", "de")
    one, two = hark_side(shipped(), pair), hark_side(back, pair)
    assert one.translate(sentences, 4) == two.translate(sentences, 4)
    config, weights, found = shipped().config.model, read_floats(shipped()), read_floats(back)
    order = sine_first(config.d_model)
    assert np.array_equal(weights["embedding.weight"][:, order], found["embedding.weight"])
    expected = dict(convert_back(weights, config, order))
    returned = dict(convert_back(found, back.config.model, slice(None)))
    assert returned.keys() - expected.keys() == {"final_logits_bias"}  # zeros, which Marian and Pegasus always have
    assert not returned["final_logits_bias"].any()
    assert all(np.array_equal(each, returned[key]) for key, each in expected.items())


# Argos imports stanza, and spaCy PyTorch, for seconds; neither splits these sentences. It also tries to download a
# model of spaCy that splits sentences, although the package has its own.
ARGOS = """
import json, sys
from types import ModuleType
sys.modules |= {"stanza": ModuleType("stanza"), "torch": None}
import argostranslate.networking
argostranslate.networking.cache_spacy = lambda: None
import argostranslate.package, argostranslate.translate
argostranslate.package.install_from_path(sys.argv[1])
sentences = json.loads(sys.stdin.read())
print(json.dumps([argostranslate.translate.translate(each, "en", "de") for each in sentences]))
"""


@pytest.mark.skipif(find_spec("argostranslate") is None, reason="argostranslate is not installed")
def test_equal_translations_in_argos_translate(
    trained: Callable[..., RunDir], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Installed by argostranslate itself, with its own search: beam 4 and a small length penalty.

    A package has one pair, so this is a model that has learnt little more than to end its sentences."""
    compressor = zlib.compressobj  # without compression, which takes a second here
    monkeypatch.setattr(zlib, "compressobj", lambda _, *settings: compressor(0, *settings))
    bundle = Bundle.open(trained("run", "train.steps=100").best)
    export_bundle(bundle, "argos", tmp_path / "argos", check=False)
    sentences = ["the cat sees a small red house", "we have to see the dog", "they like you", "a dog and a cat run"]
    home = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}
    argos = {"ARGOS_PACKAGES_DIR": str(tmp_path / "packages"), "ARGOS_CHUNK_TYPE": "SPACY", "ARGOS_INTRA_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", ARGOS, str(tmp_path / "argos/translate-en_de-1_0.argosmodel")],
        input=json.dumps(sentences),
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], **home, **argos},
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == hark_side(bundle, precision="int8").translate(sentences, 4)
