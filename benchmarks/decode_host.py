"""What the host spends on a sentence while a long stream goes through our engine, by part. On a CPU, without a model.

    python -m benchmarks.decode_host [--sentences 20000] [--beam 4] [--profile]

All bookkeeping is the engine's own, in the way of a GPU: sentences enter while others are under way, are stepped
together, and who is done is known a round later. Only the model is not there: the encoder gives zeros, and a step lets
a sentence end when it is about as long as its source. Seconds are those of the thread, in the steady state, the best of
a few rounds. Operations are what a round asks PyTorch for: each takes the host of a GPU longer than it takes here,
because it is handed over to the device. `decode_speed.py --stream N --breakdown` shows the same parts on a GPU.
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
from hark.decode.engines import forced
from hark.decode.engines import lane as lanes
from hark.decode.engines import torch as engines
from hark.decode.engines.lane import Lane, LaneShape
from hark.decode.engines.torch import TorchEngine
from hark.decode.request import Request
from hark.decode.scheduler import Scheduler
from hark.model import Transformer
from hark.text.tokenizer import EOS, SPECIAL

VOCABULARY, FIRST_TOKEN = 37_000, 300
SPREAD = 9
"""Lengths that translations of one source may have."""
STEP, WAIT, REST, COLLECT = "step", "wait for the device", "finish: the rest", "Python's garbage collector"


class Clock:
    """Seconds and operations by part, while it runs; what a part calls that is a part itself counts there only."""

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
        self.turn()
        self.runs = False

    def turn(self) -> None:
        if self.runs:
            now = self.now()
            self.seconds[self.stack[-1]] += now - self.since
            self.since = now

    def watch(self, owner: Any, function: str, part: str) -> AbstractContextManager[Any]:
        """Within it, calls of a function count as a part."""
        original = getattr(owner, function)

        def watched(*arguments: Any, **more: Any) -> Any:
            self.begin(part)
            try:
                return original(*arguments, **more)
            finally:
                self.end()

        return patch.object(owner, function, watched)

    def begin(self, part: str) -> None:
        self.turn()
        self.stack.append(part)
        self.calls[part] += self.runs

    def end(self) -> None:
        self.turn()
        self.stack.pop()

    def collect(self, phase: str, _: object) -> None:
        """Python's collector runs now and then, in the midst of any part."""
        self.begin(COLLECT) if phase == "start" else self.end()


@contextmanager
def watching(clock: Clock) -> Iterator[None]:
    """Parts of a few calls a round each, so that watching them costs nothing to speak of."""
    gc.callbacks.append(clock.collect)
    with ExitStack() as parts:
        parts.callback(gc.callbacks.remove, clock.collect)
        for owner, function, part in (
            (TorchEngine, "admit", "admit: the rest"),
            (Scheduler, "enter", "admit: take requests, find room"),
            (TorchEngine, "remember", "admit: remember"),
            (Lane, "admit", "admit: tables"),
            (Lane, "steps", STEP),
            (Lane, "fetch_done", "ask who is done"),
            (Lane, "done", "retire: look who is done"),
            (Lane, "release", "retire: fetch"),
            (TorchEngine, "retire", "retire: the rest"),
            (engines, "best", "finish: read back"),
            (lanes.Later, "get", WAIT),
        ):
            parts.enter_context(clock.watch(owner, function, part))
        yield


