"""The parameters of searches in the tables of a lane."""

import numpy as np
import torch

from hark.engine.lane_tables import LaneShape, ParamTables, power_of_two
from tests.engine.naive import ask

HARMLESS = 1


def test_each_search_is_written_to_its_own_slot() -> None:
    shape = LaneShape(width=2, keep=2, columns=32, forced=4, banned=3, sampled=False)
    tables = ParamTables(shape, 4, HARMLESS, torch.device("cpu"))
    arrivals = [
        ask(limit=7, prefix=1, forced=(5, 6, 7), banned=(8,), alpha=0.5, start=-1.5, memory=40, memory_length=3),
        ask(limit=9, nbest=2, banned=(4, 5, 6), memory=90, memory_length=8),
    ]
    which_B, start_B = tables.write(np.array([2, 0]), arrivals)
    params = tables.params
    assert which_B.tolist() == [2, 0]
    assert start_B.tolist() == [-1.5, 0.0]
    assert params.limit_B.tolist() == [9, 0, 7, 0]
    assert params.nbest_B[[2, 0]].tolist() == [arrivals[0].nbest, 2]
    assert params.alpha_B[2] == 0.5
    assert params.forced_B.tolist() == [0, 0, 3, 0]
    assert params.forced_BT[2].tolist() == [5, 6, 7, 0]
    assert params.banned_BM[[2, 0]].tolist() == [[8, HARMLESS, HARMLESS], [4, 5, 6]]
    assert tables.memory_B.tolist() == [90, 0, 40, 0]
    assert tables.memory_lengths_B.tolist() == [8, 0, 3, 0]
    assert params.sampling is None


def test_sampling_has_a_random_number_for_each_position() -> None:
    shape = LaneShape(width=1, keep=1, columns=4, forced=0, banned=0, sampled=True)
    tables = ParamTables(shape, 2, HARMLESS, torch.device("cpu"))
    tables.write(np.array([1]), [ask(drawn=(0.25, 0.75), temperature=0.5, top_k=3, top_p=0.5)])
    sampling = tables.params.sampling
    assert sampling is not None
    assert sampling.drawn_BT.tolist() == [[0.0] * 4, [0.25, 0.75, 0.0, 0.0]]
    assert (sampling.temperature_B[1], sampling.top_k_B[1], sampling.top_p_B[1]) == (0.5, 3, 0.5)


def test_sizes_are_powers_of_two() -> None:
    assert [power_of_two(length) for length in (0, 1, 16, 17, 512, 513)] == [0, 16, 16, 32, 512, 1024]
