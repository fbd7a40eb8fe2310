"""The training benchmark: operation counts, workload, and the whole command at a tiny size."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.train_speed import lengths_of, make_workload, operations
from torch.utils.flop_counter import FlopCounterMode

from hark.config import BatchConfig
from tests.benchmarks.conftest import run_benchmark
from tests.model.oracle import build, ragged

DATA = BatchConfig(batch_tokens=1000, max_length=100)


@pytest.mark.parametrize("changes", [{}, {"d_k": 6, "d_v": 10}, {"n_encoder_layers": 1, "activation": "swiglu"}])
def test_operation_counts_equal_pytorchs(changes: dict[str, object]) -> None:
    model = build(**changes)
    batch = ragged([7, 7, 7], [5, 5, 5])
    # PyTorch counts the products of the explicit softmax, which also computes the masked half of causal scores.
    layout = batch.padded.observed(dict.fromkeys(("encoder", "decoder", "cross"), lambda _: None))
    with FlopCounterMode(display=False) as counter:
        model(batch.source_BS, batch.target_BT, layout).sum().backward()
    config, target = model.config, np.full(3, 5)
    hidden = (target * target - target * (target + 1) // 2).sum()
    wasted = 6 * config.n_decoder_layers * config.n_heads * (config.k_width + config.v_width) * hidden
    assert counter.get_total_flops() == operations(config, np.full(3, 7), target) + wasted


def test_packed_and_padded_hold_the_same_pairs() -> None:
    work = make_workload(DATA, 500, steps=4, corpus=20_000)
    pairs = [
        {tuple(lengths) for batch in batches for lengths in zip(*map(list, lengths_of(batch)), strict=True)}
        for batches in (work.packed, work.padded)
    ]
    assert pairs[0] <= pairs[1]
    assert len(pairs[0]) > 0.8 * len(pairs[1])
    assert len(work.packed) == len(work.padded) == 4


def test_larger_corpora_need_less_padding() -> None:
    def fill(corpus: int) -> float:
        batches = make_workload(DATA, 500, steps=8, corpus=corpus).padded
        return sum(batch.n_target_tokens for batch in batches) / sum(batch.n_target_slots for batch in batches)

    assert fill(2_000) < fill(200_000) < 1
    assert fill(200_000) > 0.9


def test_lengths_are_as_described() -> None:
    batches = make_workload(replace(DATA, max_length=250), 500, steps=32, corpus=200_000).padded
    source = np.concatenate([lengths_of(batch)[0] for batch in batches])
    target = np.concatenate([lengths_of(batch)[1] for batch in batches])
    assert source.mean() == pytest.approx(27.8, rel=0.05)
    assert np.log(source).std() == pytest.approx(0.62, rel=0.1)
    assert np.log(target / source).std() == pytest.approx(0.18, rel=0.1)


def test_the_whole_command(tmp_path: Path) -> None:
    run = run_benchmark("train_speed", "--tiny", "--steps", 1, "--out", tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    results = json.loads((tmp_path / "train_speed.json").read_text())["results"]
    systems = {each["system"] for each in results}
    assert systems >= {"ours", "torch"}
    assert "hf" in systems or "requires transformers" in run.stdout
    assert all(each["tokens_per_second"] > 0 and each["batch_tokens"] == 128 for each in results)
    assert (tmp_path / "train_speed.txt").read_text() == run.stdout
