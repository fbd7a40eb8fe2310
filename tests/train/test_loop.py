"""The training loop: learning, exact resuming, and stopping."""

import json
import math
import os
import signal
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from hark.errors import HarkError, UserError
from hark.model.weights import read_tensors
from hark.rundir import RunDir, RunLock
from hark.train import bad_steps, checkpoint, dev, job, loop, optimiser, passes
from hark.train import passes as meter
from hark.train.export import average_run
from hark.train.job import TrainingJob
from hark.train.metrics import read_metrics
from hark.train.records import TrainRecord
from tests.runs import losses

Trained = Callable[..., RunDir]
GOLDEN = Path(__file__).parents[1] / "golden" / "loss_curve.json"


def test_overfits_a_handful_of_sentences(trained: Trained) -> None:
    run = trained(
        "run", "train.steps=120", "batches.batch_tokens=800", "model.dropout=0", "train.label_smoothing=0",
        "model.d_model=32", "model.d_ff=64", "train.schedule=linear", "train.warmup_steps=30", "train.rate_scale=0.6",
        "train.log_steps=20",
    )  # fmt: skip
    assert losses(run)[120][0] < 0.05  # from 6, that of a uniform guess


def test_loss_curve_equals_the_golden_file(trained: Trained) -> None:
    """20 steps with fixed seeds. To change the curve on purpose, write it again with HARK_GOLDEN=1."""
    curve = [loss for loss, _, _ in losses(trained("run")).values()]
    if "HARK_GOLDEN" in os.environ:
        GOLDEN.write_text(json.dumps(curve, indent=1) + "\n")
    assert curve == pytest.approx(json.loads(GOLDEN.read_text()), rel=1e-4)


@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["train.batches_per_step=3"],
        ["train.ema=0.9", "train.eval_steps=4"],
        ["train.clip_norm=0.5"],
        ["batches.kind=padded", "train.batches_per_step=2"],
        ["train.optimiser=muon"],
    ],
    ids=["plain", "accumulation", "ema", "clip", "padded", "muon"],
)
def test_a_resumed_run_equals_an_uninterrupted_one(trained: Trained, overrides: list[str]) -> None:
    """Across epochs too: an epoch has about 8 batches here, a run 12 or more."""
    whole = trained("whole", *overrides, "train.steps=12")
    trained("parts", *overrides, "train.steps=5")
    trained("parts", "train.steps=10", resumed=True)
    parts = trained("parts", "train.steps=12", resumed=True)
    assert losses(parts) == losses(whole)
    last = [checkpoint.load(checkpoint.latest(run.checkpoints))[0] for run in (whole, parts)]
    for name, weight in last[0]["model"].items():
        assert torch.equal(weight, last[1]["model"][name]), name
    if "ema" in last[0]:
        assert all(torch.equal(weight, last[1]["ema"][name]) for name, weight in last[0]["ema"].items())


def test_the_best_model_is_kept_and_early_stopping_stops(trained: Trained) -> None:
    run = trained("run", "train.eval_steps=2", "train.early_stop=3", "train.rate_scale=60", "train.steps=200")
    history = read_metrics(run.metrics)
    assert history.stopped is not None
    assert history.stopped.reason == "early"
    best = min(history.dev, key=lambda record: record.nll)
    assert history.best == best
    assert f"step {best.step}," in (run.best / "card.md").read_text()


