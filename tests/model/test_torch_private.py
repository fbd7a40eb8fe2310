"""What PyTorch does not document does what we think, in the version that is installed."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor

import hark
from hark.model import torch_private


def draw(count: int = 3) -> list[Tensor]:
    return [torch.randn(4, size) for size in range(1, count + 1)]


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(1)


def test_operations_on_lists_are_those_on_each() -> None:
    values, ends, half = draw(), draw(), torch.tensor(0.5)
    pairs = list(zip(values, ends, strict=True))
    operations: dict[Callable[[list[Tensor]], None], list[Tensor]] = {
        partial(torch_private.copy_all, values=ends): ends,
        partial(torch_private.add_to_all, number=3): [x + 3 for x in values],
        partial(torch_private.subtract_all, values=ends): [x - end for x, end in pairs],
        partial(torch_private.multiply_all, factor=half): [x * half for x in values],
        partial(torch_private.lerp_all, ends=ends, share=0.3): [x.lerp(end, 0.3) for x, end in pairs],
    }
    for change, expected in operations.items():
        changed = [each.clone() for each in values]
        change(changed)
        torch.testing.assert_close(changed, expected)


def test_linear_relu() -> None:
    x, weight, bias = torch.randn(5, 4), torch.randn(4, 3), torch.randn(3)
    torch.testing.assert_close(torch_private.linear_relu(bias, x, weight), (x @ weight + bias).relu())


@pytest.mark.parametrize("skip", [0.0, 1.0])
def test_adam_is_that_of_the_paper_and_can_be_skipped(skip: float) -> None:
    """Algorithm 1 of Kingma and Ba (2015)."""
    weights, gradients = draw(), draw()
    before = [each.clone() for each in weights]
    means, squares = ([torch.zeros_like(each) for each in weights] for _ in range(2))
    steps = [torch.tensor(1.0) for _ in weights]
    torch_private.adam(weights, gradients, means, squares, steps, 0.1, (0.9, 0.98), 1e-9, torch.tensor(skip))
    for weight, start, gradient, mean, square in zip(weights, before, gradients, means, squares, strict=True):
        if skip:
            assert torch.equal(weight, start)
            continue
        torch.testing.assert_close(mean, 0.1 * gradient)
        torch.testing.assert_close(square, 0.02 * gradient**2)
        unbiased, scale = mean / (1 - 0.9), (square / (1 - 0.98)).sqrt()
        torch.testing.assert_close(weight, start - 0.1 * unbiased / (scale + 1e-9))


def test_nothing_private_is_used_elsewhere() -> None:
    house = Path(hark.__file__).parent
    private = re.compile(r"\btorch(?:\.\w+)*\._[a-z]\w*|from torch[\w.]* import _")
    found = {
        file.relative_to(house).as_posix(): uses
        for file in house.rglob("*.py")
        if file.name != "torch_private.py" and (uses := private.findall(file.read_text()))
    }
    assert found == {}
