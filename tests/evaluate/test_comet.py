"""COMET scores, with a stub of the package."""

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from hark.errors import MissingExtraError, UserError
from hark.evaluate.comet import Comet, find_checkpoint
from hark.evaluate.evaluation import evaluate
from tests.evaluate.material import GOOD, REFERENCES, SET, SOURCES, systems


class CometStub:
    def predict(self, samples: list[dict[str, str]], batch_size: int, gpus: int, progress_bar: bool) -> SimpleNamespace:
        assert (batch_size > 0, gpus in (0, 1), progress_bar) == (True, True, False)
        assert [each["src"] for each in samples] == list(SOURCES)
        assert [each["ref"] for each in samples] == list(REFERENCES)
        return SimpleNamespace(system_score=0.9 if samples[3]["mt"] == GOOD[3] else 0.2)


@pytest.fixture
def comet(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("comet")
    module.__spec__ = ModuleSpec("comet", None)
    module.load_from_checkpoint = lambda path: CometStub()  # type: ignore[attr-defined]  # noqa: ARG005
    monkeypatch.setitem(sys.modules, "comet", module)
    return module


def test_scores_of_a_model(comet: ModuleType, tmp_path: Path) -> None:  # noqa: ARG001
    inside = tmp_path / "wmt" / "checkpoints" / "model.ckpt"
    inside.parent.mkdir(parents=True)
    inside.touch()
    model = Comet(find_checkpoint(tmp_path / "wmt"))
    result = evaluate([SET], systems(), resamples=0, comet=model)
    assert [each.scores["comet"].value for each in result.sets[0].systems] == [0.9, 0.2]
    assert result.signatures["comet"].startswith("model:wmt|version:")


def test_a_missing_or_invalid_model_is_an_error(comet: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a COMET model; name a "):
        find_checkpoint(tmp_path)

    def broken(path: str) -> None:  # noqa: ARG001
        raise KeyError("hyper_parameters")

    comet.load_from_checkpoint = broken  # type: ignore[attr-defined]
    with pytest.raises(UserError, match="COMET cannot load it"):
        Comet(tmp_path)


def test_a_missing_package_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("hark.evaluate.comet.find_spec", lambda name: None)  # noqa: ARG005
    with pytest.raises(MissingExtraError, match="--comet requires the package unbabel-comet"):
        find_checkpoint(tmp_path)
