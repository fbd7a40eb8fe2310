"""`hark plan`: what a training run takes, before it begins."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from hark.cli import options
from hark.cli.options import option, switch
from hark.errors import UserError

if TYPE_CHECKING:
    from hark.config import Config
    from hark.train.plan import Gpu, Plan

EXAMPLES = (
    "hark plan base",
    "hark plan gpt --gpus 8 --tokens 5e9 --price 3.5",
    "hark plan big train.batches_per_step=16 --gpus 8 --machines 2 --gpu h100",
)
BAR = 30
"""Characters of a bar for a whole step."""


def plan(
    recipe: options.Recipe = None,
    overrides: options.Overrides = None,
    tokens: Annotated[
        float | None, option("--tokens", "N", "Target tokens to train on, such as 5e9 (default: train.steps).")
    ] = None,
    gpus: Annotated[int, option("--gpus", "N", "GPUs of each machine.", min=1)] = 1,
    machines: Annotated[int, option("--machines", "N", "Machines.", min=1)] = 1,
    gpu: Annotated[str, option("--gpu", "NAME", "h200 (measured), h100 or a100 (scaled).")] = "h200",
    length: Annotated[int | None, option("--length", "N", "Mean tokens of a sentence (default: 27).", min=1)] = None,
    price: Annotated[float | None, option("--price", "N", "Price of an hour of one GPU.", min=0)] = None,
    as_json: Annotated[bool, switch("--json", "Print JSON.")] = False,
) -> None:
    """Say what training will take: memory, speed, hours.

    Also what bounds it. Reckoned from the shape of the model and rates measured on one H200; nothing is trained, and no
    GPU is needed.
    """
    from hark.cli.recipe import load_recipe
    from hark.train.plan import GPUS
    from hark.train.plan import plan as make_plan

    if gpu not in GPUS:
        raise UserError(f"--gpu {gpu}: choose {', '.join(GPUS)}")
    if tokens is not None and not 1 <= tokens < 1e18:
        raise UserError(f"--tokens {tokens:g}: choose a number from 1 on, such as 5e9")
    config = load_recipe(recipe, overrides)
    world, chip = gpus * machines, GPUS[gpu]
    if config.train.batches_per_step % world:
        raise UserError(
            f"train.batches_per_step: {config.train.batches_per_step} batches cannot be divided evenly among {world} "
            f"GPUs; set a multiple, such as train.batches_per_step={world}"
        )
    made = make_plan(config, gpus, machines, chip, length, tokens)
    hours = made.run_seconds / 3600 * world
    if as_json:
        values = {**asdict(made), "gib": made.gib, "run_seconds": made.run_seconds, "gpu_hours": hours}
        typer.echo(json.dumps(values if price is None else {**values, "price": price * hours}, indent=1))
        return
    for line in describe(config, made, world, machines, gpu, chip):
        typer.echo(line)
    typer.echo(summary(made, hours, price))
    if gpu != "h200" or world > 1:
        typer.echo("note: only one H200 was measured; other GPUs and several of them are reckoned from their figures")


def describe(config: "Config", made: "Plan", world: int, machines: int, name: str, chip: "Gpu") -> Iterator[str]:
    """What is trained, memory, and the parts of a step."""
    from hark.card import describe_layers
    from hark.pages.formats import count, short

    batches = config.batches
    where = f"{world} {name}" + (f" in {machines} machines" if machines > 1 else "")
    yield (
        f"model   {short(made.weights)} weights: {describe_layers(config.model)}, width {config.model.d_model}; "
        f"{count(config.train.batches_per_step)} x {count(batches.batch_tokens)} tokens a step on {where}"
    )
    way = "lower batches.batch_tokens" if made.batch > chip.memory / 2 else "set train.parallel=fsdp on several GPUs"
    fits = "" if made.gib <= chip.memory else f": too much; {way}"
    yield (
        f"memory  {made.gib:.1f} of {chip.memory:.0f} GiB of each GPU: {made.permanent:.1f} for weights and Adam, "
        f"{made.batch:.1f} for a batch{fits}"
    )
    yield f"step    {1000 * made.seconds:,.0f} ms, {short(made.step_tokens / made.seconds)} tokens/s"
    one = sum(made.parts.values())
    for part, seconds in sorted(made.parts.items(), key=lambda item: -item[1]):
        share = seconds / one
        yield f"        {part:<12}{share:>5.0%}  {'█' * max(1, round(BAR * share))}"
    if world > 1:
        yield f"        the sum of gradients takes {1000 * made.exchange:,.1f} ms, during the backward pass"
    yield f"bound   by {bound(made)}"


def bound(made: "Plan") -> str:
    from hark.train.plan import BACKWARD

    batch = sum(made.parts.values())
    if made.exchange > BACKWARD * batch:
        return "the links between GPUs: more batches per step, or fewer and faster GPUs"
    computing = made.parts["products"] + made.parts["attention"]
    if computing > batch / 2:
        return f"arithmetic: {computing / batch:.0%} of the time are matrix products and attention"
    return f"memory and launches: only {computing / batch:.0%} of the time is arithmetic; larger batches may help"


def summary(made: "Plan", hours: float, price: float | None) -> str:
    from hark.pages.formats import count, duration, short

    steps = -int(-made.tokens // made.step_tokens)
    line = f"run     {short(made.tokens)} tokens, {count(steps)} steps: {duration(made.run_seconds)}"
    line += f", {hours:,.1f} GPU hours"
    return line if price is None else f"{line}, {price * hours:,.2f} at {price:g} an hour"
