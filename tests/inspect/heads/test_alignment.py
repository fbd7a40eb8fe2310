"""Alignment by handmade attention: error rates against counting, and the best heads against exhaustive search."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.engine.interface import AlignmentHeads
from hark.errors import UserError
from hark.inspect.attention import Head
from hark.inspect.heads.alignment import (
    ROUNDS,
    STEPS,
    Gold,
    Linked,
    detokenise,
    error_rate,
    link_words,
    measure_alignment,
    read_gold,
)

LAYERS, HEADS = 2, 3
WORDS = [(["a", "b", "c"], ["x", "y"]), (["d"], ["z"])]


def random_pairs(seed: int, pairs: int = 10) -> list[Linked]:
    chance = np.random.default_rng(seed)
    found = []
    for _ in range(pairs):
        t, s = chance.integers(2, 7, 2)
        possible = chance.random((t, s)) < 0.4
        gold = Gold(possible & (chance.random((t, s)) < 0.7), possible)
        found.append(Linked({step: chance.random((LAYERS, HEADS, t, s)).astype(np.float32) for step in STEPS}, gold))
    return found


def counted_rate(pairs: list[Linked], step: str, heads: list[tuple[int, int]]) -> float:
    """The error rate by its definition, with sets of links."""
    hits = made = sure = 0
    for pair in pairs:
        weights = sum(pair.weights_LHTS[step][layer, number] for layer, number in heads)  # type: ignore[index]
        links = {(t, int(row.argmax())) for t, row in enumerate(weights)}
        sure_links, possible = (
            set(map(tuple, np.argwhere(each))) for each in (pair.gold.sure_TS, pair.gold.possible_TS)
        )
        hits += len(links & sure_links) + len(links & possible)
        made += len(links)
        sure += len(sure_links)
    return 1 - hits / (made + sure)


def test_error_rates_equal_counting() -> None:
    pairs = random_pairs(1)
    found = measure_alignment(pairs)
    assert found.pairs == 10
    for step in STEPS:
        for layer in range(LAYERS):
            for number in range(HEADS):
                rate = counted_rate(pairs, step, [(layer, number)])
                assert found.errors_LH[step][layer, number] == pytest.approx(rate)
            every = [(layer, number) for number in range(HEADS)]
            assert found.layer_errors_L[step][layer] == pytest.approx(counted_rate(pairs, step, every))


@pytest.mark.parametrize("seed", range(5))
def test_a_combination_is_no_worse_than_any_single_head(seed: int) -> None:
    pairs = random_pairs(seed)
    found = measure_alignment(pairs)
    every = [(layer, number) for layer in range(LAYERS) for number in range(HEADS)]
    for best in (found.best, found.best_in_one_layer):
        heads = [(head.layer, head.number) for head in best.heads]
        assert best.error == pytest.approx(counted_rate(pairs, best.step, heads))
        assert best.error <= min(counted_rate(pairs, step, [head]) for step in STEPS for head in every) + 1e-12
    assert len({head.layer for head in found.best_in_one_layer.heads}) == 1
    tried = min(
        counted_rate(pairs, step, list(some))
        for step in STEPS
        for size in (1, 2, 3)
        for some in combinations(every, size)
    )
    assert tried - 1e-12 <= found.best.error <= tried + 0.1  # greedy: close to the best, and never better


def constructed(pairs: int, step: str) -> list[Linked]:
    """Head 1:2 aligns the even words and 1:3 the odd ones, each at one step; the rest is noise."""
    chance = np.random.default_rng(3)
    found = []
    for _ in range(pairs):
        words = 8
        gold = np.zeros((words, words), bool)
        gold[np.arange(words), chance.permutation(words)] = True
        weights = {each: chance.random((LAYERS, HEADS, words, words)).astype(np.float32) / 2 for each in STEPS}
        even = (np.arange(words) % 2 == 0)[:, None]
        weights[step][0, 1] = np.where(even, gold, 0.3)  # type: ignore[index]
        weights[step][0, 2] = np.where(even, 0.3, gold)  # type: ignore[index]
        found.append(Linked(weights, Gold(gold, gold)))
    return found


@pytest.mark.parametrize("step", STEPS)
def test_complementary_heads_are_found(step: str) -> None:
    calls = []
    found = measure_alignment(constructed(20, step), lambda: calls.append(0))
    assert len(calls) == ROUNDS
    for best in (found.best, found.best_in_one_layer):
        assert (best.step, best.heads) == (step, (Head("cross", 0, 1), Head("cross", 0, 2)))
        assert best.error == 0
        assert best.held_out_error == 0  # each half leads to the same heads
    assert found.best_in_one_layer.in_one_layer == AlignmentHeads(0, (1, 2), found.best.step)


def test_the_held_out_rate_is_not_optimistic() -> None:
    """On pure noise the chosen heads look good; on the other half they are as bad as all."""
    pairs = random_pairs(7, pairs=40)
    found = measure_alignment(pairs).best
    mean = np.mean([counted_rate(pairs, step, [(layer, n)]) for step in STEPS for layer in range(2) for n in range(3)])
    assert found.held_out_error > found.error
    assert abs(found.held_out_error - mean) < abs(found.error - mean)


def test_one_pair_has_no_held_out_half() -> None:
    found = measure_alignment(random_pairs(2, pairs=1)).best
    assert found.held_out_error == found.error


def test_steps_are_merged_into_words() -> None:
    """Three tokens and EOS, two words on each side; step 0 reads the start token."""
    steps_TS = np.array([[9, 1, 0, 0], [1, 8, 1, 0], [0, 2, 7, 1], [0, 0, 3, 7]], np.float32)
    source = np.array([[1, 0], [1, 0], [0, 1], [0, 0]], np.float32)  # two tokens, one token, EOS
    target = np.array([[1, 0], [0, 1], [0, 1]], np.float32)
    gold = Gold(np.eye(2, dtype=bool), np.eye(2, dtype=bool))
    found = link_words(steps_TS[None, None], source, target, gold).weights_LHTS
    assert found["predicts"][0, 0].tolist() == [[10, 0], [5.5, 4]]
    assert found["reads"][0, 0].tolist() == [[9, 1], [1, 5]]


def test_shares_on_linked_words() -> None:
    weights = np.array([[[[0.5, 0.2], [0.1, 0.8], [0.3, 0.3]]]], np.float32)
    possible = np.array([[1, 0], [0, 1], [0, 0]], bool)  # the last word has no link, and does not count
    pair = Linked(dict.fromkeys(STEPS, weights), Gold(possible, possible))
    assert measure_alignment([pair]).shares_LH["reads"][0, 0] == pytest.approx((0.5 + 0.8) / 2)


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
