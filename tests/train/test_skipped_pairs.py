"""Pairs that training skips, because they are too long or fit in no batch, are counted exactly and reported."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hark import configfile
from hark.data.batches import Corpus, PackedBatches, make_batches
from hark.data.dataset import Dataset
from hark.rundir import RunDir
from hark.train import checkpoint
from hark.train.metrics import read_metrics

Trained = Callable[..., RunDir]
LENGTH = 14
"""The maximum length in tokens; some pairs of the text are longer."""


@pytest.fixture
def cramped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packing with too few slots for the pairs drawn, as can happen with a mix of corpora of uneven weights."""
    real = PackedBatches._choose_round

    def choose(self: PackedBatches, slots: tuple[int, ...]):
        groups, capacity = real(self, slots)
        source, *target = capacity.slots
        return groups, capacity._replace(slots=(source * 3 // 4, *target))

    monkeypatch.setattr(PackedBatches, "_choose_round", choose)


@pytest.mark.usefixtures("cramped")
def test_skipped_pairs_are_counted_and_reported_across_a_resume(
    trained: Trained, dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = (f"batches.max_length={LENGTH}", "train.batches_per_step=2", "train.eval_steps=10")
    whole = trained("whole", *settings)
    stderr = capsys.readouterr().err
    opened, config = Dataset.open(dataset), configfile.load(whole.config)
    (store,) = opened.train[0].variants
    too_long = sum(max(len(side) for side in store[i]) >= LENGTH for i in range(100))
    batches = make_batches(opened.train, config.batches, opened.special)
    skipped = [batches[i].n_skipped for i in range(40)]
    assert 1 < too_long < 50
    assert sum(skipped) > 5

    history = read_metrics(whole.metrics)
    assert history.start is not None
    assert (history.start.pairs, history.start.too_long, history.start.max_length) == (100, too_long, LENGTH)
    percent = f"{too_long:.1f}%"
    assert f"{too_long} of 100 pairs ({percent}) are longer than batches.max_length {LENGTH} and are skipped" in stderr
    so_far = [sum(skipped[: 2 * step]) for step in range(1, 21)]
    assert [record.skipped_pairs for record in history.train] == so_far
    assert f"{so_far[-1]} pairs skipped" in stderr

    trained("parts", *settings, "train.steps=7")
    parts = trained("parts", "train.steps=20", resumed=True)
    assert [record.skipped_pairs for record in read_metrics(parts.metrics).train] == so_far
    state = checkpoint.load(checkpoint.latest(parts.checkpoints))[1]
    assert state["progress"]["skipped_pairs"] == so_far[-1]

    (shard,) = opened.shards("dev")
    dev = make_batches([Corpus("dev", 1.0, [opened.store(shard)])], config.batches, opened.special)
    evaluated = sum(dev[i].n_pairs for i in range(dev.batches_per_epoch))
    assert {record.skipped_pairs for record in history.dev} == {shard.pairs - evaluated}


@pytest.mark.parametrize("kind", ["packed", "padded"])
def test_a_run_that_uses_all_pairs_reports_none(
    trained: Trained, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = trained("run", f"batches.kind={kind}", "train.steps=3", "train.eval_steps=3")
    history = read_metrics(run.metrics)
    assert history.start is not None
    assert (history.start.pairs, history.start.too_long) == (100, 0)
    assert [record.skipped_pairs for record in (*history.train, *history.dev)] == [0] * 4
    assert "skipped" not in capsys.readouterr().err


def test_a_checkpoint_without_the_count_resumes(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    trained("run", "train.steps=3")
    real = checkpoint.load

    def load(folder: Path):
        tensors, state = real(folder)
        del state["progress"]["skipped_pairs"]
        return tensors, state

    monkeypatch.setattr(checkpoint, "load", load)
    run = trained("run", "train.steps=4", resumed=True)
    assert read_metrics(run.metrics).step == 4
