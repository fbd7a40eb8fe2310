"""Throughput of `hark distil` without the translating: an engine that answers at once.

    python -m benchmarks.distil_speed DATASET [--pairs 100000] [--processes 2]

The engine returns each source reversed, so everything but the translating itself is measured: reading tokens, passing
them to the engine and its results to other processes, checking for faults, decoding, writing.
"""

import argparse
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hark.config import Config
from hark.data.dataset import Dataset
from hark.distil.distil import distil
from hark.engine.request import Hypothesis, Request


class Echo:
    """An engine without a model."""

    name = "echo"

    def run(self, requests: Iterable[Request]) -> Iterator[tuple[int, tuple[Hypothesis, ...]]]:
        for number, request in enumerate(requests):
            yield number, (Hypothesis(tuple(request.source[-2::-1]), -1.0, -1.0, True),)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--pairs", type=int, default=100_000, help="pairs of each corpus")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    dataset = Dataset.open(arguments.dataset)
    tokenizer = dataset.tokenizer("target")
    with tempfile.TemporaryDirectory() as folder:
        teacher: Any = SimpleNamespace(
            config=Config(),
            source_vocabulary=dataset.tokenizer("source"),
            target_vocabulary=tokenizer,
            engine=Echo(),
            bundle=SimpleNamespace(folder=Path(folder) / "teacher"),
        )
        start = time.thread_time()
        text = Path(folder) / "text"
        done = distil(teacher, dataset, text, teacher.config.decode, arguments.pairs, arguments.processes)
        seconds = time.thread_time() - start
    print(f"{done.new_pairs:,} pairs, {arguments.processes} processes: {done.new_pairs / done.seconds:,.0f} per second")
    print(f"engine process: {1e6 * seconds / done.new_pairs:.1f} us per pair; not used: {dict(done.record.replaced)}")


if __name__ == "__main__":
    main()
