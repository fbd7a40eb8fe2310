"""The Moses-like tokeniser; expected tokens are from sacremoses on the lower-cased line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from hark.evaluate.measures import MosesTokens, make_measures
from hark.evaluate.scores import score_set
from tests.evaluate.material import GOOD, REFERENCES, SET

KNOWN = [
    ("fr", "Un homme, l'enfant et 3.5 kg (T-shirt) !", "un homme , l' enfant et 3.5 kg ( t-shirt ) !"),
    ("fr", "Aujourd'hui, d’hommes.", "aujourd' hui , d' hommes ."),
    ("en", "Don't take the man's 1,000 things...", "don 't take the man 's 1,000 things ..."),
    ("de", "Ein „Hund“ läuft – schnell.", 'ein " hund " läuft - schnell .'),
    ("de", "Ein Mann's Hut: z.B. E-Mail.", "ein mann ' s hut : z.b. e-mail ."),
    ("de", "Er geht. Sie kommt.", "er geht. sie kommt ."),  # the text is lower-cased first
    ("de", "", ""),
]


@pytest.mark.parametrize(("language", "line", "tokens"), KNOWN)
def test_known_lines(language: str, line: str, tokens: str) -> None:
    assert MosesTokens(language)(line) == tokens


@given(st.text(max_size=40), st.sampled_from(["de", "en", "fr"]))
def test_only_spaces_and_case_and_ascii_change(line: str, language: str) -> None:
    from hark.evaluate.measures import ASCII

    before = "".join(line.lower().translate(ASCII).split())
    assert "".join(MosesTokens(language)(line).split()) == before


def test_the_metric_is_bleu_of_those_tokens() -> None:
    moses = MosesTokens("de")
    (score,), signature = score_set(SET, [[each.upper() for each in GOOD]], make_measures("13a", "de")["lower_bleu"], 0)
    oracle = BLEU(tokenize="none", smooth_method="none", force=True)
    expected = oracle.corpus_score([moses(each) for each in GOOD], [[moses(each) for each in REFERENCES]])
    assert score.value == expected.score
    assert "case:lc" in signature
    assert "tok:moses-de-without-abbreviations|smooth:none" in signature
