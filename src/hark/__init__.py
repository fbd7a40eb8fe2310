"""Hark: train, run and inspect Transformer translation models ("Attention Is All You Need")."""

TYPE_CHECKING = False
"""Stands in for `typing.TYPE_CHECKING`: importing `typing` takes 14 ms, during which Ctrl-C shows a traceback."""

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from hark.inspect.page import Page
    from hark.inspect.reading import TextModel
    from hark.inspect.text_to_text import TextToText
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
    model: "Loaded | TextModel | TextToText | Path | str",
    changes: int | None = None,
    max_tokens: int | None = None,
    output: str | None = None,
    **search: "Any",
) -> "Page":
    """Show how a model translates a sentence, or reads a text, as a page: `hark.look("...", "en-de")`.

    A notebook displays the page; `save(path)` writes it to a file. `changes` is the number of heads and words to ablate
    and measure. `search` overrides settings of [decode], such as `beam=1`. A model of one stack, such as "gpt2", reads
    the text; `max_tokens` is how far a decoder continues it first, and `changes=0` measures nothing. One such as
    "t5-small" makes another text of it, of at most `max_tokens`, unless `output` is given.
    """
    from hark.errors import UserError, require
    from hark.models import named_folder, shape_of, translates
    from hark.translate.load import Loaded

    require("torch", "train", "hark.look")
    from hark.inspect.look import look_at_output, look_at_text, look_inside
    from hark.inspect.reading import TextModel
    from hark.inspect.text_to_text import TextToText

    if not isinstance(model, Loaded | TextModel | TextToText):
        folder = named_folder(str(model))
        if shape_of(folder) != "encoder-decoder":
            model = TextModel.open(folder)
        else:
            model = load(model) if translates(folder) else TextToText.open(folder)
    if isinstance(model, TextToText):
        return look_at_output(model, text, output, changes, max_tokens, **search)[0]
    if isinstance(model, TextModel):
        refused = {"changes": changes, "output": output, **search}
        if given := ", ".join(name for name, value in refused.items() if value):
            raise UserError(f"{model.name}: has one stack, so it does not translate; leave out {given}")
        return look_at_text(model, text, max_tokens or 0, quick=changes == 0)[0]
    for name, value in (("max_tokens", max_tokens), ("output", output)):
        if value:
            raise UserError(f"{model.bundle.folder}: translates; leave out {name}")
    return look_inside(model, text, changes=changes, **search)[0]


def __getattr__(name: str) -> "Any":
    """Import `hark.inspect`, which needs torch, on first use."""
    if name == "inspect":
        from importlib import import_module

        return import_module("hark.inspect")
    raise AttributeError(f"module 'hark' has no attribute {name!r}")
