"""How forwards and backwards are computed, and why not in another way. The GPU's side is measured in benchmarks/."""

from dataclasses import replace

import pytest
import torch

from hark.config import BatchConfig, Config, ModelConfig, TrainConfig
from hark.model import kernels
from hark.train.passes import why_not_recorded
from hark.train.processes import Processes

GPU = Processes(0, 1, torch.device("cuda"))


@pytest.fixture
def able(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "available", lambda: True)


@pytest.mark.usefixtures("able")
@pytest.mark.parametrize(
    ("config", "words"),
    [
        (Config(), None),
        (Config(train=TrainConfig(precision="float32")), "float32"),
        (Config(train=TrainConfig(compile="off")), "train.compile"),
        (Config(batches=BatchConfig(kind="padded")), "padded"),
        (Config(batches=BatchConfig(max_length=513)), "size"),
        (Config(model=ModelConfig(n_heads=32)), None),
        (Config(model=ModelConfig(n_heads=64)), "size"),
        (Config(model=ModelConfig(d_k=64, d_v=32)), "size"),
        (Config(model=ModelConfig(output_bias=True)), "output bias"),
    ],
)
def test_what_keeps_a_run_from_the_fast_path(config: Config, words: str | None) -> None:
    found = why_not_recorded(config, GPU)
    assert found is None if words is None else words in (found or "")


@pytest.mark.usefixtures("able")
def test_one_gpu_only() -> None:
    assert why_not_recorded(Config(), replace(GPU, world=2)) == "several processes"
    assert why_not_recorded(Config(), Processes(0, 1, torch.device("cpu"))) == "no GPU"


def test_without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "available", lambda: False)
    assert "Triton" in (why_not_recorded(Config(), GPU) or "")
