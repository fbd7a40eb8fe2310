"""Host time per sentence of our engine on a long stream, by part. Runs on a CPU, without a model.

    python -m benchmarks.decode_host [--sentences 20000] [--beam 4] [--profile]

All bookkeeping is the engine's own, as on a GPU: sentences enter while others are in flight, are stepped together, and
finished sequences are known a round later. Only the model is missing: the encoder returns zeros, and a sentence ends
when it is about as long as its source. Seconds are those of the thread, in the steady state, the best of a few rounds.
Operations are PyTorch calls per round: each takes longer on the host of a GPU than here, because it is launched on the
device. `decode_speed.py --stream N --breakdown` shows the same parts on a GPU.
"""

import argparse
import cProfile
import gc
import pstats
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.decode_sources import draw_sources
from hark.config import DecodeConfig, ModelConfig
from hark.engine import forced, lane_tables
from hark.engine import lane as lanes
from hark.engine import torch as engines
from hark.engine.lane import Lane
from hark.engine.lane_tables import LaneShape
from hark.engine.request import Request
from hark.engine.scheduler import Scheduler
from hark.engine.torch import TorchEngine
from hark.model import Transformer
from hark.text.tokenizer import EOS, SPECIAL

VOCABULARY, FIRST_TOKEN = 37_000, 300
SPREAD = 9
"""The number of different lengths of translations of equally long sources."""
STEP, WAIT, REST, COLLECT = "step", "wait for the device", "finish: the rest", "Python's garbage collector"


class Clock:
    """Seconds and operations by part, while it runs. Nested parts count only for the innermost."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now, self.stack, self.since, self.runs = now, [REST], 0.0, False
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.operations: defaultdict[str, int] = defaultdict(int)
        self.calls: defaultdict[str, int] = defaultdict(int)

    def start(self) -> None:
        for counts in (self.seconds, self.operations, self.calls):
            counts.clear()
        self.since, self.runs = self.now(), True

    def stop(self) -> None:
        self.lap()
        self.runs = False

    def lap(self) -> None:
        if self.runs:
            now = self.now()
            self.seconds[self.stack[-1]] += now - self.since
            self.since = now

    def watch(self, owner: Any, function: str, part: str) -> AbstractContextManager[Any]:
        """A context in which calls of a function count as a part."""
        original = getattr(owner, function)

        def watched(*arguments: Any, **more: Any) -> Any:
            self.begin(part)
            try:
                return original(*arguments, **more)
            finally:
                self.end()

        return patch.object(owner, function, watched)

    def begin(self, part: str) -> None:
        self.lap()
        self.stack.append(part)
        self.calls[part] += self.runs

    def end(self) -> None:
        self.lap()
        self.stack.pop()

    def collect(self, phase: str, _: object) -> None:
        """Count the garbage collector, which can run in the middle of any part, separately."""
        self.begin(COLLECT) if phase == "start" else self.end()


@contextmanager
def watching(clock: Clock) -> Iterator[None]:
    """Measure parts with a few calls per round each, at negligible cost."""
    gc.callbacks.append(clock.collect)
    with ExitStack() as parts:
        parts.callback(gc.callbacks.remove, clock.collect)
        for owner, function, part in (
            (TorchEngine, "admit", "admit: the rest"),
            (Scheduler, "enter", "admit: take requests, find room"),
            (TorchEngine, "remember", "admit: store memories"),
            (Lane, "admit", "admit: tables"),
            (Lane, "steps", STEP),
            (Lane, "fetch_done", "request finished sequences"),
            (Lane, "done", "retire: find finished sequences"),
            (Lane, "release", "retire: fetch"),
            (TorchEngine, "retire", "retire: the rest"),
            (engines, "best", "finish: read back"),
            (lanes.PendingCopy, "get", WAIT),
        ):
            parts.enter_context(clock.watch(owner, function, part))
        yield


class Counting(TorchDispatchMode):
    """Counts PyTorch operations of the current part, except views, which launch nothing. A transfer counts as two:
    allocating pinned memory, and the copy."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count(not operation.is_view)
        return operation(*args, **(kwargs or {}))

    def count(self, times: int) -> None:
        self.clock.operations[self.clock.stack[-1]] += times * self.clock.runs

    def transfers(self, module: Any, name: str) -> AbstractContextManager[Any]:
        """A context in which tensors sent or fetched by a function count."""
        original = getattr(module, name)

        def counted(*arguments: Any) -> Any:
            self.count(2 * sum(isinstance(each, Tensor | np.ndarray) for each in arguments))
            return original(*arguments)

        return patch.object(module, name, counted)


