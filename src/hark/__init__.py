"""Hark: "Attention Is All You Need", built as software that people use."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from hark.train.loaded import Loaded

__version__ = "0.1.0"


def load(path: "Path | str") -> "Loaded":
    """A model from its bundle: the settings, the tokenizers and the network, verified."""
    from hark.train.loaded import load_bundle

    return load_bundle(path)
