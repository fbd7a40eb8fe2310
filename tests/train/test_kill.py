"""SIGKILL loses only the steps since the last checkpoint; two processes train like one."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from hark import configfile
from hark.config import Config
from hark.rundir import RunDir
from hark.train import checkpoint
from hark.train.metrics import read_metrics
from tests.processes import PATIENCE, SERVER, Hark, direct, start_hark, train_on_two
from tests.runs import losses

EVERYTHING = [
    "train.steps=40",
    "train.save_steps=4",
    "train.batches_per_step=2",
    "train.ema=0.9",
    "train.eval_steps=9",
]


@pytest.fixture
def recipe(settings: Callable[..., Config], tmp_path: Path) -> Callable[..., str]:
    def write(*overrides: str) -> str:
        path = tmp_path / "recipe.toml"
        path.write_text(configfile.dump(settings(*overrides)))
        return str(path)

    return write


def step_of(run: RunDir) -> int:
    return read_metrics(run.metrics).step if run.metrics.exists() else 0


def test_a_run_killed_at_random_moments_equals_an_uninterrupted_one(recipe: Callable[..., str], tmp_path: Path) -> None:
    """With accumulation, a moving average and evaluations, over many epochs: bit for bit."""
    file, whole, killed = recipe(*EVERYTHING), RunDir(tmp_path / "whole"), RunDir(tmp_path / "killed")
    # Not in this process, where another test may have changed how PyTorch rounds.
    with Hark("train", file, "-o", str(whole.path), output=tmp_path / "printed") as process:
        assert process.finish() == 0, process.printed
    arguments = ["train", file, "-o", str(killed.path)]
    for step in (5, 10, 15):
        with Hark(*arguments, output=tmp_path / "printed") as process:
            process.wait_for(lambda step=step: step_of(killed) > step)
            process.process.kill()
            assert process.finish() == -signal.SIGKILL
        arguments = ["train", "--resume", str(killed.path)]
    with Hark(*arguments, output=tmp_path / "printed") as process:
        assert process.finish() == 0, process.printed
    assert losses(killed) == losses(whole)
    ends = [checkpoint.load(checkpoint.latest(run.checkpoints)) for run in (whole, killed)]
    for file_name, tensors in ends[0][0].items():
        for name, tensor in tensors.items():
            assert torch.equal(tensor, ends[1][0][file_name][name]), (file_name, name)
    assert ends[0][1]["batches"] == ends[1][1]["batches"]
    assert (whole.best / "model.safetensors").read_bytes() == (killed.best / "model.safetensors").read_bytes()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_a_signal_saves_and_stops(recipe: Callable[..., str], tmp_path: Path, number: int, code: int) -> None:
    run = RunDir(tmp_path / "run")
    with Hark("train", recipe("train.steps=100000"), "-o", str(run.path), output=tmp_path / "printed") as process:
        process.wait_for(lambda: step_of(run) > 3)
        os.kill(process.pid, number)
        assert process.finish() == code, process.printed
    history = read_metrics(run.metrics)
    assert history.stopped is not None
    assert history.stopped.reason == "interrupted"
    assert checkpoint.step_of(checkpoint.latest(run.checkpoints)) == history.stopped.step == history.train[-1].step
    assert "resume with hark train --resume" in process.printed
    assert "Traceback" not in process.printed


@pytest.mark.parametrize("parallel", ["ddp", "fsdp"])
def test_two_processes_train_like_one(
    recipe: Callable[..., str], trained: Callable[..., RunDir], tmp_path: Path, parallel: str
) -> None:
    """The same global batch on one process and on two; a run started on two resumes on one, and the other way round."""
    overrides = ["train.steps=6", "train.batches_per_step=4", "train.save_steps=3", f"train.parallel={parallel}"]

    def finish_on_two(*arguments: str) -> None:
        with train_on_two(*arguments, output=tmp_path / "printed") as processes:
            for each in processes:
                assert each.finish() == 0, each.printed

    one, two = trained("one", *overrides), RunDir(tmp_path / "two")
    finish_on_two(recipe(*overrides), "-o", str(two.path))
    assert read_metrics(two.metrics).start.processes == 2  # type: ignore[union-attr]
    assert losses(two).keys() == losses(one).keys()
    for step, values in losses(one).items():
        assert losses(two)[step] == pytest.approx(values, rel=1e-5)
    dev = [read_metrics(run.metrics).dev[-1].nll for run in (one, two)]
    assert dev[0] == pytest.approx(dev[1], rel=1e-5)

    trained("two", "train.steps=9", resumed=True)
    finish_on_two("--resume", str(one.path), "train.steps=9", "--allow", "train.steps")
    assert max(losses(one)) == max(losses(two)) == 9
    for step, values in losses(one).items():
        assert losses(two)[step] == pytest.approx(values, rel=1e-5)


def launch_two(arguments: list[str], output: Path) -> None:
    """What torchrun does, with workers forked from this process, which has imported PyTorch."""
    direct(output)
    config = LaunchConfig(
        min_nodes=1, max_nodes=1, nproc_per_node=2, max_restarts=2, monitor_interval=0.1, rdzv_backend="c10d",
        rdzv_endpoint="localhost:0", run_id="test", start_method="fork",
    )  # fmt: skip
    elastic_launch(config, start_hark)(arguments)


def test_a_worker_that_dies_is_restarted_and_resumes(recipe: Callable[..., str], tmp_path: Path) -> None:
    """torchrun's elastic agent restarts the workers, which resume from the last checkpoint."""
    run, output = RunDir(tmp_path / "run"), tmp_path / "printed"
    file = recipe("train.steps=40", "train.batches_per_step=2", "train.save_steps=5")
    agent = SERVER.Process(target=launch_two, args=(["train", file, "-o", str(run.path)], output))
    agent.start()
    try:
        while step_of(run) < 12:
            assert agent.is_alive(), output.read_text()
            time.sleep(0.01)
        os.kill(int((run.path / "lock").read_text()), signal.SIGKILL)
        agent.join(PATIENCE)
        assert agent.exitcode == 0, output.read_text()
    finally:
        agent.kill()
    kinds = [line for line in run.metrics.read_text().splitlines() if '"kind": "resume"' in line]
    assert len(kinds) == 1
    assert set(losses(run)) == set(range(1, 41))
