"""Parsing with an untrained model: every sentence gets a tree over its own words, in order."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.errors import UserError
from hark.parse.parser import Parser, split_words
from hark.translate.load import Loaded
from tests.parse.parsers import make_parser, treebank
from tests.translate.bundles import make_bundle

SENTENCES = [["The", "cat", "sat", "."], ["Yes"], ["(", "👩‍👧", "-LRB-", ")"], ["a"] * 9]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    return Loaded(make_parser(tmp_path_factory.mktemp("models") / "parser"), "torch", "cpu")


def test_trees_have_exactly_the_words_of_their_sentences(loaded: Loaded) -> None:
    parsed = list(Parser(loaded, beam=2).parse(SENTENCES))
    assert [each.tree.words() for each in parsed] == SENTENCES
    assert all(each.score < 0 for each in parsed)
    tags = {leaf.label for each in parsed for leaf in each.tree.leaves()}
    assert tags <= {leaf.label for tree in treebank() for leaf in tree.leaves()}


def test_a_parser_without_tags(tmp_path: Path) -> None:
    untagged = Loaded(make_parser(tmp_path / "parser", tag="XX"), "torch", "cpu")
    parsed = list(Parser(untagged, beam=2).parse(SENTENCES))
    assert [each.tree.words() for each in parsed] == SENTENCES
    assert {leaf.label for each in parsed for leaf in each.tree.leaves()} == {"XX"}


def test_a_sentence_that_is_too_long_is_named(loaded: Loaded) -> None:
    with pytest.raises(UserError, match=r"sentence 2 \(b b b b b \.\.\.\): "):
        list(Parser(loaded, beam=1).parse([["a"], ["b"] * 80]))


def test_a_translator_is_not_a_parser(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="en-de: not a parser; train one"):
        Parser(Loaded(make_bundle(tmp_path / "en-de"), "torch", "cpu"))


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
