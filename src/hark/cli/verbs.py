"""The verbs of the command line, and how each shows its help."""

import importlib
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

import hark
from hark.errors import UserError

VERBS = (
    "translate", "models", "prepare", "train", "average", "distil", "shrink", "shortlist", "evaluate", "look", "heads",
    "runs", "plot", "config", "completion", "help",
)  # fmt: skip
"""In the order of `hark --help`. Verb `x` is the function `x` in `hark/cli/x.py`; its docstring is its help, and the
`EXAMPLES` in that file are commands that a test parses."""


class Verb(TyperCommand):
    """A verb whose help ends with examples."""

    examples: tuple[str, ...] = ()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args in (["-V"], ["--version"]):
            show_version(True)
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]  # newer typers put braces around

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        with formatter.section("Examples"):
            for line in self.examples:
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")  # as it is typed, never wrapped


class Verbs(TyperGroup):
    """Looks a verb up by importing its file, so that no verb pays for another's imports."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"hark.cli.{cmd_name}")
        verb = getattr(module, cmd_name)
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        # Its first line, which would else be cut to make it short.
        app.command(cmd_name, cls=Verb, short_help=verb.__doc__.partition("\n")[0])(verb)
        command: Any = typer.main.get_command(app)
        command.examples = module.EXAMPLES
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in VERBS and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise no_such_verb(args[0])
        return super().resolve_command(ctx, args)


def no_such_verb(name: str) -> UserError:
    from hark.configfile import suggest

    return UserError(f"{name}: no such verb" + suggest(name, VERBS))


def show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hark {hark.__version__}")
        raise typer.Exit
