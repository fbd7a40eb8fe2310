"""Every verb that takes a model takes an imported one: one model, imported once, for all."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from hark.bundle import Bundle
from hark.cli import app
from hark.decode.load import Loaded
from hark.exchange.importer import ImportRequest, import_model
from hark.text.opening import open_vocabularies
from hark.weights import read_weights
from tests.exchange.marian_models import SENTENCES, TARGETS, write_marian

pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the imported model `en-fr`, and the files text.en and text.fr."""
    folder = tmp_path_factory.mktemp("imported")
    write_marian(folder / "opus-mt-en-fr")
    import_model(ImportRequest(str(folder / "opus-mt-en-fr"), check=False), folder / "en-fr")
    for name, lines in (("text.en", SENTENCES[:2]), ("text.fr", TARGETS[:2])):
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def hark(*words: object) -> str:
    run = CliRunner().invoke(app, [str(word) for word in words])
    assert run.exit_code == 0, run.output
    return run.output


def test_shrink(folder: Path, tmp_path: Path) -> None:
    assert "int8" in hark("shrink", folder / "en-fr", "-o", tmp_path / "small")
    small, large = Bundle.open(tmp_path / "small"), Bundle.open(folder / "en-fr")
    assert str(read_weights(small.weights)["embedding.weight"].dtype) == "int8"
    assert small.vocabulary_files == large.vocabulary_files
    one, two = (Loaded(each.folder, "ctranslate2", precision="int8") for each in (small, large))
    assert one.translate(SENTENCES[0], beam=2).text == two.translate(SENTENCES[0], beam=2).text


def test_translate_in_both_engines(folder: Path) -> None:
    words = ("translate", "-m", folder / "en-fr", "--search", "max_extra=5", SENTENCES[0], "--precision", "float32")
    assert hark(*words, "--engine", "torch") == hark(*words, "--engine", "ctranslate2") != ""


def test_look(folder: Path, tmp_path: Path) -> None:
    hark("look", "-m", folder / "en-fr", SENTENCES[0], "-o", tmp_path / "look.html", "--quick", "--no-open")
    page = (tmp_path / "look.html").read_text(encoding="utf-8")
    source, _ = open_vocabularies(Bundle.open(folder / "en-fr"))
    assert source.pieces(source.source_ids(SENTENCES[0]))[0].strip("▁") in page


def test_heads(folder: Path, tmp_path: Path) -> None:
    words = ("heads", folder / "en-fr", "--on", folder / "text.en", folder / "text.fr")
    hark(*words, "-o", tmp_path / "heads.svg")
    assert (tmp_path / "heads.svg").read_text(encoding="utf-8").startswith("<svg")


def test_evaluate(folder: Path) -> None:
    words = ("evaluate", folder / "en-fr", "--source", folder / "text.en", "--reference", folder / "text.fr")
    found = hark(*words, "--search", "max_extra=5")
    assert "BLEU" in found
    assert "chrF" in found


def test_distil_as_a_teacher(folder: Path, tmp_path: Path) -> None:
    """The student's text is the imported model's; what it cannot translate keeps the original."""
    count = 30
    for name, lines in (("train.en", SENTENCES), ("train.fr", TARGETS)):
        text = "".join(f"{lines[i % len(lines)]} {i}\n" for i in range(count))
        (tmp_path / name).write_text(text, encoding="utf-8")
    text = ("--pair", "en", "fr", "--train", tmp_path / "train.en", tmp_path / "train.fr", "--vocab", "320")
    cleaning = ("data.clean.language=1", "data.clean.max_ratio=99")
    hark("prepare", *cleaning, *text, "--processes", "1", "-o", tmp_path / "dataset")
    words = ("distil", folder / "en-fr", tmp_path / "dataset", "-o", tmp_path / "student", "--beam", "1")
    found = hark(*words, "--processes", "1")
    assert "by the teacher" in found
    sources = (tmp_path / "student" / "train.en").read_text(encoding="utf-8").splitlines()
    targets = (tmp_path / "student" / "train.fr").read_text(encoding="utf-8").splitlines()
    assert len(sources) == len(targets) == count
