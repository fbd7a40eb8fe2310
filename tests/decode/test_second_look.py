"""The second look by the reverse model: which sentences it looks at, and which it flags."""

from pathlib import Path
from shutil import copytree

import pytest

import hark
from hark.decode.second_look import LONGEST, SecondLook
from hark.decode.translation import Flag, Sentence, Translation
from hark.models import find_exact, shipped_folder
from hark.text.segments import TextLayout

SURE, UNSURE = -0.01, -2.0
"""Scores of sentences of five tokens; the first is below the doubt from which a sentence is looked at."""


def translation(*sources: str, score: float | None = UNSURE, flags: tuple[Flag, ...] = ()) -> Translation:
    sentences = tuple(Sentence(each, each.upper(), score, 5, flags) for each in sources)
    return Translation(" ".join(sources), "", sentences, TextLayout(("",) * (len(sources) + 1), sources))


LOOK = SecondLook(0.6, lambda text: "http" in text)


def test_sentences_that_the_reverse_model_does_not_recognise_are_flagged() -> None:
    done = [translation("A cat.", "A wrong cat."), translation("A long one.")]
    pairs = LOOK.uncertain(done)
    # The translation comes first: it is what the reverse model reads.
    assert pairs == {
        (0, 0): ("A CAT.", "A cat."),
        (0, 1): ("A WRONG CAT.", "A wrong cat."),
        (1, 0): ("A LONG ONE.", "A long one."),
    }
    found = LOOK.flag(done, dict(zip(pairs, [1.0, 3.0, None], strict=True)))
    assert [each.flags for each in found] == [("unsure",), ()]
    assert [each.flags for each in found[0].sentences] == [(), ("unsure",)]
    assert str(found[0].reasons[0]) == "low confidence (reverse model 5%)"


@pytest.mark.parametrize(
    "settled",
    [
        translation("A wrong cat.", score=SURE),
        translation("A wrong cat.", score=None),
        translation("A wrong cat.", flags=("phrase",)),
        translation("A wrong cat.", flags=("tidied",)),
        translation("A wrong cat.", flags=("unsure",)),
        translation("a wrong cat, typed carelessly"),
        translation("A wrong cat at https://example.org."),
        translation("A wrong cat. " * LONGEST),
    ],
    ids=["sure", "kept", "phrase", "tidied", "flagged", "careless", "address", "long"],
)
def test_other_sentences_cost_nothing(settled: Translation) -> None:
    assert LOOK.uncertain([settled]) == {}


@pytest.mark.slow
def test_the_shipped_models_check_each_other() -> None:
    model = hark.load("en-de")
    text = "We have exorcised the ghosts of the past."
    assert model.translate(text, check=False).doubtful == ()
    assert model.translate(text).doubtful == ("unsure",)
    assert [each.doubtful for each in model.translate([text, "Good morning."])] == [("unsure",), ()]
    reverse = model.reverse("en", "de")
    assert reverse is not None
    assert reverse.bundle.folder == shipped_folder() / "de-en"


def test_a_neighbour_of_the_model_comes_before_installed_ones(tmp_path: Path) -> None:
    copytree(shipped_folder() / "de-en", tmp_path / "back")
    assert find_exact(("de", "en"), beside=tmp_path / "forth") == tmp_path / "back"
    assert find_exact(("de", "en"), beside=tmp_path / "none" / "forth") == shipped_folder() / "de-en"
    assert find_exact(("de", "fr"), beside=tmp_path / "forth") is None