class Counting(TorchDispatchMode):
    """Counts PyTorch's operations into the part that runs; views, which a device never sees, are none. A transfer is
    two: room in pinned memory, and the copy."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count(not operation.is_view)
        return operation(*args, **(kwargs or {}))

    def count(self, times: int) -> None:
        self.clock.operations[self.clock.stack[-1]] += times * self.clock.runs

    def transfers(self, module: Any, name: str) -> AbstractContextManager[Any]:
        """Within it, what is sent or fetched by a function counts."""
        original = getattr(module, name)

        def counted(*arguments: Any) -> Any:
            self.count(2 * sum(isinstance(each, Tensor | np.ndarray) for each in arguments))
            return original(*arguments)

        return patch.object(module, name, counted)


def pretend_step(lane: Lane, which_B: Tensor) -> None:
    """Everybody is a token further, and ends at about the length of its source; who is done stays as it is."""
    beams, endings = lane.beams, lane.beams.endings
    which_B = which_B[~beams.done_B[which_B]]  # the slot of nobody is done from the beginning
    position_B = beams.position_B[which_B] + 1
    length_B = lane.memory_lengths_B[which_B] + lane.memory_B[which_B] % SPREAD - SPREAD // 2
    done_B = position_B >= length_B.clamp(min=1)
    beams.position_B[which_B], beams.done_B[which_B] = position_B, done_B
    ended_B = which_B[done_B]
    endings.score_BF[ended_B] = endings.log_prob_BF[ended_B] = -1.0
    endings.length_BF[ended_B] = position_B[done_B][:, None].expand(-1, lane.shape.keep)
    endings.choice_BF[ended_B] = EOS * lane.shape.width


class Pretending(TorchEngine):
    """The engine with all of its bookkeeping, and no model to speak of."""

    def __init__(self, places: int, rows: int, steps_at_once: int | None) -> None:
        small = {"d_model": 4, "d_ff": 4, "n_heads": 1, "n_encoder_layers": 1, "n_decoder_layers": 1}
        super().__init__(Transformer(ModelConfig(vocab_size=VOCABULARY, **small)), SPECIAL, rows=rows, places=places)
        self.exact, self.steps_at_once, self.lag = False, steps_at_once, 1  # the way of a GPU
        self.model.encode = lambda tokens_N, *_: torch.zeros(len(tokens_N), 4)  # type: ignore[method-assign]

    def quick_step(self, _: LaneShape) -> Callable[[Lane, Tensor], None]:
        return pretend_step

    def new_lane(self, shape: LaneShape) -> Lane:
        lane = super().new_lane(shape)  # with some translations to read back
        lane.trace_BTW.random_(FIRST_TOKEN * shape.width, VOCABULARY * shape.width)
        return lane


def translate(engine: TorchEngine, requests: list[Request], warm_up: int, clock: Clock) -> None:
    """The clock runs from when the engine asks for request `warm_up` until there is none left."""

    def stream() -> Iterator[Request]:
        for number, request in enumerate(requests):
            if number == warm_up:
                clock.start()
            yield request
        clock.stop()

    assert sum(1 for _ in engine.run(stream())) == len(requests)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=20_000, help="that are measured")
    parser.add_argument("--warm-up", type=int, default=6_000, help="sentences before them")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--places", type=int, default=1 << 20)
    parser.add_argument("--rows", type=int, default=1 << 14)
    parser.add_argument("--steps-at-once", type=int, help="steps between two looks at who is done")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", action="store_true", help="the functions that take longest, too")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    engine = Pretending(arguments.places, arguments.rows, arguments.steps_at_once)
    search = DecodeConfig(beam=arguments.beam)
    count = arguments.warm_up + arguments.sentences
    requests = [Request(source, search) for source in draw_sources(count, VOCABULARY)]
    clock = Clock(time.thread_time)
    with watching(clock):
        with (
            Counting(clock) as mode,
            mode.transfers(lanes, "send"),
            mode.transfers(forced, "send"),
            mode.transfers(lanes, "Later"),
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
    print(f"{sentences} sentences in {rounds} rounds, {sentences / rounds:.0f} a round")
    print(f"{'':<40} {'us a sentence':>14} {'us a round':>12} {'operations a round':>20}")

    def show(name: str, parts: Iterable[str]) -> None:
        spent, asked = (sum(of.get(part, 0) for part in parts) for of in (seconds, operations))
        print(f"{name:<40} {1e6 * spent / sentences:>14.1f} {1e6 * spent / rounds:>12.0f} {asked / rounds:>20.1f}")

    besides = (COLLECT, STEP, WAIT)
    host = sorted(seconds.keys() - {*besides})
    for part in host:
        show(part, [part])
    show("all of these", host)
    for part in besides:
        show(part, [part])


if __name__ == "__main__":
    main()
