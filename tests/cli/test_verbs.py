"""The help of every verb: complete, in one style, with examples that the parser accepts."""

import re
import shlex
from typing import Any, Literal, get_args, get_origin

import pytest
import typer

from hark import configfile
from hark.cli import app
from hark.cli.verbs import VERBS, Verb, load_verb
from hark.recipes import split_arguments

ROOT: Any = typer.main.get_command(app)
PLACEHOLDERS = {
    "ACTION", "ACTION|MODEL", "AXIS", "DATASET", "DEVICE", "ENGINE", "FILE", "FILE FILE", "FOLDER", "FORMAT",
    "HOST", "KIND", "LANG", "LANG LANG", "LANGS", "METRIC", "MODEL", "MODEL...", "N", "NAME", "NUMBER", "PATH",
    "RECIPE", "RUN", "RUN...", "RUN|MODEL...", "SETTING", "SETTING=VALUE", "SETTING=VALUE...", "SHELL", "SIZE",
    "SOURCE", "TEXT", "TEXT|FILE|-", "TOKENISER", "TYPE", "URL", "VERB", "[NAME=]FILE",
}  # fmt: skip
"""The metavariables that all verbs share."""


def context(verb: str, *words: str, resilient: bool = False) -> Any:
    root = ROOT.make_context("hark", [], resilient_parsing=True)
    return ROOT.get_command(root, verb).make_context(verb, list(words), parent=root, resilient_parsing=resilient)


def shown_help(verb: str) -> str:
    return str(context(verb, resilient=True).get_help())


@pytest.mark.parametrize("verb", VERBS)
def test_help_is_complete_and_fits_80_columns(verb: str) -> None:
    shown = shown_help(verb)
    assert "-h, --help" in shown
    assert all(len(line) <= 80 for line in shown.splitlines())
    usage = shown.splitlines()[0]
    assert re.fullmatch(rf"Usage: hark {verb} \[OPTIONS\]( \[?[A-Z|=.-]+\]?(\.\.\.)?)*", usage)


@pytest.mark.parametrize("verb", VERBS)
def test_placeholders_are_shared_by_all_verbs(verb: str) -> None:
    ctx = context(verb, resilient=True)
    for param in ctx.command.params:
        if getattr(param, "is_flag", False):
            continue
        shown = param.make_metavar(ctx=ctx)
        if shown != "[NAME=]FILE":
            shown = shown.replace("[", "").replace("]", "")
        assert shown in PLACEHOLDERS, (verb, param.name)


@pytest.mark.parametrize("verb", VERBS)
def test_choices_are_listed_in_the_help(verb: str) -> None:
    _, function = load_verb(verb)
    params = {param.name: param for param in context(verb, resilient=True).command.params}
    for name, hint in typer.main.get_params_from_function(function).items():
        kinds = [kind for kind in (hint.annotation, *get_args(hint.annotation)) if get_origin(kind) is Literal]
        for value in (value for kind in kinds for value in get_args(kind)):
            assert re.search(rf"\b{value}\b", params[name].help), (verb, name, value)


def test_every_verb_has_one_whole_line_in_the_list() -> None:
    shown = ROOT.make_context("hark", [], resilient_parsing=True).get_help()
    lines = shown.split("Commands:\n")[1].split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in lines] == list(VERBS)
    assert all(line.endswith(".") and not line.endswith("...") for line in lines)


def commands(line: str) -> list[list[str]]:
    """The hark commands in a line of shell, without pipes, redirections and substitutions."""
    found: list[list[str]] = []
    inside = re.sub(r'.*"\$\((.*)\)"', r"\1", line)
    for part in re.split(r"\s\|\s", inside):
        words = shlex.split(part, comments=True)
        for sign in ("<", ">"):
            while sign in words:
                at = words.index(sign)
                del words[at : at + 2]
        if words[0] == "hark":
            found.append(words[1:])
    return found


@pytest.mark.parametrize("verb", VERBS)
def test_the_parser_accepts_all_examples(verb: str) -> None:
    examples = load_verb(verb)[0].EXAMPLES
    assert 1 <= len(examples) <= 4
    assert all(f"\n  {line}" in shown_help(verb) for line in examples)
    for line in examples:
        parsed = commands(line)
        assert parsed, line
        for used, *words in parsed:
            assert used == verb
            ctx = context(verb, *words)
            if "overrides" in ctx.params:  # existing recipes and valid settings
                recipe, overrides = split_arguments(ctx.params["recipe"], ctx.params["overrides"])
                configfile.load(recipe, overrides)
    assert isinstance(context(verb, resilient=True).command, Verb)
