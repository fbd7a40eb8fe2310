"""A GPT on single characters at nanoGPT's size: seconds of training to its published loss, ours and a plain loop's.

    python -m benchmarks.shakespeare tiny-shakespeare.txt.xz -o FOLDER [SETTING=VALUE ...]     one GPU, minutes
    python -m benchmarks.shakespeare --tiny -o FOLDER                                          sample text, on a CPU

The first 90% of the text train; measured is the loss in nats per character over the last 10%, in windows of 256. Ours
is `hark train gpt-nano`, with SETTING if given. The plain loop has nanoGPT's settings: AdamW at 1e-3 with cosine decay
to 1e-4, dropout also of attention, bfloat16 by autocast, compiled. On both sides only training counts: neither the
start, with compiling, nor evaluating. What is complete is not run again.
"""

import argparse
import json
import lzma
import math
import time
from pathlib import Path

import numpy as np
import torch

from benchmarks.pretraining import hark, settings, train
from benchmarks.shapes import PlainModel
from benchmarks.time_to_quality import rows_of
from hark import configfile
from hark.config import Config
from hark.data.sample import paths
from hark.recipes import FOLDER as RECIPES
from hark.rundir import RunDir
from hark.train.metrics import read_metrics

PUBLISHED = 1.47
"""nanoGPT's best validation loss (its README), in nats per character."""
RATE, LOWEST, WARMUP = 1e-3, 1e-4, 100
EVERY = 250
"""Steps between evaluations."""
TINY: dict[str, object] = {
    "model.n_decoder_layers": 1, "model.d_model": 32, "model.d_ff": 64, "model.n_heads": 2,
    "batches.max_length": 32, "batches.batch_tokens": 128, "train.steps": 20, "train.warmup_steps": 2,
}  # fmt: skip
Rows = list[tuple[float, int, float]]
"""Seconds of training, steps, and the loss on the last tenth."""


def ours(work: Path, changes: list[str]) -> Rows:
    dataset, run = work / "dataset", RunDir(work / "gpt-nano")
    hark("prepare", "gpt-nano", "--text", work / "train.txt", "--text-dev", work / "dev.txt", "-o", dataset)
    train(run, ["gpt-nano", f"data.dataset={dataset}", *changes])
    return [(row.seconds, row.steps, row.nll) for row in rows_of(read_metrics(run.metrics))]


class PlainLoop:
    """nanoGPT's training on random windows of the text."""

    def __init__(self, config: Config, work: Path, device: torch.device) -> None:
        self.length, self.size = config.batches.max_length, config.batches.batch_tokens // config.batches.max_length
        self.steps, self.device = config.train.steps, device
        # One id higher than bytes: 0 is padding, which has no loss.
        self.text, self.dev = (
            torch.from_numpy(np.fromfile(work / f"{name}.txt", np.uint8).astype(np.int64) + 1).to(device)
            for name in ("train", "dev")
        )
        self.model = PlainModel(config, config.model.dropout).to(device).train()
        matrices, others = ([w for w in self.model.parameters() if (w.ndim > 1) == wide] for wide in (True, False))
        groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
        self.optimiser = torch.optim.AdamW(groups, RATE, betas=(0.9, 0.99), fused=True)
        if device.type == "cuda":
            self.model.compile()

    def loss(self, ids: torch.Tensor, labels: torch.Tensor, reduction: str = "mean") -> torch.Tensor:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            found: torch.Tensor = self.model(ids, labels, reduction)
        return found

    def step(self, number: int) -> None:
        decayed = (number - WARMUP) / max(1, self.steps - WARMUP)
        rate = LOWEST + (1 + math.cos(math.pi * decayed)) / 2 * (RATE - LOWEST)
        for group in self.optimiser.param_groups:
            group["lr"] = RATE * (number + 1) / (WARMUP + 1) if number < WARMUP else rate
        first = torch.randint(len(self.text) - self.length, (self.size, 1), device=self.device)
        at = first + torch.arange(self.length, device=self.device)
        self.loss(self.text[at], self.text[at + 1]).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        self.optimiser.zero_grad()

    @torch.no_grad()
    def evaluate(self) -> float:
        """The mean loss over all characters of the last tenth but its first; the last window is padded."""
        short = -(len(self.dev) - 1) % self.length
        ids, labels = (torch.nn.functional.pad(each, (0, short)) for each in (self.dev[:-1], self.dev[1:]))
        windows = torch.stack([ids.view(-1, self.length), labels.view(-1, self.length)], 1)
        self.model.eval()
        parts = torch.chunk(windows, 1 + len(windows) // 64)
        total = sum(self.loss(part[:, 0], part[:, 1], "sum").item() for part in parts)
        self.model.train()
        return total / (len(self.dev) - 1)

    def run(self) -> Rows:
        self.step(0)  # compiles
        self.evaluate()
        rows, seconds, start = Rows(), 0.0, self.now()
        for number in range(1, self.steps):
            self.step(number)
            if (number + 1) % EVERY == 0 or number + 1 == self.steps:
                seconds += self.now() - start
                rows.append((seconds, number + 1, self.evaluate()))
                start = self.now()
        return rows

    def now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()


def plain(work: Path, changes: list[str], device: torch.device) -> Rows:
    file = work / "plain.json"
    if not file.exists():
        torch.manual_seed(1)
        config = configfile.load(RECIPES / "gpt-nano.toml", [*changes, "model.vocab_size=257"])
        file.write_text(json.dumps(PlainLoop(config, work, device).run()))
    return [(seconds, steps, nll) for seconds, steps, nll in json.loads(file.read_text())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, nargs="?", default=Path(paths()["dev"][0]), metavar="FILE.xz")
    parser.add_argument("settings", nargs="*", metavar="SETTING=VALUE", help="for our run")
    parser.add_argument("--tiny", action="store_true", help="a tiny model: checks that everything runs")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="dataset, run, losses")
    said = parser.parse_intermixed_args()
    work: Path = said.output
    work.mkdir(parents=True, exist_ok=True)
    text = lzma.decompress(said.text.read_bytes())[: 20_000 if said.tiny else None]
    (work / "train.txt").write_bytes(text[: len(text) * 9 // 10])
    (work / "dev.txt").write_bytes(text[len(text) * 9 // 10 :])
    sizes = settings(TINY) if said.tiny else []
    clocked = settings({"train.eval_steps": EVERY, "train.log_steps": 50, "train.save_minutes": 60})
    device = torch.device("cuda" if torch.cuda.is_available() and not said.tiny else "cpu")
    found = {"hark": ours(work, [*sizes, *clocked, *said.settings]), "plain": plain(work, sizes, device)}
    print(f"{'':6}{'steps':>7}{'seconds':>9}{'loss':>9}")
    for system, rows in found.items():
        for seconds, steps, nll in rows:
            print(f"{system:6}{steps:7,}{seconds:9.1f}{nll:9.4f}")
        reached = next((f"after {seconds:.1f} s" for seconds, _, nll in rows if nll <= PUBLISHED), "never")
        best = min(rows, key=lambda row: row[2])
        print(f"{system}: {PUBLISHED} or better {reached}; best {best[2]:.4f} after {best[0]:.1f} s", flush=True)


if __name__ == "__main__":
    main()
