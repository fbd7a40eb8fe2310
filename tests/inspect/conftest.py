"""Shared fixtures: a trained bundle."""

from pathlib import Path

import pytest

from hark.decode.load import Loaded
from tests.inspect.taught import teach


@pytest.fixture(scope="session")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle that reverses sentences; trained once per session, in a few seconds."""
    return teach(tmp_path_factory.mktemp("taught") / "backwards")


@pytest.fixture(scope="session")
def loaded(taught: Path) -> Loaded:
    return Loaded(taught, "torch", "cpu")
