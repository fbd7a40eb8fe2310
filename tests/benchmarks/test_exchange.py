"""The benchmark of imported models runs at a tiny size."""

from pathlib import Path

import torch

from benchmarks.exchange import by_transformers, draw_sources, load_transformers
from benchmarks.opus_mt import TINY, write_opus_mt
from hark.bundle import Bundle
from hark.config import DecodeConfig
from hark.decode.load import open_engine
from hark.decode.request import Request
from hark.exchange.importer import ImportRequest, import_model
from hark.text.opening import open_vocabularies
from tests.benchmarks.conftest import run_benchmark


def test_exchange() -> None:
    run = run_benchmark("exchange", "--tiny", "--sentences", 3, "--rounds", 1, "--beam", 2)
    assert run.returncode == 0, run.stderr
    assert "random weights" in run.stdout
    assert "fixed output length" in run.stdout
    for system in ("hark, CTranslate2 on cpu, int8", "CTranslate2 by hand", "transformers, float32"):
        assert system in run.stdout
