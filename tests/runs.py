"""A dataset and a model so small that a training step takes milliseconds."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hark import configfile
from hark.config import Config, CorpusConfig
from hark.data.dataset import Dataset
from hark.data.prepare import prepare
from hark.monitor.panel import watch_run
from hark.rundir import RunDir
from hark.train.metrics import read_metrics
from hark.train.records import TrainRecord
from hark.train.session import run_training
from hark.train.start import open_dataset, resolve

SETTINGS = [
    "model.d_model=16", "model.d_ff=32", "model.n_heads=2", "model.n_encoder_layers=1", "model.n_decoder_layers=1",
    "batches.batch_tokens=200", "batches.max_length=40", "data.vocab_size=400",
    "train.warmup_steps=10", "train.log_steps=1", "train.eval_steps=1000", "train.steps=20", "train.device=cpu",
    "decode.max_extra=5",
]  # fmt: skip


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of a hundred pairs, built once per session."""
    folder = tmp_path_factory.mktemp("data")
    words = "the cat dog sees likes a small red house and runs to old tree we you they have".split()  # noqa: SIM905
    for name, pairs in (("train", 100), ("dev", 10)):
        lines = [" ".join(words[(i * k + k) % len(words)] for k in range(2, 5 + i % 7)) + f" {i}" for i in range(pairs)]
        shift = 0 if name == "train" else 1000
        lines = [line if not shift else line + f" {i + shift}" for i, line in enumerate(lines)]
        (folder / f"{name}.en").write_text("\n".join(lines) + "\n")
        (folder / f"{name}.de").write_text("\n".join(line.upper()[::-1] for line in lines) + "\n")
    corpora = {
        use: (CorpusConfig(str(folder / f"{use}.en"), str(folder / f"{use}.de"), use),) for use in ("train", "dev")
    }
    config = configfile.load(None, [*SETTINGS, "data.clean.language=1", "data.clean.min_letters=0"])
    data = replace(config.data, train=corpora["train"], dev=corpora["dev"])
    prepare(replace(config, data=data), folder / "dataset", processes=1)
    return folder / "dataset"


@pytest.fixture
def settings(dataset: Path) -> Callable[..., Config]:
    def make(*overrides: str) -> Config:
        return configfile.load(None, [*SETTINGS, f"data.dataset={dataset}", *overrides])

    return make


@pytest.fixture
def trained(settings: Callable[..., Config], tmp_path: Path) -> Callable[..., RunDir]:
    """A function that trains in this process, with some settings changed, and returns the run."""

    def train(name: str, *overrides: str, resumed: bool = False) -> RunDir:
        run = RunDir(tmp_path / name)
        config = configfile.load(run.config, overrides) if resumed else settings(*overrides)
        opened: Dataset = open_dataset(config.data)
        run_training(config if resumed else resolve(config, opened), run, opened, resumed, observe=watch_run)
        return run

    return train


def losses(run: RunDir) -> dict[int, tuple[float, float, float]]:
    """Loss, nll and gradient norm by step, which must be bit-identical in two equal runs."""
    records: tuple[TrainRecord, ...] = read_metrics(run.metrics).train
    return {each.step: (each.loss, each.nll, each.grad_norm) for each in records}
