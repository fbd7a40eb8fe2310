"""The command line: one module per verb, imported on demand.

Results go to stdout, messages to stderr. An error is one line. Exit codes: 2 for a user's mistake, 1 for a
failure, 128 plus the signal number after a signal (130 for Ctrl-C).
"""

import errno
import fcntl
import os
import sys
import warnings
from contextlib import suppress
from typing import Annotated, Any

import typer

from hark.cli.interrupts import Interrupts, describe_interrupt
from hark.cli.verbs import ASK, VERBS, Verbs, show_version
from hark.errors import HarkError, HarkWarning

__all__ = ["VERBS", "app", "main"]

TAKE_TEXT = ("translate", "generate", "look", "parse", "classify")
"""Verbs that accept text as an argument."""

app = typer.Typer(
    cls=Verbs,
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    subcommand_metavar="VERB ...",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="See hark help VERB for the options and examples of a verb.",
)
OPPOSITE = {0: os.O_WRONLY, 1: os.O_RDONLY}
"""Modes in which /dev/null replaces stdin and stdout: reading stdin and writing to stdout remain errors."""


@app.callback()
def root(
    version: Annotated[  # its callback does the work
        bool,
        typer.Option("-V", "--version", callback=show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
    debug: Annotated[  # main() handles it, wherever it is on the command line
        bool, typer.Option("--debug", help="Show the traceback of an error.")
    ] = False,
) -> None:
    """Translate text, files and folders; serve, train, evaluate and look inside models."""


def main() -> None:
    """Run the command line. Only this function turns exceptions into one line of text and an exit code."""
    # torch and CTranslate2 read this on import. Threads that spin while they wait take the core from the thread they
    # wait for as soon as anything else runs: two training runs at once had a third of the throughput.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    arguments = sys.argv[1:]
    debug = "--debug" in arguments
    if debug:
        arguments.remove("--debug")
    fill_missing_streams()
    if ASK in os.environ:
        from hark.cli.completion import answer_shell

        answer_shell()
    with warnings.catch_warnings(), Interrupts() as interrupts:
        warnings.showwarning = show_warning  # type: ignore[assignment]
        try:
            status = app(arguments, prog_name="hark", standalone_mode=False)
            sys.stdout.flush()
        except (KeyboardInterrupt, typer.Abort) as error:
            cause = error.__cause__
            if isinstance(cause, EOFError) and not interrupts.received:  # typer takes it for Ctrl-D at a prompt
                if debug:
                    raise
                stop(*describe(cause))
            status = 130
        except BrokenPipeError:  # the reader, such as `| head`, has exited
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
        if status == 130:  # some versions of typer turn Ctrl-C into this status, others re-raise it
            stop(*describe_interrupt(interrupts.received))
        sys.exit(status if isinstance(status, int) else 0)


def describe(error: Exception) -> tuple[str, int]:
    """The message and exit code of an error."""
    if isinstance(error, HarkError):
        return str(error), error.exit_code
    if hasattr(error, "format_message"):  # typer's own: a wrong option, a missing argument
        return error.format_message() + dash_hint(error), 2
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return f"cannot write: {error.strerror}; free some space and try again", 1
    if isinstance(error, PermissionError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}", 1
    if isinstance(error, OSError) and error.errno == errno.EBADF and stdout_is_closed():
        drop_output()
        return "stdout is closed; leave it open or write to a file", 1
    if isinstance(error, FileNotFoundError) and not working_folder_exists():
        return "the current folder no longer exists; cd to another one and try again", 2
    summary = f"{type(error).__name__}: {error}".splitlines()[0]
    return f"unexpected error: {summary} (use --debug for the traceback)", 1


def dash_hint(error: Any) -> str:
    """A hint for text that begins with a dash and was parsed as an unknown option."""
    ctx = getattr(error, "ctx", None)
    if type(error).__name__ != "NoSuchOption" or error.possibilities or getattr(ctx, "info_name", "") not in TAKE_TEXT:
        return ""
    return "; for text that begins with a dash, put -- before it"


def working_folder_exists() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def show_warning(message: Warning | str, category: type[Warning], *where: Any) -> None:
    """Print hark's own warnings as one line, without the source line; print all others in Python's format."""
    ours = issubclass(category, HarkWarning)
    sys.stderr.write(f"hark: warning: {message}\n" if ours else warnings.formatwarning(message, category, *where[:2]))


def stop(message: str, status: int) -> None:
    """Print an error and exit."""
    with suppress(OSError):  # the terminal may be gone
        sys.stderr.write("hark: " + " ".join(message.split()) + "\n")
    sys.exit(status)


def fill_missing_streams() -> None:
    """Open /dev/null on closed descriptors 0, 1 and 2, so that no file opened later gets one of them.

    Writing results to a closed stdout is an error (`stdout_is_closed`); messages to a closed stderr are dropped.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            if os.open(os.devnull, OPPOSITE.get(number, os.O_WRONLY)) == number:  # the lowest free descriptor
                os.set_inheritable(number, True)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def stdout_is_closed() -> bool:
    try:
        return fcntl.fcntl(1, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
    except OSError:
        return True


def drop_output() -> None:
    """Discard buffered output: Python would report the error again when it closes stdout."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
