"""`hark translate --formality`, with a real engine, an untrained model, and a record of what it is asked."""

import sys
from pathlib import Path
from typing import Any

import pytest

from hark.text.vocabulary import Vocabulary
from tests.cli.running import Hark, make_runner, refused
from tests.translate.bundles import make_bundle
from tests.translate.stub import formal_tokenizer

Asked = dict[str, str | None]
LETTER = "Hey, can you see the house?\n\nIt is old.\n\nYou can run to the tree.\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with a model that can choose, after one of the same pair that cannot, and one of the reverse
    direction for second looks."""
    folder = tmp_path_factory.mktemp("home")
    make_bundle(folder / "hark/models/a-plain-en-de")
    make_bundle(folder / "hark/models/formal-en-de", vocabulary=formal_tokenizer())
    make_bundle(folder / "hark/models/plain-de-en", "de", "en")
    return folder


@pytest.fixture
def hark(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Hark:
    monkeypatch.setenv("XDG_DATA_HOME", str(home))
    monkeypatch.delenv("HARK_MODELS", raising=False)
    return make_runner("translate", tmp_path, {}, monkeypatch, capfd)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """The form that is asked for, by sentence."""
    found: Asked = {}
    original = Vocabulary.source_ids

    def record(vocabulary: Vocabulary, text: str, target: str | None, source: str | None, *address: Any) -> list[int]:
        if address:  # a second look asks for none
            found[text] = address[0]
        return original(vocabulary, text, target, source, *address)

    monkeypatch.setattr(Vocabulary, "source_ids", record)
    return found


def has(asked: Asked, expected: Asked) -> bool:
    """Whether these were asked for; an untrained model is asked for parts of them, too."""
    return expected.items() <= asked.items()


def test_text_in_each_form(hark: Hark, asked: Asked) -> None:
    model = ("-m", "formal-en-de")
    assert hark(*model, "--formality", "informal", "You see it. It is old.").returncode == 0
    assert has(asked, {"You see it.": "informal", "It is old.": None})
    assert hark(*model, "--formality", "formal", "You see it.").returncode == 0
    assert asked["You see it."] == "formal"
    assert hark(*model, "You see it.").returncode == 0
    assert asked["You see it."] is None


def test_a_model_that_can_choose_is_preferred_if_a_form_is_required(hark: Hark, asked: Asked) -> None:
    assert hark("-t", "de", "--formality", "formal", "You see it.").returncode == 0
    assert has(asked, {"You see it.": "formal"})
    assert hark("-t", "de", LETTER).returncode == 0
    assert asked["You can run to the tree."] is None  # the first model cannot


@pytest.mark.parametrize("form", ["informal", "formal"])
@pytest.mark.parametrize("name", ["letter.txt", "letter.html", "letter.md"])
def test_auto_chooses_one_form_for_a_whole_file(hark: Hark, asked: Asked, name: str, form: str) -> None:
    text = LETTER if form == "informal" else LETTER.replace("Hey, can", "Can")
    Path(name).write_text(f"<p>{text.replace(chr(10) * 2, '</p><p>')}</p>" if name.endswith("html") else text)
    assert hark("-m", "formal-en-de", "-s", "en", name).returncode == 0
    assert has(asked, {text.split("\n")[0]: form, "It is old.": None, "You can run to the tree.": form})


def test_stdin_and_folders(hark: Hark, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("letter.txt").write_text(LETTER)
    with Path("letter.txt").open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert hark("-m", "formal-en-de", "-s", "en").returncode == 0
    assert asked["You can run to the tree."] == "informal"
    Path("in").mkdir()
    Path("in/a.md").write_text("You can see.")
    Path("in/b.md").write_text("Can you run?")
    assert hark("-m", "formal-en-de", "-t", "de", "--recursive", "in", "--formality", "formal").returncode == 0
    assert asked["You can see."] == asked["Can you run?"] == "formal"


def test_models_that_cannot_choose(hark: Hark) -> None:
    Path("letter.html").write_text("<p>You see it.</p>")
    for words in ("You see it.", "letter.html"):
        line = refused(hark("-m", "a-plain-en-de", "--formality", "formal", words))
        assert "formality formal: this model cannot choose; leave it out, or name another model" in line
        assert hark("-m", "a-plain-en-de", words).returncode == 0
    assert hark("-m", "formal-en-de", "--formality", "polite", "You see it.").returncode == 2
