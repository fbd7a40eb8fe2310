"""Loading of settings for a verb: a recipe, overrides, and the settings of the model to fine-tune."""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hark.config import Config, DataConfig
from hark.errors import UserError

if TYPE_CHECKING:
    from hark.bundle import Bundle
    from hark.facts import LanguagePair


def load_recipe(recipe: str | None, overrides: Sequence[str] | None) -> Config:
    """Load the settings. With `train.from`, which names a model or a pair of languages, they default to the model's.

    Fine-tuning thus needs no knowledge of the model's size, languages, language tags or tokenizer.
    """
    from hark import configfile
    from hark.recipes import split_arguments

    file, changes = split_arguments(recipe, overrides)
    name = str(explicit_value(file, changes, "train", "from") or "")  # needed first: it sets the defaults of the rest
    if not name:
        return configfile.load(file, changes)
    from hark.bundle import Bundle
    from hark.models import find_named
    from hark.text.opening import vocabulary_path

    folder, pair = find_named(name)
    bundle = Bundle.open(folder.absolute())
    config = configfile.load(file, changes, beneath=inherited(bundle, pair))
    data, train = config.data, replace(config.train, from_=str(bundle.folder))
    if not data.tokenizer:
        shared = bundle.source_tokenizer == bundle.target_tokenizer
        data = replace(data, tokenizer=str(vocabulary_path(bundle.folder)), shared_vocab=shared)
    data = inherit_tags(data, bundle)
    return replace(config, data=data, train=train)


def inherit_tags(data: DataConfig, bundle: "Bundle") -> DataConfig:
    """The settings with the language tags of the model to fine-tune."""
    tags = bundle.facts.vocabulary.language_tags
    if data.language_tags not in (None, tags):
        raise UserError(f"data.language_tags={data.language_tags}: {bundle.folder} has {tags}; leave it out")
    if data.many and tags == "none":
        raise UserError(f"data.many=true: {bundle.folder} has no language tags; leave it out")
    return data if tags == data.tag_kind else replace(data, language_tags=tags)


def explicit_value(file: Path | None, changes: Sequence[str], section: str, key: str) -> Any:
    """The unchecked value of a setting in the overrides or the recipe; None if neither sets it."""
    from hark import configfile

    changed: dict[str, Any] = {}
    for change in changes:
        configfile.apply_override(changed, change)
    for tree in (changed, configfile.read_toml(file) if file else {}):
        values = tree.get(section)
        if isinstance(values, dict) and key in values:
            return values[key]
    return None


def warn_of_ignored_vocab_size(file: Path | None, changes: Sequence[str], vocab_size: int) -> None:
    """Warn if `model.vocab_size` is set: the dataset determines it."""
    chosen = explicit_value(file, changes, "model", "vocab_size")
    if is_main_process() and chosen not in (None, vocab_size):
        sys.stderr.write(
            f"model.vocab_size={chosen:,} is ignored: the dataset has a vocabulary of {vocab_size:,} "
            "(set by hark prepare --vocab)\n"
        )


def warn_of_ignored_languages(file: Path | None, changes: Sequence[str]) -> None:
    """Warn if `data.source` or `data.target` is set for a dataset of several directions, which are all trained."""
    for key in ("source", "target"):
        chosen = explicit_value(file, changes, "data", key)
        if is_main_process() and chosen is not None:
            sys.stderr.write(f"data.{key}={chosen} is ignored: the dataset is many-to-many\n")


def is_main_process() -> bool:
    """Whether this is the process with rank 0, the only one that prints messages under torchrun."""
    return os.environ.get("RANK", "0") == "0"


def inherited(bundle: "Bundle", pair: "LanguagePair | None" = None) -> dict[str, Any]:
    """The settings that a fine-tuned model inherits: architecture, search, languages and maximum length.

    A model of several pairs leaves the languages empty unless one `pair` is chosen: they must be named."""
    from hark import configfile

    tree = configfile.plain(bundle.config)
    if pair is None and len(bundle.facts.pairs) == 1:
        pair = tree["data"]["source"], tree["data"]["target"]
    data = dict(zip(("source", "target"), pair or ("", next(iter(bundle.facts.languages), "")), strict=True))
    batches = {"max_length": tree["batches"]["max_length"]}
    return {"data": data, "batches": batches, "model": tree["model"], "decode": tree["decode"]}
