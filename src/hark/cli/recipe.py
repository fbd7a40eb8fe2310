"""The settings that a verb was given: a recipe, overrides, and what comes from the model that training starts from."""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hark.config import Config


def load_recipe(recipe: str | None, overrides: Sequence[str] | None) -> Config:
    """The tree of settings. With `train.from`, what nobody said is as in that model, which may be given by its name.

    So a person who fine-tunes need not know how large the model is, which languages it has, or which tokenizer.
    """
    from hark import configfile
    from hark.recipes import split_words

    file, changes = split_words(recipe, overrides)
    say_what_moved(file, changes)
    name = str(said(file, changes, "train", "from") or "")  # it decides what the rest must fit
    if not name:
        return configfile.load(file, changes)
    from hark.bundle import Bundle
    from hark.models import named_folder

    bundle = Bundle.open(named_folder(name).absolute())
    config = configfile.load(file, changes, beneath=inherited(bundle.config))
    data, train = config.data, replace(config.train, from_=str(bundle.folder))
    if not data.tokenizer:
        shared = bundle.source_tokenizer == bundle.target_tokenizer
        data = replace(data, tokenizer=str(bundle.target_tokenizer), shared_vocab=shared)
    return replace(config, data=data, train=train)


def said(file: Path | None, changes: Sequence[str], section: str, key: str) -> Any:
    """What a recipe or the command line says of a setting, before the rest is looked at; None where neither does."""
    from hark import configfile

    changed: dict[str, Any] = {}
    for each in changes:
        configfile.apply_override(changed, each)
    for tree in (changed, configfile.read_toml(file) if file else {}):
        values = tree.get(section)
        if isinstance(values, dict) and key in values:
            return values[key]
    return None


def say_what_is_ignored(file: Path | None, changes: Sequence[str], vocab_size: int) -> None:
    """Tell a person who chose a size of the vocabulary for training that the dataset has its own."""
    chosen = said(file, changes, "model", "vocab_size")
    if leads() and chosen not in (None, vocab_size):
        sys.stderr.write(
            f"model.vocab_size is ignored: the dataset decides, and it has {vocab_size:,}, not {chosen:,} "
            "(hark prepare --vocab chooses)\n"
        )


def leads() -> bool:
    """Of the processes that torchrun starts, one talks."""
    return os.environ.get("RANK", "0") == "0"


def inherited(config: Config) -> dict[str, Any]:
    """Its shape, its search, its languages, and the longest sentence it was trained on."""
    from hark import configfile

    tree = configfile.plain(config)
    data = {key: tree["data"][key] for key in ("source", "target")}
    batches = {"max_length": tree["batches"]["max_length"]}
    return {"data": data, "batches": batches, "model": tree["model"], "decode": tree["decode"]}


def say_what_moved(file: Path | None, changes: Sequence[str]) -> None:
    """Tell a person, on stderr, which settings of a recipe or of the command line have another name now."""
    from hark import configfile

    if leads():
        for line in configfile.outdated(file, changes):
            sys.stderr.write(line + "\n")
