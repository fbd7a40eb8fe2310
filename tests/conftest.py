"""What all tests share: reproducible chance, and no more threads than cores when tests run side by side."""

import os
import signal

import pytest
from hypothesis import settings

os.environ.setdefault("TRITON_INTERPRET", "1")  # our kernels run on any machine; read when Triton is first imported
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is first imported

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # What a shell starts in the background does not hear Ctrl-C, nor do its children, some of which must here.
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["tests.runs"]

settings.register_profile("hark", deadline=None)  # a busy machine is not a wrong result
settings.load_profile("hark")


@pytest.fixture(autouse=True)
def seeded() -> None:
    import torch

    torch.manual_seed(0)
