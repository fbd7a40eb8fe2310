"""Weight files: read as torch reads them, quantised, averaged, and the same translations from int8."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st

from hark.bundle import SHORTLIST, TOKENIZER, Bundle, write_bundle, write_files
from hark.engine.ctranslate2 import FEW
from hark.engine.interface import Request
from hark.engine.opening import open_engine
from hark.errors import UserError
from hark.facts import MakingFacts, MeasuredScore, ScoreFacts, SetScores, TextFacts
from hark.model.weights import build_model, load_model, read_tensors
from hark.shortlist import Shortlist
from hark.text.tokenizer import EOS, SPECIAL
from hark.translate.load import Loaded
from hark.weights import Storage, WeightFile, average, quantise, read_weights, shrink, store, write_weights
from tests.translate.bundles import make_bundle


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 20))
def test_quantised_rows_are_within_half_a_step(seed: int, rows: int, columns: int) -> None:
    chance = np.random.default_rng(seed)
    matrix = (chance.normal(size=(rows, columns)) * 10.0 ** chance.integers(-6, 6, (rows, 1))).astype(np.float32)
    matrix[chance.integers(rows)] = 0
    ((whole, scale),) = quantise([matrix])
    assert np.all(np.abs(whole / scale[:, None] - matrix) <= 0.5001 / scale[:, None])
    largest = np.abs(whole.astype(int)).max(axis=1)
    assert set(largest.tolist()) <= {0, 127}


def test_matrices_are_quantised_in_blocks() -> None:
    matrices = [np.random.default_rng(i).normal(size=(i * 700 + 1, 300)).astype(np.float32) for i in range(3)]
    for matrix, (whole, scale) in zip(matrices, quantise(matrices), strict=True):
        expected = np.rint(matrix * (127 / np.abs(matrix).max(axis=1, keepdims=True)))
        assert np.abs(whole - expected).max() <= 1  # a half may be rounded either way
        assert (whole != expected).mean() < 1e-4
        assert scale == pytest.approx(127 / np.abs(matrix).max(axis=1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int64])
def test_weights_are_read_as_torch_reads_them(dtype: torch.dtype, tmp_path: Path) -> None:
    tensors = {"a": torch.randn(3, 5).to(dtype), "b.c": torch.randn(7).to(dtype), "d": torch.randn(()).to(dtype)}
    safetensors.torch.save_file(tensors, tmp_path / "weights", metadata={"format": "pt"})
    found = read_weights(tmp_path / "weights")
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert found[name].dtype == np.float32
        assert np.array_equal(found[name], tensor.float().numpy())


def test_a_weight_file_reads_each_array_when_asked(tmp_path: Path) -> None:
    bundle = Bundle.open(make_bundle(tmp_path / "bundle"))
    shrink(bundle, tmp_path / "small", "int8")
    for path in (bundle.weights, Bundle.open(tmp_path / "small").weights):
        file, whole = WeightFile(path), read_weights(path)
        assert list(file) == list(whole)
        assert all(np.array_equal(file[name], whole[name]) for name in whole)
        assert file["embedding.weight"].base is not file["embedding.weight"].base  # mapped again
        with pytest.raises(KeyError):
            file["none"]


def test_a_model_can_use_the_memory_of_its_weights(tmp_path: Path) -> None:
    bundle = Bundle.open(make_bundle(tmp_path / "bundle"))
    values = read_tensors(bundle.weights)
    shared, copied = (build_model(bundle.config.model, values, "a test", share=share) for share in (True, False))
    for (name, one), two in zip(shared.named_parameters(), copied.parameters(), strict=True):
        assert one.data_ptr() == values[name].data_ptr() != two.data_ptr()
        assert torch.equal(one, two)
    for one, two in zip(shared.buffers(), copied.buffers(), strict=True):
        assert torch.equal(one, two)


@pytest.mark.parametrize(
    "content", [b"", b"1234", b"\xff" * 100, b"\x02\0\0\0\0\0\0\0[]", b'\x07\0\0\0\0\0\0\0{"a":1}']
)
def test_an_invalid_file_is_a_one_line_error(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(content)
    with pytest.raises(UserError, match="not a valid weight file: ") as refused:
        read_weights(tmp_path / "weights")
    assert "\n" not in str(refused.value)


STORAGES: tuple[Storage, ...] = ("float32", "bfloat16", "float16", "int8")
TEXTS = ["the small red house", "we have a dog", "they run to an old tree and see", "a", "Katze und Haus 17"]


def some_weights() -> dict[str, np.ndarray]:
    chance = np.random.default_rng(3)
    shapes = {"embedding.weight": (9, 6), "b.bias": (5,), "source_positions.weight": (4, 6), "c.weight": (6, 7)}
    return {name: chance.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.mark.parametrize("storage", STORAGES)
def test_torch_and_numpy_read_the_same(storage: Storage, tmp_path: Path) -> None:
    weights = some_weights()
    write_weights(tmp_path / "weights", store(weights, storage))
    theirs, ours = read_tensors(tmp_path / "weights"), read_weights(tmp_path / "weights")
    assert theirs.keys() == weights.keys()
    for name, exact in weights.items():
        found = theirs[name].float().numpy()
        if f"{name}.scale" in ours:
            assert ours[name].dtype == np.int8
            assert np.array_equal(found, ours[name].astype(np.float32) / ours[f"{name}.scale"][:, None])
        else:
            assert np.array_equal(found, ours[name])
        if exact.ndim == 1 or "positions" in name or storage == "float32":
            assert np.array_equal(found, exact)  # not quantised
        else:
            steps = {"float16": 2**-11, "bfloat16": 2**-8, "int8": 0.51 / 127}[storage]
            largest = np.abs(exact) if storage != "int8" else np.abs(exact).max(axis=1, keepdims=True)
            assert np.all(np.abs(found - exact) <= steps * largest)
            assert not np.array_equal(found, exact)


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
def test_bfloat16_is_rounded_as_torch_rounds(values: list[float]) -> None:
    matrix = np.array([values], np.float32)
    expected = torch.tensor(matrix).bfloat16().view(torch.int16).numpy().view(np.uint16)
    assert np.array_equal(store({"w": matrix}, "bfloat16")["w"], expected)


def test_the_file_is_deterministic(tmp_path: Path) -> None:
    weights = some_weights()
    for name, order in (("one", list(weights)), ("two", list(weights)[::-1])):
        write_weights(tmp_path / name, store({each: weights[each] for each in order}, "int8"))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert safetensors.torch.load_file(tmp_path / "one").keys() == read_weights(tmp_path / "one").keys()


def test_int8_without_scales_is_an_error(tmp_path: Path) -> None:
    write_weights(tmp_path / "weights", {"a": np.zeros((2, 2), np.int8)})
    with pytest.raises(UserError, match=r"a is int8, but a\.scale is missing"):
        read_weights(tmp_path / "weights")


SCORES = ScoreFacts({"bleu": "tok:13a"}, (SetScores("test", 9, {"bleu": MeasuredScore(30.0)}),))


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    folder = make_bundle(tmp_path_factory.mktemp("models") / "wide", "en", "de", "model.d_model=32")
    return Bundle.open(folder)


def translations(folder: Path, precision: str) -> list[tuple[str, float | None]]:
    loaded = Loaded(folder, "ctranslate2", precision=precision, threads=1)  # type: ignore[arg-type]
    return [(each.text, each.score) for each in loaded.translate(TEXTS)]


def test_int8_storage_gives_bit_identical_translations(bundle: Bundle, tmp_path: Path) -> None:
    shrink(bundle, tmp_path / "small", "int8")
    assert translations(tmp_path / "small", "int8") == translations(bundle.folder, "int8")
    small = Bundle.open(tmp_path / "small")
    assert small.config == bundle.config
    assert small.weights.stat().st_size < 0.45 * bundle.weights.stat().st_size
    assert small.facts == replace(bundle.facts, making=MakingFacts(storage="int8"))
    assert "- Stored in: int8\n" in small.card
    assert small.target_tokenizer.read_bytes() == bundle.target_tokenizer.read_bytes()
    # torch computes with the same rounded weights.
    wide, narrow = load_model(bundle), load_model(small)
    for (name, exact), (_, found) in zip(wide.named_parameters(), narrow.named_parameters(), strict=True):
        assert found.dtype == torch.float32
        if exact.ndim == 2:
            assert (exact - found).abs().max() <= 0.51 * exact.abs().max() / 127, name
        else:
            assert torch.equal(exact, found), name
    with pytest.raises(UserError, match="already int8, which is lossy; start from the original"):
        shrink(small, tmp_path / "smaller", "bfloat16")


def test_loading_does_not_initialise_weights_at_random(bundle: Bundle) -> None:
    before = torch.get_rng_state()
    model, values = load_model(bundle), read_tensors(bundle.weights)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(each, values[name]) for name, each in model.named_parameters())
    assert all(each.requires_grad for each in model.parameters())


def test_a_shortlist_stays_with_its_model(tmp_path: Path) -> None:
    wide = Bundle.open(make_bundle(tmp_path / "wide"))
    common = np.arange(3, 300, dtype=np.uint16)
    shortlist = Shortlist(common, np.zeros(700, np.uint8), common[:0])
    write_files(wide, {SHORTLIST: shortlist.to_bytes()})
    wide = Bundle.open(tmp_path / "wide")
    shrink(wide, tmp_path / "small", "int8")
    average([wide, wide], tmp_path / "mean", "int8")
    assert wide.shortlist is not None
    for name in ("small", "mean"):
        assert (tmp_path / name / SHORTLIST).read_bytes() == wide.shortlist.read_bytes()
    tokens = {
        precision: {
            token for answer in engine.run([Request([9, 400, 500, EOS])] * FEW) for token in answer[1][0].tokens
        }
        for precision in ("int8", "float32")
        for engine in [open_engine(wide, SPECIAL, "ctranslate2", precision=precision, threads=1)]
    }  # fmt: skip
    assert max(tokens["int8"]) < 300
    assert max(tokens["float32"]) >= 300  # no shortlist in higher precision


def test_the_average_of_several_models(bundle: Bundle, tmp_path: Path) -> None:
    exact = read_weights(bundle.weights)
    other = {name: (-3 * array).astype(np.float32) for name, array in exact.items()}
    tokenizers = {TOKENIZER: bundle.target_tokenizer.read_bytes()}
    # The other is stored in int8 and is dequantised.
    write_bundle(
        tmp_path / "other",
        bundle.config,
        lambda path: write_weights(path, store(other, "int8")),
        tokenizers,
        replace(bundle.facts, title="Other", summary="BLEU 30", text=(TextFacts("more"),), scores=SCORES),
    )
    bundle = replace(bundle, facts=replace(bundle.facts, text=(TextFacts("much"),)))
    bundles = [bundle, bundle, bundle, Bundle.open(tmp_path / "other")]
    average(bundles, tmp_path / "mean", "float32")
    mean = Bundle.open(tmp_path / "mean")
    found, largest = read_weights(mean.weights), max(np.abs(array).max() for array in exact.values())
    assert found.keys() == exact.keys()
    assert max(np.abs(array).max() for array in found.values()) <= 0.01 * largest  # they cancel out
    facts, making = mean.facts, mean.facts.making
    assert (facts.title, making.weights, making.storage) == ("Other", "average of 4 models", "float32")
    assert [each.name for each in facts.text] == ["much", "more"]
    assert [each.name for each in making.parents if each.role == "averaged"] == ["wide", "wide", "wide", "other"]
    # Scores of one model do not apply to the average.
    assert facts.scores is None
    assert "BLEU" not in mean.card
    average([bundle, bundle], tmp_path / "same", "int8")
    assert translations(tmp_path / "same", "int8") == translations(bundle.folder, "int8")


def test_models_of_another_architecture_cannot_be_averaged(bundle: Bundle, tmp_path: Path) -> None:
    other = Bundle.open(make_bundle(tmp_path / "other", "en", "de", "model.d_model=64"))
    with pytest.raises(
        UserError, match=r"differs from .* in architecture or vocabulary; only models with common initial weights"
    ):
        average([bundle, other], tmp_path / "mean", "float32")
    assert not (tmp_path / "mean").exists()


def test_a_shrunk_bundle_has_no_paths_of_the_machine(tmp_path: Path) -> None:
    paths = ["data.dataset=/here/data", "data.tokenizer=/here/tokenizer.model", "train.from=/here/model"]
    paths += [
        f'data.{role}=[{{source="/here/{role}.en", target="/here/{role}.de"}}]' for role in ("train", "dev", "test")
    ]
    wide = make_bundle(tmp_path / "wide", "en", "de", *paths)
    assert "/here" in (wide / "config.toml").read_text()
    shrink(Bundle.open(wide), tmp_path / "small", "int8")
    written = (tmp_path / "small" / "config.toml").read_text()
    assert "/here" not in written
    assert '"train.de"' in written  # file names are kept


def test_a_bundle_may_be_shrunk_in_place(bundle: Bundle, tmp_path: Path) -> None:
    shrink(bundle, tmp_path / "one", "float16")
    copy = make_bundle(tmp_path / "two", "en", "de", "model.d_model=32")
    with pytest.raises(UserError, match="already exists"):
        shrink(Bundle.open(copy), copy, "float16")
    shrink(Bundle.open(copy), copy, "float16", force=True)
    assert (copy / "manifest.json").read_bytes() == (tmp_path / "one" / "manifest.json").read_bytes()
    assert translations(copy, "float32")[0][0]


def test_hark_shrink(bundle: Bundle, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hark", "shrink", str(bundle.folder), "-o", str(tmp_path / "small")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(f"{tmp_path / 'small'}: int8, 0.")
    again = subprocess.run([*command[:-1], str(tmp_path / "s"), "--weights", "int4"], capture_output=True, check=False)
    assert again.returncode == 2
