"""`python -m MODULE` in this process: a new one would take longer to import PyTorch than the command itself takes."""

import io
import runpy
import subprocess
import sys
import warnings
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import torch

ROOT = Path(__file__).parents[1]


def run_module(name: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
    """Run `python -m NAME` at the root of the repository. A failure other than a refusal fails the test."""
    words, code = [name, *map(str, arguments)], 0
    out, err = io.StringIO(), io.StringIO()
    threads = torch.get_num_threads()
    with (
        chdir(ROOT),
        patch.object(sys, "argv", words),
        redirect_stdout(out),
        redirect_stderr(err),
        warnings.catch_warnings(action="ignore", category=RuntimeWarning),  # that a test has imported the module too
    ):
        try:
            runpy.run_module(name, run_name="__main__")
        except SystemExit as left:
            if isinstance(left.code, str):
                print(left.code, file=sys.stderr)
            code = left.code if isinstance(left.code, int) else int(left.code is not None)
        finally:
            torch.set_num_threads(threads)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())