def test_a_signal_in_the_last_step_does_not_make_a_finished_run_look_interrupted(
    trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_step = loop.log_step

    def interrupted_while_logging(job: TrainingJob, *rest: Any) -> None:
        log_step(job, *rest)
        job.signals.received = signal.SIGTERM

    monkeypatch.setattr(loop, "log_step", interrupted_while_logging)
    for steps, reason in (("train.steps=3", "interrupted"), ("train.steps=2", "finished")):
        history = read_metrics(trained(reason, steps, "train.log_steps=1").metrics)
        assert history.stopped is not None
        assert (history.stopped.reason, history.stopped.step) == (reason, 2)


def test_best_last_keeps_the_last_model(trained: Trained) -> None:
    run = trained("run", "train.eval_steps=2", "train.best=last", "train.rate_scale=60", "train.steps=9")
    history = read_metrics(run.metrics)
    best = min(history.dev, key=lambda record: record.nll)
    assert history.best == best != history.dev[-1]  # the dev records still mark the best
    assert history.stopped is not None
    assert history.stopped.message == f"the last model is {run.best}"
    assert "step 9, the last" in (run.best / "card.md").read_text()
    kept = read_tensors(run.best / "model.safetensors")
    average_run(run, 1, run.path / "last")
    torch.testing.assert_close(kept, read_tensors(run.path / "last" / "model.safetensors"), rtol=0, atol=0)


def test_non_finite_gradients_are_skipped_and_counted_and_too_many_stop_the_run(
    trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hark.train import loss

    real, calls = loss.smoothed_loss, [0]

    def sometimes_nan(*arguments: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        calls[0] += 1
        value, nll = real(*arguments)  # type: ignore[arg-type]
        return (value * float("nan") if bad(calls[0]) else value), nll

    monkeypatch.setattr(loss, "smoothed_loss", sometimes_nan)
    bad = lambda call: call in (4, 5)  # noqa: E731  # the first call is the memory check
    run = trained("some", "train.steps=8", "train.save_steps=1")
    history = read_metrics(run.metrics)
    assert [record.skipped for record in history.train] == [0, 0, 1, 2, 2, 2, 2, 2]
    assert math.isnan(history.train[2].loss)
    before, after = (checkpoint.load(run.checkpoints / f"step-{n}")[0]["model"] for n in (4, 5))
    assert not torch.equal(before["embedding.weight"], after["embedding.weight"])

    calls[0], bad = 0, lambda call: call > 6
    with pytest.raises(HarkError, match="non-finite loss or gradient 3 times in a row, at step 8"):
        trained("many", "train.max_bad_steps=3")
    run = RunDir(run.path.parent / "many")
    with np.load(run.offending) as batch:
        assert batch["target.labels"].size > 0
    stopped = read_metrics(run.metrics).stopped
    assert stopped is not None
    assert stopped.reason == "failed"


def test_too_many_bad_steps_between_two_logs_stop_the_run(
    trained: Trained, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also if good steps follow before the loop looks: at a log, at a checkpoint, or after many steps."""
    bad: set[int] = set()
    pairs: dict[int, np.ndarray[Any, Any]] = {}
    seed_dropout = TrainingJob.seed_dropout

    def watch_batches(job: TrainingJob, batch: Any) -> None:
        pairs[job.progress.step + 1] = batch.pairs
        seed_dropout(job, batch)

    monkeypatch.setattr(TrainingJob, "seed_dropout", watch_batches)
    norm = optimiser.gather_norm
    monkeypatch.setattr(optimiser, "gather_norm", lambda found: norm(found) * (math.nan if max(pairs) in bad else 1))
    bad = {4, 5, 7}
    assert losses(trained("few", "train.steps=9", "train.log_steps=9", "train.max_bad_steps=3")).keys() == {9}
    bad = {4, 5, 6}
    for name, last, *settings in (
        ("logged", 12, "train.log_steps=12"),
        ("saved", 8, "train.log_steps=1000", "train.save_steps=8"),
        ("counted", 7, "train.log_steps=1000"),
    ):
        pairs.clear()
        if name == "counted":
            monkeypatch.setattr(bad_steps, "MAX_UNSEEN", 7)
        with pytest.raises(HarkError, match="non-finite loss or gradient 3 times in a row, at step 6"):
            trained(name, "train.steps=12", "train.eval_steps=1000", "train.max_bad_steps=3", *settings)
        run = RunDir(tmp_path / name)
        stopped = read_metrics(run.metrics).stopped
        assert stopped is not None
        assert (stopped.reason, stopped.step) == ("failed", last)
        assert list(run.checkpoints.iterdir()) == []
        with np.load(run.offending) as batch:
            assert np.array_equal(batch["pairs"], pairs[6])


def test_skipped_steps_change_neither_weights_nor_optimiser_state(
    trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hark.train import loss

    real, calls = loss.smoothed_loss, [0]

    def nan_at_the_third(*arguments: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        calls[0] += 1
        value, nll = real(*arguments)  # type: ignore[arg-type]
        return value * (float("nan") if calls[0] == 4 else 1.0), nll

    monkeypatch.setattr(loss, "smoothed_loss", nan_at_the_third)
    run = trained("run", "train.steps=3", "train.save_steps=1")
    second, third = (checkpoint.load(run.checkpoints / f"step-{n}")[0] for n in (2, 3))
    for name, weight in second["model"].items():
        assert torch.equal(weight, third["model"][name])
    for name, value in second["adam"].items():
        assert torch.equal(value, third["adam"][name]), name


def test_checkpoints_are_kept_and_pruned(trained: Trained) -> None:
    run = trained("run", "train.save_steps=2", "train.keep_last=3", "train.average_last=2")
    assert [checkpoint.step_of(each) for each in checkpoint.list_checkpoints(run.checkpoints)] == [16, 18, 20]


def test_a_run_that_exists_or_is_in_use_is_refused(trained: Trained) -> None:
    run = trained("run", "train.steps=2")
    with pytest.raises(UserError, match="run exists; resume it with hark train --resume"):
        trained("run", "train.steps=2")
    with RunLock(run), pytest.raises(UserError, match="in use by process"):
        trained("run", "train.steps=4", resumed=True)
    trained("run", "train.steps=4", resumed=True)


def test_a_run_without_a_checkpoint_is_overwritten(trained: Trained, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.toml").write_text("")
    assert losses(trained("run", "train.steps=2"))


def test_running_out_of_memory_is_a_user_error(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    from hark.train import loss

    def no_memory(*_: torch.Tensor) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(loss, "smoothed_loss", no_memory)
    with pytest.raises(
        UserError, match=r"a batch of 200 tokens does not fit in the memory of cpu; lower batches\.batch_tokens"
    ):
        trained("run")


def test_a_missing_gpu_is_a_user_error(trained: Trained) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(UserError, match=r"train\.device: cuda:3: no GPU 3 \(none available\)"):
        trained("run", "train.device=cuda:3")
    with pytest.raises(UserError, match="must be auto, cpu, cuda or cuda:N"):
        trained("run", "train.device=gpu")


def test_throughput_excludes_evaluating_and_saving(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a fake clock: a step takes 1 second on the host, waiting for the device takes 5, evaluating takes 7."""
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now, time=lambda: clock.now)

    def slow(function: Callable[..., Any], seconds: float) -> Callable[..., Any]:
        def slowed(*args: Any, **kwargs: Any) -> Any:
            clock.now += seconds
            return function(*args, **kwargs)

        return slowed

    for module in (job, meter):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(passes.EagerPasses, "__call__", slow(passes.EagerPasses.__call__, 1))
    monkeypatch.setattr(meter.Meter, "read", slow(meter.Meter.read, 5))
    monkeypatch.setattr(dev, "evaluate_set", slow(dev.evaluate_set, 7))
    run = trained("run", "train.steps=12", "train.log_steps=2", "train.eval_steps=4", "train.save_minutes=1000")
    records = [each for each in read_metrics(run.metrics).records if isinstance(each, TrainRecord)]
    assert len(records) == 6
    for before, after in pairwise(records):
        tokens = after.target_tokens - before.target_tokens
        assert after.tokens_per_second == pytest.approx(tokens / (2 * 1 + 5))
    # All of it counts as time of the run, up to the last step: 12 steps, 5 waits and 2 evaluations.
    assert records[-1].seconds == pytest.approx(12 * 1 + 5 * 5 + 2 * 7)
