"""The command line in a separate process: exit codes, signals and closed streams."""

import os
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
    """All in one process: whatever one of them imports is found right after it."""
    code = (
        "import sys\nfrom hark.cli import VERBS, main\n"
        "for words in (['--help'], ['config'], *([verb, '--help'] for verb in VERBS)):\n"
        "    sys.argv = ['hark', *words]\n"
        "    try:\n        main()\n    except SystemExit as left:\n        assert not left.code, words\n"
        "    heavy = {'torch', 'numpy', 'sentencepiece', 'ctranslate2', 'rich.console'} & set(sys.modules)\n"
        "    assert not heavy, (words, heavy)\n"
        "print('checked', *VERBS)"
    )
    result = run(code=code)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1].split() == ["checked", *VERBS]


@pytest.mark.parametrize(("setting", "expected"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_waiting_threads_sleep_by_default(setting: str | None, expected: str) -> None:
    code = (
        f"import os\nos.environ.pop('OMP_WAIT_POLICY', None)\nsetting = {setting!r}\n"
        "if setting:\n    os.environ['OMP_WAIT_POLICY'] = setting\n"
        "from hark.cli import main\ntry:\n    main()\nexcept SystemExit:\n    print(os.environ['OMP_WAIT_POLICY'])"
    )
    assert run("--version", code=code).stdout.splitlines()[-1] == expected


@pytest.mark.parametrize("word", ["version", "--version", "-V"])
def test_version(word: str) -> None:
    result = run(word)
    assert (result.returncode, result.stdout) == (0, f"hark {hark.__version__}\n")


def test_help_begins_with_translating() -> None:
    about, verbs = run("--help").stdout.split("Options:")[0], run("--help").stdout.split("Commands:\n")[1]
    assert about.split("\n\n")[1].strip().startswith("Translate text")
    assert [line.split()[0] for line in verbs.splitlines()[:3]] == ["translate", "serve", "models"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["confg"], "hark: confg: no such verb; did you mean config?\n"),
        (["config", "--wrong"], "No such option: --wrong"),
        (["config", "nowhere.toml"], "hark: nowhere.toml: no such file\n"),
        (["config", "model.dropout=-1"], "hark: command line: model.dropout: -1.0 is not allowed; must be"),
        (["--wrong"], "No such option: --wrong"),
    ],
)
def test_a_users_mistake_is_one_line_and_code_2(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


FAILING = "import hark.configfile as c\ndef load(*_):\n    raise {}\nc.load = load\nfrom hark.cli import main; main()"


def test_a_bug_is_one_line_and_code_1_with_a_traceback_on_request() -> None:
    code = FAILING.format("ValueError('first\\nsecond')")
    result = run("config", code=code)
    assert (result.returncode, result.stderr.count("\n")) == (1, 1)
    assert "unexpected error: ValueError: first" in result.stderr
    for arguments in (["--debug", "config"], ["config", "--debug"]):
        assert "Traceback" in run(*arguments, code=code).stderr


def test_ctrl_c_is_130() -> None:
    result = run("config", code=FAILING.format("KeyboardInterrupt"))
    assert (result.returncode, result.stderr) == (130, "hark: interrupted\n")


def test_an_end_of_file_is_no_interrupt() -> None:
    """typer takes it for Ctrl-D at a prompt; here it is a broken file or connection."""
    code = FAILING.format("EOFError('Ran out of input')")
    result = run("config", code=code)
    assert (result.returncode, result.stderr.splitlines()[-1]) == (
        1,
        "hark: unexpected error: EOFError: Ran out of input (use --debug for the traceback)",
    )
    assert "Traceback" in run("config", "--debug", code=code).stderr


def test_ctrl_c_that_a_module_turned_into_another_error_is_130() -> None:
    """pybind11 does so while it loads a module."""
    code = (
        "import os, signal, hark.configfile as c\nfrom hark.cli import main\n"
        "def load(*_):\n    try:\n        os.kill(os.getpid(), signal.SIGINT)\n        signal.pause()\n"
        "    except KeyboardInterrupt:\n        pass\n    raise ImportError('initialization failed')\n"
        "c.load = load\nmain()"
    )
    result = run("config", code=code)
    assert (result.returncode, result.stderr) == (130, "hark: interrupted\n")


@pytest.mark.parametrize(
    ("number", "status", "line"), [("SIGTERM", 143, "terminated"), ("SIGHUP", 129, "the terminal was closed")]
)
def test_other_signals_clean_up(number: str, status: int, line: str) -> None:
    code = (
        "import os, signal, hark.configfile as c\nfrom hark.cli import main\n"
        "def load(*_):\n    try:\n        while True:\n"  # a second one does not disturb the clean-up
        f"            os.kill(os.getpid(), signal.{number})\n    finally:\n"
        f"        os.kill(os.getpid(), signal.{number})\n        print('cleaned')\n"
        "c.load = load\nmain()"
    )
    result = run("config", code=code)
    assert (result.returncode, result.stdout, result.stderr) == (status, "cleaned\n", f"hark: {line}\n")


def test_nohup_is_respected() -> None:
    code = (
        "import os, signal, hark.configfile as c\nfrom hark.cli import main\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\nload = c.load\n"
        "def loaded(*arguments):\n    os.kill(os.getpid(), signal.SIGHUP)\n    return load(*arguments)\n"
        "c.load = loaded\nmain()"
    )
    assert run("config", code=code).returncode == 0


INTERRUPTING = """
import _signal, os, sys
class Finder:
    def find_spec(self, name, *_):
        if name == os.environ["INTERRUPTED_IMPORT"]:
            os.kill(os.getpid(), _signal.SIGINT)
sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize("started", ["python -m hark", "hark"])
@pytest.mark.parametrize("module", ["hark.cli", "typer", "hark.cli.translate", "numpy", "ctranslate2"])
def test_ctrl_c_during_imports_is_130(module: str, started: str, tmp_path: Path) -> None:
    """In the first tenth of a second, too, before the command line starts."""
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTING)
    path = os.pathsep.join([str(tmp_path), str(Path(hark.__file__).parents[1])])
    entry = ["-m", "hark"] if started != "hark" else ["-c", "from hark.__main__ import main; main()"]
    command = [sys.executable, *entry, "translate", "-m", "en-de", "Hello"]
    environment = {**os.environ, "PYTHONPATH": path, "INTERRUPTED_IMPORT": module}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "hark: interrupted\n")


@pytest.mark.parametrize("words", [["plot", "runs/x"], ["prepare", "--train", "a", "b", "-o", "d"]])
def test_a_deleted_current_folder_is_one_line(tmp_path: Path, words: list[str]) -> None:
    folder = str(tmp_path / "gone")
    code = (
        f"import os\nos.mkdir({folder!r})\nos.chdir({folder!r})\nos.rmdir({folder!r})\n"
        "from hark.cli import main\nmain()"
    )
    assert run("config", code=code).returncode == 0  # needs no folder
    result = run(*words, code=code)
    assert result.returncode == 2
    assert result.stderr.startswith("hark: the current folder no longer exists; cd to another one")
    assert result.stderr.count("\n") == 1


def test_little_is_imported_before_ctrl_c_is_handled() -> None:
    """While modules are imported, Ctrl-C shows a traceback."""
    code = (
        "import sys, hark.__main__; print({'typing', 'signal', 'enum', 're', 'typer', 'hark.cli'} & set(sys.modules))"
    )
    source = str(Path(hark.__file__).parents[1])
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={"PYTHONPATH": source})
    assert done.stdout == "set()\n", done.stderr


def closed(redirection: str, *words: str) -> subprocess.CompletedProcess[str]:
    shell = f'"$0" -m hark "$@" {redirection}'
    command = ["bash", "-c", shell, sys.executable, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_closed_standard_streams(tmp_path: Path) -> None:
    for words in (["config"], ["--version"], ["--help"]):
        result = closed(">&-", *words)
        assert result.returncode == 1, words
        assert result.stderr == "hark: stdout is closed; leave it open or write to a file\n"
    # A closed stdout does not matter if nothing is written to it, and no other file gets its descriptor.
    page = tmp_path / "config.toml"
    assert closed(">&-", "config", "-o", str(page)).returncode == 0
    assert page.read_text().startswith("[data]")
    assert closed("2>&-", "config").returncode == 0
    assert closed("2>&-", "confg").returncode == 2
    assert closed("<&-", "config").stdout.startswith("[data]")
    assert closed("<&- >&- 2>&-", "config").returncode == 1
    assert closed("<&-", "translate", "-t", "de").stderr.startswith("hark: nothing to translate: stdin is closed")


def test_a_closed_pipe_is_not_an_error() -> None:
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
    assert result.stderr.startswith("hark: cannot write: No space left on device; free some space")
