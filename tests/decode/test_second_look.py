"""The second look by the reverse model: which sentences it looks at, and which it flags."""

from collections.abc import Iterable, Sequence
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


class Reverse:
    """Finds the sentences that contain "wrong" unlikely, and cannot take those that contain "long"."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> Iterable[float | None]:
        self.asked += pairs
        return [None if "long" in source else 3.0 if "wrong" in source else 1.0 for _, source in pairs]

    def review(self, *translations: Translation) -> list[Translation]:
        return SecondLook(self, 0.6, lambda text: "http" in text).review(translations)


def test_sentences_that_the_reverse_model_does_not_recognise_are_flagged() -> None:
    reverse = Reverse()
    found = reverse.review(translation("A cat.", "A wrong cat."), translation("A long one."), translation("Wrong?"))
    assert [each.flags for each in found] == [("unsure",), (), ()]
    assert [each.flags for each in found[0].sentences] == [(), ("unsure",)]
    assert str(found[0].reasons[0]) == "low confidence (reverse model 5%)"
    assert reverse.asked[0] == ("A CAT.", "A cat.")  # the translation comes first: it is what the reverse model reads
    assert len(reverse.asked) == 4  # all in one call


@pytest.mark.parametrize(
    "settled",
    [
        translation("A wrong cat.", score=SURE),
        translation("A wrong cat.", score=None),
        translation("A wrong cat.", flags=("phrase",)),
        translation("A wrong cat.", flags=("tidied",)),
        translation("a wrong cat, typed carelessly"),
        translation("A wrong cat at https://example.org."),
        translation("A wrong cat. " * LONGEST),
    ],
    ids=["sure", "kept", "phrase", "tidied", "careless", "address", "long"],
)
def test_other_sentences_cost_nothing(settled: Translation) -> None:
    reverse = Reverse()
    assert reverse.review(settled) == [settled]
    assert reverse.asked == []


def test_a_known_earlier_warning_is_not_repeated() -> None:
    known = translation("A wrong cat.", flags=("unsure",))
    assert Reverse().review(known) == [known]


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
