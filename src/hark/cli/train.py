"""`hark train`: train a model on a dataset."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hark.cli import completion as candidates
from hark.cli import options
from hark.cli.options import option
from hark.errors import UserError

if TYPE_CHECKING:
    from hark.config import Config
    from hark.data.dataset import Dataset
    from hark.train.job import DevScorer

SAMPLES = 2
"""Sample translations on the live panel."""


EXAMPLES = (
    "hark train tiny data.dataset=mine",
    "hark train base data.dataset=mine model.dropout=0.2 -o runs/mine",
    "hark train --resume runs/mine",
    "hark train --resume runs/mine train.steps=200000 --allow train.steps",
)


def train(
    recipe: options.Recipe = None,
    overrides: options.Overrides = None,
    output: Annotated[
        Path | None, option("-o --output", "FOLDER", "Folder of the run; by default runs/RECIPE.")
    ] = None,
    resume: Annotated[Path | None, option("--resume", "RUN", "Resume a run from its last checkpoint.")] = None,
    allow: Annotated[
        list[str] | None,
        option(
            "--allow",
            "SETTING",
            "With --resume: allow this setting to differ from the run's. Repeatable.",
            autocompletion=candidates.setting_names,
        ),
    ] = None,
    bleu: Annotated[int, option("--bleu", "N", "Measure BLEU on the first N sentences of each dev set.", min=0)] = 0,
    samples: Annotated[
        int | None,
        option(
            "--samples",
            "N",
            f"Show N sample translations of each dev set; by default {SAMPLES} on a terminal, else 0.",
            min=0,
        ),
    ] = None,
) -> None:
    """Train a model.

    May be killed at any time; --resume continues from the last checkpoint.

    On several GPUs: torchrun --nproc-per-node N -m hark train ...
    """
    from hark.cli.recipe import load_recipe, warn_of_ignored_languages, warn_of_ignored_vocab_size
    from hark.monitor.panel import watch_run
    from hark.recipes import split_arguments
    from hark.rundir import RunDir
    from hark.train.processes import choose_device
    from hark.train.session import run_training
    from hark.train.sizing import describe_cpu_cost
    from hark.train.start import open_dataset, resolve, run_config

    file, changes = split_arguments(recipe, overrides)
    if allow and resume is None:
        raise UserError("--allow requires --resume")
    if resume is not None:
        if file is not None:
            raise UserError(
                f"{file}: --resume uses the run's own recipe; pass only changed settings, each with --allow"
            )
        run, resumed = RunDir(resume), True
        config = run_config(run, changes, allow or [])
    else:
        run = RunDir(output or Path("runs") / (file.stem if file else "run"))
        # A worker that torchrun restarts after a failure resumes the run.
        resumed = run.exists and int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0
        config = run_config(run, (), ()) if resumed else load_recipe(recipe, overrides)
    config, notes = (config, []) if resumed else suit_machine(config, file, changes)
    dataset = open_dataset(config.data)
    if not resumed:
        warn_of_ignored_vocab_size(file, changes, dataset.tokenizer("target").vocab_size)
        if len(dataset.manifest.directions) > 1:
            warn_of_ignored_languages(file, changes)
    scorers: list[DevScorer] = []
    if dataset.manifest.is_text:
        if bleu or samples:
            raise UserError(f"{dataset.folder}: is text of one language; leave out --bleu and --samples")
        samples = 0
    samples = default_samples() if samples is None else samples
    if bleu or samples:
        from hark.evaluate.dev_translations import DevTranslations

        scorers.append(DevTranslations(dataset, config.decode, bleu, samples))
    config = config if resumed else resolve(config, dataset)
    if dataset.manifest.labels is not None:
        from hark.evaluate.labels import DevLabels

        scorers.append(DevLabels(dataset, config))
        notes += describe_cut(dataset, config.batches.max_length)
    if choose_device(config.train.device, 0).type == "cpu":
        notes.append(describe_cpu_cost(config))
    signal = run_training(config, run, dataset, resumed, scorers, notes, watch_run)
    if signal:
        raise typer.Exit(128 + signal)


def describe_cut(dataset: "Dataset", max_length: int) -> list[str]:
    """A note on texts with labels that are cut, if there are any."""
    lengths = [dataset.store(shard).lengths("source") for shard in dataset.shards("train")]
    count, total = sum(int((each >= max_length).sum()) for each in lengths), sum(map(len, lengths))
    limit = f"batches.max_length ({max_length} tokens)"
    return [f"{count:,} of {total:,} texts are longer than {limit}: their ends are not read"] if count else []


def suit_machine(config: "Config", file: Path | None, changes: list[str]) -> "tuple[Config, list[str]]":
    """On a CPU, reduce the model to a size that it can train, unless a size is set; return a note about it as well."""
    from hark import configfile
    from hark.train.processes import choose_device
    from hark.train.sizing import suit_cpu

    if choose_device(config.train.device, 0).type != "cpu":
        return config, []
    explicit = configfile.read_toml(file) if file else {}
    for change in changes:
        configfile.apply_override(explicit, change)
    config, note = suit_cpu(config, explicit)
    return config, [note] if note else []


def default_samples() -> int:
    """None without a terminal: a log has little use for them, and each costs time."""
    from hark.monitor.panel import is_terminal

    return SAMPLES if is_terminal(sys.stderr) else 0
