"""Commands in README and docs/ can be typed: their verbs, options, settings and recipes exist."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from hark import configfile, recipes
from hark.cli import VERBS, app
from hark.config import Config
from tests.docs.pages import NAMES, ROOT, blocks, spans

GROUP: Any = typer.main.get_command(app)
ROOT_OPTIONS = {"-V", "--version", "--debug", "-h", "--help"}
KEYS = {each.key for each in configfile.explain(Config())}
SHELL = ("", "console", "bash", "text")
RECIPE_VERBS = ("prepare", "train", "config")


def commands(page: Path) -> Iterator[str]:
    """Every `hark ...` of a page, in a block of shell commands or between backticks."""
    for block in blocks(page):
        if block.language in SHELL:
            for line in block.text.replace("\\\n", " ").splitlines():
                yield from hark_in(line)
    for span in spans(page):
        if span.startswith("hark "):
            yield from hark_in(span)


def hark_in(line: str) -> Iterator[str]:
    """`hark ...` in a line of a shell, up to a pipe, a redirection, a comment or the end of a command."""
    words = re.split(r"\s(?:#|\||<|>|&&)\s?|;|\)$", line.removeprefix("$ "))
    for part in words:
        found = re.search(r"(?:^|\s|-m )hark (.+)", part)
        if found and not part.lstrip().startswith("#"):
            yield found[1].strip()


def complaint(command: str) -> str | None:
    """What is wrong with a command, if anything."""
    try:
        words = shlex.split(command)
    except ValueError:
        return "quotes that do not match"
    verb, *rest = words
    if verb in ROOT_OPTIONS:
        return None
    if verb == "VERB" or verb.startswith("$"):
        return None
    if verb not in VERBS:
        return f"no verb {verb}"
    options = {name for each in GROUP.get_command(None, verb).params for name in (*each.opts, *each.secondary_opts)}
    for word in rest:
        if word == "--":
            break
        name = word.partition("=")[0]
        if re.match(r"--?[a-zA-Z]", word) and name not in options | ROOT_OPTIONS:
            return f"no option {word} of {verb}"
    for word in rest if verb in RECIPE_VERBS else ():
        key = word.partition("=")[0]
        if re.fullmatch(r"[a-z]+(\.[a-z_]+)+=.*", word) and key not in KEYS:
            return f"no setting {key}"
    if verb in RECIPE_VERBS and rest and re.fullmatch(r"[a-z][a-z0-9-]*", rest[0]) and rest[0] not in recipes.names():
        return f"no recipe {rest[0]}"
    return None


@pytest.mark.parametrize("name", NAMES)
def test_every_command_of_a_page_can_be_typed(name: str) -> None:
    assert [(each, wrong) for each in commands(ROOT / name) if (wrong := complaint(each))] == []


def test_pages_do_show_commands() -> None:
    """Else the test above would pass whatever they say."""
    shown = {command.split()[0] for name in NAMES for command in commands(ROOT / name)}
    assert shown >= {*VERBS} - {"help"}


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        ("translat -t de x", "no verb translat"),
        ("translate --taget de x", "no option --taget of translate"),
        ("train base train.step=3", "no setting train.step"),
        ("train bass", "no recipe bass"),
        ("translate -t de -- -5", None),
        ("train base model.dropout=0.3 -o runs/mine", None),
    ],
)
def test_a_wrong_command_is_found(command: str, wrong: str | None) -> None:
    assert complaint(command) == wrong


def test_commands_are_found_in_a_line() -> None:
    assert list(hark_in("tail -f x | hark translate -m y  # each")) == ["translate -m y"]
    assert list(hark_in("$ hark runs")) == ["runs"]
    assert list(hark_in("torchrun --nproc-per-node 8 -m hark train base")) == ["train base"]
    assert list(hark_in("echo hark-translate")) == []
