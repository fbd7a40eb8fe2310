"""How fast the base and big models train, on synthetic text with the lengths of real text: one table.

python benchmarks/train_speed.py [--sizes base,big] [--tiny]    on a GPU; --tiny runs anywhere, for correctness only
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from hark import configfile
from hark.config import Config
from hark.data.batches import Corpus, make_batches
from hark.data.store import TokenStore
from hark.model import Transformer
from hark.model.patterns import tiles_serve
from hark.train.loss import Objective, to_tensors
from hark.train.optimiser import Optimiser

VOCABULARY = 37_000
PEAK = 990e12
RECIPES = Path(__file__).parents[1] / "recipes"


def store(pairs: int, vocabulary: int) -> TokenStore:
    """Log-normal lengths of a mean of 27 tokens, with a long tail up to 250; the tokens are chance."""
    chance = np.random.default_rng(0)
    source = np.clip(chance.lognormal(3.15, 0.62, pairs), 2, 250).astype(np.int64)
    target = np.clip(source * chance.lognormal(0.03, 0.18, pairs), 2, 250).astype(np.int64)
    lengths = {"source": source - 1, "target": target - 1}  # the mark of the end counts
    offsets = {side: np.concatenate([[0], np.cumsum(each)]) for side, each in lengths.items()}
    tokens = {side: chance.integers(300, vocabulary, each[-1], np.uint16) for side, each in offsets.items()}
    return TokenStore(Path("synthetic"), tokens, offsets)  # type: ignore[arg-type]


def step_of(
    config: Config, device: torch.device, tiles: bool, graphs: bool
) -> tuple[Callable[[int], int], Transformer]:
    """One step of training, as `hark train` does it: the number of target tokens that it took."""
    torch.manual_seed(1)
    model = Transformer(config.model).to(device).train()
    tiles = tiles and tiles_serve(config.model.k_width, config.model.v_width)
    objective = Objective(model, config.train.label_smoothing, config.data.max_length, tiles=tiles)
    if device.type == "cuda":
        objective.compile(mode="reduce-overhead" if graphs else None)
    optimiser = Optimiser(list(model.parameters()), config.train)
    batches = make_batches([Corpus("synthetic", 1.0, [store(40_000, config.model.vocab_size)])], config.data)
    ready = [batches[i] for i in range(16)]
    tensors = [to_tensors(batch, device) for batch in ready]

    def step(number: int) -> int:
        batch = ready[number % len(ready)]
        torch.compiler.cudagraph_mark_step_begin()
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            loss, _ = objective(tensors[number % len(ready)])
        (loss / batch.n_target_tokens).backward()
        optimiser.step(1e-4)
        optimiser.adam.zero_grad()
        return batch.n_target_tokens

    return step, model


def operations(model: Transformer) -> float:
    """For a target token, with as many source tokens: 6 for each weight that it meets; attention itself is left out."""
    parts = (model.encoder, model.decoder)
    return 6.0 * (sum(w.numel() for part in parts for w in part.parameters()) + model.output_weight.numel())


def measure(name: str, config: Config, device: torch.device, steps: int, tiles: bool, graphs: bool) -> None:
    step, model = step_of(config, device, tiles, graphs)
    for number in range(min(8, steps)):
        step(number)
    wait(device)
    start = time.perf_counter()
    tokens = sum(step(number) for number in range(steps))
    wait(device)
    seconds = time.perf_counter() - start
    flops = tokens * operations(model) / seconds
    memory = torch.cuda.max_memory_allocated() / 2**30 if device.type == "cuda" else float("nan")
    print(
        f"{name:<28} {tokens / seconds:>12,.0f} {1000 * seconds / steps:>9.1f} {flops / 1e12:>9.1f} "
        f"{flops / PEAK:>7.1%} {memory:>8.1f}",
        flush=True,
    )


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def profile(config: Config, device: torch.device) -> None:
    """Where the time of one step goes, by kernel."""
    step, _ = step_of(config, device, tiles=True, graphs=True)
    for number in range(8):
        step(number)
    wait(device)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        for number in range(4):
            step(number)
        wait(device)
    rows = sorted(seen.key_averages(), key=lambda row: -row.self_device_time_total)[:22]
    for row in rows:
        print(f"{row.self_device_time_total / 4000:>8.3f} ms {row.count / 4:>6.0f}  {row.key[:110]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="base,big")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--steps", type=int, default=40)
    arguments = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() and not arguments.tiny else "cpu")
    print(f"{'what':<28} {'target tok/s':>12} {'ms/step':>9} {'TFLOP/s':>9} {'of peak':>7} {'GiB':>8}")
    for size in ["tiny"] if arguments.tiny else arguments.sizes.split(","):
        config = configfile.load(RECIPES / f"{size}.toml")
        if not arguments.tiny:
            config = replace(config, data=replace(config.data, batch_tokens=25_600))
        choices = (
            ((True, True), (True, False), (False, True), (False, False)) if device.type == "cuda" else ((False, False),)
        )
        for tiles, graphs in choices:
            torch._dynamo.reset()
            name = f"{size}, {'tiles' if tiles else 'flash'}{', graphs' if graphs else ''}"
            measure(name, config, device, 2 if arguments.tiny else arguments.steps, tiles, graphs)
        if arguments.profile:
            torch._dynamo.reset()
            profile(config, device)


if __name__ == "__main__":
    main()
