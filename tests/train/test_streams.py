"""Training works with stacks and streams by name, so a model can have one instead of two."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hark.config import Config
from hark.data.batches import make_batches
from hark.data.dataset import Dataset
from hark.train.loss import to_tensors
from hark.train.optimiser import build_optimiser
from hark.train.passes import EagerPasses, Meter
from hark.train.processes import Processes
from tests.train.one_stream import draw_sentences, objective, packed_batch, padded_batch

HERE = Processes(0, 1, torch.device("cpu"))


@pytest.mark.parametrize("kind", ["adam", "muon"])
def test_a_model_of_one_stack_and_one_stream_learns(kind: str) -> None:
    learner = objective()
    model, train = learner.model, replace(Config().train, optimiser=kind)
    passes, meter = EagerPasses(learner, HERE, Config()), Meter(HERE.device, model.reads, model.predicts)
    optimiser = build_optimiser(model, train)
    assert len(optimiser.muon.momentum) == (6 if kind == "muon" else 0)  # q, k, v, o and the two of feed-forward
    losses = []
    for step in range(40):
        batch = packed_batch(draw_sentences(20, seed=step))
        loss, nll = passes(to_tensors(batch, HERE.device), 1 / batch.n_target_tokens, last=True)
        meter.add(loss, nll, batch)
        losses.append(loss.item() / batch.n_target_tokens)
        optimiser.step(0.02)
    assert losses[-1] < 0.6 * losses[0]
    mean, _, fill, shares = meter.read(HERE)
    assert mean == pytest.approx(sum(losses) / len(losses), rel=0.02)
    assert 0 < fill < 1
    assert shares == {"target": 1}


def test_packed_and_padded_streams_give_the_same_loss() -> None:
    learner, sentences = objective(), draw_sentences(12, seed=3)
    packed, padded = packed_batch(sentences), padded_batch(sentences)
    assert packed.n_target_tokens == padded.n_target_tokens
    losses = [torch.stack(learner(to_tensors(batch, HERE.device))) for batch in (packed, padded)]
    torch.testing.assert_close(*losses)


@pytest.mark.parametrize(("kind", "copies"), [("packed", 7), ("padded", 5)])
def test_each_array_of_a_batch_is_copied_to_the_device_once(
    kind: str, copies: int, dataset: Path, settings: Callable[..., Config], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Dataset.open(dataset)
    batch = make_batches(opened.train, settings(f"batches.kind={kind}").batches, opened.special)[0]
    real, moved = torch.Tensor.to, []
    monkeypatch.setattr(torch.Tensor, "to", lambda tensor, *rest: moved.append(tensor) or real(tensor, *rest))
    streams = to_tensors(batch, HERE.device)
    assert len(moved) == copies
    assert streams.keys() == {"source", "target"}
    for name, stream in streams.items():
        for part, tensor in stream.arrays().items():
            assert tensor.numpy().tolist() == batch.streams[name].arrays()[part].tolist()
