"""The command line: one module per verb, imported on demand.

Results go to stdout, messages to stderr. An error is one line. Exit codes: 2 for a user's mistake, 1 for a
failure, 128 plus the signal number after a signal (130 for Ctrl-C).
"""

import errno
import fcntl
import os
import signal
import sys
import time
import warnings
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Annotated, Any, NoReturn, Self

import typer

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
SIGNALS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "the terminal was closed"}
"""What ends a command from outside: Ctrl-C, kill or a shutdown, and the end of a terminal."""


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


class Interrupted(KeyboardInterrupt):
    """Raised where a signal arrives, so that partial output is cleaned up as the stack unwinds."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(number)
        self.number = number


class Interrupts:
    """A context in which signals raise `Interrupted`. Ignored signals stay ignored, as under nohup.

    Records the first signal: some C extensions turn an interrupt during import into an error of their own. Later
    signals do not disturb the clean-up, except Ctrl-C. A signal whose exception Python ignores is sent again.
    """

    def __init__(self) -> None:
        self.received = 0
        self.awaited = False
        """Whether a signal that is sent again has yet to arrive."""
        self.ended = False
        self.before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self.hook_before, sys.unraisablehook = sys.unraisablehook, self.send_again
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self.before[number] = signal.signal(number, self.handle)
        return self

    def handle(self, number: int, frame: FrameType | None) -> None:
        self.awaited = False
        if self.received and number != signal.SIGINT:
            return
        if self.is_hook(frame):  # Python would ignore it there, too; the thread sends it again
            return
        self.received = self.received or number
        raise Interrupted(self.received)

    def send_again(self, ignored: "sys.UnraisableHookArgs") -> None:
        """Send a signal again if Python ignored its exception, as it does in destructors and in callbacks of weak
        references; every import runs such a callback. A thread sends it, so that it arrives after the callback."""
        if not isinstance(ignored.exc_value, Interrupted):
            self.hook_before(ignored)
            return
        from threading import Thread  # rarely needed

        self.received = 0
        Thread(target=self.repeat, args=(ignored.exc_value.number,), daemon=True).start()  # does not delay the exit

    def repeat(self, number: int) -> None:
        """Send a signal until it is not ignored; never a second one before the first has arrived."""
        time.sleep(0.01)
        while not self.received and not self.ended:
            self.awaited = True
            os.kill(os.getpid(), number)
            while self.awaited and not self.ended:
                time.sleep(0.01)

    def is_hook(self, frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_code is Interrupts.send_again.__code__:
                return True
            frame = frame.f_back
        return False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended = True
        sys.unraisablehook = self.hook_before
        for number, handler in self.before.items():
            signal.signal(number, handler)


def describe_interrupt(number: int) -> tuple[str, int]:
    """The message and exit code for a signal; 0, as of a plain KeyboardInterrupt, means SIGINT."""
    received = signal.Signals(number or signal.SIGINT)
    return SIGNALS[received], 128 + received


def leave_at_once(interrupt: KeyboardInterrupt) -> NoReturn:
    """Exit without waiting for CTranslate2's workers, which cannot be stopped within a batch."""
    message, status = describe_interrupt(getattr(interrupt, "number", 0))
    with suppress(OSError):  # the terminal or the reader may be gone
        sys.stdout.flush()
    with suppress(OSError):
        sys.stderr.write(f"hark: {message}\n")
        sys.stderr.flush()
    os._exit(status)
