"""What `hark prepare` takes, stage by stage, and how fast and how full batches come out of what it made: one table.

python -m benchmarks.data FOLDER [--processes N]    FOLDER holds europarl-en-de/ and tatoeba-en-de/
"""

import argparse
import json
import os
import tempfile
import threading
import time
from itertools import islice
from pathlib import Path

import numpy as np

from hark.config import BatchConfig, Config, CorpusConfig, DataConfig
from hark.data.batches import Corpus, PackedBatches, PaddedBatches, make_batches
from hark.data.dataset import Dataset
from hark.data.prepare import prepare
from hark.data.store import TokenStore
from hark.text.tokenizer import SPECIAL

PAIRS_A_MINUTE = 1_000_000 / 3  # targets
MEMORY = 1.5 * 2**30
TARGET_TOKENS = 5_000_000  # a second, on one core
FILL = 0.98

FAR = 1_000_000
BATCHES = 2000


class Stopwatch:
    """Receives progress; notes when each stage begins and how many pairs were read."""

    def __init__(self) -> None:
        self.begun: dict[str, float] = {}
        self.pairs = 0

    def __call__(self, stage: str, pairs: int, share: float | None) -> None:  # noqa: ARG002
        self.begun.setdefault(stage, time.perf_counter())
        if stage == "cleaning":
            self.pairs = pairs

    def seconds(self, end: float) -> dict[str, float]:
        times = [*self.begun.values(), end]
        return {stage: later - begun for (stage, begun), later in zip(self.begun.items(), times[1:], strict=True)}


class MemoryWatch(threading.Thread):
    """Samples the memory of this process and its children; pages that they share count once (Linux only)."""

    def __init__(self, pause: float = 0.2) -> None:
        super().__init__(daemon=True)
        self.pause, self.peak, self.done = pause, 0, threading.Event()

    def run(self) -> None:
        while not self.done.wait(self.pause):
            self.peak = max(self.peak, sum(map(proportional_size, family(os.getpid()))))


def family(process: int) -> list[int]:
    members = [process]
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            for child in task.read_text().split():
                members += family(int(child))
        except OSError:
            continue
    return members


def proportional_size(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def corpus(folder: Path, name: str) -> CorpusConfig:
    return CorpusConfig(str(folder / f"{name}.en.xz"), str(folder / f"{name}.de.xz"))


def measure_prepare(text: Path, folder: Path, processes: int) -> Dataset:
    """The rows of the table for preparing, and the dataset that came out."""
    europarl, tatoeba = text / "europarl-en-de", text / "tatoeba-en-de"
    data = DataConfig(
        train=(corpus(europarl, "train"), corpus(tatoeba, "train")),
        dev=(corpus(europarl, "dev"),),
        test=(corpus(europarl, "test"), corpus(tatoeba, "test")),
    )
    stages, memory = Stopwatch(), MemoryWatch()
    memory.start()
    start = time.perf_counter()
    dataset = prepare(Config(data=data), folder, processes, stages).dataset
    end = time.perf_counter()
    memory.done.set()
    for stage, seconds in stages.seconds(end).items():
        row(f"prepare: {stage}", f"{seconds:.1f} s")
    row(f"prepare: all, {processes} processes", f"{end - start:.1f} s")
    row("prepare: pairs read", f"{stages.pairs:,}")
    row("prepare: pairs kept", f"{sum(shard.pairs for shard in dataset.shards('train')):,}")
    rate = stages.pairs / (end - start) * 60
    row("prepare: pairs a minute", f"{rate:,.0f}", rate >= PAIRS_A_MINUTE)
    row("prepare: peak memory of all processes", f"{memory.peak / 2**20:,.0f} MiB", memory.peak <= MEMORY)
    return dataset


def synthetic(folder: Path, pairs: int) -> TokenStore:
    """A store with lengths like those of real text; its files have the right size, but nothing in them."""
    chance = np.random.default_rng(0)
    folder.mkdir()
    about: dict[str, object] = {"format": 1, "dtype": "uint16", "pairs": pairs}
    source = np.clip(chance.lognormal(3.15, 0.62, pairs), 2, 250).astype(np.int64)
    target = np.clip(source * chance.lognormal(0.03, 0.18, pairs), 2, 250).astype(np.int64)
    for side, lengths in (("source", source), ("target", target)):
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        offsets.astype("<i8").tofile(folder / f"{side}.offsets")
        about[f"{side}_tokens"] = total = int(offsets[-1])
        with (folder / f"{side}.tokens").open("wb") as file:
            file.truncate(2 * total)
    (folder / "store.json").write_text(json.dumps(about))
    return TokenStore.open(folder)


def measure_batches(corpora: list[Corpus], batching: str) -> None:
    """The rows of the table for one kind of batches. Times are those of the processor: other programs don't count."""
    start = time.process_time()
    batches = make_batches(corpora, BatchConfig(kind=batching), SPECIAL)  # type: ignore[arg-type]
    opened = time.process_time() - start
    tokens = skipped = 0
    start = time.process_time()
    for batch in islice(batches.iterate(), BATCHES):
        tokens += batch.n_target_tokens
        skipped += batch.n_skipped
    seconds = time.process_time() - start
    start = time.perf_counter()
    batches[FAR]
    sought = time.perf_counter() - start
    row(f"{batching}: open ({sum(map(len, batches.pools)):,} pairs)", f"{opened:.2f} s")
    row(f"{batching}: batches an epoch", f"{batches.batches_per_epoch:,}")
    row(f"{batching}: batches/s", f"{BATCHES / seconds:,.0f}")
    row(f"{batching}: target tokens/s", f"{tokens / seconds / 1e6:.1f}M", tokens / seconds >= TARGET_TOKENS)
    row(f"{batching}: seek to batch {FAR:,}", f"{1000 * sought:.1f} ms")
    source, target = batches.fill
    if isinstance(batches, PackedBatches):
        row("packed: slots filled, source / target", f"{source:.2%} / {target:.2%}", min(source, target) >= FILL)
        row(f"packed: pairs left out in {BATCHES:,} batches", f"{skipped}", skipped == 0)
    if isinstance(batches, PaddedBatches):
        row("padded: padding, source / target", f"{1 - source:.2%} / {1 - target:.2%}")


def measure_opening(folder: Path) -> None:
    many = synthetic(folder, 10_000_000)
    start = time.perf_counter()
    TokenStore.open(many.folder)
    seconds = time.perf_counter() - start
    row("open a store of 10,000,000 pairs", f"{1000 * seconds:.2f} ms", seconds < 1)
    start = time.perf_counter()
    make_batches([Corpus("many", 1.0, [many])], BatchConfig(), SPECIAL)
    row("open packed batches of 10,000,000 pairs", f"{time.perf_counter() - start:.2f} s")


def row(what: str, value: str, good: bool | None = None) -> None:
    verdict = "" if good is None else "meets target" if good else "BELOW TARGET"
    print(f"{what:<48} {value:>20}  {verdict}".rstrip(), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(temporary)
        dataset = measure_prepare(arguments.folder, scratch / "dataset", arguments.processes)
        for batching in ("packed", "padded"):
            measure_batches(dataset.train, batching)
        measure_opening(scratch / "ten-million")


if __name__ == "__main__":
    main()
