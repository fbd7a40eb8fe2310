"""Words by the conventions of the Penn Treebank."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.parse.words import split_words


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("Don't panic!", "Do n't panic !"),
        ('He said, "I can\'t go."', 'He said , " I ca n\'t go . "'),
        ("Mr. Smith paid $12,500.50 (7:30 p.m.) to IBM's.", "Mr. Smith paid $ 12,500.50 ( 7:30 p.m. ) to IBM 's ."),
        ("See https://x.org/a?b=1, please...", "See https://x.org/a?b=1 , please ..."),
        ("Write to a.b@c.org.", "Write to a.b@c.org ."),
        ("It’s John's friends' house; we'll go.", "It ’s John 's friends ' house ; we 'll go ."),
        ("I cannot, e-mail fails", "I can not , e-mail fails"),
        ("U.S. stocks rose.", "U.S. stocks rose ."),
        ("What?!", "What ? !"),
        ("", ""),
    ],
)  # fmt: skip
def test_sentences(sentence: str, words: str) -> None:
    assert " ".join(split_words(sentence)) == words


@given(st.text(alphabet="ab1 .,:;!?'\"()-…@$n't’/https", max_size=40))
def test_nothing_is_lost(sentence: str) -> None:
    assert "".join(split_words(sentence)) == "".join(sentence.split())


def test_split_text_stays_split() -> None:
    words = "The cat , it seems , does n't like Mr. Smith 's dog .".split()  # noqa: SIM905
    assert split_words(" ".join(words)) == words
