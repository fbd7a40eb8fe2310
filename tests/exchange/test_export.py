"""Exports of small models with random weights: every variant computes the same in the other program, or is refused."""

import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hark.bundle import Bundle, write_facts
from hark.config import ModelConfig
from hark.errors import UserError
from hark.exchange.export import ExportKind, export_bundle, open_exporter
from hark.exchange.exporter import Exporter
from hark.exchange.importer import ImportRequest, import_model
from hark.exchange.parity import ParityError, check_sentences, compare_numbers, compare_tokens
from hark.facts import load_facts
from hark.weights import read_weights, rewrite, shrink
from tests.exchange.conftest import FEW
from tests.translate.bundles import make_bundle

TEXTS = check_sentences("en")[:4]
TRANSLATIONS = check_sentences("de")[:4]
LAYERS = ("model.n_encoder_layers=2", "model.n_decoder_layers=2")


def small(folder: Path, *settings: str) -> Bundle:
    return Bundle.open(make_bundle(folder / "small", "en", "de", *LAYERS, *settings))


def difference(exporter: Exporter, folder: Path) -> float:
    """Write an export and compare tokens and logits. Untrained models never end, so translations are not compared."""
    exporter.refuse()
    folder.mkdir()
    exporter.write(folder)
    ours, theirs = exporter.hark_side(), exporter.open_side(folder)
    compare_tokens(ours, theirs, TEXTS)
    quantity, largest = compare_numbers(ours, theirs, TEXTS, TRANSLATIONS, exporter.bound)
    assert quantity
    assert largest is not None
    return largest


VARIANTS = {
    "paper": (),
    "pre-norm": ("model.norm=pre",),
    "gelu": ("model.activation=gelu", "model.norm=pre"),
    "no attention bias": ("model.attention_bias=false",),
    "output bias": ("model.output_bias=true",),
}
OTHERS = {
    "swiglu": ("model.activation=swiglu",),
    "learned": ("model.positions=learned",),
    "no positions": ("model.positions=none",),
    "narrow heads": ("model.d_k=3", "model.d_v=5"),
    "nothing tied": ("model.tie=none",),
    "tied target": ("model.tie=target",),
}


