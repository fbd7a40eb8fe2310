"""Text to tokens and back, as the tokenizer does it."""

from hypothesis import given
from hypothesis import strategies as st

from hark.decode.coder import Coder
from hark.text.normalise import normalise
from tests.decode.stub import tokenizer

CODER = Coder(tokenizer(), tokenizer())


@given(st.text(max_size=30))
def test_as_the_tokenizer_does(text: str) -> None:
    tokens = CODER.encode(text)
    assert tokens == tokenizer().encode([text])[0]
    assert CODER.decode(tuple(tokens)) == normalise(text)


@given(st.lists(st.integers(0, 699), max_size=20))
def test_whatever_a_model_says_is_one_line(tokens: list[int]) -> None:
    text = CODER.decode(tuple(tokens))
    assert text == " ".join(text.split())
    if "\ufffd" not in text:  # broken bytes are replaced, by both, but not always by as many marks
        assert text == " ".join(tokenizer().decode([tokens])[0].split())


@given(st.text(max_size=30), st.integers(1, 40))
def test_what_fits(text: str, limit: int) -> None:
    if CODER.fits(text, limit):
        assert len(CODER.encode(text)) <= limit
    else:
        assert len(CODER.encode(text)) > limit


def test_unknown_characters() -> None:
    assert CODER.unknown("The cat is 5 € (yes).\u00a0\t\ufeff") == ""
    assert set(CODER.unknown("a 👍 и ł\u2581 \ud800 „»—₴´")) == set("👍иł\u2581\ud800")
    assert CODER.unknown("Ba\u0308r") == ""
