"""`hark train`: from a dataset to a model."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hark.cli import candidates, options
from hark.errors import UserError

if TYPE_CHECKING:
    from hark.config import Config
    from hark.data.dataset import Dataset
    from hark.train.job import Score

SAMPLES = 2
"""Translations that a person sees on the live panel."""


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
        Path | None,
        typer.Option("-o", "--output", metavar="FOLDER", help="The run; by default runs/ and the recipe's name."),
    ] = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", metavar="RUN", help="Go on with a run, exactly where it was.")
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            "--allow",
            metavar="SETTING",
            help="With --resume: a setting that may differ from the run's. Again for each.",
            autocompletion=candidates.setting_names,
        ),
    ] = None,
    bleu: Annotated[
        int,
        typer.Option("--bleu", min=0, metavar="N", help="BLEU on the first N sentences of each dev set, as it learns."),
    ] = 0,
    samples: Annotated[
        int | None,
        typer.Option(
            "--samples",
            min=0,
            metavar="N",
            help=f"Translations of each dev set to read as it learns; on a terminal {SAMPLES}, else none.",
        ),
    ] = None,
) -> None:
    """Train a model.

    It may be killed at any moment: --resume goes on from the last checkpoint.

    On several GPUs: torchrun --nproc-per-node N -m hark train ...
    """
    from hark.cli.recipe import load_recipe, say_what_is_ignored, say_what_moved
    from hark.monitor.watch import watch_run
    from hark.recipes import split_words
    from hark.rundir import RunDir
    from hark.train.session import run_training
    from hark.train.start import open_dataset, resolve, run_config

    file, changes = split_words(recipe, overrides)
    if allow and resume is None:
        raise UserError("--allow is about the settings of a run that exists: add --resume RUN")
    if resume is not None:
        if file is not None:
            raise UserError(f"{file}: a resumed run has its own recipe; give changes only, each with --allow")
        say_what_moved(None, changes)
        run, resumed = RunDir(resume), True
        config = run_config(run, changes, allow or [])
    else:
        run = RunDir(output or Path("runs") / (file.stem if file else "run"))
        # A worker that torchrun starts again after a failure goes on with what its first start began.
        resumed = run.exists and int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0
        config = run_config(run, (), ()) if resumed else load_recipe(recipe, overrides)
    config, notes = (config, []) if resumed else suit_machine(config, file, changes)
    dataset = open_dataset(config.data)
    if not resumed:
        say_what_is_ignored(file, changes, dataset.tokenizer("target").vocab_size)
    judges = make_judges(config, dataset, bleu, samples_to_read() if samples is None else samples)
    config = config if resumed else resolve(config, dataset)
    signal = run_training(config, run, dataset, resumed, judges, notes, watch_run)
    if signal:
        raise typer.Exit(128 + signal)


def suit_machine(config: "Config", file: Path | None, changes: list[str]) -> "tuple[Config, list[str]]":
    """On a CPU, a model that it can train, where nobody said how large it is to be; and a line that says so."""
    from hark import configfile
    from hark.moved import move_settings
    from hark.train.processes import choose_device
    from hark.train.sizing import suit_cpu

    if choose_device(config.train.device, 0).type != "cpu":
        return config, []
    given = move_settings(configfile.read_toml(file) if file else {})[0]
    for each in changes:
        configfile.apply_override(given, each)
    config, note = suit_cpu(config, given)
    return config, [note] if note else []


def samples_to_read() -> int:
    """Where nobody looks on, none: a log has little use for them, and each costs a moment."""
    from hark.monitor.panel import is_terminal

    return SAMPLES if is_terminal(sys.stderr) else 0


def make_judges(config: "Config", dataset: "Dataset", bleu: int, samples: int) -> "list[Score]":
    """Who judges the model as it learns, besides its loss: nobody, unless translations are wanted."""
    if not bleu and not samples:
        return []
    from hark.evaluate.dev_translations import DevTranslations

    return [DevTranslations(dataset, config.decode, bleu, samples)]
