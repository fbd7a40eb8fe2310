"""Hark: train, run and inspect Transformer translation models ("Attention Is All You Need")."""

TYPE_CHECKING = False
"""Stands in for `typing.TYPE_CHECKING`: importing `typing` takes 14 ms, during which Ctrl-C shows a traceback."""

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from hark.inspect.page import Page
    from hark.translate.load import Loaded

__version__ = "0.2.0"


def load(path: "Path | str", **engine: "Any") -> "Loaded":
    """Load and verify a model by its folder, run or name (`hark models`): `hark.load("seven")`.

    A pair of languages is a name, too: `hark.load("en-de").translate("...")`, with the model that translates them.
    `engine`, `device`, `precision` and `threads` determine how it runs; by default on a GPU if there is one, else on
    the CPU, without torch.
    """
    from hark.translate.load import Loaded

    return Loaded.named(str(path), **engine)


def look(text: str, model: "Loaded | Path | str", changes: int | None = None, **search: "Any") -> "Page":
    """Show how a model translates a sentence, as a page: `hark.look("...", "en-de")`.

    A notebook displays the page; `save(path)` writes it to a file. `changes` is the number of heads and words to ablate
    and measure. `search` overrides settings of [decode], such as `beam=1`.
    """
    from hark.errors import require
    from hark.translate.load import Loaded

    require("torch", "train", "hark.look")
    from hark.inspect.look import look_inside

    page, _ = look_inside(model if isinstance(model, Loaded) else load(model), text, changes=changes, **search)
    return page


def __getattr__(name: str) -> "Any":
    """Import `hark.inspect`, which needs torch, on first use."""
    if name == "inspect":
        from importlib import import_module

        return import_module("hark.inspect")
    raise AttributeError(f"module 'hark' has no attribute {name!r}")
