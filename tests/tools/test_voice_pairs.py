"""The text of pairs of languages: lines joined into one."""

import random

from tools.voice_pairs import join_lines
from tools.voice_text import split_texts


def test_lines_are_joined_within_a_text() -> None:
    pairs = [(f"a{n}.", f"b{n}.") for n in range(20)]
    joined = join_lines([*pairs[:9], None, *pairs[9:]], random.Random(1), 99, 99)
    assert len(joined) > 3
    for source, target in joined:
        numbers = [int(each[1:-1]) for each in source.split()]
        assert numbers == list(range(numbers[0], numbers[-1] + 1))
        assert target == source.replace("a", "b")
        assert (numbers[0] < 9) == (numbers[-1] < 9)
    assert len(join_lines(pairs, random.Random(1), 2, 99)) == 2
    assert join_lines(pairs, random.Random(1), 99, 4) == []


def test_empty_lines_divide_texts() -> None:
    row = list("abcdefg")
    assert list(split_texts([row, row, [""], [""], row])) == [[row, row], [row]]
