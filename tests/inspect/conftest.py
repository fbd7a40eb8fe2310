"""Shared fixtures: a trained bundle."""

from pathlib import Path

import pytest

from hark.translate.load import Loaded
from tests.inspect.taught import teach
from tests.sharing import build_once


@pytest.fixture(scope="session")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle that reverses sentences, trained in a few seconds."""
    return build_once(tmp_path_factory, "taught", teach)


@pytest.fixture(scope="session")
def loaded(taught: Path) -> Loaded:
    return Loaded(taught, "torch", "cpu")
