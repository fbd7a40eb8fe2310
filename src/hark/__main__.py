"""Entry point of the command `hark` and of `python -m hark`, which torchrun uses."""

# As little as possible is imported before Ctrl-C is handled. `signal` takes 12 ms to import, for its enumerations, a
# quarter of the time in which Ctrl-C would show a traceback; `_signal`, underneath it, is built into the interpreter.
# What remains is Python's own: 10 ms for its start and `site`, then runpy (`-m`) or `re` (in pip's script), 5 ms each.
import _signal  # type: ignore[import-not-found]
import os


def main() -> None:
    """Run the command line. Ctrl-C during imports or at exit shows no traceback."""
    handled = _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler  # keep an ignored signal ignored
    if handled:
        _signal.signal(_signal.SIGINT, leave)
    try:
        from hark.cli import main as run

        run()
    except KeyboardInterrupt:
        leave()
    finally:
        if handled:
            _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def leave(number: int = _signal.SIGINT, frame: object = None) -> None:  # noqa: ARG001
    """Exit at once; there is nothing to clean up yet."""
    os.write(2, b"hark: interrupted\n")
    os._exit(128 + number)


if __name__ == "__main__":
    main()
