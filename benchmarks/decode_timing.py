"""Timing of translation: the best of a few rounds, and the lines of the table."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    seconds: float
    sentences: int
    tokens: int

    def show(self) -> None:
        rate, tokens = self.sentences / self.seconds, self.tokens / self.seconds
        print(f"{self.name:<44} {self.seconds:>9.3f} {rate:>12,.0f} {tokens:>14,.0f}", flush=True)


def header() -> None:
    print(f"{'what':<44} {'seconds':>9} {'sentences/s':>12} {'tokens/s':>14}")


def best_time(work: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        wait()
        start = time.perf_counter()
        work()
        wait()
        times.append(time.perf_counter() - start)
    return min(times)


def wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def search_name(beam: int) -> str:
    return "greedy" if beam == 1 else f"beam {beam}"
