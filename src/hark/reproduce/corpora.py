"""The text of an experiment: a prepared dataset, the corpora of the recipe `europarl-en-de`, or the built-in sample."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from hark import configfile
from hark.config import Config, CorpusConfig
from hark.data.dataset import Dataset
from hark.data.manifest import is_dataset
from hark.data.prepare import prepare
from hark.data.progress import Progress, silent
from hark.data.sample import paths
from hark.errors import UserError
from hark.recipes import find_recipe
from hark.reproduce.scales import Scale

RECIPE = "europarl-en-de"
RECIPE_FOLDER = "datasets/"
"""What the paths of the recipe begin with."""


def open_text(scale: Scale, data: Path | None, output: Path, progress: Progress = silent) -> Dataset:
    """The dataset for a scale, prepared under `output` unless `data` is one already."""
    if data is not None and not data.is_dir():
        raise UserError(f"--data {data}: no such folder")
    if data is not None and is_dataset(data):
        dataset = Dataset.open(data.resolve())
        if not dataset.shards("dev") or not dataset.shards("test"):
            raise UserError(f"--data {data}: has no dev or no test set; prepare it with --dev and --test")
        return dataset
    if scale.name == "full":
        raise UserError(
            "--scale full requires --data DATASET: WMT 2014 English-German, prepared with newstest2013 as --dev and "
            "newstest2014 as --test (see docs/paper.md)"
        )
    if data is None and scale.name == "medium":
        raise UserError(
            "--scale medium requires --data FOLDER: a dataset, or a folder with europarl-en-de and tatoeba-en-de"
        )
    config = sample_config() if data is None else recipe_config(data)
    name = "sample" if data is None else "europarl-tatoeba"
    # Without language detection, whose package a bare GPU machine lacks: the dataset is then the same everywhere.
    clean = replace(config.data.clean, language=1.0)
    text = replace(config.data, vocab_size=scale.vocab_size, clean=clean)
    folder = output / "text" / f"{name}-{scale.vocab_size}"
    return prepare(replace(config, data=text), folder, progress=progress).dataset


def sample_config() -> Config:
    corpora: dict[str, Any] = {
        use: (CorpusConfig(*sides, name="tatoeba-sample" if use == "train" else f"tatoeba-sample-{use}"),)
        for use, sides in paths().items()
    }
    config = Config()
    return replace(config, data=replace(config.data, **corpora))


def recipe_config(folder: Path) -> Config:
    """The recipe with its files in a folder. Test sets that are not there are left out."""
    config = configfile.load(find_recipe(RECIPE))

    def moved(corpora: tuple[CorpusConfig, ...]) -> tuple[CorpusConfig, ...]:
        return tuple(
            replace(
                each,
                source=str(folder / each.source.removeprefix(RECIPE_FOLDER)),
                target=str(folder / each.target.removeprefix(RECIPE_FOLDER)),
            )
            for each in corpora
        )

    text = config.data
    train, dev, test = moved(text.train), moved(text.dev), moved(text.test)
    for each in (*train, *dev):
        for file in (each.source, each.target):
            if not Path(file).exists():
                raise UserError(f"--data {folder}: neither a dataset nor the text of recipe {RECIPE}: no {file}")
    present = tuple(each for each in test if Path(each.source).exists() and Path(each.target).exists())
    if not present:
        raise UserError(f"--data {folder}: none of the test sets of recipe {RECIPE} is there")
    return replace(config, data=replace(text, train=train, dev=dev, test=present))


def describe_text(dataset: Dataset) -> str:
    """The corpora of a dataset and their size, for the notes of a table."""
    train = dataset.shards("train")
    names = ", ".join(shard.name for shard in train)
    direction = f"{dataset.manifest.source}-{dataset.manifest.target}"
    return f"{names} ({direction}, {sum(shard.pairs for shard in train):,} pairs)"
