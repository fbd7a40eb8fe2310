"""The command line: one small file a verb, imported only when it is asked for.

A person sees results on stdout, talk on stderr, a mistake as one line, and the exit codes of good Unix
tools: 2 for a user's mistake, 1 for a failure, 128 and the number of a signal (130 for Ctrl-C).
"""

import errno
import os
import sys
import warnings
from contextlib import suppress
from typing import Annotated, Any

import typer

from hark.cli.completion import answer_shell
from hark.cli.interrupts import Interrupts, describe_interrupt
from hark.cli.stdio import drop_output, fill_missing_streams, stdout_is_closed
from hark.cli.verbs import VERBS, Verbs, show_version
from hark.errors import HarkError, HarkWarning

__all__ = ["VERBS", "app", "main"]

TAKE_TEXT = ("translate", "look")
"""Verbs whose argument may be a text."""

app = typer.Typer(
    cls=Verbs,
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    subcommand_metavar="VERB ...",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="hark help VERB says more about a verb, with examples.",
)


@app.callback()
def root(
    version: Annotated[  # its callback does the work
        bool,
        typer.Option("-V", "--version", callback=show_version, is_eager=True, help="Show the version and exit."),
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
    answer_shell()
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
        return error.format_message() + dash_hint(error), 2
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return f"cannot write any more: {error.strerror}; make room and run it again", 1
    if isinstance(error, OSError) and error.errno == errno.EBADF and stdout_is_closed():
        drop_output()
        return "stdout is closed, so there is nowhere to write to; leave it open, or name a file", 1
    if isinstance(error, FileNotFoundError) and not working_folder_exists():
        return "the working folder does not exist any more; change to another one (cd) and run it again", 2
    where = f"{type(error).__name__}: {error}".splitlines()[0]
    return f"unexpected failure: {where} (run again with --debug to see where)", 1


def dash_hint(error: Any) -> str:
    """For text that begins with a dash, and was taken for an option that there is not."""
    ctx = getattr(error, "ctx", None)
    if type(error).__name__ != "NoSuchOption" or error.possibilities or getattr(ctx, "info_name", "") not in TAKE_TEXT:
        return ""
    return "; to translate text that begins with a dash, put -- before it"


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
