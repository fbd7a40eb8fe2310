import platform
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hark.decode.engines import saturation
from hark.decode.engines.conversion import HALVES
from hark.decode.engines.saturation import read_flags, saturates


@pytest.fixture(autouse=True)
def asked_anew() -> Iterator[None]:
    saturates.cache_clear()
    yield
    saturates.cache_clear()


@pytest.mark.parametrize(
    ("machine", "flags", "expected"),
    [
        ("x86_64", "fpu avx2 avx512f avx512bw", True),
        ("AMD64", "", True),
        ("x86_64", "fpu avx2 avx512f avx512_vnni", False),
        ("aarch64", "", False),
        ("arm64", "", False),
    ],
)
def test_only_x86_without_vnni_saturates(
    machine: str, flags: str, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: {flags}\n\nprocessor\t: 1\nflags\t\t: other\n")
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(saturation, "CPUINFO", tmp_path / "cpuinfo")
    assert saturates() is expected


def test_a_system_without_the_list_has_no_flags(tmp_path: Path) -> None:
    assert read_flags(tmp_path / "missing") == set()


def test_sums_of_two_products_with_halved_weights_fit_in_16_bits() -> None:
    numbers = np.arange(-128, 128).astype(np.int8)
    halves = HALVES[numbers.view(np.uint8)].astype(int)
    assert np.abs(halves - numbers / 2).max() <= 0.5
    assert 2 * 255 * np.abs(halves).max() <= np.iinfo(np.int16).max
