"""Running a benchmark as from the command line."""

import subprocess

from tests.modules import run_module


def run_benchmark(name: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
    """Run `python -m benchmarks.NAME` at the root of the repository, in this process."""
    return run_module(f"benchmarks.{name}", *arguments)
