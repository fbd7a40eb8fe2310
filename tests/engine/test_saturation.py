import platform
from collections.abc import Iterator

import numpy as np
import pytest

from hark.engine import conversion
from hark.engine.conversion import HALVES, saturates


@pytest.fixture(autouse=True)
def asked_anew() -> Iterator[None]:
    saturates.cache_clear()
    yield
    saturates.cache_clear()


@pytest.mark.parametrize(
    ("machine", "features", "expected"),
    [
        ("x86_64", "fpu avx2 avx512f avx512bw", True),
        ("AMD64", "", True),
        ("x86_64", "fpu avx2 avx512f avx512_vnni", False),
        ("aarch64", "", False),
        ("arm64", "", False),
    ],
)
def test_only_x86_without_vnni_saturates(
    machine: str, features: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversion, "cpu_features", lambda: set(features.split()))
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert saturates() is expected


def test_sums_of_two_products_with_halved_weights_fit_in_16_bits() -> None:
    numbers = np.arange(-128, 128).astype(np.int8)
    halves = HALVES[numbers.view(np.uint8)].astype(int)
    assert np.abs(halves - numbers / 2).max() <= 0.5
    assert 2 * 255 * np.abs(halves).max() <= np.iinfo(np.int16).max
