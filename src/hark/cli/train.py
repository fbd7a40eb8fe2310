"""`hark train`: from a dataset to a model."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hark.errors import UserError

if TYPE_CHECKING:
    from hark.config import Config
    from hark.data.dataset import Dataset
    from hark.train.job import Score

SAMPLES = 2
"""Translations that a person sees on the live panel."""


def train(
    recipe: Annotated[str | None, typer.Argument(help="A recipe.", metavar="[RECIPE.toml]")] = None,
    overrides: Annotated[
        list[str] | None, typer.Argument(help="Settings to change, see hark config.", metavar="[SECTION.KEY=VALUE]...")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder of the run; by default runs/ and the recipe's name.")
    ] = None,
    resume: Annotated[Path | None, typer.Option("--resume", help="Go on with a run, exactly where it was.")] = None,
    allow: Annotated[
        list[str] | None, typer.Option("--allow", help="A setting that may differ from the run's on --resume.")
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
    """Train a model. It may be killed at any moment: --resume goes on from the last checkpoint.

    On several GPUs: torchrun --nproc-per-node N -m hark train ...
    """
    from hark import configfile
    from hark.cli.recipe import load_recipe, say_what_moved
    from hark.rundir import RunDir
    from hark.train.session import run_training
    from hark.train.start import open_dataset, resolve, run_config

    file, changes = configfile.split_words(recipe, overrides)
    if resume is not None:
        if file is not None:
            raise UserError(f"{file}: a resumed run has its own recipe; give changes only, each with --allow")
        say_what_moved(None, changes)
        run, resumed = RunDir(resume), True
        config = run_config(run, changes, allow or [])
    else:
        run = RunDir(output or Path("runs") / (Path(file).stem if file else "run"))
        # A worker that torchrun starts again after a failure goes on with what its first start began.
        resumed = run.exists and int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0
        config = run_config(run, (), ()) if resumed else load_recipe(recipe, overrides)
    config, notes = (config, []) if resumed else suit_machine(config, file, changes)
    dataset = open_dataset(config.data)
    judges = make_judges(config, dataset, bleu, samples_to_read() if samples is None else samples)
    signal = run_training(config if resumed else resolve(config, dataset), run, dataset, resumed, judges, notes)
    if signal:
        raise typer.Exit(128 + signal)


def suit_machine(config: "Config", file: str | None, changes: list[str]) -> "tuple[Config, list[str]]":
    """On a CPU, a model that it can train, where nobody said how large it is to be; and a line that says so."""
    from hark import configfile
    from hark.moved import move_settings
    from hark.train.processes import choose_device
    from hark.train.sizing import suit_cpu

    if choose_device(config.train.device, 0).type != "cpu":
        return config, []
    given = move_settings(configfile.read_toml(Path(file)) if file else {})[0]
    for each in changes:
        configfile.apply_override(given, each)
    config, note = suit_cpu(config, given)
    return config, [note] if note else []


def samples_to_read() -> int:
    """Where nobody looks on, none: a log has little use for them, and each costs a moment."""
    from hark.train.panel import is_terminal

    return SAMPLES if is_terminal(sys.stderr) else 0


def make_judges(config: "Config", dataset: "Dataset", bleu: int, samples: int) -> "list[Score]":
    """Who judges the model as it learns, besides its loss: nobody, unless translations are wanted."""
    if not bleu and not samples:
        return []
    from hark.evaluate.dev_translations import DevTranslations

    return [DevTranslations(dataset, config.decode, bleu, samples)]
