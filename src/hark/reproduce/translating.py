"""A translation trial: train a model on parallel text, and score it on the dev or test sets."""

from collections.abc import Callable
from dataclasses import asdict

from hark.config import Config
from hark.data.manifest import Role
from hark.model import Transformer
from hark.reproduce.trial import (
    Advance,
    Trial,
    load_model,
    mean_bleu,
    measure_bleu,
    measure_perplexity,
    read_cost,
    train_trial,
)
from hark.reproduce.work import Row, Work
from hark.rundir import RunDir
from hark.train.bad_steps import DivergedError
from hark.train.start import Build

TRAINING = 0.9
"""Share of a part's progress bar for training; the rest is for translating."""


def run_translation(
    config: Config,
    part: str,
    work: Work,
    advance: Advance,
    role: Role = "dev",
    build: Build = Transformer,
    more: Callable[[Trial, RunDir, Row], Row] = lambda *_: {},
) -> Row:
    """Train or resume, and score the model, averaged as the settings say. `more` adds to the row."""
    trial = Trial.of(config, work.dataset, work.device, build)
    try:
        run = train_trial(trial, work.run_folder(part), lambda share: advance(TRAINING * share))
    except DivergedError as error:
        return {"failed": str(error), "steps": config.train.steps}
    model = load_model(trial, run, config.train.average_last)
    sets = measure_bleu(
        trial, model, role, config.decode, work.scale.sentences, lambda x: advance(TRAINING + (1 - TRAINING) * x)
    )
    row: Row = {**asdict(read_cost(run)), "perplexity": measure_perplexity(trial, model)}
    if role == "dev":  # a mean of several test sets says nothing
        row["bleu"] = mean_bleu(sets)
    row["sets"] = [asdict(each) for each in sets]
    return {**row, **more(trial, run, row)}
