"""The first sentence of a text of any size is found quickly, or refused in one line."""

import pytest

from hark.errors import UserError
from hark.inspect import beginning
from hark.inspect.beginning import BEGINNING, LONGEST, first_sentence


def test_the_first_of_several_sentences_with_a_note() -> None:
    assert first_sentence("The cat sees.", "en") == ("The cat sees.", [])
    sentence, notes = first_sentence(" \n The cat sees. The tree runs here.\nMore.", "en")
    assert sentence == "The cat sees."
    assert notes == ["the text has several sentences; this page shows the first"]


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_no_text(text: str) -> None:
    with pytest.raises(UserError, match=r"^no text; give a sentence$"):
        first_sentence(text, "en")


@pytest.mark.parametrize("text", ["a" * 5_000_000, "the cat sees a house and " * 200_000, "x" * (LONGEST + 1)])
def test_a_long_sentence_is_refused_with_the_limit(text: str) -> None:
    with pytest.raises(UserError, match="the first sentence is longer than 1,000 characters, the limit of a page"):
        first_sentence(text, "en")


def test_the_longest_allowed_sentence_is_accepted() -> None:
    assert first_sentence("x" * LONGEST, "en") == ("x" * LONGEST, [])


def test_only_the_beginning_of_a_text_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def split(text: str, language: str) -> list[str]:
        assert language == "en"
        seen.append(len(text))
        return [text[:13], text[13:]]

    monkeypatch.setattr(beginning, "split_sentences", split)
    assert first_sentence("The cat sees. " * 400_000, "en")[0] == "The cat sees."
    assert seen == [BEGINNING]
