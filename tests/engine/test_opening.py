"""The choice of engine and device."""

import pytest
import torch

from hark.engine import opening


def test_a_gpu_is_looked_for_only_where_there_is_a_sign_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening.os.path, "exists", lambda _: False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert not opening.gpu_is_usable()
    monkeypatch.setattr(opening.os.path, "exists", lambda path: path == "/dev/nvidiactl")
    assert opening.gpu_is_usable()
