"""The second look by the reverse model: which sentences it looks at, and which it flags."""

from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

import hark
from hark.bundle import Bundle, write_facts
from hark.config import DecodeConfig
from hark.engine.interface import Hypotheses, Hypothesis, Request, ScoreRequest
from hark.models import find_pair, shipped_folder
from hark.text.segments import TextLayout
from hark.text.vocabulary import Coder
from hark.translate.attempts import whole_piece
from hark.translate.piece import Options, find_items, has_unseen
from hark.translate.readings import Candidate, best_candidate
from hark.translate.second_look import MAX_CHARS, MAX_WORST_NLL, NLL, SecondLook, look_again
from hark.translate.translation import Flag, Sentence, Translation
from tests.translate.bundles import make_bundle
from tests.translate.stub import hypothesis, tokenizer

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


TEXT = "The cat sees a small house."


def candidate(text: str, log_prob: float = -4.0, search: DecodeConfig | None = None) -> Candidate:
    attempt = whole_piece(TEXT, (), search or DecodeConfig(beam=3), inner=False)
    requests = attempt.requests(CODER, False)
    return best_candidate(attempt, requests, [(hypothesis(text, requests[0], score=log_prob),)], CODER, 1)


CODER = Coder(tokenizer(), tokenizer())
Step = Sequence[Request]


def look(best: Candidate) -> Generator[Step, Sequence[Hypotheses], tuple[Candidate, NLL | None]]:
    return look_again(TEXT, best, CODER, (False, None, None, None), ("en", "de"), protect=False)


def scored(*log_probs: float) -> Hypotheses:
    return (Hypothesis((), sum(log_probs), sum(log_probs), complete=True, log_probs=log_probs),)


def finish(
    steps: Generator[Step, Sequence[Hypotheses], tuple[Candidate, NLL | None]], answers: list[Hypotheses]
) -> Any:
    with pytest.raises(StopIteration) as end:
        steps.send(answers)
    return end.value.value


def test_a_translation_that_is_recognised_stays() -> None:
    best = candidate("Die Katze sieht das Haus.")
    steps = look(best)
    (asked,) = next(steps)
    assert isinstance(asked, ScoreRequest)
    # The reverse direction reads the translation, and is asked for the source.
    assert tokenizer().decode([asked.source]) == [best.text]
    assert tokenizer().decode([asked.translation]) == [TEXT]
    assert finish(steps, [scored(-1.0, -2.0, -3.0)]) == (best, NLL(2.0, 2.0))


def test_of_others_the_one_is_chosen_that_both_directions_find_likely() -> None:
    best = candidate("Die Katze ist alt.")
    steps = look(best)
    next(steps)
    (search,) = steps.send([scored(-9.0, -9.0, -9.0)])
    assert (search.search.beam, search.search.nbest) == (6, 3)
    texts = ("Die Katze ist alt.", "Das Haus sieht die Katze.", "Die Katze sieht das Haus.")
    asked = steps.send([tuple(hypothesis(text, search, score=-4.0 - rank) for rank, text in enumerate(texts))])
    assert [tokenizer().decode([each.source])[0] for each in asked] == [*texts[1:]]
    chosen, nll = finish(steps, [scored(-8.0, -8.0, -8.0), scored(-1.0, -1.0, -1.0)])
    assert (chosen.text, nll) == (texts[2], NLL(1.0, 1.0))


def test_a_slightly_more_likely_source_does_not_outweigh_the_translation_itself() -> None:
    best = candidate("Die Katze ist alt.", -1.0)
    steps = look(best)
    next(steps)
    (search,) = steps.send([scored(-9.0, -9.0, -9.0)])
    steps.send([(hypothesis("Das Haus ist alt.", search, score=-40.0),)])
    assert finish(steps, [scored(-8.0, -8.0, -8.0)]) == (best, NLL(9.0, 9.0))


@pytest.mark.parametrize(
    ("search", "answer"),
    [
        (DecodeConfig(), ()),
        (DecodeConfig(beam=1), scored(-9.0, -9.0, -9.0)),
        (DecodeConfig(sample=True), scored(-9.0, -9.0, -9.0)),
    ],
    ids=["too long", "greedy", "sampled"],
)
def test_no_other_is_searched_for(search: DecodeConfig, answer: Hypotheses) -> None:
    best = candidate("Die Katze ist alt.", search=search)
    steps = look(best)
    next(steps)
    assert finish(steps, [answer])[0] is best


def test_long_sentences_are_not_searched_for_again() -> None:
    best = candidate("Die Katze ist alt.")
    steps = look_again("A cat sees it. " * 9, best, CODER, (False, None, None, None), ("en", "de"), protect=False)
    next(steps)
    assert finish(steps, [scored(-9.0, -9.0, -9.0)]) == (best, NLL(9.0, 9.0))


def test_numbers_and_units_are_looked_at_but_not_what_the_model_never_sees() -> None:
    def unseen(text: str) -> bool:
        return has_unseen(find_items(text, CODER, Options()))

    assert not unseen("Take 5 ml at 8.30, at most 2,500 mg in 24 hours.")
    assert all(map(unseen, ("See https://example.org.", "It costs \u20ac84.50.", "Press <b>OK</b>.")))


@pytest.mark.slow
@pytest.mark.parametrize("source", ["en", None])
@pytest.mark.parametrize("name", ["en-de", "seven"])
def test_a_model_of_both_directions_looks_itself(name: str, source: str | None) -> None:
    model, looked = hark.load(name), 0
    texts = [
        "We have exorcised the ghosts of the past.",
        "The bailiff turned up out of the blue.",
        "I'm knackered, let's call it a day.",
        "The cat sleeps.",
    ]
    plain = model.translate(texts, source=source, target="de", check=False)
    for before, found in zip(plain, model.translate(texts, source=source, target="de"), strict=True):
        if LOOK.uncertain([before]):
            (nll,) = model.nll([(found.text, found.source)], source="de", target="en")
            assert nll is not None
            assert ("unsure" in found.flags) == (nll.worst > MAX_WORST_NLL)
            looked += 1
        else:
            assert found == before
    assert looked > 1


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
