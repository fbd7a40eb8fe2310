"""Time and memory of `hark prepare` by stage, and throughput and fill of the batches from its dataset.

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

PAIRS_PER_MINUTE = 1_000_000 / 3  # targets
MEMORY = 1.5 * 2**30
TARGET_TOKENS = 5_000_000  # per second, on one core
FILL = 0.98

FAR = 1_000_000
BATCHES = 2000


class Stopwatch:
    """Receives progress; records the start of each stage and the number of pairs read."""

    def __init__(self) -> None:
        self.started: dict[str, float] = {}
        self.pairs = 0

    def __call__(self, stage: str, pairs: int, share: float | None) -> None:  # noqa: ARG002
        self.started.setdefault(stage, time.perf_counter())
        if stage == "cleaning":
            self.pairs = pairs

    def seconds(self, end: float) -> dict[str, float]:
        times = [*self.started.values(), end]
        return {stage: later - earlier for (stage, earlier), later in zip(self.started.items(), times[1:], strict=True)}


class MemoryWatch(threading.Thread):
    """Samples the memory of this process and its children, counting shared pages once (Linux only)."""

    def __init__(self, pause: float = 0.2) -> None:
        super().__init__(daemon=True)
        self.pause, self.peak, self.done = pause, 0, threading.Event()

    def run(self) -> None:
        while not self.done.wait(self.pause):
            self.peak = max(self.peak, sum(map(proportional_size, process_tree(os.getpid()))))


def process_tree(process: int) -> list[int]:
    members = [process]
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            for child in task.read_text().split():
                members += process_tree(int(child))
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
    """Print the rows for preparing, and return the dataset."""
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
    row(f"prepare: total, {processes} processes", f"{end - start:.1f} s")
    row("prepare: pairs read", f"{stages.pairs:,}")
    row("prepare: pairs kept", f"{sum(shard.pairs for shard in dataset.shards('train')):,}")
    rate = stages.pairs / (end - start) * 60
    row("prepare: pairs per minute", f"{rate:,.0f}", rate >= PAIRS_PER_MINUTE)
    row("prepare: peak memory of all processes", f"{memory.peak / 2**20:,.0f} MiB", memory.peak <= MEMORY)
    return dataset


def synthetic(folder: Path, pairs: int) -> TokenStore:
    """Create a store with realistic lengths and sparse, empty token files."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    about: dict[str, object] = {"format": 1, "dtype": "uint16", "pairs": pairs}
    source = np.clip(rng.lognormal(3.15, 0.62, pairs), 2, 250).astype(np.int64)
    target = np.clip(source * rng.lognormal(0.03, 0.18, pairs), 2, 250).astype(np.int64)
    for side, lengths in (("source", source), ("target", target)):
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        offsets.astype("<i8").tofile(folder / f"{side}.offsets")
        about[f"{side}_tokens"] = total = int(offsets[-1])
        with (folder / f"{side}.tokens").open("wb") as file:
            file.truncate(2 * total)
    (folder / "store.json").write_text(json.dumps(about))
    return TokenStore.open(folder)


def measure_batches(corpora: list[Corpus], batching: str) -> None:
    """Print the rows for one kind of batches. Times are CPU times, independent of other programs."""
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
    row(f"{batching}: batches per epoch", f"{batches.batches_per_epoch:,}")
    row(f"{batching}: batches/s", f"{BATCHES / seconds:,.0f}")
    row(f"{batching}: target tokens/s", f"{tokens / seconds / 1e6:.1f}M", tokens / seconds >= TARGET_TOKENS)
    row(f"{batching}: seek to batch {FAR:,}", f"{1000 * sought:.1f} ms")
    source, target = batches.fill
    if isinstance(batches, PackedBatches):
        row("packed: slots filled, source / target", f"{source:.2%} / {target:.2%}", min(source, target) >= FILL)
        row(f"packed: pairs skipped in {BATCHES:,} batches", f"{skipped}", skipped == 0)
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


def row(name: str, value: str, good: bool | None = None) -> None:
    verdict = "" if good is None else "meets target" if good else "BELOW TARGET"
    print(f"{name:<48} {value:>20}  {verdict}".rstrip(), flush=True)


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
