"""Shared fixtures: a trained bundle."""

from pathlib import Path

import pytest

from hark.inspect.reading import TextModel
from hark.translate.load import Loaded
from tests.inspect.copyist import write_copyist
from tests.inspect.taught import teach
from tests.sharing import build_once


@pytest.fixture(scope="session")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle that reverses sentences, trained in a few seconds."""
    return build_once(tmp_path_factory, "taught", teach)


@pytest.fixture(scope="session")
def copyist(tmp_path_factory: pytest.TempPathFactory) -> TextModel:
    """A decoder that repeats what it has read."""
    return TextModel.open(build_once(tmp_path_factory, "copyist", write_copyist))


@pytest.fixture(scope="session")
def loaded(taught: Path) -> Loaded:
    return Loaded(taught, "torch", "cpu")
