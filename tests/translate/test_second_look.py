"""The second look by the reverse model: which sentences it looks at, and which it flags."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import pytest

import hark
from hark.bundle import Bundle, write_facts
from hark.models import find_pair, shipped_folder
from hark.text.segments import TextLayout
from hark.translate.second_look import MAX_CHARS, NLL, SecondLook
from hark.translate.translation import Flag, Sentence, Translation
from tests.translate.bundles import make_bundle

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
    found = LOOK.flag(done, dict(zip(pairs, [NLL(1.0, 2.0), NLL(1.0, 6.0), None], strict=True)))
    assert [each.flags for each in found] == [("unsure",), ()]
    assert [each.flags for each in found[0].sentences] == [(), ("unsure",)]
    assert str(found[0].reasons[0]) == "low confidence (reverse model 0.2%)"


def test_a_sentence_that_it_recognises_loses_the_warning() -> None:
    done = translation("A small cat.", flags=("retried", "unsure"))
    pairs = LOOK.uncertain([done])
    (found,) = LOOK.flag([done], dict.fromkeys(pairs, NLL(0.5, 3.0)))
    assert (found.flags, found.doubtful, found.reasons) == (("retried",), (), ())


def test_the_least_likely_tokens_count() -> None:
    assert NLL.of_tokens([-0.5, -4.0, -0.5, -3.0, -2.0]) == (2.0, 3.0)
    assert NLL.of_tokens([-1.0, -2.0]) == (1.5, 1.5)


@pytest.mark.parametrize(
    "settled",
    [
        translation("A wrong cat.", score=SURE),
        translation("A wrong cat.", score=None),
        translation("A wrong cat.", flags=("phrase",)),
        translation("A wrong cat.", flags=("tidied",)),
        translation("a wrong cat, typed carelessly"),
        translation("A wrong cat at https://example.org."),
        translation("A wrong cat. " * MAX_CHARS),
    ],
    ids=["sure", "kept", "phrase", "tidied", "careless", "address", "long"],
)
def test_other_sentences_cost_nothing(settled: Translation) -> None:
    assert LOOK.uncertain([settled]) == {}


@pytest.mark.slow
@pytest.mark.parametrize("source", ["en", None])
@pytest.mark.parametrize("name", ["en-de", "seven"])
def test_a_model_of_both_directions_checks_itself(
    name: str, source: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, asked = hark.load(name), []

    def nll(pairs: Iterable[tuple[str, str]], source: str, target: str) -> list[NLL]:
        asked.append((source, target))
        return [NLL(3.0, 9.0) for _ in pairs]

    monkeypatch.setattr(model, "nll", nll)
    text = "We have exorcised the ghosts of the past."
    plain = model.translate(text, source=source, target="de", check=False)
    found = model.translate(text, source=source, target="de")
    assert found.text == plain.text
    if LOOK.uncertain([plain]):
        assert (found.doubtful, asked) == (("unsure",), [("de", "en")])


def test_a_model_of_one_direction_is_checked_by_one_of_the_other(tmp_path: Path) -> None:
    forth, back = make_bundle(tmp_path / "forth"), make_bundle(tmp_path / "back", "de", "en")
    reverse = hark.load(forth).reverse("en", "de")
    assert reverse is not None
    assert reverse.bundle.folder == back


def test_a_neighbour_of_the_model_comes_before_installed_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = make_bundle(tmp_path / "installed" / "back", "de", "en")
    monkeypatch.setenv("HARK_MODELS", str(tmp_path / "installed"))
    neighbour = make_bundle(tmp_path / "own" / "back", "de", "en")
    assert find_pair(("de", "en"), beside=tmp_path / "own" / "forth") == neighbour
    assert find_pair(("de", "en"), beside=tmp_path / "none" / "forth") == installed
    assert find_pair(("de", "xx"), beside=tmp_path / "own" / "forth") is None


def test_a_model_of_exactly_the_pair_comes_before_one_of_several(tmp_path: Path) -> None:
    assert find_pair(("de", "en"), beside=tmp_path / "forth") == shipped_folder() / "seven"
    back = make_bundle(tmp_path / "back", "de", "en")
    assert find_pair(("de", "en"), beside=tmp_path / "forth") == back


@pytest.mark.slow
def test_a_model_of_one_direction_with_language_tags_does_not_check_itself(tmp_path: Path) -> None:
    """As one that was fine-tuned from a model of several."""
    bundle = Bundle.open(copytree(shipped_folder() / "seven", tmp_path / "tuned"))
    write_facts(bundle, replace(bundle.facts, pairs=(("en", "de"),)))
    tuned = hark.load(bundle.folder)
    reverse = tuned.reverse("en", "de")
    assert reverse is not None
    assert reverse.bundle.folder == shipped_folder() / "seven"
    assert tuned.translate("We have exorcised the ghosts of the past.").text
