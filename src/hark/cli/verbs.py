"""The verbs of the command line and their help."""

import importlib
from collections.abc import Callable
from keyword import iskeyword
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

import hark
from hark.errors import UserError

VERBS = (
    "translate", "serve", "models", "generate", "memory", "align", "look", "prepare", "train", "evaluate", "runs",
    "plot", "plan", "config", "average", "distil", "shrink", "shortlist", "heads", "parse", "fill", "embed", "classify",
    "import", "export", "reproduce", "completion", "version", "help",
)  # fmt: skip
"""In the order of `hark --help`, the most used first. Verb `x` is the function `x` in `hark/cli/x.py`, or `x_` in
`x_.py` if `x` is a keyword. Its docstring is its help. A test parses the commands in that module's `EXAMPLES`."""
ASK = "_HARK_COMPLETE"
"""Variable that a shell sets to ask for completions. All shells use `complete_fish`, typer's plainest format."""


class Verb(TyperCommand):
    """A verb. Its help ends with examples."""

    examples: tuple[str, ...] = ()
    complete: Callable[[list[str]], list[str]] = staticmethod(lambda args: args)
    """Completes what the user may leave out, before the arguments are parsed: `complete_arguments` of the module."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args in (["-V"], ["--version"]):
            show_version(True)
        return super().parse_args(ctx, self.complete(args))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]  # newer versions of typer add braces

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        with formatter.section("Examples"):
            for line in self.examples:
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")  # never wrapped, so that it can be copied


class Verbs(TyperGroup):
    """The group of verbs. Imports only the module of the verb in use, which keeps start-up fast."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        if cmd_name not in VERBS:
            return None
        module, verb = load_verb(cmd_name)
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        # The whole first line: typer would truncate it.
        app.command(cmd_name, cls=Verb, short_help=verb.__doc__.partition("\n")[0])(verb)
        command: Any = typer.main.get_command(app)
        command.examples = module.EXAMPLES
        command.complete = getattr(module, "complete_arguments", command.complete)
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in VERBS and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise no_such_verb(args[0])
        return super().resolve_command(ctx, args)


def load_verb(name: str) -> tuple[Any, Any]:
    """Import a verb; return its module and its function."""
    python_name = f"{name}_" if iskeyword(name) else name
    module = importlib.import_module(f"hark.cli.{python_name}")
    return module, getattr(module, python_name)


def no_such_verb(name: str) -> UserError:
    from hark.configfile import suggest

    return UserError(f"{name}: no such verb" + suggest(name, VERBS))


def show_version(requested: bool) -> None:
    if requested:
        typer.echo(f"hark {hark.__version__}")
        raise typer.Exit
