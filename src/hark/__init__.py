"""Hark: "Attention Is All You Need", built as software that people use."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from hark.decode.load import Loaded

__version__ = "0.1.0"


def load(path: "Path | str", **engine: Any) -> "Loaded":
    """A model from its bundle, verified: `hark.load(path).translate("...")`.

    `engine`, `device`, `precision` and `threads` choose where it runs; by default on a GPU if there is one, and else on
    the CPU, without torch.
    """
    from hark.decode.load import Loaded

    return Loaded(path, **engine)
