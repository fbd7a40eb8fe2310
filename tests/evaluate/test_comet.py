"""COMET is asked only where it is: here, a stand-in with its interface."""

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from hark.errors import MissingExtraError, UserError
from hark.evaluate.comet import Comet, find_checkpoint
from hark.evaluate.evaluation import evaluate
from tests.evaluate.material import GOOD, REFERENCES, SET, SOURCES, systems


class Judge:
    def predict(self, samples: list[dict[str, str]], batch_size: int, gpus: int, progress_bar: bool) -> SimpleNamespace:
        assert (batch_size > 0, gpus in (0, 1), progress_bar) == (True, True, False)
        assert [each["src"] for each in samples] == list(SOURCES)
        assert [each["ref"] for each in samples] == list(REFERENCES)
        return SimpleNamespace(system_score=0.9 if samples[3]["mt"] == GOOD[3] else 0.2)


@pytest.fixture
def comet(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("comet")
    module.__spec__ = ModuleSpec("comet", None)
    module.load_from_checkpoint = lambda path: Judge()  # type: ignore[attr-defined]  # noqa: ARG005
    monkeypatch.setitem(sys.modules, "comet", module)
    return module


def test_scores_of_a_model(comet: ModuleType, tmp_path: Path) -> None:  # noqa: ARG001
    inside = tmp_path / "wmt" / "checkpoints" / "model.ckpt"
    inside.parent.mkdir(parents=True)
    inside.touch()
    judge = Comet(find_checkpoint(tmp_path / "wmt"))
    result = evaluate([SET], systems(), resamples=0, comet=judge)
    assert [each.scores["comet"].value for each in result.sets[0].systems] == [0.9, 0.2]
    assert result.signatures["comet"].startswith("model:wmt|version:")


def test_a_model_that_is_not_there_is_one_line(comet: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no COMET model there"):
        find_checkpoint(tmp_path)

    def broken(path: str) -> None:  # noqa: ARG001
        raise KeyError("hyper_parameters")

    comet.load_from_checkpoint = broken  # type: ignore[attr-defined]
    with pytest.raises(UserError, match="COMET cannot load it"):
        Comet(tmp_path)


def test_without_the_package_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("hark.evaluate.comet.find_spec", lambda name: None)  # noqa: ARG005
    with pytest.raises(MissingExtraError, match="unbabel-comet"):
        find_checkpoint(tmp_path)
