"""What pages show as runnable runs, at a tiny scale, and prints what they say.

A block with the comment `<!-- runnable -->` before it is run in the order of its page, in an empty folder. Lines after
a command are its output. Sample text is cut to a few lines, and training to a few small steps.
"""

import lzma
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from itertools import islice
from pathlib import Path

import pytest

from hark import load
from hark.cli import main
from hark.data.sample import paths
from tests.docs.pages import PAGES, ROOT, Block, blocks

LINES = {"train": 120, "dev": 4, "test": 3}
"""Of each file of the sample text."""
SMALLER = {
    "prepare --pair": ["--vocab", "400", "--processes", "1"],
    "prepare fine-tune": ["--processes", "1"],
    "train tiny": [
        "model.d_model=16", "model.d_ff=32", "model.n_heads=2", "batches.batch_tokens=256", "train.steps=4",
        "train.eval_steps=2", "train.save_steps=2", "decode.max_extra=5",
    ],
    "train fine-tune": [
        "batches.batch_tokens=48", "batches.max_length=24", "train.steps=2", "train.warmup_steps=1",
        "train.eval_steps=2",
    ],
    "prepare parse-small": ["--processes", "1"],
    "train parse-small": [
        "model.d_model=16", "model.d_ff=32", "model.n_heads=2", "model.n_encoder_layers=1", "model.n_decoder_layers=1",
        "train.steps=2", "train.warmup_steps=1", "train.eval_steps=2", "decode.max_extra=5",
    ],
    "parse": ["--beam", "1", "--device", "cpu"],
    "evaluate": ["--resamples", "0"],
}  # fmt: skip
"""What is added to a command that begins so."""
EXPECTED = re.compile(r"  # (.*)$", re.MULTILINE)

TUTORIALS = [page for page in PAGES if any(each.runnable and each.language == "console" for each in blocks(page))]
CONFIDENCE, CONFIDENCE_POINTS = re.compile(r"(\d+)%(?=\))"), 5
SNIPPETS = [(page, each) for page in PAGES for each in blocks(page) if each.runnable and each.language == "python"]


def name_of(page: Path) -> str:
    return page.stem


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with a few lines of the sample text."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for use, sides in paths().items():
        for path in sides:
            with lzma.open(path, "rt", encoding="utf-8") as lines:
                few = "".join(islice(lines, LINES[use]))
            Path(Path(path).name.removesuffix(".xz")).write_text(few, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("page", TUTORIALS, ids=name_of)
def test_a_tutorial_runs_and_prints_what_it_says(
    page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for block in blocks(page):
        if block.runnable and block.language == "console":
            for command, expected in sessions(block):
                printed = run(command, folder, monkeypatch, capfd)
                assert not expected or agree(printed, expected), (command, printed)


def agree(printed: list[str], expected: list[str]) -> bool:
    """Whether the lines are the same. A confidence depends a little on how a CPU rounds."""
    pairs = list(zip(sorted(printed), sorted(expected), strict=False))
    words = all(CONFIDENCE.sub("", one) == CONFIDENCE.sub("", other) for one, other in pairs)
    figures = [(int(a), int(b)) for one in pairs for a, b in zip(*map(CONFIDENCE.findall, one), strict=False)]
    return len(printed) == len(expected) and words and all(abs(a - b) <= CONFIDENCE_POINTS for a, b in figures)


def sessions(block: Block) -> list[tuple[str, list[str]]]:
    """Commands, each with the lines that the page shows as its output."""
    found: list[tuple[str, list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), []))
        else:
            found[-1][1].append(line)
    return found


def run(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> list[str]:
    """Run a command; hark in this process, which has imported torch already. Gives the lines of stdout and stderr."""
    command = re.sub(r"hark:sample/(\w+\.\w+)\.xz", r"\1", command)
    if not command.startswith("hark "):
        done = subprocess.run(["bash", "-ec", command], cwd=folder, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()
    words = shlex.split(command)
    for start, more in SMALLER.items():
        if words[1 : 1 + len(start.split())] == start.split():
            words += more
    capfd.readouterr()
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as left:
        main()
    out, err = capfd.readouterr()
    assert not left.value.code, (command, err)
    return out.splitlines() + err.splitlines()


@pytest.mark.parametrize(("page", "block"), SNIPPETS, ids=[f"{page.stem}-{n}" for n, (page, _) in enumerate(SNIPPETS)])
def test_a_snippet_prints_what_its_comments_say(page: Path, block: Block) -> None:
    out = StringIO()
    with redirect_stdout(out):
        exec(compile(block.text, str(page), "exec"), {"__name__": "__main__"})
    printing = [line for line in block.text.splitlines() if line.startswith("print(")]
    assert out.getvalue().splitlines() == [EXPECTED.findall(line)[0] for line in printing]


@pytest.mark.parametrize("name", ["README.md", "docs/index.md"])
def test_the_model_answers_the_first_example_in_python(name: str) -> None:
    """Not the phrase table, and not the rules for times and numbers."""
    [block] = [block for page, block in SNIPPETS if page == ROOT / name]
    sentences = re.findall(r'"([A-Z][^"]+[.?])"', block.text)
    assert len(sentences) == 3
    model = load("en-de")
    for done in model.translate(sentences):
        assert done.flags == ()
        assert done.text == model.translate(done.source, protect=False, check=False).text


def test_what_must_be_run_is_found() -> None:
    assert {page.stem for page in TUTORIALS} == {"index", "parsing", "tutorial"}
    assert {page.relative_to(ROOT).as_posix() for page, _ in SNIPPETS} == {"README.md", "docs/data.md", "docs/index.md"}