def fake_step(lane: Lane, which_B: Tensor) -> None:
    """Advance every unfinished sequence by a token, and end it at about the length of its source."""
    beams, endings = lane.beams, lane.beams.endings
    which_B = which_B[~beams.done_B[which_B]]  # the empty slot is always finished
    position_B = beams.position_B[which_B] + 1
    length_B = lane.memory_lengths_B[which_B] + lane.memory_B[which_B] % SPREAD - SPREAD // 2
    done_B = position_B >= length_B.clamp(min=1)
    beams.position_B[which_B], beams.done_B[which_B] = position_B, done_B
    ended_B = which_B[done_B]
    endings.score_BF[ended_B] = endings.log_prob_BF[ended_B] = -1.0
    endings.length_BF[ended_B] = position_B[done_B][:, None].expand(-1, lane.shape.keep)
    endings.choice_BF[ended_B] = EOS * lane.shape.width


class FakeEngine(TorchEngine):
    """The engine with all of its bookkeeping, but without a model."""

    def __init__(self, places: int, rows: int, steps_at_once: int | None) -> None:
        small = {"d_model": 4, "d_ff": 4, "n_heads": 1, "n_encoder_layers": 1, "n_decoder_layers": 1}
        super().__init__(Transformer(ModelConfig(vocab_size=VOCABULARY, **small)), SPECIAL, rows=rows, places=places)
        self.exact, self.steps_at_once, self.lag = False, steps_at_once, 1  # as on a GPU
        self.model.encode = lambda tokens_N, *_: torch.zeros(len(tokens_N), 4)  # type: ignore[method-assign]

    def quick_step(self, _: LaneShape) -> Callable[[Lane, Tensor], None]:
        return fake_step

    def new_lane(self, shape: LaneShape) -> Lane:
        lane = super().new_lane(shape)  # with made-up translations to read back
        lane.trace_BTW.random_(FIRST_TOKEN * shape.width, VOCABULARY * shape.width)
        return lane


def translate(engine: TorchEngine, requests: list[Request], warm_up: int, clock: Clock) -> None:
    """Run the clock from the time the engine takes request `warm_up` until none is left."""

    def stream() -> Iterator[Request]:
        for number, request in enumerate(requests):
            if number == warm_up:
                clock.start()
            yield request
        clock.stop()

    assert sum(1 for _ in engine.run(stream())) == len(requests)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=20_000, help="sentences to measure")
    parser.add_argument("--warm-up", type=int, default=6_000, help="sentences before the measurement")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--places", type=int, default=1 << 20)
    parser.add_argument("--rows", type=int, default=1 << 14)
    parser.add_argument("--steps-at-once", type=int, help="steps between checks for finished sequences")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", action="store_true", help="also print the slowest functions")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    engine = FakeEngine(arguments.places, arguments.rows, arguments.steps_at_once)
    search = DecodeConfig(beam=arguments.beam)
    count = arguments.warm_up + arguments.sentences
    requests = [Request(source, search) for source in draw_sources(count, VOCABULARY)]
    clock = Clock(time.thread_time)
    with watching(clock):
        with (
            Counting(clock) as mode,
            mode.transfers(lanes, "send"),
            mode.transfers(lane_tables, "send"),
            mode.transfers(forced, "send"),
            mode.transfers(lanes, "PendingCopy"),
        ):
            translate(engine, requests, arguments.warm_up, clock)
        operations, rounds = dict(clock.operations), clock.calls[STEP]
        tries = []
        for _ in range(arguments.rounds):
            translate(engine, requests, arguments.warm_up, clock)
            tries.append(dict(clock.seconds))
    best = min(tries, key=lambda each: sum(each.values()) - each.get(COLLECT, 0.0))
    show_parts(best, operations, arguments.sentences, rounds)
    if arguments.profile:
        with cProfile.Profile() as profile:
            translate(engine, requests, arguments.warm_up, clock)
        pstats.Stats(profile).sort_stats("tottime").print_stats(35)


def show_parts(seconds: Mapping[str, float], operations: Mapping[str, int], sentences: int, rounds: int) -> None:
    print(f"{sentences} sentences in {rounds} rounds, {sentences / rounds:.0f} per round")
    print(f"{'':<40} {'us/sentence':>14} {'us/round':>12} {'operations/round':>20}")

    def show(name: str, parts: Iterable[str]) -> None:
        spent, calls = (sum(of.get(part, 0) for part in parts) for of in (seconds, operations))
        print(f"{name:<40} {1e6 * spent / sentences:>14.1f} {1e6 * spent / rounds:>12.0f} {calls / rounds:>20.1f}")

    others = (COLLECT, STEP, WAIT)
    host = sorted(seconds.keys() - {*others})
    for part in host:
        show(part, [part])
    show("all of these", host)
    for part in others:
        show(part, [part])


if __name__ == "__main__":
    main()
