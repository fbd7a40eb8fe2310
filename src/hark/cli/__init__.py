"""The command line: one small file a verb, imported only when it is asked for.

A person sees results on stdout, talk on stderr, a mistake as one line, and the exit codes of good Unix
tools: 2 for a user's mistake, 1 for a failure, 128 and the number of a signal (130 for Ctrl-C).
"""

import errno
import importlib
import os
import sys
import warnings
from contextlib import suppress
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import hark
from hark.cli.interrupts import Interrupts, describe_interrupt
from hark.cli.stdio import drop_output, fill_missing_streams, stdout_is_closed
from hark.errors import HarkError, HarkWarning, UserError

VERBS = (
    "translate", "models", "prepare", "train", "average", "distil", "shrink", "shortlist", "evaluate", "look", "heads",
    "runs", "plot", "config",
)  # fmt: skip
"""In the order of `hark --help`. Verb `x` is the function `x` in `hark/cli/x.py`; its docstring is its help."""


class Verbs(TyperGroup):
    """Looks a verb up by importing its file, so that no verb pays for another's imports."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        if cmd_name not in VERBS:
            return None
        verb = getattr(importlib.import_module(f"hark.cli.{cmd_name}"), cmd_name)
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(cmd_name)(verb)
        return typer.main.get_command(app)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in VERBS and not args[0].startswith("-"):
            from hark.configfile import suggest

            raise UserError(f"{args[0]}: no such verb" + suggest(args[0], VERBS))
        return super().resolve_command(ctx, args)


def show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hark {hark.__version__}")
        raise typer.Exit


app = typer.Typer(cls=Verbs, add_completion=False, rich_markup_mode=None, no_args_is_help=True)


@app.callback()
def root(
    version: Annotated[  # its callback does the work
        bool,
        typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
    debug: Annotated[  # main() reads it, wherever it stands on the line
        bool, typer.Option("--debug", help="Show the traceback of an error.")
    ] = False,
) -> None:
    """Train Transformers on your own parallel text, translate, measure and look inside."""


def main() -> None:
    """Run the command line; the only place where an exception becomes a line of text and an exit code."""
    # Read when torch or CTranslate2 are first imported. Threads that wait for each other by turning in circles take the
    # core from whom they wait for, as soon as anything else runs: two trainings side by side were a third as fast.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    arguments = sys.argv[1:]
    debug = "--debug" in arguments
    if debug:
        arguments.remove("--debug")
    fill_missing_streams()
    with warnings.catch_warnings(), Interrupts() as interrupts:
        warnings.showwarning = show_warning  # type: ignore[assignment]
        try:
            status = app(arguments, prog_name="hark", standalone_mode=False)
            sys.stdout.flush()
        except (KeyboardInterrupt, typer.Abort):
            status = 130
        except BrokenPipeError:  # the reader (`| head`) has what it wanted
            drop_output()
            sys.exit(141)
        except Exception as error:
            if debug:
                raise
            if type(error).__name__ == "NoArgsIsHelpError":
                typer.echo(error.ctx.get_help())  # type: ignore[attr-defined]
                sys.exit(2)
            if not interrupts.received or isinstance(error, HarkError):
                stop(*describe(error))
            status = 130
        if status == 130:  # some versions of typer turn Ctrl-C into this status, others let it through
            stop(*describe_interrupt(interrupts.received))
        sys.exit(status if isinstance(status, int) else 0)


def describe(error: Exception) -> tuple[str, int]:
    """One line about an error, and its exit code."""
    if isinstance(error, HarkError):
        return str(error), error.exit_code
    if hasattr(error, "format_message"):  # typer's own: a wrong option, a missing argument
        return error.format_message(), 2
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return f"cannot write any more: {error.strerror}; make room and run it again", 1
    if isinstance(error, OSError) and error.errno == errno.EBADF and stdout_is_closed():
        drop_output()
        return "stdout is closed, so there is nowhere to write to; leave it open, or name a file", 1
    if isinstance(error, FileNotFoundError) and not working_folder_exists():
        return "the working folder does not exist any more; change to another one (cd) and run it again", 2
    where = f"{type(error).__name__}: {error}".splitlines()[0]
    return f"unexpected failure: {where} (run again with --debug to see where)", 1


def working_folder_exists() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def show_warning(message: Warning | str, category: type[Warning], *where: Any) -> None:
    """A warning of ours as one line, without the line of code that it comes from; those of others as ever."""
    ours = issubclass(category, HarkWarning)
    sys.stderr.write(f"hark: warning: {message}\n" if ours else warnings.formatwarning(message, category, *where[:2]))


def stop(message: str, status: int) -> None:
    with suppress(OSError):  # the terminal may be gone
        sys.stderr.write("hark: " + " ".join(message.split()) + "\n")
    sys.exit(status)
