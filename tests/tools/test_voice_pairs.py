"""The text of pairs of languages: lines joined into one, and how they address somebody."""

import random

import pytest
from tools.voice_pairs import find_address, join_lines
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


@pytest.mark.parametrize(
    ("source", "target", "languages", "address"),
    [
        ("Could you help me?", "Könnten Sie mir helfen?", ("en", "de"), "formal"),
        ("Could you help me?", "Könntest du mir helfen?", ("en", "de"), "informal"),
        ("They can help you.", "Sie können dir helfen.", ("en", "de"), "informal"),
        ("They help.", "Sie helfen.", ("en", "de"), None),
        ("Where is your coat?", "Où est ton manteau ?", ("en", "fr"), "informal"),
        ("Könnten Sie mir helfen?", "Pouvez-vous m'aider ?", ("de", "fr"), "formal"),
        ("Is this yours?", "¿Esto es suyo, o es de usted?", ("en", "es"), "formal"),
        ("I will call you.", "La chiamerò; posso contattarLa?", ("en", "it"), "formal"),
        ("You and he", "u en jij", ("en", "nl"), None),
        ("Kun je me helpen?", "Could you help me?", ("nl", "en"), None),
    ],
)
def test_address(source: str, target: str, languages: tuple[str, str], address: str | None) -> None:
    assert find_address(source, target, languages) == address
