"""BLEU of the weights that were kept along the way, ours or Marian's: the same engine, search and references.

Sources are the dataset's tokens; references are the raw lines that stand beside them; translations are what the
tokenizer makes of the engine's answers, without the second attempts of `hark translate`. Weights are rounded to
bfloat16 on a GPU, whosever they are.
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
from hark.data.dataset import Dataset, Shard
from hark.decode.engines.torch import TorchEngine
from hark.decode.request import Request
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
class Kept:
    """Weights of one moment."""

    seconds: float
    steps: int
    weights: Path


def find_kept(folder: Path) -> list[Kept]:
    """All in the folder of a run of ours, or of Marian's."""
    run = RunDir(folder)
    if run.checkpoints.is_dir():
        clock = Clock(read_metrics(run.metrics))
        return [
            Kept(clock.seconds(step_of(each)), step_of(each), each / WEIGHTS)
            for each in list_checkpoints(run.checkpoints)
        ]
    rows = read_lines(folder / ROWS, Row)
    found = []
    for each in folder.glob("minute-*"):
        minute = float(each.name.removeprefix("minute-"))
        row = next(row for row in rows if row.seconds >= 60 * minute)  # measured when it was kept
        found.append(Kept(row.seconds, row.steps, each / WEIGHTS))
    # Where a step takes longer than a minute of the list, several were kept at the same second.
    return sorted(found, key=lambda each: (each.seconds, float(each.weights.parent.name.removeprefix("minute-"))))


def score_folder(folder: Path, dataset: Path | None, sets: Sequence[str], device: torch.device) -> Iterator[TestScore]:
    """Scores of all kept weights that have none yet; added to those in the folder as they come.

    The latest weights are first: they say most, should time run out.
    """
    config = configfile.load(folder / "config.toml")
    if dataset is not None:
        config = replace(config, data=replace(config.data, dataset=str(dataset)))
    opened = open_dataset(config.data)
    shards = [shard for shard in opened.shards("test") if not sets or shard.name in sets]
    if not shards:
        names = ", ".join(each.name for each in opened.shards("test"))
        raise UserError(f"{opened.folder}: has no such test set; it has {names or 'none'}")
    known = read_lines(folder / SCORES, TestScore)
    for kept in reversed(find_kept(folder)):
        missing = [each for each in shards if (kept.steps, each.name) not in {(k.steps, k.set) for k in known}]
        if not missing:
            continue
        engine = TorchEngine(fill(config, read_tensors(kept.weights), kept.weights), SPECIAL, device)
        for shard in missing:
            score = score_set(engine, config, opened, shard, kept)
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


def score_set(engine: TorchEngine, config: Config, dataset: Dataset, shard: Shard, kept: Kept) -> TestScore:
    store, references = dataset.store(shard), dataset.text(shard, "target")
    requests = [Request([*store[i][0].tolist(), EOS], config.decode) for i in range(len(store))]
    answers = dict(engine.run(requests))
    texts = dataset.tokenizer("target").decode([answers[i][0].tokens for i in range(len(store))])
    bleu = make_measures(choose_tokenisation(dataset.manifest.target))["bleu"]
    value = float(bleu.corpus_score(texts, [references]).score)
    return TestScore(kept.seconds, kept.steps, shard.name, value, len(texts), str(bleu.get_signature()))
