"""Shared test set-up: fixed seeds, and one thread per process when tests run in parallel."""

import os
import signal

import pytest
from hypothesis import settings

os.environ.setdefault("TRITON_INTERPRET", "1")  # our kernels run on any machine; read when Triton is first imported
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is first imported

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A shell's background jobs and their children ignore Ctrl-C, but some tests send it to theirs.
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["tests.runs"]

settings.register_profile("hark", deadline=None)  # a busy machine is not a wrong result
settings.load_profile("hark")


@pytest.fixture(autouse=True)
def seeded() -> None:
    import torch

    torch.manual_seed(0)
