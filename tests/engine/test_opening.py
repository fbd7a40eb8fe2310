"""The choice of engine and device."""

from pathlib import Path

import pytest
import torch

from hark.bundle import Bundle
from hark.engine import opening
from hark.engine.torch import TorchEngine
from hark.errors import UserError
from hark.text.tokenizer import SPECIAL
from tests.tasks.decoders import make_one_stack


def test_a_gpu_is_looked_for_only_where_there_is_a_sign_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening.os.path, "exists", lambda _: False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert not opening.gpu_is_usable()
    monkeypatch.setattr(opening.os.path, "exists", lambda path: path == "/dev/nvidiactl")
    assert opening.gpu_is_usable()


def test_what_ctranslate2_does_not_compute_runs_in_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "gpu_is_usable", lambda: False)
    bundle = Bundle.open(make_one_stack(tmp_path / "t5", "encoder-decoder", "model.positions=relative"))
    assert type(opening.open_engine(bundle, SPECIAL)) is TorchEngine
    with pytest.raises(UserError, match="has relative positions; use --engine torch"):
        opening.open_engine(bundle, SPECIAL, "ctranslate2")
    paper = Bundle.open(make_one_stack(tmp_path / "paper", "encoder-decoder"))
    assert "ctranslate2" in opening.open_engine(paper, SPECIAL).name.lower()
