"""Scores and signatures are exactly sacreBLEU's."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from hark.evaluate.held_out import HeldOutSet
from hark.evaluate.measures import SplitCompounds, choose_tokenisation, make_measures
from hark.evaluate.scores import EDGES, score_lengths, score_sentences, score_set
from tests.evaluate.material import GOOD, POOR, REFERENCES, SET, small_evaluation

ORACLES = {"bleu": BLEU(), "chrf2": CHRF(), "ter": TER()}


@pytest.mark.parametrize("resamples", [0, 50])
def test_scores_and_signatures_are_those_of_sacrebleu(resamples: int) -> None:
    for name, oracle in ORACLES.items():
        scores, signature = score_set(SET, [GOOD, POOR], make_measures("13a")[name], resamples)  # type: ignore[index]
        expected = [oracle.corpus_score(texts, [REFERENCES]).score for texts in (GOOD, POOR)]
        assert [score.value for score in scores] == expected
        assert signature == str(oracle.get_signature())


def test_paper_bleu_splits_words_at_hyphens() -> None:
    def prepare(line: str) -> str:
        tokens = BLEU(tokenize="13a").tokenizer(line)
        return re.sub(r"(\S)-(\S)", r"\1 ##AT##-##AT## \2", tokens)

    scores, signature = score_set(SET, [GOOD], make_measures("13a")["paper_bleu"], 0)
    oracle = BLEU(tokenize="none", smooth_method="none", force=True)
    expected = oracle.corpus_score([prepare(each) for each in GOOD], [[prepare(each) for each in REFERENCES]])
    assert scores[0].value == expected.score != BLEU().corpus_score(GOOD, [REFERENCES]).score
    assert "tok:13a+split-at-hyphens|smooth:none" in signature


def test_words_are_split_at_hyphens_inside_them_only() -> None:
    split = SplitCompounds(str)
    assert split("die E-Mail-Firma - und -x y-") == "die E ##AT##-##AT## Mail ##AT##-##AT## Firma - und -x y-"
    assert split("A-B-C") == "A ##AT##-##AT## B-C"  # as in the convention


def test_intervals_and_significance() -> None:
    same, _ = score_set(SET, [GOOD, GOOD], make_measures("13a")["bleu"], 200)
    assert (same[0].p, same[1].p) == (None, 1.0)
    louder = tuple(each.upper() for each in GOOD)
    assert score_set(SET, [GOOD, louder], make_measures("13a")["ter"], 200)[0][1].p == 1.0  # TER ignores case
    many = HeldOutSet("many", SET.sources * 25, SET.references * 25)
    first, other = score_set(many, [GOOD * 25, POOR * 25], make_measures("13a")["bleu"], 200)[0]
    assert other.p is not None
    assert other.p < 0.01
    assert first.confidence is not None
    assert 0 < first.confidence < first.value
    again = score_set(many, [GOOD * 25, POOR * 25], make_measures("13a")["bleu"], 200)[0]
    assert [first, other] == again  # the seed is fixed
    assert score_set(SET, [GOOD, POOR], make_measures("13a")["bleu"], 0)[0][1].p is None


def test_each_length_is_scored_by_its_own_sentences() -> None:
    groups = score_lengths(SET, GOOD, "13a", "13a")
    assert [(group.name, group.sentences) for group in groups] == [("1–5", 2), ("11–15", 1), ("21–30", 1)]
    for group, lines in zip(groups, ([0, 3], [1], [2]), strict=True):
        texts, references = [GOOD[at] for at in lines], [[REFERENCES[at] for at in lines]]
        assert group.bleu == BLEU().corpus_score(texts, references).score
        assert group.chrf2 == CHRF().corpus_score(texts, references).score


@given(st.lists(st.integers(0, 80), min_size=1, max_size=20))
def test_every_sentence_is_in_one_group(lengths: list[int]) -> None:
    lines = tuple("word " * length for length in lengths)
    groups = score_lengths(HeldOutSet("x", lines, lines), lines, "13a", "13a")
    assert sum(group.sentences for group in groups) == len(lengths)
    for group in groups:
        inside = [each for each in lengths if group.shortest <= max(each, 1) <= (group.longest or 80)]
        assert len(inside) == group.sentences
    assert len(groups) <= len(EDGES) + 1


def test_sentences_are_scored_by_chrf() -> None:
    assert score_sentences(POOR, REFERENCES) == [
        CHRF().sentence_score(text, [reference]).score for text, reference in zip(POOR, REFERENCES, strict=True)
    ]


def test_the_tokeniser_depends_on_the_language() -> None:
    assert [choose_tokenisation(each) for each in ("de", "zh-Hans", "ja", "")] == ["13a", "zh", "char", "13a"]
    assert "tok:char" in score_set(SET, [GOOD], make_measures("char")["bleu"], 0)[1]


def test_an_evaluation_has_all_metrics_of_all_systems() -> None:
    result = small_evaluation()
    assert list(result.signatures) == ["bleu", "chrf2", "ter", "paper_bleu", "lower_bleu"]
    (of_set,) = result.sets
    good, poor = of_set.systems
    assert good.scores["bleu"].value > poor.scores["bleu"].value
    assert good.scores["ter"].value < poor.scores["ter"].value
    assert good.output.speed is None
