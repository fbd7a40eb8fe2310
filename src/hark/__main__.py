"""The command `hark`, and `python -m hark`, which is what torchrun starts."""

import os
import signal
from types import FrameType


def main() -> None:
    """Run the command line. Ctrl-C while its modules are imported, or after its last line, shows no traceback."""
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else it is ignored, and stays so
    if heard:
        signal.signal(signal.SIGINT, leave)
    try:
        from hark.cli import main as run

        run()
    except KeyboardInterrupt:
        leave()
    finally:
        if heard:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def leave(number: int = signal.SIGINT, frame: FrameType | None = None) -> None:  # noqa: ARG001
    """End at once: nothing has been begun that would have to be cleaned up."""
    os.write(2, b"hark: interrupted\n")
    os._exit(128 + number)


if __name__ == "__main__":
    main()
