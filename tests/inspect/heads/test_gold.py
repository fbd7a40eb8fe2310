"""Reading links, the alignment error rate, and lossless detokenisation."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.errors import UserError
from hark.inspect.heads.gold import detokenise, error_rate, read_gold

WORDS = [(["a", "b", "c"], ["x", "y"]), (["d"], ["z"])]


def links(matrix: np.ndarray) -> set[tuple[int, int]]:
    return {(int(s), int(t)) for t, s in np.argwhere(matrix)}


def written(folder: Path, *lines: str) -> Path:
    path = folder / "gold.talp"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_sure_and_possible_links_count_from_one(tmp_path: Path) -> None:
    first, second = read_gold(written(tmp_path, "1-1 3p2 2?2", ""), WORDS)
    assert links(first.sure_TS) == {(0, 0)}
    assert links(first.possible_TS) == {(0, 0), (2, 1), (1, 1)}
    assert first.sure_TS.shape == (2, 3)
    assert not second.possible_TS.any()


def test_links_count_from_zero_if_there_is_a_zero(tmp_path: Path) -> None:
    first, second = read_gold(written(tmp_path, "2-1", "0-0"), WORDS)
    assert links(first.sure_TS) == {(2, 1)}
    assert links(second.sure_TS) == {(0, 0)}


def test_reversed_links(tmp_path: Path) -> None:
    first, _ = read_gold(written(tmp_path, "2-3", "1-1"), WORDS, reversed_=True)
    assert links(first.sure_TS) == {(2, 1)}


@pytest.mark.parametrize(
    ("lines", "reversed_", "words"),
    [
        (
            ["2-3", "1-1"],
            False,
            ":1: link 2-3 is out of range: the pair has 3 source and 2 target words.*add --gold-rev",
        ),
        (["3-2", "1-1"], True, ":1: link 3-2 .*remove --gold-reversed"),
        (["1-1", "1_1"], False, ":2: '1_1' is not a link; use the format 1-1 2p3"),
        (["1-1"], False, ": 1 lines for 2 sentence pairs; give one line per pair"),
    ],
)
def test_invalid_links_are_reported(lines: list[str], reversed_: bool, words: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=words):
        read_gold(written(tmp_path, *lines), WORDS, reversed_)


def test_the_error_rate_of_an_example() -> None:
    """Sure: {a, b}; possible: {a, b, c, d}; predicted: {a, c, e}. (1 + 2) of (3 + 2)."""
    assert error_rate(sure_hits=1, possible_hits=2, links=3, sure=2) == pytest.approx(1 - 3 / 5)


numbers = st.integers(0, 30)


@given(st.sets(numbers), st.sets(numbers), st.sets(numbers))
def test_properties_of_the_error_rate(sure: set[int], more: set[int], predicted: set[int]) -> None:
    possible = sure | more

    def rate(links: set[int]) -> float:
        return error_rate(len(links & sure), len(links & possible), len(links), len(sure))

    assert -1e-12 <= rate(predicted) <= 1
    assert rate(sure | (predicted & possible)) == pytest.approx(0)  # all sure links, and only possible ones
    if predicted and not predicted & possible:
        assert rate(predicted) == 1
    if predicted and predicted - possible:
        assert rate(predicted & possible) <= rate(predicted) + 1e-12  # removing wrong links never hurts


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("yesterday 's sitting ( of today ) , at 9 % .", "yesterday's sitting (of today), at 9%."),
        ("' Legal drugs ' are a problem !", "'Legal drugs' are a problem!"),
        ('er sagte : " Nein " ; so .', 'er sagte: "Nein"; so.'),
    ],
)
def test_detokenise(words: str, text: str) -> None:
    assert detokenise(words.split()) == text


@given(st.lists(st.sampled_from(["Haus", ",", ".", "(", ")", '"', "'", "'s", "%", "a-b", "„", "é"]), max_size=12))
def test_no_character_is_lost(words: list[str]) -> None:
    assert detokenise(words).replace(" ", "") == "".join(words)
