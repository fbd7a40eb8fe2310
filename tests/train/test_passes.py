"""Why a run falls back to PyTorch's own kernels. The GPU path itself is tested in tests/gpu."""

from dataclasses import replace

import pytest
import torch

from hark.config import BatchConfig, Config, ModelConfig, TrainConfig
from hark.model import kernels
from hark.train.passes import compiles, fallback_reason
from hark.train.processes import Processes

GPU = Processes(0, 1, torch.device("cuda"))


@pytest.fixture
def kernels_available(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "available", lambda: True)


@pytest.mark.usefixtures("kernels_available")
@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (Config(), None),
        (Config(train=TrainConfig(precision="float32")), "float32"),
        (Config(train=TrainConfig(compile="off")), "train.compile"),
        (Config(batches=BatchConfig(kind="padded")), "padded"),
        (Config(model=ModelConfig(max_positions=5000), batches=BatchConfig(max_length=4097)), "not tested with"),
        (Config(model=ModelConfig(norm_kind="rms", positions="relative")), None),
        (Config(model=ModelConfig(n_heads=32)), None),
        (Config(model=ModelConfig(n_heads=64)), "not tested with"),
        (Config(model=ModelConfig(d_k=64, d_v=32)), None),
        (Config(model=ModelConfig(d_k=64, d_v=48)), "not tested with"),
        (Config(model=ModelConfig(output_bias=True)), "output bias"),
        (Config(batches=BatchConfig(any_order=0.2)), "order of prediction"),
    ],
)
def test_settings_that_the_fast_path_does_not_support(config: Config, reason: str | None) -> None:
    found = fallback_reason(config, GPU)
    assert found is None if reason is None else reason in (found or "")


def test_batches_whose_attention_changes_shape_are_not_compiled() -> None:
    any_order = BatchConfig(any_order=0.2)
    assert compiles(Config(), GPU)
    assert not compiles(Config(batches=any_order), GPU)
    assert compiles(Config(batches=any_order, train=TrainConfig(compile="on")), GPU)


@pytest.mark.usefixtures("kernels_available")
def test_the_fast_path_needs_a_single_gpu() -> None:
    assert fallback_reason(Config(), replace(GPU, world=2)) == "several processes"
    assert fallback_reason(Config(), Processes(0, 1, torch.device("cpu"))) == "no GPU"


def test_the_fast_path_needs_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "available", lambda: False)
    assert "Triton" in (fallback_reason(Config(), GPU) or "")