@pytest.mark.parametrize("settings", VARIANTS.values(), ids=VARIANTS)
def test_transformers_computes_the_same(settings: tuple[str, ...], tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    exporter = open_exporter(small(tmp_path, *settings), "huggingface", None)
    assert difference(exporter, tmp_path / "hf") < 1e-4
    names = {"MarianMTModel", "PegasusForConditionalGeneration"}
    assert set(json.loads((tmp_path / "hf/config.json").read_text())["architectures"]) < names


@pytest.mark.parametrize("settings", [*OTHERS.values(), ("model.positions=rotary",)], ids=[*OTHERS, "rotary"])
def test_what_transformers_cannot_express_is_refused(settings: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"which neither MarianMTModel nor .* export to ctranslate2"):
        export_bundle(small(tmp_path, *settings), "huggingface", tmp_path / "hf")
    assert not (tmp_path / "hf").exists()


@pytest.mark.parametrize("settings", [*VARIANTS.values(), *OTHERS.values()], ids=[*VARIANTS, *OTHERS])
def test_onnxruntime_computes_the_same(settings: tuple[str, ...], tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    assert difference(open_exporter(small(tmp_path, *settings), "onnx", "float32"), tmp_path / "onnx") < 1e-4


@pytest.mark.parametrize("settings", [(), ("model.norm=pre", "model.tie=none")], ids=["paper", "nothing tied"])
def test_onnx_in_int8(settings: tuple[str, ...], tmp_path: Path) -> None:
    """Hark's side has the same quantised weights, so the results agree as in float32."""
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    bundle = small(tmp_path, *settings)
    assert difference(open_exporter(bundle, "onnx", "int8"), tmp_path / "int8") < 1e-4
    export_bundle(bundle, "onnx", tmp_path / "float32", "float32", check=False)
    sizes = [(tmp_path / each / "encoder.onnx").stat().st_size for each in ("int8", "float32")]
    assert sizes[0] < sizes[1]


def test_onnx_refuses_rotary_positions(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    with pytest.raises(UserError, match="rotary positions"):
        open_exporter(small(tmp_path, "model.positions=rotary"), "onnx", None).refuse()


@pytest.mark.parametrize("precision", ["float32", "float16", "int16", "int8"])
def test_ctranslate2_in_every_precision(precision: str, tmp_path: Path) -> None:
    bundle = small(tmp_path, "model.norm=pre")
    exporter = open_exporter(bundle, "ctranslate2", precision)  # type: ignore[arg-type]
    assert difference(exporter, tmp_path / "ct2") <= exporter.bound
    assert (tmp_path / "ct2/shared_vocabulary.json").is_file()


def test_an_int8_bundle_is_dequantised_and_says_so(tmp_path: Path) -> None:
    shrink(small(tmp_path), tmp_path / "int8", "int8")
    done = export_bundle(Bundle.open(tmp_path / "int8"), "ctranslate2", tmp_path / "ct2", "float32", check=False)
    assert done.storage == "float32, dequantised from int8"
    assert "dequantised from int8" in (tmp_path / "ct2/README.md").read_text()
    assert load_facts(tmp_path / "ct2/facts.json").making.storage == done.storage
    same = export_bundle(Bundle.open(tmp_path / "int8"), "ctranslate2", tmp_path / "same", check=False)
    assert same.storage == "int8"


def test_a_skipped_check_is_recorded(tmp_path: Path) -> None:
    done = export_bundle(small(tmp_path), "argos", tmp_path / "argos", check=False)
    assert done.proof.skipped
    (proof,) = load_facts(tmp_path / "argos/facts.json").parity
    assert proof == done.proof
    assert "not compared with ctranslate2" in (tmp_path / "argos/README.md").read_text()


def test_a_failed_check_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hark.exchange.export_ctranslate2 import CTranslate2Exporter

    other = small(tmp_path / "other", "model.norm=pre")
    wrong = CTranslate2Exporter(other, "float32").model_files()
    monkeypatch.setattr(CTranslate2Exporter, "model_files", lambda _: wrong)
    with pytest.raises(ParityError, match=r"not equal: sentence 1 \('Good morning!'\): log-probabilities"):
        export_bundle(small(tmp_path), "ctranslate2", tmp_path / "ct2", "float32")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "small"]


def test_existing_folders_are_not_overwritten(tmp_path: Path) -> None:
    bundle = small(tmp_path)
    export_bundle(bundle, "ctranslate2", tmp_path / "ct2", check=False)
    with pytest.raises(UserError, match="already exists"):
        export_bundle(bundle, "ctranslate2", tmp_path / "ct2", check=False)
    export_bundle(bundle, "argos", tmp_path / "ct2", check=False, force=True)
    assert not (tmp_path / "ct2/model.bin").exists()
    with pytest.raises(UserError, match="is inside the input"):
        export_bundle(bundle, "ctranslate2", bundle.folder / "ct2", check=False)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/letter.txt").write_text("")
    with pytest.raises(UserError, match="was not made by hark"):
        export_bundle(bundle, "ctranslate2", tmp_path / "mine", check=False, force=True)


def test_a_precision_that_a_kind_lacks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="huggingface exports do not support int8; choose from float32, float16"):
        export_bundle(small(tmp_path), "huggingface", tmp_path / "hf", "int8")


def test_an_argos_package_has_what_argos_reads(tmp_path: Path) -> None:
    bundle = small(tmp_path)
    export_bundle(bundle, "argos", tmp_path / "argos", check=False)
    with zipfile.ZipFile(tmp_path / "argos/translate-en_de-1_0.argosmodel") as package:
        names = {name.removeprefix("translate-en_de-1_0/") for name in package.namelist()}
        metadata = json.loads(package.read("translate-en_de-1_0/metadata.json"))
    assert {"metadata.json", "sentencepiece.model", "model/model.bin", "model/config.json", "README.md"} < names
    assert (metadata["from_code"], metadata["to_name"], metadata["type"]) == ("en", "German", "translate")
    first = (tmp_path / "argos/translate-en_de-1_0.argosmodel").read_bytes()
    export_bundle(bundle, "argos", tmp_path / "again", check=False)
    assert (tmp_path / "again/translate-en_de-1_0.argosmodel").read_bytes() == first


def test_argos_refuses_several_pairs(tmp_path: Path) -> None:
    bundle = small(tmp_path)
    write_facts(bundle, replace(bundle.facts, pairs=(("en", "de"), ("de", "en"))))
    with pytest.raises(UserError, match="several language pairs"):
        export_bundle(Bundle.open(bundle.folder), "argos", tmp_path / "argos")


def test_float16_weights_are_half_the_size(tmp_path: Path) -> None:
    bundle = small(tmp_path)
    sizes = {}
    for precision in ("float32", "float16"):
        export_bundle(bundle, "huggingface", tmp_path / precision, precision, check=False)  # type: ignore[arg-type]
        sizes[precision] = (tmp_path / precision / "model.safetensors").stat().st_size
    assert sizes["float16"] < 0.6 * sizes["float32"]


def test_the_onnx_example_runs_alone_and_is_short(tmp_path: Path) -> None:
    """It needs neither hark nor torch, only onnxruntime, sentencepiece and numpy."""
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    export_bundle(small(tmp_path), "onnx", tmp_path / "onnx", check=False)
    program = tmp_path / "onnx/translate.py"
    assert len(program.read_text().splitlines()) <= 60
    assert "hark" not in program.read_text()
    blocked = (
        "import sys; sys.modules['torch'] = sys.modules['hark'] = None; sys.argv = ['translate.py', 'A man.', 'Two.']"
    )
    run = f"{blocked}; import runpy; runpy.run_path({str(program)!r}, run_name='__main__')"
    found = os.pathsep.join([str(Path(onnxruntime.__file__).parents[1]), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", run],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": found},
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2


def test_interleaved_and_sine_first_orders() -> None:
    from hark.engine.conversion import sinusoids
    from hark.exchange.export_huggingface import sine_first

    table = sinusoids(ModelConfig(d_model=8, max_positions=5))[:, sine_first(8)]
    angle = np.arange(5)[:, None] / 10000 ** (np.arange(0, 8, 2) / 8)
    assert np.allclose(table, np.concatenate([np.sin(angle), np.cos(angle)], axis=1), atol=1e-6)


@pytest.mark.usefixtures("few_sentences")
@pytest.mark.parametrize("kind", ["ctranslate2", "huggingface", "onnx", "argos"])
def test_a_model_with_128_positions(kind: ExportKind, tmp_path: Path) -> None:
    """An untrained model ends no translation, and what it writes may take more than 128 tokens when encoded again."""
    for package in {"huggingface": ("transformers",), "onnx": ("onnx", "onnxruntime")}.get(kind, ()):
        pytest.importorskip(package)
    bundle = Bundle.open(make_bundle(tmp_path / "m", "en", "de", "model.max_positions=128"))
    proof = export_bundle(bundle, kind, tmp_path / kind).proof
    assert (proof.sentences, proof.equal) == (FEW, FEW)
    if kind != "onnx":
        again = import_model(ImportRequest(str(find_export(tmp_path / kind))), tmp_path / "again")
        assert (again.sentences, again.equal) == (FEW, FEW)
        if kind == "huggingface":
            assert Bundle.open(tmp_path / "again").config.model.max_positions == 128


def find_export(folder: Path) -> Path:
    return next(folder.glob("*.argosmodel"), folder)


def test_weights_that_are_not_numbers_are_not_exported(tmp_path: Path) -> None:
    bundle = small(tmp_path)
    weights = {name: np.array(each) for name, each in read_weights(bundle.weights).items()}
    weights["encoder.layers.0.feed_forward.w_1.bias"][0] = np.nan
    rewrite(bundle, tmp_path / "broken", weights, "float32", bundle.facts, False)
    with pytest.raises(UserError, match=r"encoder.layers.0.feed_forward.w_1.bias contains NaN or infinity"):
        export_bundle(Bundle.open(tmp_path / "broken"), "ctranslate2", tmp_path / "ct2", check=False)
