"""Training on a GPU: the CUDA graph against eager passes, with two streams and with one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from hark.config import BatchConfig, Config, ModelConfig, TrainConfig
from hark.data.batches import Batch, Corpus, make_batches
from hark.model import Transformer
from hark.text.tokenizer import SPECIAL
from hark.train.loss import Objective, to_tensors
from hark.train.passes import EagerPasses, GraphPasses, Passes
from hark.train.processes import Processes
from tests.data.stores import realistic
from tests.gpu import NEEDS_GPU
from tests.train import one_stream

pytestmark = NEEDS_GPU

GPU = Processes(0, 1, torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu"))
MODEL = ModelConfig(
    d_model=128, d_ff=256, n_heads=4, n_encoder_layers=2, n_decoder_layers=2, dropout=0.0, vocab_size=1 << 16
)
CONFIG = Config(model=MODEL, batches=BatchConfig(batch_tokens=2000, max_length=100), train=TrainConfig(compile="off"))


def translation(fused: bool, model: ModelConfig = MODEL) -> Objective:
    torch.manual_seed(1)
    return Objective(Transformer(model).cuda().train(), 0.1, CONFIG.batches.max_length, SPECIAL.pad, fused)


def pairs() -> Sequence[Batch[Any]]:
    batches = make_batches([Corpus("a", 1.0, [realistic(2000)])], CONFIG.batches, SPECIAL)
    return [batches[i] for i in range(4)]


def step(passes: Passes, objective: nn.Module, batch: Batch[Any]) -> tuple[float, float, np.ndarray]:
    """Loss and NLL per token, and the gradient as one vector."""
    for weight in objective.parameters():
        weight.grad = None
    loss, nll = passes(to_tensors(batch, GPU.device), 1 / batch.n_target_tokens, last=True)
    gradient = torch.cat([weight.grad.flatten() for weight in objective.parameters() if weight.grad is not None])
    n = batch.n_target_tokens
    return loss.item() / n, nll.item() / n, gradient.double().cpu().numpy()


def compare(one: tuple[float, float, np.ndarray], other: tuple[float, float, np.ndarray], rel: float) -> None:
    assert one[:2] == pytest.approx(other[:2], rel=rel)
    assert np.linalg.norm(one[2] - other[2]) < 10 * rel * np.linalg.norm(other[2])


@pytest.mark.parametrize("changes", [{}, {"norm": "pre", "norm_kind": "rms", "positions": "rotary"}], ids=str)
def test_a_cuda_graph_computes_the_loss_and_gradients_of_each_batch(changes: dict[str, Any]) -> None:
    plain, fused = (translation(each, replace(MODEL, **changes)) for each in (False, True))
    live, recorded = EagerPasses(plain, GPU, CONFIG), GraphPasses(fused, GPU, CONFIG)
    found = [step(recorded, fused, batch) for batch in pairs()]
    for batch, values in zip(pairs(), found, strict=True):
        compare(values, step(live, plain, batch), rel=5e-3)
    assert len({values[0] for values in found}) == 4  # the buffers of the graph were filled for each
    again = [step(recorded, fused, batch) for batch in pairs()]
    assert [values[:2] for values in again] == [values[:2] for values in found]


def test_an_objective_with_one_stream_runs_as_a_cuda_graph() -> None:
    objective = one_stream.objective().cuda()
    live, recorded = EagerPasses(objective, GPU, CONFIG), GraphPasses(objective, GPU, CONFIG)
    batches = [one_stream.packed_batch(one_stream.draw_sentences(20, seed)) for seed in range(3)]
    for batch in batches:
        compare(step(recorded, objective, batch), step(live, objective, batch), rel=5e-3)


@pytest.mark.parametrize("kind", ["packed", "padded"])
def test_streams_can_be_compiled(kind: str) -> None:
    settings = BatchConfig(kind=kind, batch_tokens=2000, max_length=100)  # type: ignore[arg-type]
    batches = make_batches([Corpus("a", 1.0, [realistic(2000)])], settings, SPECIAL)
    plain, compiled = translation(False), translation(False)
    live = EagerPasses(plain, GPU, CONFIG)
    fast = EagerPasses(compiled, GPU, Config(model=MODEL, batches=settings, train=TrainConfig(compile="on")))
    for index in range(2):
        compare(step(fast, compiled, batches[index]), step(live, plain, batches[index]), rel=1e-2)
