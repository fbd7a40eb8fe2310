"""`hark config`: show or explain settings."""

from pathlib import Path
from typing import Annotated

from hark.cli import options
from hark.cli.options import option, switch
from hark.cli.streams import write_text
from hark.config import Config, CorpusConfig
from hark.errors import UserError

EXAMPLES = (
    "hark config --recipes",
    "hark config base model.norm=pre -o mine.toml",
    "hark config --explain | grep -A2 dropout",
)


def config(
    recipe: options.Recipe = None,
    overrides: options.Overrides = None,
    recipes: Annotated[bool, switch("--recipes", "List the built-in recipes.")] = False,
    explain: Annotated[bool, switch("--explain", "Explain every setting.")] = False,
    output: Annotated[Path | None, option("-o --output", "FILE", "Write to this file; - for stdout.")] = None,
) -> None:
    """Show or explain settings, or list recipes.

    Without a recipe, prints the defaults: the paper's base model.
    """
    from hark import configfile
    from hark.recipes import split_arguments

    if recipes and (recipe or explain):
        raise UserError("--recipes cannot be combined with a recipe or --explain")
    if recipes:
        text = recipe_list()
    else:
        file, changes = split_arguments(recipe, overrides)
        tree = configfile.load(file, changes)
        text = explanation(tree) if explain else configfile.dump(tree)
    write_text(output, text)


def recipe_list() -> str:
    """One line per recipe: its name and purpose."""
    from hark.recipes import names, summary

    width = max(map(len, names()))
    return "".join(f"{name.ljust(width)}  {summary(name)}\n" for name in names())


def explanation(tree: Config) -> str:
    """One paragraph per setting, as plain text for grep."""
    from hark import configfile

    lines: list[str] = []
    for each in (*configfile.explain(tree), *configfile.explain_members(CorpusConfig, "data.train[].")):
        here = "" if each.value == each.default else f"   here: {each.value}"
        lines += [f"{each.key} = {each.default}{here}", f"    {each.meaning}", f"    allowed: {each.allowed}", ""]
    lines += ["data.dev[] and data.test[] take the same settings as data.train[], except weight."]
    return "\n".join(lines) + "\n"
