"""Shared test set-up: fixed seeds, and one thread per process when tests run in parallel."""

import gc
import os
import signal
from collections.abc import Callable, Generator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

from tests.interpreter import hasten_interpreter

os.environ.setdefault("TRITON_INTERPRET", "1")  # our kernels run on any machine; read when Triton is first imported
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is first imported

# No test cuts the power, and waiting for the disk takes milliseconds per file. Processes that tests start do wait.
os.fsync = os.fstat  # type: ignore[assignment]  # which also refuses a closed file

# A shell's background jobs ignore Ctrl-C, and those of nohup a hang-up; some tests send these to their children.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, handler)

FIXTURES = ("tests.inspect.browser", "tests.runs", "tests.trilingual")
"""Modules with fixtures for tests in several folders."""

SLOW = (
    "benchmarks", "engine", "distil", "docs", "end_to_end", "gpu", "inspect", "model/kernels", "serve", "tools",
    "cli/test_completion.py", "cli/test_evaluate.py", "cli/test_heads.py", "cli/test_look.py", "cli/test_main.py",
    "cli/test_prepare.py", "cli/test_recipe.py", "cli/test_train.py", "data/test_augment.py", "data/test_batches.py",
    "data/test_lexicon.py", "data/test_many.py", "data/test_prefetch.py", "data/test_prepare.py",
    "data/test_workers.py", "evaluate/test_dev_translations.py", "evaluate/test_directions.py", "exchange",
    "model/test_cache.py", "model/test_fused.py", "model/test_stack.py", "monitor/test_curves.py", "test_demo.py",
    "test_demo_text.py", "train/test_checkpoint.py", "train/test_export.py", "train/test_kill.py", "train/test_loop.py",
    "train/test_loss.py", "train/test_skipped_pairs.py", "reproduce/test_flops.py", "reproduce/test_targets.py",
    "cli/test_reproduce.py", "parse/test_experiment.py", "test_written.py",
)  # fmt: skip
"""Files and folders that `make quick` leaves out: they start processes, a browser or Triton's interpreter."""


LARGE = 1 << 24
"""Bytes that take longer to hash than the clock of a file system takes to tick."""


def pytest_configure(config: pytest.Config) -> None:
    """Import fixtures, and so PyTorch, except in the process that only distributes tests to others."""
    if "PYTEST_XDIST_WORKER" in os.environ or not config.getoption("numprocesses", None):
        gc.disable()  # until everything is collected: see below
        for module in FIXTURES:
            config.pluginmanager.import_plugin(module)
        hash_large_files_once()


def hash_large_files_once() -> None:
    """Whoever opens the shipped model or public weights hashes them, which takes up to a second each time. Small files
    are hashed as ever: one that is damaged in place may have the same size and time."""
    from hark import manifest

    hash_file, known = manifest.sha256, dict[tuple[int, ...], str]()

    def hash_once(path: Path) -> str:
        found = path.stat()
        if found.st_size < LARGE:
            return hash_file(path)
        state = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
        if state not in known:
            known[state] = hash_file(path)
        return known[state]

    manifest.sha256 = hash_once


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector away from imported modules and collected tests, which all live until the end: while
    they are loaded it would take a fifth of the time, and later half a second whenever it looks at everything."""
    gc.disable()
    try:
        return (yield)
    finally:
        hasten_interpreter()
        gc.freeze()
        gc.enable()


def is_slow(path: Path) -> bool:
    return f"{path.relative_to(Path(__file__).parent).as_posix()}/".startswith(tuple(f"{each}/" for each in SLOW))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`make quick` does not even import the slow tests, which takes each process several seconds."""
    return True if config.getoption("-m") == "not slow" and is_slow(collection_path) else None


PLACES = {
    "benchmarks": "", "exchange": "", "tasks": "", "model/test_relative.py": "",
    "end_to_end/test_public_weights.py": "", "distil": "i", "train": "i",
}  # fmt: skip
"""Where folders and files are sorted to, if not by the names of folders. Two workers begin with half of the tests each.
Tests that import transformers are together, and so are those that fork from a process with PyTorch, so that only one
worker has to do that. Last are tests without costly fixtures, which the worker that is done first takes from the
other."""


def place_of(item: pytest.Item) -> tuple[str, str]:
    path = item.path.relative_to(Path(__file__).parent)
    folder = path.parts[0]
    return PLACES.get(path.as_posix(), PLACES.get(folder, folder)), folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=place_of)
    for item in items:
        if is_slow(item.path):
            item.add_marker(pytest.mark.slow)


# No deadline: a busy machine is not a wrong result.
settings.register_profile("hark", deadline=None, max_examples=50)
settings.register_profile("quick", deadline=None, max_examples=10)
settings.load_profile("hark")


@cache
def seed() -> Callable[[int], object]:
    """Seeds the CPU and any GPU. Without a GPU, torch.manual_seed takes a millisecond to note its caller for later."""
    import torch

    return torch.manual_seed if torch.cuda.is_available() else torch.default_generator.manual_seed


@pytest.fixture(autouse=True)
def seeded() -> None:
    seed()(0)
