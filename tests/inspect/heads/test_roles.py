"""Roles of handmade heads; measures against counting step by step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hark.inspect.attention import Attention, AttentionKind, Head
from hark.inspect.heads.roles import NEAR, HeadMeasure, HeadTally, NamedRole, marks_of, measure_weights, name
from hark.text.tokenizer import EOS
from tests.translate.stub import tokenizer

Weights = NDArray[np.float32]


def looking_at(places: list[int], keys: int, share: float = 1.0) -> Weights:
    """A head that gives a share of its weight at step t to one key, and spreads the rest over all visible keys."""
    rows = np.full((len(places), keys), (1 - share) / keys, np.float32)
    rows[np.arange(len(places)), places] += share
    return rows


def role_of(kind: AttentionKind, rows: Weights, marks: list[bool] | None = None) -> NamedRole:
    """The role of a head with these weights; the heads of other kinds look everywhere."""
    queries, keys = rows.shape
    weights: dict[AttentionKind, Weights] = {
        "encoder": np.full((1, 1, keys, keys), 1 / keys, np.float32),
        "decoder": np.full((1, 1, queries, queries), 1 / queries, np.float32),
        "cross": np.full((1, 1, queries, keys), 1 / keys, np.float32),
    }
    weights[kind] = rows[None, None]
    tally, marks_S = HeadTally(), np.array(marks or [False] * keys)
    tally.add(Attention(weights), {"encoder": marks_S, "decoder": np.resize(marks_S, queries), "cross": marks_S})
    return name(tally.means()[Head(kind, 0, 0)])


def causal(rows: Weights) -> Weights:
    rows = np.tril(rows)
    normalised: Weights = rows / rows.sum(-1, keepdims=True)
    return normalised


def test_an_ideal_head_gets_its_role() -> None:
    n = 9
    assert role_of("encoder", looking_at([0, *range(n - 1)], n)) == NamedRole("previous", 1.0)
    assert role_of("encoder", looking_at([*range(1, n), 0], n)) == NamedRole("next", 1.0)
    assert role_of("encoder", looking_at([*range(n)], n)) == NamedRole("same", 1.0)
    assert role_of("encoder", looking_at([n - 1] * n, n)) == NamedRole("end", 1.0)
    assert role_of("decoder", causal(looking_at([0, *range(n - 1)], n))) == NamedRole("previous", 1.0)
    assert role_of("decoder", causal(looking_at([0] * n, n))) == NamedRole("start", 1.0)
    assert role_of("cross", looking_at([n - 1] * 5, n)) == NamedRole("end", 1.0)


def test_the_share_of_a_role() -> None:
    found = role_of("encoder", looking_at([0, *range(19)], 20, share=0.9))
    assert found.role == "previous"
    assert found.share == pytest.approx(0.9 + 0.1 / 20, abs=1e-6)
    assert found.title("encoder") == "previous token"


def test_punctuation_near_and_broad_and_mixed() -> None:
    n = 12
    commas = [place in (4, 9) for place in range(n)]
    assert role_of("encoder", looking_at([4, 9] * 6, n), marks=commas).role == "punctuation"
    either_side = (
        looking_at([max(t - 2, 0) for t in range(n)], n) + looking_at([min(t + 2, 11) for t in range(n)], n)
    ) / 2
    assert role_of("encoder", either_side).role == "near"
    assert role_of("encoder", np.full((n, n), 1 / n, np.float32)) == NamedRole("broad", pytest.approx(1.0))
    split = 0.4 * looking_at([n - 1] * n, n) + 0.6 * looking_at([(t + 6) % n for t in range(n)], n)
    found = role_of("encoder", split.astype(np.float32))
    assert (found.role, found.partly) == ("mixed", "end")
    assert found.title("encoder") == "partly end"


def test_alignment_wins_if_its_share_is_larger() -> None:
    measures: dict[HeadMeasure, float] = {"previous": 0.1, "end": 0.3, "near": 0.4, "evenness": 0.2}
    assert name(measures, translation=0.6, written=0.2) == NamedRole("translation", 0.6)
    assert name(measures, translation=0.2, written=0.7) == NamedRole("written", 0.7)
    assert name(measures).role == "mixed"


def test_cross_attention_is_measured_from_the_diagonal() -> None:
    found = role_of("cross", looking_at([0, 2, 4, 6, 8], 9))
    assert found == NamedRole("same", 1.0)
    assert found.title("cross") == "the diagonal"


@settings(max_examples=25)
@given(st.integers(1, 12), st.integers(1, 12), st.sampled_from(["encoder", "decoder", "cross"]), st.integers(0, 999))
def test_measures_equal_counting(queries: int, keys: int, kind: AttentionKind, seed: int) -> None:
    if kind != "cross":
        queries = keys
    chance = np.random.default_rng(seed)
    weights = chance.random((1, 1, queries, keys)).astype(np.float32) ** 3
    if kind == "decoder":
        weights = np.tril(weights)
    weights /= weights.sum(-1, keepdims=True)
    marks = chance.random(keys) < 0.3
    found = measure_weights(kind, weights, marks)
    expected = counted(kind, weights[0, 0].astype(float), marks)
    assert set(found) == set(expected)
    for measure, (values, counts) in found.items():
        assert counts.tolist() == [each is not None for each in expected[measure]], measure
        for value, each in zip(values[0, 0], expected[measure], strict=True):
            assert each is None or value == pytest.approx(each, abs=1e-5), measure
            assert measure in ("entropy", "distance") or -1e-6 <= value <= 1 + 1e-6


def counted(
    kind: AttentionKind, weights: NDArray[np.float64], marks: NDArray[np.bool_]
) -> dict[str, list[float | None]]:
    """Each measure at each step, in plain loops; None if the step does not count."""
    queries, keys = weights.shape
    found: dict[str, list[float | None]] = {}

    def add(measure: str, value: float, counts: bool) -> None:
        found.setdefault(measure, []).append(float(value) if counts else None)

    for t in range(queries):
        seen = t + 1 if kind == "decoder" else keys
        at = t if kind != "cross" else round(t * (keys - 1) / max(1, queries - 1))
        row, choice = weights[t], seen > 1
        add("previous", row[at - 1] if at >= 1 else 0, choice and at >= 1)
        add("same", row[at], choice)
        add("near", sum(row[s] for s in range(keys) if abs(s - at) <= NEAR), choice and seen > 2 * NEAR + 1)
        add("punctuation", row[marks].sum(), choice and bool(marks.any()))
        add("distance", sum(row[s] * abs(s - at) for s in range(keys)), choice)
        entropy = -sum(each * np.log2(each) for each in row if each > 0)
        add("entropy", entropy, choice)
        add("evenness", entropy / np.log2(max(seen, 2)), choice)
        if kind == "decoder":
            add("start", row[0], choice and at >= 2)
        else:
            add("next", row[at + 1] if at + 1 < keys else 0, choice and at + 1 < keys)
            add("end", row[-1], choice and at <= keys - 3)
    return found


def test_means_are_over_steps_not_sentences() -> None:
    same, other = looking_at([*range(3)], 3), looking_at([(t + 3) % 9 for t in range(9)], 9)
    tally = HeadTally()
    for rows in (same, other):
        square, marks = rows[None, None], np.zeros(len(rows), bool)
        tally.add(Attention({"encoder": square}), {"encoder": marks})
    assert tally.means()[Head("encoder", 0, 0)]["same"] == pytest.approx(3 / 12)


def test_punctuation_of_a_vocabulary() -> None:
    words = tokenizer()
    marks = marks_of(words)
    ids = [*words.encode_one("cat , ( cat ) 5 % ."), EOS]
    assert len(marks) == words.vocab_size
    punctuation = {piece for piece, mark in zip(words.pieces(ids), marks[ids], strict=True) if mark}
    assert {piece.lstrip("\u2581") for piece in punctuation} == {",", "(", ")", "%", "."}
    assert not marks[: words.n_special + 256].any()
