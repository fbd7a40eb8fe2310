"""`hark align` and `hark memory`: from two documents to pairs and back into a translation."""

from pathlib import Path

import pytest

from hark.config import CorpusConfig
from hark.data.corpus import read_pairs
from hark.documents.memory import open_memory
from tests.cli.running import Hark, make_runner, refused
from tests.translate.bundles import make_bundle

ENGLISH = """<h1>The house of Mr Miller</h1>
<p>The house has 12 rooms. It was built in 1897 by John Smith.</p>
<p>We bought it for 250,000 dollars from the city of Hamburg.</p>
"""
GERMAN = """<h1>Das Haus von Herrn Miller</h1>
<p>Das Haus hat 12 Zimmer. Es wurde 1897 von John Smith gebaut.</p>
<p>Wir kauften es für 250,000 Dollar von der Stadt Hamburg.</p><p>Kaum zu glauben, aber wahr.</p>
"""


@pytest.fixture
def align(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Hark:
    monkeypatch.setenv("HARK_MODELS", str(tmp_path / "models"))
    (tmp_path / "a.html").write_text(ENGLISH)
    (tmp_path / "b.html").write_text(GERMAN, encoding="utf-8")
    return make_runner("align", tmp_path, {}, monkeypatch, capfd)


@pytest.fixture
def memory(align: Hark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Hark:
    assert align
    return make_runner("memory", tmp_path, {}, monkeypatch, capfd)


def test_pairs_as_training_text(align: Hark) -> None:
    done = align("a.html", "b.html", "-o", "pairs.tsv", "--no-model-words")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "pairs.tsv: 4 pairs, 0 low; sentences without a partner: 0 en, 1 de\n"
    rows = [line.split("\t") for line in Path("pairs.tsv").read_text(encoding="utf-8").splitlines()]
    assert rows[1][:2] == ["The house has 12 rooms.", "Das Haus hat 12 Zimmer."]
    assert all(0.5 <= float(row[2]) <= 1 and row[3] == "" for row in rows)
    pairs = list(read_pairs(CorpusConfig(source="pairs.tsv"), "en", "de"))
    assert pairs == [(row[0], row[1]) for row in rows]


def test_pairs_with_a_low_score_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("good\tgut\t0.900\t\nbad\tirgendwas\t0.100\tlow\n")
    assert list(read_pairs(CorpusConfig(source=str(path)), "en", "de")) == [("good", "gut"), ("", "")]


def test_pairs_as_a_memory(align: Hark) -> None:
    assert align("a.html", "b.html", "-o", "pairs.tmx", "--no-model-words", "-s", "en", "-t", "de").returncode == 0
    memory = open_memory(Path("pairs.tmx"), "en", "de")
    assert memory.exact("The house has 12 rooms.") == "Das Haus hat 12 Zimmer."
    assert "already exists" in refused(align("a.html", "b.html", "-o", "pairs.tmx"))
    assert align("a.html", "b.html", "-o", "pairs.tmx", "--force", "--no-model-words").returncode == 0


@pytest.mark.parametrize("pair", [("en", "de"), ("de", "en")])
def test_a_model_of_either_direction_is_used(align: Hark, tmp_path: Path, pair: tuple[str, str]) -> None:
    make_bundle(tmp_path / "models/small", *pair)
    done = align("a.html", "b.html", "-o", "pairs.tsv", "-m", "small")
    assert done.returncode == 0, done.stderr
    assert "sentences without a partner" in done.stderr
    assert "does not translate between" in refused(align("a.html", "b.html", "-o", "x.tsv", "-m", "small", "-t", "fr"))


def test_folders_are_matched_by_name(align: Hark) -> None:
    for folder, text, code in (("en", ENGLISH, ".en"), ("de", GERMAN, "")):
        Path(folder, "sub").mkdir(parents=True)
        Path(folder, "sub", f"letter{code}.html").write_text(text, encoding="utf-8")
    Path("en/alone.html").write_text(ENGLISH)
    done = align("en", "de", "-o", "pairs.tsv", "--no-model-words")
    assert done.stderr.startswith("without a partner: en/alone.html\npairs.tsv: 4 pairs")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a.html", "b.html", "-o", "pairs.csv"], "a .tsv or .tmx file"),
        (["a.html", "none.html", "-o", "p.tsv"], "cannot be read"),
        (["a.html", "a.html", "-o", "p.tsv"], "are both in en"),
        (["a.html", ".", "-o", "p.tsv"], "name two files or two folders"),
        (["a.html", "b.html", "-o", "p.tsv", "-m", "none"], "no such model"),
    ],
)
def test_mistakes(align: Hark, words: list[str], message: str) -> None:
    assert message in refused(align(*words))


def test_a_corrected_translation_is_remembered(memory: Hark) -> None:
    Path("corrected.html").write_text(GERMAN.split("<p>Kaum")[0].replace("Zimmer", "Räume"), encoding="utf-8")
    done = memory("add", "a.html", "corrected.html", "--memory", "m.sqlite")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr == "m.sqlite: added 5 translations, replaced 0\n"
    found = open_memory(Path("m.sqlite"), "en", "de")
    assert found.exact("The house has 12 rooms.") == "Das Haus hat 12 Räume."
    assert memory("add", "a.html", "b.html", "--memory", "m.sqlite").stderr.endswith(
        "added 0 translations, replaced 1\n"
    )
