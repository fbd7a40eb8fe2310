"""`hark help`: the help of a verb."""

from typing import Annotated

import typer

from hark.cli import completion as candidates
from hark.cli.options import argument
from hark.cli.verbs import Verbs, no_such_verb

EXAMPLES = ("hark help", "hark help translate")


def help(  # noqa: A001
    context: typer.Context,
    verb: Annotated[
        str | None, argument("[VERB]", "Show the help of this verb.", autocompletion=candidates.verbs)
    ] = None,
) -> None:
    """Show the help of hark or of a verb."""
    root = context.find_root()
    if verb is None:
        typer.echo(root.get_help())
        return
    verbs = root.command
    assert isinstance(verbs, Verbs)
    command = verbs.get_command(root, verb)
    if command is None:
        raise no_such_verb(verb)
    typer.echo(command.make_context(verb, [], parent=root, resilient_parsing=True).get_help())
