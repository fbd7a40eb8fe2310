"""Compare the training loss of the fast path and the plain path on real text, with several seeds.

python -m benchmarks.same_loss DATASET [--steps 200] [--seeds 1,2]    DATASET from `hark prepare`; requires a GPU

The plain path is float32 without our kernels; the fast one is what `hark train` uses on one GPU. Both have the same
batches and initial weights, but different dropout. The result is the mean loss of the last steps: the difference
between the paths must not exceed the difference between seeds.
"""

import argparse
import statistics
import time
from dataclasses import replace
from pathlib import Path

import torch

from hark import configfile
from hark.config import Config
from hark.data.batches import make_batches
from hark.data.dataset import Dataset
from hark.model import Transformer
from hark.recipes import FOLDER as RECIPES
from hark.train.loss import Objective, to_tensors
from hark.train.optimiser import build_optimiser
from hark.train.passes import build_passes, fallback_reason
from hark.train.processes import Processes
from hark.train.schedule import learning_rate
from hark.train.start import resolve

LAST = 20
WARMUP = 1000
"""Warmup steps: fewer than in the paper, so that 200 steps are useful; with fewer still neither path is stable."""


def train(config: Config, dataset: Dataset, device: torch.device, seed: int, steps: int) -> list[float]:
    """Train, and return the loss per token at each step."""
    torch.manual_seed(seed)
    model = Transformer(config.model).to(device).train()
    processes = Processes(0, 1, device)
    fused = fallback_reason(config, processes) is None
    passes = build_passes(
        Objective(model, config.train.label_smoothing, config.batches.max_length, dataset.special.pad, fused),
        processes,
        config,
    )
    optimiser = build_optimiser(model, config.train)
    batches = make_batches(dataset.train, replace(config.batches, seed=seed), dataset.special)
    losses = []
    for step in range(1, steps + 1):
        batch = batches[step - 1]
        torch.manual_seed(1000 * seed + step)
        loss, _ = passes(to_tensors(batch, device), 1 / batch.n_target_tokens, last=True)
        losses.append(loss.double() / batch.n_target_tokens)
        optimiser.step(learning_rate(step, config))
    return torch.stack(losses).tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--recipe", default="base")
    parser.add_argument("--batch-tokens", type=int, default=8192)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seeds", default="1,2")
    arguments = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dataset = Dataset.open(arguments.dataset)
    config = resolve(configfile.load(RECIPES / f"{arguments.recipe}.toml"), dataset)
    config = replace(
        config,
        batches=replace(config.batches, batch_tokens=arguments.batch_tokens),
        train=replace(config.train, warmup_steps=WARMUP),
    )
    paths = {
        "plain, float32": replace(config, train=replace(config.train, precision="float32", compile="off")),
        "fast": config,
    }
    print(f"{'path':<16} {'seed':>4} {'loss at 1':>10} {'at 50':>8} {'at 100':>8} {f'last {LAST}':>8} {'seconds':>8}")
    results: dict[str, list[float]] = {}
    for name, each in paths.items():
        for seed in map(int, arguments.seeds.split(",")):
            start = time.perf_counter()
            losses = train(each, dataset, device, seed, arguments.steps)
            last = statistics.mean(losses[-LAST:])
            results.setdefault(name, []).append(last)
            shown = [losses[min(at, len(losses)) - 1] for at in (1, 50, 100)]
            seconds = time.perf_counter() - start
            print(
                f"{name:<16} {seed:>4} {shown[0]:>10.4f} {shown[1]:>8.4f} {shown[2]:>8.4f} {last:>8.4f} {seconds:>8.1f}"
            )
    between = abs(statistics.mean(results["fast"]) - statistics.mean(results["plain, float32"]))
    among = max(max(each) - min(each) for each in results.values())
    print(f"between the paths: {between:.4f}; between seeds: {among:.4f}")


if __name__ == "__main__":
    main()
