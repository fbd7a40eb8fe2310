"""Sums over the rows of partial sums, run by Triton's interpreter. Activations are tested with their products."""

import pytest
import torch

pytest.importorskip("triton", reason="Triton is not installed")
from hark.model.kernels import activation


@pytest.mark.parametrize("rows", [1, 63, 64, 65, 1000])
def test_parts_add_up(rows: int) -> None:
    parts = torch.randn(rows, 40)
    torch.testing.assert_close(activation.add_parts(parts), parts.sum(0), atol=1e-4, rtol=1e-4)
