"""Starting a run, new or resumed. Every check that can fail runs before the first step."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

import torch

from hark import configfile
from hark.bundle import Bundle
from hark.config import Config, DataConfig, ModelConfig
from hark.data.dataset import Dataset
from hark.data.store import SIDES
from hark.errors import HarkError, UserError
from hark.facts import LanguageTags
from hark.model import Model, new_model
from hark.model.interface import HEAD
from hark.model.weights import read_tensors
from hark.rundir import RunDir
from hark.text.opening import open_vocabularies
from hark.train import checkpoint
from hark.train.export import BundleWriter
from hark.train.job import DevScorer, TrainingJob
from hark.train.processes import Processes
from hark.train.records import Record, ResumeRecord, StartRecord, TranslationSample
from hark.train.sharding import fill_weights
from hark.train.signals import Signals

TAGS: Mapping[LanguageTags, str] = {
    "none": "text without language tags",
    "source": "the target's language tag before each source",
    "target": "language tags before sources and targets",
}
Build = Callable[[ModelConfig], Model]
"""Builds a model with initial weights. Experiments pass one that changes some of its modules (`hark.reproduce`)."""


def resolve(config: Config, dataset: Dataset) -> Config:
    """Return the settings with the dataset's own languages, vocabulary sizes and preparation settings.

    So a run and its bundle describe the text that was trained on, whatever the recipe says. Of [data], the recipe
    decides only which dataset is read and in which direction; the rest was fixed by `hark prepare`.
    """
    manifest = dataset.manifest
    refuse_wrong_shape(config, dataset)
    source, target = (dataset.tokenizer(side).vocab_size for side in ("source", "target"))
    separate = dataset.has_separate_ids
    if separate and not config.model.separate_source:
        raise UserError(
            f"{dataset.folder}: separate vocabularies cannot share one embedding matrix; set model.tie=target or none"
        )
    labels = manifest.labels
    model = replace(
        config.model,
        vocab_size=target,
        source_vocab_size=source if separate else None,
        labels=labels.of if labels else None,
        n_labels=len(labels.names) if labels else None,
        prediction_layer=config.model.prediction_layer and labels is None,
    )
    if manifest.is_text and model.positions == "learned" and not config.train.from_:
        # Later ones would stay as they were initialised, and what is generated there would be noise.
        model = replace(model, max_positions=config.batches.max_length)
    # The only one, except in a many-to-many dataset.
    first = manifest.directions[0] if manifest.directions else (manifest.source, manifest.target)
    data = replace(
        prepared(dataset) or config.data,
        dataset=str(dataset.folder),
        reverse=config.data.reverse,
        source=first[0],
        target=first[1],
        # Vocabularies of symbols, such as linearised trees, and imported ones may be smaller than any that is learnt.
        vocab_size=max(261, source, target),
    )
    return replace(config, model=model, data=data)


def refuse_wrong_shape(config: Config, dataset: Dataset) -> None:
    """Raise an error if a dataset of pairs is for a model of one stack, or text for one of two, or if an encoder would
    see what it predicts."""
    shape, batches, is_text = config.model.shape, config.batches, dataset.manifest.is_text
    if dataset.manifest.labels is not None:
        if shape != "encoder" or batches.predicted:
            raise UserError(
                f"{dataset.folder}: has labels; use the recipe classify, or model.shape=encoder and batches.masked=0"
            )
        return
    pairs = shape == "encoder-decoder" and not is_text
    if batches.corrupted and (pairs or shape != "encoder-decoder"):
        what = f"{dataset.folder} has pairs" if pairs else f"model.shape={shape} has one stack"
        raise UserError(f"batches.corrupted is for text and a model of two stacks, but {what}; leave it out")
    if batches.predicted and not batches.corrupted and shape != "encoder":
        name = "any_order" if batches.any_order else "masked"
        remedy = "; set batches.corrupted, too" if batches.masked and shape == "encoder-decoder" and is_text else ""
        raise UserError(f"batches.{name} needs model.shape=encoder, not {shape}{remedy}")
    if shape == "encoder" and not batches.predicted:
        if config.data.labels is not None:
            raise UserError(f"{dataset.folder}: has no labels; prepare it with hark prepare classify --text FILE")
        raise UserError("batches.masked is 0, but an encoder sees the tokens that it would predict; hide 0.15 of them")
    if is_text and shape == "encoder-decoder" and not batches.corrupted:
        raise UserError(
            f"{dataset.folder}: is text of one language; set model.shape=decoder or batches.corrupted, or prepare pairs"
        )
    if not is_text and shape != "encoder-decoder":
        raise UserError(f"{dataset.folder}: has pairs, but model.shape={shape} needs text; prepare it with --text")


def prepared(dataset: Dataset) -> DataConfig | None:
    """The settings that a dataset was prepared with, or None if its config.toml is missing."""
    path = dataset.folder / "config.toml"
    return configfile.load(path).data if path.exists() else None


def open_dataset(config: DataConfig) -> Dataset:
    if not config.dataset:
        raise UserError("data.dataset is not set; set it to the output folder of hark prepare")
    return Dataset.open(Path(config.dataset).resolve(), config.reverse)


def new_run(run: RunDir, config: Config) -> None:
    """Create the run folder with the resolved settings. A run without a checkpoint is overwritten."""
    if run.exists and (checkpoint.list_checkpoints(run.checkpoints) or run.in_use):
        raise UserError(
            f"{run.path}: run exists; resume it with hark train --resume {run.path}, or choose another folder with -o"
        )
    try:
        run.checkpoints.mkdir(parents=True, exist_ok=True)
        for log in (run.metrics, run.samples):
            log.unlink(missing_ok=True)
        run.config.write_text(configfile.dump(config), encoding="utf-8")
    except OSError as error:
        raise HarkError(f"{run.path}: cannot be written: {error.strerror}") from None


def run_config(run: RunDir, overrides: Sequence[str], allowed: Sequence[str]) -> Config:
    """Return the settings of a run with overrides applied; each changed setting must be in `allowed`."""
    if not run.exists:
        raise UserError(f"{run.path}: not a run: {run.config.name} is missing")
    known = [setting.key for setting in configfile.explain(Config())]
    for name in allowed:
        if name not in known:
            near = get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else "list them with hark config --explain"
            raise UserError(f"--allow {name}: no such setting; {hint}")
    original, changed = configfile.load(run.config), configfile.load(run.config, overrides)
    for before, after in zip(configfile.explain(original), configfile.explain(changed), strict=True):
        if before.value != after.value and before.key not in allowed:
            raise UserError(
                f"{before.key}: the run began with {before.value}, not {after.value}; "
                f"to change it, add --allow {before.key}"
            )
    return changed


def build_job(
    config: Config,
    run: RunDir,
    dataset: Dataset,
    processes: Processes,
    signals: Signals,
    observe: Callable[[Record | TranslationSample], None],
    scorers: Sequence[DevScorer] = (),
    build: Build = new_model,
) -> TrainingJob:
    """Build all parts of a run in their initial state."""
    torch.manual_seed(config.train.seed)
    model = build(config.model).train()
    # A resumed run takes its weights from the checkpoint.
    if config.train.from_ and not checkpoint.list_checkpoints(run.checkpoints):
        start_from(model, Path(config.train.from_), dataset)
    if config.train.best == "score" and not scorers:
        raise UserError("train.best=score: no score is measured during training; with pairs, add --bleu 200")
    batches = dataset.batches(dataset.train, config.batches)
    dev = [(shard.name, dataset.batches_of(shard, config.batches)) for shard in dataset.shards("dev")]
    bundles = BundleWriter.of(config, dataset)
    return TrainingJob(config, run, processes, model, batches, dev, bundles, observe, signals, scorers)


def start_from(model: Model, folder: Path, dataset: Dataset) -> None:
    """Load the weights of a bundle for fine-tuning. The dataset must be encoded as the bundle's text is."""
    bundle = Bundle.open(folder)
    again = f"prepare it again with train.from={folder}"
    tags, found = bundle.facts.vocabulary.language_tags, dataset.manifest.language_tags
    if found != tags:
        raise UserError(f"{dataset.folder}: has {TAGS[found]}, but {folder} needs {TAGS[tags]}; {again}")
    for side, theirs in zip(SIDES, open_vocabularies(bundle), strict=True):
        ours = dataset.tokenizer(side)
        if theirs.sha256 != ours.sha256:
            raise UserError(f"{dataset.folder}: not encoded with the tokenizer of {folder}; {again}")
        if (theirs.special, theirs.source_end) != (ours.special, ours.source_end):
            raise UserError(f"{dataset.folder}: has other special tokens than {folder}; {again}")
    values = read_tensors(bundle.weights)
    if bundle.facts.labels != dataset.manifest.labels:  # other outputs: all weights but those of the head
        kept = {name: weight for name, weight in values.items() if not name.startswith(HEAD)}
        values = kept | {name: weight for name, weight in model.named_parameters() if name.startswith(HEAD)}
    fill_weights(model, values, folder)


def begin(job: TrainingJob, resumed: bool) -> None:
    """Check that the largest batch fits in memory, load the last checkpoint if there is one, and log the start."""
    batch_seconds = job.check_memory()
    saved = resumed and bool(checkpoint.list_checkpoints(job.run.checkpoints))
    if saved:
        job.resume(checkpoint.latest(job.run.checkpoints))
    job.log_start(ResumeRecord if saved else StartRecord, batch_seconds)
