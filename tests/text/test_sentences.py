"""Sentence splitting is lossless for any text."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.errors import HarkError
from hark.text.sentences import WINDOW, join_across, segment, split_sentences


@given(st.text(max_size=60), st.sampled_from(["en", "de", "fr", "zh", "xx", "", "pt-BR"]))
def test_pieces_join_to_the_text(text: str, language: str) -> None:
    assert "".join(split_sentences(text, language)) == text


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("en", ["Dr. Smith went to Washington. ", "He arrived at 3.5 p.m. on Monday!  ", "Really?"]),
        ("de", ["Am 3. Oktober ist z. B. Feiertag. ", "Das gilt überall."]),
        ("zh", ["你好。", "世界！"]),
        ("en", [""]),
    ],
)
def test_sentences(language: str, sentences: list[str]) -> None:
    assert split_sentences("".join(sentences), language) == [each for each in sentences if each]


def test_a_no_break_space_after_an_initial(capfd: pytest.CaptureFixture[str]) -> None:
    """Sentencex itself panics here, on stderr."""
    text = "J.\u00a0S. Bach war da. Er\u202fging."
    assert split_sentences(text, "en") == ["J.\u00a0S. Bach war da. ", "Er\u202fging."]
    assert capfd.readouterr().err == ""


def test_lone_surrogates_are_kept() -> None:
    assert split_sentences("One \ud83d. Two.", "en") == ["One \ud83d. ", "Two."]


def test_a_lossy_split_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    import sentencex

    monkeypatch.setattr(sentencex, "segment", lambda _language, text: [text[:3]])
    assert split_sentences("One. Two.", "en") == ["One. Two."]


def test_missing_sentencex_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentencex", None)
    with pytest.raises(HarkError, match="pip install sentencex"):
        split_sentences("One. Two.", "en")


def test_join_across_rejoins_spans() -> None:
    pieces = ["See {a. ", "B} now. ", "Go. ", "On."]
    assert join_across(pieces, [(4, 10)]) == ["See {a. B} now. ", "Go. ", "On."]
    assert join_across(pieces, [(0, 8)]) == pieces  # a boundary at the edge of a span does not split it
    assert join_across(pieces, []) == pieces


@pytest.mark.parametrize("end", [". ", "! ", '." ', "\u3002"])
def test_a_long_text_is_split_like_a_short_one(end: str) -> None:
    sentences = [f"Mr. Smith of sentence {number} goes home, and then nobody knows{end}" for number in range(400)]
    text = "".join(sentences)
    assert len(text) > 4 * WINDOW
    assert split_sentences(text, "en") == segment(text, "en")


@pytest.mark.parametrize("unit", ["word ", "x", "\u4e2d", ". ", "<!--", "  \u200b"])
def test_text_without_sentences_is_cut_into_windows(unit: str) -> None:
    text = unit * (20_000 // len(unit))
    pieces = split_sentences(text, "en")
    assert "".join(pieces) == text
    assert max(map(len, pieces)) <= WINDOW
    if unit == "word ":
        assert all(piece.endswith(" ") for piece in pieces)
