"""Throughput of our engine on a stream of sentences that end by themselves, for `decode_speed --stream N`."""

import time
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from benchmarks.decode_host import STEP, Clock, show_parts, watching
from benchmarks.decode_sources import Source
from benchmarks.decode_timing import Row, best_time, search_name
from hark.config import DecodeConfig
from hark.engine.lane import Lane
from hark.engine.lane_tables import LaneShape
from hark.engine.request import Request
from hark.engine.search import Candidates
from hark.engine.torch import TorchEngine
from hark.text.tokenizer import EOS

SPREAD, SURE = 9, 30.0
"""The number of different lengths of translations of equally long sources; and the logit of EOS when it is due, far
above those of random weights."""


class EndingLane(Lane):
    """A lane that ends each search at about the length of its source, which random weights would not: EOS is forbidden
    before that, and then nearly certain. Adds a few small kernels to each step; the rest is the engine's own."""

    def __init__(self, lane: Lane) -> None:
        self.best = lane.context.choose
        super().__init__(replace(lane.context, choose=self.choose), lane.shape, lane.slots, lane.quick_step)

    def step(self, which_B: Tensor, positions: int, longest_memory: int) -> None:
        # The place of a memory serves as a random number.
        more_B = self.memory_B[which_B] % SPREAD - SPREAD // 2
        due_B = self.beams.position_B[which_B] + 1 >= self.memory_lengths_B[which_B] + more_B
        self.end_B1 = torch.where(due_B, SURE, -torch.inf)[:, None]
        super().step(which_B, positions, longest_memory)

    def choose(self, logits_BWV: Tensor, log_prob_BW: Tensor) -> Candidates:
        logits_BWV[..., EOS] = self.end_B1
        return self.best(logits_BWV, log_prob_BW)


class EndingEngine(TorchEngine):
    def new_lane(self, shape: LaneShape) -> Lane:
        return EndingLane(super().new_lane(shape))


def run_stream(engine: TorchEngine, requests: Sequence[Request]) -> int:
    """Decode a stream, and return the number of tokens."""
    tokens = 0
    for number, (best, *_) in engine.run(requests):
        tokens += len(best.tokens) + 1
        assert best.complete
        assert abs(len(best.tokens) + 1 - len(requests[number].source)) <= SPREAD // 2
    return tokens


def measure_stream(engine: TorchEngine, sources: list[Source], beam: int, rounds: int) -> Row:
    search = DecodeConfig(beam=beam)
    requests = [Request(source, search) for source in sources]
    tokens = run_stream(engine, requests)
    seconds = best_time(lambda: run_stream(engine, requests), rounds)
    steps = f"{engine.steps_at_once or 'default'} steps at once"
    return Row(f"stream, {engine.config.norm}-norm, {search_name(beam)}, {steps}", seconds, len(sources), tokens)


def break_down_stream(engine: TorchEngine, sources: list[Source], beam: int) -> None:
    """Print the host's time by part, including waiting for the device."""
    requests, clock = [Request(source, DecodeConfig(beam=beam)) for source in sources], Clock(time.perf_counter)
    with watching(clock):
        clock.start()
        run_stream(engine, requests)
        clock.stop()
    show_parts(clock.seconds, clock.operations, len(sources), clock.calls[STEP])
