"""Training on one GPU: our kernels in a CUDA graph against plain PyTorch; and exact resuming."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from hark import configfile
from hark.config import Config, CorpusConfig, ModelConfig
from hark.data.batches import PackedStream
from hark.data.prepare import prepare
from hark.model import Transformer
from hark.rundir import RunDir
from hark.text.tokenizer import PAD
from hark.train.loss import Objective
from hark.train.metrics import read_metrics
from hark.train.passes import EagerPasses, GraphPasses
from hark.train.processes import Processes
from hark.train.session import run_training
from hark.train.start import open_dataset, resolve
from tests.gpu import NEEDS_GPU

pytestmark = NEEDS_GPU

GPU = Processes(0, 1, torch.device("cuda", 0))
SMALL = {"d_model": 128, "d_ff": 256, "n_heads": 2, "n_encoder_layers": 2, "n_decoder_layers": 2, "vocab_size": 1000}


def make_model(dropout: float = 0.0, **changes: object) -> Transformer:
    torch.manual_seed(1)
    return Transformer(ModelConfig(**{**SMALL, "dropout": dropout, **changes})).cuda()  # type: ignore[arg-type]


def make_batch(seed: int = 1) -> dict[str, PackedStream[Tensor]]:
    """Always of one shape, as a CUDA graph requires: the same lengths in another order."""
    generator = torch.Generator().manual_seed(seed)
    made = {}
    for side, step in (("source", 7), ("target", 11)):
        lengths = (torch.arange(40) * step % 59 + 1)[torch.randperm(40, generator=generator)]
        positions = torch.cat([torch.arange(int(n)) for n in lengths])
        tokens, labels = (torch.randint(PAD + 1, 1000, (len(positions),), generator=generator) for _ in range(2))
        labels[-3:] = PAD
        cu = F.pad(lengths.cumsum(0), (1, 0)).int()
        tensors = (each.cuda() for each in (tokens, positions, cu, labels))
        tokens, positions, cu, labels = tensors
        made[side] = PackedStream(tokens, positions, cu, labels if side == "target" else None)
    return made


def gradients(model: Transformer) -> list[Tensor]:
    found = []
    for weight in model.parameters():
        assert weight.grad is not None
        found.append(weight.grad.clone())
        weight.grad = None
    return found


@pytest.mark.parametrize(
    "changes",
    [{}, {"norm": "pre", "activation": "gelu"}, {"activation": "swiglu", "positions": "rotary"}, {"tie": "none"}],
    ids=str,
)
def test_the_cuda_graph_equals_plain_pytorch(changes: dict[str, object]) -> None:
    """In 16 bits it is at least as close to float32 as PyTorch in bfloat16."""
    model, found = make_model(**changes), {}
    for precision in ("float32", "bfloat16"):
        config = configfile.load(None, ["train.compile=off", f"train.precision={precision}"])
        sums = EagerPasses(Objective(model, 0.1, 64, PAD), GPU, config)(make_batch(), 0.5, last=True)
        found[precision] = [each.item() for each in sums], gradients(model)
    (losses, exact), (_, rough) = found["float32"], found["bfloat16"]
    whole = torch.stack([each.norm() for each in exact]).norm()
    recorded = GraphPasses(Objective(model, 0.1, 64, PAD, fused=True), GPU, Config())
    for _ in range(2):  # captured, and replayed
        assert [each.item() for each in recorded(make_batch(), 0.5, last=True)] == pytest.approx(losses, rel=2e-3)
        for one, other, right in zip(gradients(model), rough, exact, strict=True):
            assert (one - right).norm() < 1.2 * (other - right).norm() + 1e-3 * whole


def test_batches_of_a_step_add_up_and_replays_repeat() -> None:
    model = make_model()
    passes = GraphPasses(Objective(model, 0.1, 64, PAD, fused=True), GPU, Config())
    alone = []
    for seed in (1, 2, 1):
        batch = make_batch(seed)
        passes(batch, 1.0, last=True)
        alone.append(gradients(model))
    assert all(torch.equal(one, other) for one, other in zip(alone[0], alone[2], strict=True))
    passes(make_batch(1), 1.0, last=False)
    passes(make_batch(2), 1.0, last=True)
    for both, one, other in zip(gradients(model), alone[0], alone[1], strict=True):
        torch.testing.assert_close(both, one + other)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    folder = tmp_path_factory.mktemp("data")
    words = "the cat dog sees likes a small red house and runs to old tree we you they have".split()  # noqa: SIM905
    lines = [" ".join(words[(i * k + k) % len(words)] for k in range(2, 5 + i % 9)) + f" {i}" for i in range(400)]
    (folder / "a.en").write_text("\n".join(lines) + "\n")
    (folder / "a.de").write_text("\n".join(line.upper()[::-1] for line in lines) + "\n")
    settings = [
        "model.d_model=64", "model.d_ff=128", "model.n_heads=4", "model.n_encoder_layers=2", "model.n_decoder_layers=2",
        "batches.batch_tokens=600", "batches.max_length=60", "data.vocab_size=400", "data.clean.language=1",
        "data.clean.min_letters=0", "train.warmup_steps=10", "train.log_steps=1", "train.eval_steps=1000",
        "train.device=cuda", "train.batches_per_step=2",
    ]  # fmt: skip
    made = configfile.load(None, settings)
    data = replace(made.data, train=(CorpusConfig(str(folder / "a.en"), str(folder / "a.de"), "a"),))
    prepare(replace(made, data=data), folder / "dataset", processes=1)
    return configfile.load(None, [*settings, f"data.dataset={folder / 'dataset'}"])


def train(run: RunDir, config: Config, steps: int, resumed: bool) -> dict[int, tuple[float, float, float]]:
    config = replace(config, train=replace(config.train, steps=steps))
    dataset = open_dataset(config.data)
    run_training(config if resumed else resolve(config, dataset), run, dataset, resumed)
    return {each.step: (each.loss, each.nll, each.grad_norm) for each in read_metrics(run.metrics).train}


def test_a_resumed_run_is_bit_for_bit_the_same(config: Config, tmp_path: Path) -> None:
    """With Adam, the CUDA graph and dropout."""
    whole = train(RunDir(tmp_path / "whole"), config, 20, resumed=False)
    train(RunDir(tmp_path / "halves"), config, 10, resumed=False)
    run = RunDir(tmp_path / "halves")
    halves = train(run, configfile.load(run.config), 20, resumed=True)
    assert whole == halves
    assert len(whole) == 20
    assert whole[20][0] < whole[1][0]
