"""SIGKILL loses only the steps since the last checkpoint; two processes train like one."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from hark import configfile
from hark.config import Config
from hark.rundir import RunDir
from hark.train import checkpoint
from hark.train.metrics import read_metrics
from tests.runs import losses

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
EVERYTHING = [
    "train.steps=150",
    "train.save_steps=4",
    "train.batches_per_step=2",
    "train.ema=0.9",
    "train.eval_steps=9",
]


def command(*arguments: str, processes: int = 1) -> list[str]:
    if processes == 1:
        return [sys.executable, "-m", "hark", "train", *arguments]
    run = ["torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    return [sys.executable, "-m", *run, "-m", "hark", "train", *arguments]


@pytest.fixture
def recipe(settings: Callable[..., Config], tmp_path: Path) -> Callable[..., str]:
    def write(*overrides: str) -> str:
        path = tmp_path / "recipe.toml"
        path.write_text(configfile.dump(settings(*overrides)))
        return str(path)

    return write


def finish(*arguments: str, processes: int = 1) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments, processes=processes),
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        check=False,
        timeout=300,
    )


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while not condition() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)


def test_a_run_killed_at_random_moments_equals_an_uninterrupted_one(recipe: Callable[..., str], tmp_path: Path) -> None:
    """With accumulation, a moving average and evaluations, over many epochs: bit for bit."""
    file = recipe(*EVERYTHING)
    whole, killed = RunDir(tmp_path / "whole"), RunDir(tmp_path / "killed")
    result = finish(file, "-o", str(whole.path))
    assert result.returncode == 0, result.stderr

    rng, kills, arguments = random.Random(), 0, [file, "-o", str(killed.path)]
    while True:
        process = subprocess.Popen(command(*arguments), env=ENVIRONMENT, stderr=subprocess.DEVNULL)
        before = read_metrics(killed.metrics).step if killed.metrics.exists() else 0
        wait_for(
            lambda before=before: killed.metrics.exists() and read_metrics(killed.metrics).step > before + 7, process
        )
        time.sleep(rng.random() * 0.1)
        if kills < 3:
            process.kill()
            kills += 1
        if process.wait() == 0:
            break
        assert process.returncode == -signal.SIGKILL
        arguments = ["--resume", str(killed.path)]
    assert kills == 3
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
    process = subprocess.Popen(
        command(recipe("train.steps=100000"), "-o", str(run.path)), env=ENVIRONMENT, stderr=subprocess.PIPE, text=True
    )
    wait_for(lambda: run.metrics.exists() and read_metrics(run.metrics).step > 3, process)  # type: ignore[arg-type]
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == code, stderr
    history = read_metrics(run.metrics)
    assert history.stopped is not None
    assert history.stopped.reason == "interrupted"
    assert checkpoint.step_of(checkpoint.latest(run.checkpoints)) == history.stopped.step == history.train[-1].step
    assert "resume with hark train --resume" in stderr
    assert "Traceback" not in stderr


@pytest.mark.parametrize("parallel", ["ddp", "fsdp"])
def test_two_processes_train_like_one(recipe: Callable[..., str], tmp_path: Path, parallel: str) -> None:
    """The same global batch on one process and on two; a run started on two resumes on one."""
    file = recipe("train.steps=12", "train.batches_per_step=4", "train.save_steps=6", f"train.parallel={parallel}")
    one, two = RunDir(tmp_path / "one"), RunDir(tmp_path / "two")
    assert finish(file, "-o", str(one.path)).returncode == 0
    result = finish(file, "-o", str(two.path), processes=2)
    assert result.returncode == 0, result.stderr
    assert read_metrics(two.metrics).start.processes == 2  # type: ignore[union-attr]
    for step, values in losses(one).items():
        assert losses(two)[step] == pytest.approx(values, rel=1e-5)
    dev = [read_metrics(run.metrics).dev[-1].nll for run in (one, two)]
    assert dev[0] == pytest.approx(dev[1], rel=1e-5)

    result = finish("--resume", str(two.path), "train.steps=16", "--allow", "train.steps")
    assert result.returncode == 0, result.stderr
    result = finish("--resume", str(one.path), "train.steps=16", "--allow", "train.steps", processes=2)
    assert result.returncode == 0, result.stderr
    assert max(losses(two)) == 16
    for step, values in losses(one).items():
        assert losses(two)[step] == pytest.approx(values, rel=1e-5)


def test_a_worker_that_dies_is_restarted_and_resumes(recipe: Callable[..., str], tmp_path: Path) -> None:
    """torchrun's elastic agent restarts the worker, which resumes from the last checkpoint."""
    run = RunDir(tmp_path / "run")
    arguments = command(
        recipe("train.steps=40", "train.batches_per_step=2", "train.save_steps=5"), "-o", str(run.path), processes=2
    )
    place = arguments.index("--standalone")
    arguments[place:place] = ["--max-restarts", "2", "--monitor-interval", "0.1"]
    agent = subprocess.Popen(arguments, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: run.metrics.exists() and read_metrics(run.metrics).step >= 12, agent)  # type: ignore[arg-type]
    pid = int((run.path / "lock").read_text())
    os.kill(pid, signal.SIGKILL)
    _, stderr = agent.communicate(timeout=240)
    assert agent.returncode == 0, stderr
    kinds = [line for line in run.metrics.read_text().splitlines() if '"kind": "resume"' in line]
    assert len(kinds) == 1
    assert set(losses(run)) == set(range(1, 41))
