import platform
from collections.abc import Iterator

import pytest
import torch

from hark.model import onednn
from hark.model.onednn import avoid_slow_onednn


@pytest.fixture(autouse=True)
def enabled() -> Iterator[None]:
    """oneDNN is on before a test, and afterwards what it was."""
    before = torch._C._get_mkldnn_enabled()
    torch.backends.mkldnn.set_flags(_enabled=True)
    yield
    torch.backends.mkldnn.set_flags(_enabled=before)


@pytest.mark.parametrize(
    ("machine", "features", "used"),
    [
        ("aarch64", "fp asimd asimddp", False),
        ("aarch64", "fp asimd bf16 sve", True),
        ("arm64", "", True),  # a Mac
        ("x86_64", "fpu avx2", True),
    ],
)
def test_only_arm_without_bfloat16_avoids_onednn(
    machine: str, features: str, used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(onednn, "cpu_features", lambda: set(features.split()))
    avoid_slow_onednn()
    assert torch._C._get_mkldnn_enabled() == used
