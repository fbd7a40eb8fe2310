"""The command line as a person meets it: in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

import hark
from hark.cli import VERBS


def run(*arguments: str, code: str = "from hark.cli import main; main()") -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


def test_help_lists_every_verb() -> None:
    result = run("--help")
    assert result.returncode == 0
    listed = {line.split()[0] for line in result.stdout.split("Commands:")[1].splitlines() if line.strip()}
    assert set(VERBS) <= listed
    assert run().stdout == result.stdout


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom hark.cli import main\ntry:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'torch', 'numpy', 'sentencepiece', 'ctranslate2', 'rich.console'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    for arguments in (["--help"], ["config"], *([verb, "--help"] for verb in VERBS)):
        result = run(*arguments, code=code)
        assert result.returncode == 0, (arguments, result.stderr)


@pytest.mark.parametrize(("given", "found"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_threads_that_wait_sleep_unless_told_otherwise(given: str | None, found: str) -> None:
    code = (
        f"import os\nos.environ.pop('OMP_WAIT_POLICY', None)\ngiven = {given!r}\n"
        "if given:\n    os.environ['OMP_WAIT_POLICY'] = given\n"
        "from hark.cli import main\ntry:\n    main()\nexcept SystemExit:\n    print(os.environ['OMP_WAIT_POLICY'])"
    )
    assert run("--version", code=code).stdout.splitlines()[-1] == found


def test_version() -> None:
    result = run("--version")
    assert (result.returncode, result.stdout) == (0, f"hark {hark.__version__}\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["confg"], "hark: confg: no such verb; did you mean config?\n"),
        (["config", "--wrong"], "No such option: --wrong"),
        (["config", "nowhere.toml"], "hark: nowhere.toml: no such file\n"),
        (["config", "model.dropout=-1"], "hark: command line: model.dropout: -1.0 is not allowed; must be"),
        (["--wrong"], "No such option: --wrong"),
    ],
)
def test_a_mistake_is_one_line_and_code_2(arguments: list[str], says: str) -> None:
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert says in result.stderr
    assert result.stderr.count("\n") == 1


FAILING = "import hark.configfile as c\ndef load(*_):\n    raise {}\nc.load = load\nfrom hark.cli import main; main()"


def test_a_defect_is_one_line_and_code_1_with_the_traceback_on_request() -> None:
    code = FAILING.format("ValueError('first\\nsecond')")
    result = run("config", code=code)
    assert (result.returncode, result.stderr.count("\n")) == (1, 1)
    assert "unexpected failure: ValueError: first" in result.stderr
    for arguments in (["--debug", "config"], ["config", "--debug"]):
        assert "Traceback" in run(*arguments, code=code).stderr


def test_ctrl_c_is_130() -> None:
    result = run("config", code=FAILING.format("KeyboardInterrupt"))
    assert (result.returncode, result.stderr) == (130, "hark: interrupted\n")


def test_ctrl_c_that_a_module_made_another_error_of_is_130_too() -> None:
    """As pybind11 does with one that comes while a module is loaded."""
    code = (
        "import os, signal, hark.configfile as c\nfrom hark.cli import main\n"
        "def load(*_):\n    try:\n        os.kill(os.getpid(), signal.SIGINT)\n        signal.pause()\n"
        "    except KeyboardInterrupt:\n        pass\n    raise ImportError('initialization failed')\n"
        "c.load = load\nmain()"
    )
    result = run("config", code=code)
    assert (result.returncode, result.stderr) == (130, "hark: interrupted\n")


def test_a_closed_pipe_is_no_error() -> None:
    shell = f"{sys.executable} -m hark config --explain | head -n 1"
    result = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert (result.stdout, result.stderr) == ('data.dataset = ""\n', "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_no_space_left_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "hark", "config", "--explain"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (result.returncode, result.stderr.count("\n")) == (1, 1)
    assert result.stderr.startswith("hark: cannot write any more: No space left on device")
