"""Hark: train, run and inspect Transformer translation models ("Attention Is All You Need")."""

TYPE_CHECKING = False
"""Stands in for `typing.TYPE_CHECKING`: importing `typing` takes 14 ms, during which Ctrl-C shows a traceback."""

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from hark.inspect.page import Page
    from hark.inspect.reading import TextModel
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


def look(
    text: str,
    model: "Loaded | TextModel | Path | str",
    changes: int | None = None,
    max_tokens: int = 0,
    **search: "Any",
) -> "Page":
    """Show how a model translates a sentence, or reads a text, as a page: `hark.look("...", "en-de")`.

    A notebook displays the page; `save(path)` writes it to a file. `changes` is the number of heads and words to ablate
    and measure. `search` overrides settings of [decode], such as `beam=1`. A model of one stack, such as "gpt2", reads
    the text; `max_tokens` is how far a decoder continues it first, and `changes=0` measures nothing.
    """
    from hark.errors import UserError, require
    from hark.models import named_folder, shape_of
    from hark.translate.load import Loaded

    require("torch", "train", "hark.look")
    from hark.inspect.look import look_at_text, look_inside
    from hark.inspect.reading import TextModel

    if not isinstance(model, Loaded | TextModel):
        folder = named_folder(str(model))
        model = load(model) if shape_of(folder) == "encoder-decoder" else TextModel.open(folder)
    if isinstance(model, TextModel):
        if changes or search:
            given = ", ".join([*["changes"][: bool(changes)], *search])
            raise UserError(f"{model.name}: has one stack, so it does not translate; leave out {given}")
        return look_at_text(model, text, max_tokens, quick=changes == 0)[0]
    if max_tokens:
        raise UserError(f"{model.bundle.folder}: translates; max_tokens is for a decoder alone")
    return look_inside(model, text, changes=changes, **search)[0]


def __getattr__(name: str) -> "Any":
    """Import `hark.inspect`, which needs torch, on first use."""
    if name == "inspect":
        from importlib import import_module

        return import_module("hark.inspect")
    raise AttributeError(f"module 'hark' has no attribute {name!r}")
