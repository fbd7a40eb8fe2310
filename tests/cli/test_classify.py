"""`hark classify` from the command line, and what other verbs say of a classifier."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hark.cli.classify import columns
from hark.exchange.importer import ImportRequest, import_model
from hark.tasks.classify import PredictedLabel
from tests.cli.running import figures, make_runner, refused
from tests.exchange.encoder_models import LABELS, write_labelled
from tests.tasks.encoders import folders

pytest.importorskip("transformers")
FILES = {
    "lines.txt": ["The cat sat.", "", "A river."],
    "test.tsv": ["text\tlabel", "The cat sat.\tyes", "A river.\tno", "The old house.\tno"],
    "wrong.tsv": ["The cat sat.\tyes", "A river.\tnever"],
    "long.conll": ["cat\tyes"] * 80,
    "test.conll": ["The\tno", "cat\tyes", "", "sat\trare"],
}
Hark = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for name, task in (("texts", "SequenceClassification"), ("words", "TokenClassification")):
        theirs = write_labelled(tmp_path_factory.mktemp(name) / "theirs", "Bert", task)
        import_model(ImportRequest(str(theirs), check=False), folder / name)
    shutil.copytree(folders("headless")[1], folder / "headless")
    return folder


@pytest.fixture
def run(tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Hark:
    monkeypatch.setenv("HARK_MODELS", str(models))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    def hark(verb: str, *words: str) -> subprocess.CompletedProcess[str]:
        return make_runner(verb, tmp_path, FILES, monkeypatch, capfd)(*words)

    return hark


def test_texts(run: Hark) -> None:
    rows = [line.split("\t") for line in run("classify", "lines.txt").stdout.splitlines()]  # the first installed
    assert [row[2] for row in rows] == ["The cat sat.", "A river."]
    assert all(row[1] in LABELS and 1 / 3 <= float(row[0]) <= 1 for row in rows)
    top = [line.split("\t") for line in run("classify", "-m", "texts", "--top", "9", "A river.").stdout.splitlines()]
    assert sorted(row[1] for row in top) == sorted(LABELS)
    assert sum(float(row[0]) for row in top) == pytest.approx(1, abs=1e-3)
    tree = figures(run("classify", "-m", "texts", "--json", "--top", "2", "A", "river."))
    assert tree["text"] == "A river."
    assert [each["label"] for each in tree["labels"]] == [row[1] for row in top[:2]]


def test_words(run: Hark) -> None:
    done = run("classify", "-m", "words", "lines.txt")
    sentences = [block.splitlines() for block in done.stdout.split("\n\n") if block]
    assert [[line.split("\t")[0] for line in each] for each in sentences] == [
        ["The", "cat", "sat", "."], ["A", "river", "."],
    ]  # fmt: skip
    tree = json.loads(run("classify", "-m", "words", "--json", "A river.").stdout)
    assert [each["word"] for each in tree["words"]] == ["A", "river", "."]
    assert [each["tags"][0]["label"] for each in tree["words"]] == [line.split("\t")[1] for line in sentences[1]]
    assert list(columns([PredictedLabel("NN", 0.75), PredictedLabel("JJ", 0.25)])) == ["NN", "0.7500", "JJ", "0.2500"]
    # What it prints, it reads: the labels are all its own.
    Path("own.conll").write_text(done.stdout)
    assert figures(run("classify", "-m", "words", "--labelled", "own.conll", "--json"))["accuracy"] == 100


def test_look_shows_the_attention_of_a_classifier(run: Hark) -> None:
    done = run("look", "-m", "texts", "A river.", "-o", "page.html")
    assert "the model predicts no tokens, because it predicts labels" in done.stderr
    assert "<html" in Path("page.html").read_text()


def test_scores(run: Hark) -> None:
    done = run("classify", "-m", "texts", "--labelled", "test.tsv")
    predicted = [line.split("\t") for line in run("classify", "-m", "texts", "lines.txt").stdout.splitlines()]
    assert done.stdout.startswith("3 labels: accuracy ")
    assert "always the commonest label: accuracy 66.67%" in done.stdout
    tree = figures(run("classify", "-m", "texts", "--labelled", "test.tsv", "--json"))
    assert tree["labels"] == list(LABELS)
    assert tree["confusion"][1][LABELS.index(predicted[0][1])] == 1
    assert [sum(row) for row in tree["confusion"]] == [2, 1, 0]
    assert refused(run("classify", "-m", "words", "--labelled", "long.conll")).endswith("split it")  # not --truncate
    tree = figures(run("classify", "-m", "words", "--labelled", "test.conll", "--json"))
    assert tree["labels"] == [*LABELS, "rare"]  # a tag that the model does not know counts as wrong
    assert [sum(row) for row in tree["confusion"]] == [1, 1, 0, 1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("classify", "-m", "headless", "x"),
            "predicts no labels; train a model that does with hark train classify (this one embeds sentences",
        ),
        (
            ("classify", "-m", "texts", "--labelled", "wrong.tsv"),
            "wrong.tsv:2: the model does not know the label never",
        ),
        (("classify", "-m", "texts", "--labelled", "lines.txt"), "lines.txt:1: 1 column; expected a text, a tab and"),
        (("classify", "-m", "words", "--labelled", "lines.txt"), "lines.txt:1: expected a word, a tab and its tag"),
        (("classify", "-m", "texts", "--labelled", "test.tsv", "x"), "leave out the other"),
        (("classify", "-m", "texts", "cat " * 80), "reads at most 62; split it, or cut it with --truncate"),
        (("classify", "-m", "words", "cat " * 80), "reads at most 62; split it"),
        (("classify", "-m", "words", "--truncate", "cat"), "every word needs its tag"),
        (
            ("fill", "-m", "texts", "[MASK]"),
            "cannot fill gaps, because it predicts labels; it labels texts; use hark classify",
        ),
        (("translate", "-m", "texts", "x"), "does not translate: it labels texts; use hark classify"),
    ],
)
def test_mistakes_are_one_line(run: Hark, words: tuple[str, ...], message: str) -> None:
    assert message in refused(run(*words))


def test_other_verbs(run: Hark, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert len(json.loads(run("embed", "-m", "texts", "A cat.").stdout)["vector"]) == 32
    assert run("classify", "-m", "texts", "--truncate", "cat " * 80).returncode == 0
    monkeypatch.setenv("HARK_MODELS", str(tmp_path))
    assert "train one with hark train classify" in refused(run("classify", "x"))
