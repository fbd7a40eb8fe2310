"""`hark fill` and `hark embed` from the command line, and what other verbs say of an encoder."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hark.cli.fill import one_line
from tests.cli.running import make_runner, refused
from tests.tasks.encoders import folders
from tests.translate.bundles import make_bundle

pytest.importorskip("transformers")
FILES = {"lines.txt": ["The [MASK] sat.", "", "[MASK] and [MASK]"], "texts.txt": ["A cat.", "", "The river."]}
Hark = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    make_bundle(folder / "en-de")
    for kind in ("headless", "roberta"):
        shutil.copytree(folders(kind)[1], folder / kind)  # type: ignore[arg-type]
    return folder


@pytest.fixture
def run(tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Hark:
    monkeypatch.setenv("HARK_MODELS", str(models))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    def hark(verb: str, *words: str) -> subprocess.CompletedProcess[str]:
        return make_runner(verb, tmp_path, FILES, monkeypatch, capfd)(*words)

    return hark


def test_fill(run: Hark) -> None:
    bert = str(folders("bert")[1])
    done = run("fill", "-m", bert, "--top", "3", "The", "[MASK]", "sat.")
    rows = [line.split("  ", 1) for line in done.stdout.splitlines() if line]
    assert len(rows) == 3
    assert all(0 < float(row[0]) <= 1 for row in rows)
    assert float(rows[0][0]) >= float(rows[2][0])
    assert one_line("What\n light") == "What↵ light"  # a filler of a model that learnt line breaks
    lines = run("fill", "-m", bert, "lines.txt", "--json").stdout.splitlines()
    trees = [json.loads(line) for line in lines]
    assert [(tree["text"], [len(gap) for gap in tree["gaps"]]) for tree in trees] == [
        ("The [MASK] sat.", [5]), ("[MASK] and [MASK]", [5, 5]),
    ]  # fmt: skip
    assert trees[0]["gaps"][0][0].keys() == {"text", "probability", "filled"}
    assert run("fill", "A <mask>").stdout  # the installed model that has the layer


def test_embed(run: Hark) -> None:
    done = run("embed", "-m", "headless", "texts.txt")
    trees = [json.loads(line) for line in done.stdout.splitlines()]
    assert [tree["text"] for tree in trees] == FILES["texts.txt"]
    assert run("embed", "-m", "headless", "texts.txt", "-o", "x.npy").returncode == 0
    array = np.load("x.npy")
    assert (array.shape, array.dtype) == ((3, 32), np.float32)
    np.testing.assert_allclose(array, [tree["vector"] for tree in trees], atol=1e-7)
    run("embed", "-m", "headless", "texts.txt", "-o", "x.jsonl")
    assert Path("x.jsonl").read_text() == done.stdout
    Path("empty.txt").touch()
    run("embed", "-m", "headless", "empty.txt", "-o", "x.npy")
    assert np.load("x.npy").shape == (0, 32)


def test_similarity(run: Hark) -> None:
    lines = run("embed", "--similarity", "A cat.", "A cat.", "The river.").stdout.splitlines()
    assert [line.split()[:3] for line in lines[1:3]] == [["1", "1.000", "1.000"], ["2", "1.000", "1.000"]]
    assert lines[0].split() == ["1", "2", "3"]
    assert lines[3].endswith("  1.000  The river.")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fill", "-m", "headless", "[MASK]"), "imported without the layer that predicts tokens; it embeds"),
        (("fill", "no gap"), "text 1 has no gap; write <mask> where there is one"),
        (("fill", "-m", "en-de", "[MASK]"), "is not an encoder alone: it translates; use hark translate"),
        (("embed", "-m", "none", "x"), "none: no such model"),
        (("embed", "-m", "headless", "cat " * 80), "reads at most 62; split it, or cut it with --truncate"),
        (("embed", "x", "--similarity", "-o", "y"), "leave out -o"),
        (("embed", "x.txt"), "x.txt: no such file"),
        (("translate", "-m", "headless", "x"), "does not translate: it embeds sentences; use hark embed"),
        (("export", "{models}/headless", "--to", "onnx", "-o", "x"), "is an encoder alone"),
    ],
)
def test_mistakes_are_one_line(run: Hark, models: Path, words: tuple[str, ...], message: str) -> None:
    assert message in refused(run(*(word.format(models=models) for word in words)))


def test_without_an_encoder(run: Hark, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HARK_MODELS", str(tmp_path))
    assert "hark models get bert-base-uncased" in refused(run("fill", "x"))
    assert "hark models get all-MiniLM-L6-v2" in refused(run("embed", "x"))


def test_the_server_offers_what_translates(models: Path) -> None:
    from hark.serve.settings import ServeSettings
    from hark.serve.shelf import Shelf

    assert [model.name for model in Shelf.of(ServeSettings(models=models)).offered] == ["en-de"]


def test_models_are_listed_with_their_languages(run: Hark) -> None:
    (line,) = [line for line in run("models").stdout.splitlines() if line.startswith("headless")]
    assert line.split()[1] == "en"
