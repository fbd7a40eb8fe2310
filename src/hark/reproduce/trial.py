"""Trials: training runs of an experiment, by the code of `hark train`, and the scores of their models."""

import gc
import math
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from hark import configfile
from hark.config import Config, DecodeConfig
from hark.data.dataset import Dataset
from hark.data.manifest import Role
from hark.engine.interface import Request
from hark.engine.torch import TorchEngine
from hark.evaluate.measures import choose_tokenisation, make_measures
from hark.model import Transformer, kernels
from hark.model.weights import as_transformer
from hark.rundir import RunDir
from hark.train.checkpoint import list_checkpoints
from hark.train.export import average_checkpoints
from hark.train.loss import Objective, to_tensors
from hark.train.metrics import History, read_metrics
from hark.train.passes import autocast
from hark.train.processes import choose_device
from hark.train.records import Record, TrainRecord, TranslationSample
from hark.train.session import run_training
from hark.train.sharding import fill_weights
from hark.train.start import Build, resolve

Advance = Callable[[float], None]
"""Receives the share of the work that is done."""
PLACES = 1 << 18
"""Tokens in flight on a GPU while translating; without CUDA graphs, more would not be faster."""


MOST_NATS = 700
"""A loss beyond this, or a non-finite one, counts as this much: its exponential is still a number."""


class StoppedError(Exception):
    """A signal stopped a training run, which was saved first."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@dataclass(frozen=True)
class Trial:
    """A training run: its settings, its text, and how its model is built."""

    config: Config
    dataset: Dataset
    build: Build = Transformer

    @classmethod
    def of(cls, config: Config, dataset: Dataset, device: str, build: Build = Transformer) -> "Trial":
        """With the vocabulary and languages of the dataset."""
        config = resolve(config, dataset)
        # Compiling takes a minute, as long as a short run. It matters only where our kernels do not apply.
        covered = kernels.cover(config.model, config.batches.max_length)
        train = replace(config.train, device=device, compile="auto" if covered else "off")
        return cls(replace(config, train=train), dataset, build)

    @property
    def device(self) -> torch.device:
        return choose_device(self.config.train.device, 0)


@dataclass(frozen=True)
class TrialCost:
    """What a finished run took."""

    weights: int
    steps: int
    target_tokens: int
    seconds: float
    """Of training, without evaluation and checkpoints."""
    device: str


class StepObserver:
    """Reports the progress of a run; its records are in the files of the run."""

    def __init__(self, steps: int, advance: Advance) -> None:
        self.steps, self.advance = steps, advance

    def update(self, record: Record | TranslationSample) -> None:
        if isinstance(record, TrainRecord):
            self.advance(record.step / self.steps)

    def log(self, line: str) -> None:
        """The message about a signal; the CLI prints its own."""


def train_trial(trial: Trial, folder: Path, advance: Advance) -> RunDir:
    """Train, or resume what an interrupted call left in the folder."""
    run = RunDir(folder)

    @contextmanager
    def observe(_config: Config, _run: RunDir, _history: History | None) -> Iterator[StepObserver]:
        yield StepObserver(trial.config.train.steps, advance)

    if run.exists and configfile.load(run.config) != trial.config:  # left by a command with other settings
        shutil.rmtree(folder)
    resumed = run.exists and run.saved > 0
    signal = run_training(trial.config, run, trial.dataset, resumed, observe=observe, build=trial.build)
    free_memory()
    if signal:
        raise StoppedError(signal)
    return run


def read_cost(run: RunDir) -> TrialCost:
    history = read_metrics(run.metrics)
    assert history.last is not None
    assert history.start is not None
    last = history.last
    return TrialCost(history.start.weights, last.step, last.target_tokens, last.seconds, history.start.device)


def load_model(trial: Trial, run: RunDir, average: int) -> Transformer:
    """The model with the average of the last checkpoints (paper, 6.1); 1: with the last weights."""
    weights: Mapping[str, Tensor] = average_checkpoints(list_checkpoints(run.checkpoints)[-average:])
    model = trial.build(trial.config.model)
    fill_weights(model, weights, run.path)
    return as_transformer(model, run.path).to(trial.device).eval()


@torch.no_grad()
def measure_perplexity(trial: Trial, model: Transformer) -> float:
    """Perplexity per token on the dev sets."""
    config, dataset, device = trial.config, trial.dataset, trial.device
    pad = dataset.special.pad
    objective = Objective(model, 0.0, config.batches.max_length, pad)
    total, tokens = 0.0, 0
    for shard in dataset.shards("dev"):
        batches = dataset.batches_of(shard, config.batches)
        for index in range(batches.batches_per_epoch):
            batch = batches[index]
            with autocast(config, device):
                _, nll = objective(to_tensors(batch, device))
            total += float(nll)
            tokens += batch.n_predicted
    mean = total / tokens
    return math.exp(min(mean, MOST_NATS)) if math.isfinite(mean) else math.exp(MOST_NATS)


@dataclass(frozen=True)
class SetBleu:
    """BLEU on one set."""

    name: str
    bleu: float
    paper_bleu: float
    """By the paper's convention: tokenised, words split at hyphens (`hark.evaluate.measures`)."""
    signature: str
    sentences: int


@torch.no_grad()
def measure_bleu(
    trial: Trial,
    model: Transformer,
    role: Role,
    search: DecodeConfig,
    sentences: int | None,
    advance: Advance = lambda _: None,
) -> list[SetBleu]:
    """Translate the dev or test sets with our engine, and score them with sacreBLEU."""
    dataset, device = trial.dataset, trial.device
    # No CUDA graphs and decoding kernels: they take longer to prepare than these few sentences to translate, and are
    # not tested with every head width of Table 3.
    places = PLACES if device.type == "cuda" else None
    engine = TorchEngine(model, dataset.special, device, places=places, graphs=False, kernels=False)
    as_source, tokenizer = dataset.tokenizer("source").as_source, dataset.tokenizer("target")
    found, shards = [], [shard for shard in dataset.shards(role) if shard.pairs]
    for number, shard in enumerate(shards):
        store, count = dataset.store(shard), min(shard.pairs, sentences or shard.pairs)
        requests = [Request(as_source(store[i][0].tolist()), search) for i in range(count)]
        answers = {}
        for at, hypotheses in engine.run(requests):
            answers[at] = hypotheses[0].tokens
            advance((number + len(answers) / count) / len(shards))
        texts = tokenizer.decode([answers[at] for at in range(count)])
        found.append(score_texts(shard.name, texts, dataset.text(shard, "target")[:count], dataset.manifest.target))
    engine.close()
    return found


def score_texts(name: str, texts: Sequence[str], references: Sequence[str], language: str) -> SetBleu:
    measures = make_measures(choose_tokenisation(language), language)
    bleu, paper = (measures[each].corpus_score(texts, [references]).score for each in ("bleu", "paper_bleu"))
    signature = str(measures["bleu"].get_signature())
    return SetBleu(name, float(bleu), float(paper), signature, len(texts))


def mean_bleu(sets: Sequence[SetBleu]) -> float:
    return sum(each.bleu for each in sets) / len(sets)


def free_memory() -> None:
    """Free what the last model held on a GPU, before the next one is built."""
    if torch.cuda.is_available():
        gc.collect()  # a run and its CUDA graph refer to each other
        torch.cuda.empty_cache()
