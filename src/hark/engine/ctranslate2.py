"""The CPU engine: CTranslate2, loaded from a hark bundle and corrected to match hark's search. Does not import torch.

The search is that of `hark.engine.search`; `ctranslate2_search` corrects the points in which CTranslate2's differs.

**Guarantees.** In float32 the translations are those of the torch engine, with scores that differ in the sixth digit.
The batch changes the last bits of a sentence's log-probabilities, so that a very close decision may depend on it.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from hark.bundle import Bundle
from hark.config import ModelConfig
from hark.engine.alignment_heads import AlignmentHeads
from hark.engine.batching import Batcher, CallOptions, QueuedRequest
from hark.engine.conversion import convert, obstacle
from hark.engine.ctranslate2_runtime import BY_LOG_PROB, LONGEST_POLL, POLL_SECONDS, ComputeType, Runtime, wait
from hark.engine.ctranslate2_search import CTranslate2Search, Job
from hark.engine.interface import Engine, TokenPair
from hark.engine.request import Answer, Hypotheses, Request
from hark.errors import UserError
from hark.machine import available_cores
from hark.shortlist import Shortlist
from hark.text.vocabulary import SpecialIds
from hark.weights import Weights, read_weights

__all__ = ["BY_LOG_PROB", "CTranslate2Engine", "ComputeType", "convert", "obstacle"]

SCORE_PAIRS = 256
"""Pairs to score at a time."""


@dataclass(eq=False)
class RunningBatch:
    """A batch that CTranslate2 is translating."""

    job: Job
    batch: list[QueuedRequest]
    numbers: set[int]
    """Those of its requests that are not cancelled."""
    awaited: list[Any]


class CTranslate2Engine(Engine):
    """An `Engine` that decodes with CTranslate2 on the CPU.

    compute_type: the type of the matrices: int8, or float32 for the model as it was trained.
    threads: number of workers. Each translates a batch of its own, which uses cores better than sharing one.
    alignment: the heads that the attention of answers is read from; by default all heads of the penultimate layer.
    shortlist: restricts plain searches to its tokens, of a whole batch together, except in small batches.
    frugal: load through files on disk, which takes a third of the memory and longer; without shortlist.
    all_bits: keep int8 weights of 8 bits on CPUs that saturate (`saturation`), as plain CTranslate2 does.

    A sampled translation depends only on its request, seed included, and on the machine. Other engines draw others.
    """

    scores_meanwhile = True

    def __init__(
        self,
        weights: Weights,
        config: ModelConfig,
        special: SpecialIds,
        compute_type: ComputeType = "int8",
        threads: int | None = None,
        alignment: AlignmentHeads | None = None,
        shortlist: Shortlist | None = None,
        frugal: bool = False,
        all_bits: bool = False,
    ) -> None:
        super().__init__(config, special, config.max_positions)
        self.name = f"CTranslate2 on cpu, {compute_type}"
        self.threads = threads or available_cores()
        alignment = alignment or AlignmentHeads.default(config)
        self._runtime = Runtime(
            weights, config, special, compute_type, self.threads, alignment, shortlist, frugal, all_bits
        )
        self._search = CTranslate2Search(self._runtime)
        self._batcher = Batcher(self.intake, self.threads)
        self._running: list[RunningBatch] = []
        self._most_running = self.threads + 1
        self._pause = POLL_SECONDS

    @classmethod
    def open(
        cls,
        bundle: Bundle,
        special: SpecialIds,
        compute_type: ComputeType = "int8",
        threads: int | None = None,
        alignment: AlignmentHeads | None = None,
    ) -> "CTranslate2Engine":
        # A higher precision is chosen for the exact output of the model, so the whole vocabulary is used.
        shortlist = Shortlist.open(bundle.shortlist) if bundle.shortlist and compute_type == "int8" else None
        return cls(
            read_weights(bundle.weights), bundle.config.model, special, compute_type, threads, alignment, shortlist
        )

    def close(self) -> None:
        """Free the memory."""
        self._runtime.close()

    @property
    def room(self) -> int:
        return self._batcher.room

    def prepare(self, number: int, request: Request) -> QueuedRequest:
        if request.search.min_p or request.alternatives is not None:
            raise UserError("CTranslate2 does not support min_p and alternatives; use --engine torch")
        options = CallOptions.of(number, request)
        return QueuedRequest(number, request, options, self.check(request), len(request.prefix))

    def use_threads(self, threads: int) -> None:
        # By default, one more batch is running than there are workers, so that no worker is idle.
        self._most_running = self.threads + 1 if threads >= self.threads else max(1, threads)
        self._batcher.use_workers(min(self.threads, max(1, threads)))

    def step(self) -> list[tuple[int, Answer]]:
        """See `Engine.step`. CTranslate2 cannot stop a batch: one whose requests are all cancelled runs to its end, and
        others start meanwhile."""
        answers, cancelled = self.intake.changes()
        for each in self._running:
            each.numbers -= cancelled
        for each in [each for each in self._running if not each.numbers]:
            self._drop(each)
        self._start_batches()
        found = [answer for each in list(self._running) for answer in self._continue(each)]
        if found or answers:
            self._pause = POLL_SECONDS
        elif self._running:
            time.sleep(self._pause)
            self._pause = min(2 * self._pause, LONGEST_POLL)
        return [*answers, *found]

    def _start_batches(self) -> None:
        while len(self._running) < self._most_running:
            batch = self._batcher.take()
            if not batch:
                break
            job = self._search.run(batch)
            self._running.append(RunningBatch(job, batch, {each.number for each in batch}, next(job)))

    def _continue(self, batch: RunningBatch) -> list[tuple[int, Hypotheses]]:
        """Resume a batch if its results are there; return its answers if it is finished."""
        if not all(result.done() for result in batch.awaited):
            return []
        try:
            batch.awaited = next(batch.job)
        except StopIteration as end:
            self._drop(batch)
            return [answer for answer in end.value if answer[0] in batch.numbers]
        return []

    def _drop(self, batch: RunningBatch) -> None:
        self._running.remove(batch)
        self._batcher.finish(batch.batch)

    def score(self, pairs: Iterable[TokenPair]) -> Iterator[tuple[float, ...]]:
        remaining = iter(pairs)
        while window := list(islice(remaining, SCORE_PAIRS)):
            for pair in window:
                self.check_pair(*pair)
            for result in self._runtime.submit_pairs(window):
                wait(result)
                yield tuple(result.result().log_probs)
