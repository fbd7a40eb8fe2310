"""Tests of CUDA graphs and compiled kernels, which need a GPU: `make test-gpu`. Skipped elsewhere.

They need pytest and torch alone, so that they also run on a bare GPU machine: with `--noconftest` and PYTHONPATH=src.
"""

import os

import pytest
import torch

NEEDS_GPU = pytest.mark.skipif(
    not torch.cuda.is_available() or os.environ.get("TRITON_INTERPRET") == "1",
    reason="needs a GPU and compiled kernels: make test-gpu",
)
