"""`hark parse` from the command line."""

import json
from pathlib import Path

import pytest

from hark.text.trees import format_tree, parse_tree
from tests.cli.running import Hark, figures, make_runner, refused
from tests.parse.parsers import make_parser, treebank
from tests.translate.bundles import make_bundle

FILES = {
    "text.txt": ["Don't go. Stay!", "", "Yes."],
    "words.txt": ["Do n't go .", "a ( b"],
    "few.trees": [format_tree(tree) for tree in treebank()[:3]],
    "bad.trees": ["(S (NN a)"],
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    make_bundle(folder / "en-de")
    make_parser(folder / "parser")
    return folder


@pytest.fixture
def hark(tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Hark:
    monkeypatch.setenv("HARK_MODELS", str(models))
    return make_runner("parse", tmp_path, FILES, monkeypatch, capfd)


def test_sentences_are_split_into_words_and_parsed(hark: Hark) -> None:
    done = hark("text.txt", "--beam", "1")
    assert [parse_tree(line).words() for line in done.stdout.splitlines()] == [
        ["Do", "n't", "go", "."], ["Stay", "!"], ["Yes", "."],
    ]  # fmt: skip


def test_a_picture_is_drawn_beside_the_brackets(hark: Hark) -> None:
    done = hark("The cat sat.", "-o", "tree.svg")
    assert parse_tree(done.stdout).words() == ["The", "cat", "sat", "."]
    assert Path("tree.svg").read_text().startswith("<svg")
    assert hark("The cat sat.", "-o", "-").stdout == Path("tree.svg").read_text()


def test_json_with_given_words(hark: Hark) -> None:
    lines = [json.loads(line) for line in hark("words.txt", "--words", "--json").stdout.splitlines()]
    assert [line["words"] for line in lines] == [["Do", "n't", "go", "."], ["a", "(", "b"]]
    assert all(parse_tree(line["tree"]).words() == line["words"] for line in lines)


def test_a_treebank_is_scored(hark: Hark) -> None:
    scores = figures(hark("--evaluate", "few.trees", "--json", "-o", "curve.svg"))
    assert scores["sentences"] == 3
    assert [each["last"] for each in scores["by_length"]] == [10]
    assert Path("curve.svg").exists()
    line = hark("--evaluate", "few.trees").stdout.splitlines()[0]
    assert line.startswith(f"F1 {scores['f1']:.2f}, precision ")
    assert f", tags {scores['tag_accuracy']:.2f} on 3 sentences" in line


def test_a_parser_without_tags_has_no_score_of_tags(hark: Hark, tmp_path: Path) -> None:
    make_parser(tmp_path / "untagged", tag="XX")
    assert "tag_accuracy" not in figures(hark("--evaluate", "few.trees", "--json", "-m", "./untagged"))
    assert "tags" not in hark("--evaluate", "few.trees", "-m", "./untagged").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("x", "-o", "tree.png"), "tree.png: the picture is SVG; name a .svg file"),
        (("x", "-o", "-", "--json"), "both write to stdout"),
        (("x", "-m", "en-de"), "not a parser"),
        (("x", "-m", "none"), "none: no such model"),
        (("x", "--evaluate", "few.trees"), "leave out the text"),
        (("--evaluate", "bad.trees"), "bad.trees:1: the last tree is incomplete"),
        (("--evaluate", "none.trees"), "none.trees: no such file"),
        (("a " * 80,), "sentence 1 (a a a a a ...)"),
    ],
)
def test_mistakes_are_one_line(hark: Hark, words: tuple[str, ...], message: str) -> None:
    assert message in refused(hark(*words))


def test_without_a_parser(hark: Hark, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HARK_MODELS", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert "no parser installed; train one with the recipe parse-small" in refused(hark("x"))
