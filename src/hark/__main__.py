"""The command `hark`, and `python -m hark`, which is what torchrun starts."""

# Little is imported before Ctrl-C is handled. `signal` itself takes a quarter of the time in which one would still show
# a traceback (12 ms, for its enumerations), so that this is the module beneath it, which is part of the interpreter.
import _signal  # type: ignore[import-not-found]
import os


def main() -> None:
    """Run the command line. Ctrl-C while its modules are imported, or after its last line, shows no traceback."""
    heard = _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler  # else it is ignored, and stays so
    if heard:
        _signal.signal(_signal.SIGINT, leave)
    try:
        from hark.cli import main as run

        run()
    except KeyboardInterrupt:
        leave()
    finally:
        if heard:
            _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def leave(number: int = _signal.SIGINT, frame: object = None) -> None:  # noqa: ARG001
    """End at once: nothing has been begun that would have to be cleaned up."""
    os.write(2, b"hark: interrupted\n")
    os._exit(128 + number)


if __name__ == "__main__":
    main()
