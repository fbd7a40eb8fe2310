"""Hark: "Attention Is All You Need", built as software that people use."""

TYPE_CHECKING = False
"""As in `typing`, which takes 14 ms to import: the command `hark` handles Ctrl-C sooner without it."""

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from hark.decode.load import Loaded
    from hark.inspect.page import Page

__version__ = "0.1.0"


def load(path: "Path | str", **engine: "Any") -> "Loaded":
    """A model, verified: `hark.load("en-de").translate("...")`; by its folder, its run, or its name (`hark models`).

    `engine`, `device`, `precision` and `threads` choose where it runs; by default on a GPU if there is one, and else on
    the CPU, without torch.
    """
    from hark.decode.load import Loaded
    from hark.models import named_folder

    return Loaded(named_folder(str(path)), **engine)


def look(text: str, model: "Loaded | Path | str", changes: int | None = None, **search: "Any") -> "Page":
    """What goes on inside when a sentence is translated, as a page: `hark.look("...", "en-de")`.

    A notebook shows it as it is; `save(path)` writes it to a file. `changes` says of how many heads and words to
    measure what is translated without them. `search` changes settings of the search, such as `beam=1`.
    """
    from hark.decode.load import Loaded
    from hark.errors import require

    require("torch", "train", "looking inside")
    from hark.inspect.look import look_inside

    page, _ = look_inside(model if isinstance(model, Loaded) else load(model), text, changes=changes, **search)
    return page


def __getattr__(name: str) -> "Any":
    """`hark.inspect` without an import of its own; it needs torch, so nothing else pays for it."""
    if name == "inspect":
        from importlib import import_module

        return import_module("hark.inspect")
    raise AttributeError(f"module 'hark' has no attribute {name!r}")
