"""BLEU of the weights saved during training, ours or Marian's, with the same engine, search and references.

Sources are the tokens of the dataset; references are its raw lines; translations are decoded directly from the engine's
tokens, without the retries of `hark translate`. On a GPU, all weights are rounded to bfloat16.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.quality_curves import ROWS, SCORES, Clock, Row, TestScore, read_lines, write_lines
from hark import configfile
from hark.bundle import WEIGHTS
from hark.config import Config
from hark.data.dataset import Dataset
from hark.data.manifest import Shard
from hark.engine.request import Request
from hark.engine.torch import TorchEngine
from hark.errors import UserError
from hark.evaluate.measures import choose_tokenisation, make_measures
from hark.model import Transformer
from hark.model.weights import match_weights, read_tensors
from hark.rundir import RunDir
from hark.text.tokenizer import EOS, SPECIAL
from hark.train.checkpoint import list_checkpoints, step_of
from hark.train.metrics import read_metrics
from hark.train.start import open_dataset


@dataclass(frozen=True)
class SavedWeights:
    """The weights saved at one moment."""

    seconds: float
    steps: int
    weights: Path


def find_saved(folder: Path) -> list[SavedWeights]:
    """Find the saved weights of one of our runs, or of Marian's."""
    run = RunDir(folder)
    if run.checkpoints.is_dir():
        clock = Clock(read_metrics(run.metrics))
        return [
            SavedWeights(clock.seconds(step_of(each)), step_of(each), each / WEIGHTS)
            for each in list_checkpoints(run.checkpoints)
        ]
    rows = read_lines(folder / ROWS, Row)
    saved = []
    for each in folder.glob("minute-*"):
        minute = float(each.name.removeprefix("minute-"))
        row = next(row for row in rows if row.seconds >= 60 * minute)  # the row of the evaluation when they were saved
        saved.append(SavedWeights(row.seconds, row.steps, each / WEIGHTS))
    # If a step takes longer than the interval, several were saved at the same second.
    return sorted(saved, key=lambda each: (each.seconds, float(each.weights.parent.name.removeprefix("minute-"))))


def score_folder(folder: Path, dataset: Path | None, sets: Sequence[str], device: torch.device) -> Iterator[TestScore]:
    """Score all saved weights that have no score yet, and add each score to the folder.

    The latest weights come first, because they matter most if time runs out.
    """
    config = configfile.load(folder / "config.toml")
    if dataset is not None:
        config = replace(config, data=replace(config.data, dataset=str(dataset)))
    opened = open_dataset(config.data)
    shards = [shard for shard in opened.shards("test") if not sets or shard.name in sets]
    if not shards:
        names = ", ".join(each.name for each in opened.shards("test"))
        raise UserError(f"{opened.folder}: no such test set; choose from: {names or 'none'}")
    known = read_lines(folder / SCORES, TestScore)
    for saved in reversed(find_saved(folder)):
        missing = [each for each in shards if (saved.steps, each.name) not in {(k.steps, k.set) for k in known}]
        if not missing:
            continue
        engine = TorchEngine(fill(config, read_tensors(saved.weights), saved.weights), SPECIAL, device)
        for shard in missing:
            score = score_set(engine, config, opened, shard, saved)
            known.append(score)
            write_lines(folder / SCORES, sorted(known, key=lambda each: each.steps))
            yield score
        engine.close()


def fill(config: Config, values: Mapping[str, Tensor], where: Path) -> Transformer:
    model = Transformer(config.model)
    with torch.no_grad():
        for name, weight in match_weights(model, values, where):
            weight.copy_(values[name])
    return model


def score_set(engine: TorchEngine, config: Config, dataset: Dataset, shard: Shard, saved: SavedWeights) -> TestScore:
    store, references = dataset.store(shard), dataset.text(shard, "target")
    requests = [Request([*store[i][0].tolist(), EOS], config.decode) for i in range(len(store))]
    answers = dict(engine.run(requests))
    texts = dataset.tokenizer("target").decode([answers[i][0].tokens for i in range(len(store))])
    bleu = make_measures(choose_tokenisation(dataset.manifest.target))["bleu"]
    value = float(bleu.corpus_score(texts, [references]).score)
    return TestScore(saved.seconds, saved.steps, shard.name, value, len(texts), str(bleu.get_signature()))
