"""Induction heads are found in a model that is made to have one, and matter there."""

import numpy as np
import pytest
import torch

from hark.inspect.attention import Head, observe
from hark.inspect.heads.corpus import IGNORED, TextCorpus, TextExample
from hark.inspect.heads.finder import TextFinder, put_together, quietly
from hark.inspect.heads.importance import losses, measure_effects
from hark.inspect.heads.induction import Repetition, measure_repetition, repeat
from hark.inspect.variants import without_heads
from hark.model import OneStack
from tests.inspect.copyist import IDLE, INDUCTION, PREVIOUS, build, vocabulary
from tests.model.oracle import small


@pytest.fixture(scope="module")
def model() -> OneStack:
    return build()


@pytest.fixture(scope="module")
def found(model: OneStack) -> Repetition:
    return measure_repetition(model, vocabulary())


def test_the_induction_head_is_found_and_no_other(found: Repetition) -> None:
    assert found.measures[INDUCTION]["induction"] > 0.99
    assert found.measures[INDUCTION]["copying"] > 0.99
    for head in (PREVIOUS, *IDLE):
        assert found.measures[head]["induction"] < 0.05
    assert all(found.measures[head]["copying"] == 0.5 for head in IDLE)  # they add nothing
    for measures in found.measures.values():
        assert measures["duplicate"] < 0.05
    assert found.first > 4
    assert found.second < 0.1


@pytest.mark.parametrize("head", [INDUCTION, PREVIOUS], ids=str)
def test_without_it_or_the_head_that_it_needs_repetition_helps_nothing(
    head: Head, model: OneStack, found: Repetition
) -> None:
    without = measure_repetition(without_heads(model, [head]), vocabulary())
    assert without.second > found.second + 4
    assert without.first == pytest.approx(found.first, abs=0.6)


def test_without_the_idle_heads_nothing_changes(model: OneStack, found: Repetition) -> None:
    without = measure_repetition(without_heads(model, IDLE), vocabulary())
    assert (without.first, without.second) == pytest.approx((found.first, found.second))


def test_removing_it_raises_the_loss_on_the_second_half_alone(model: OneStack) -> None:
    once = [*range(40, 70)]
    ids = (vocabulary().special.start, *once, *once)

    def half(second: bool) -> TextExample:
        rows = range(31, 60) if second else range(30)
        expected = tuple(ids[row + 1] if row in rows else IGNORED for row in range(60))
        return TextExample(ids, ids[:-1], expected, len(rows))

    _, effects = measure_effects(model, [half(second=True)])
    assert effects[INDUCTION].nll > 4
    assert effects[PREVIOUS].nll > 4
    assert all(abs(effects[head].nll) < 1e-6 for head in IDLE)
    _, effects = measure_effects(model, [half(second=False)])
    assert effects[INDUCTION].nll < 0.5


def test_roles_of_all_heads(model: OneStack) -> None:
    finder = TextFinder(model, quietly, vocabulary())
    chance = np.random.default_rng(3)
    texts = [tuple(chance.integers(5, 261, 40).tolist()) for _ in range(4)]
    corpus = TextCorpus(tuple(TextExample(text, text[:-1], text[1:], 39.0) for text in texts))
    means, figures = finder.look(corpus)
    roles = {each.head: each.named for each in put_together(means, None, {})}
    assert roles[PREVIOUS].role == "previous"
    assert roles[PREVIOUS].share > 0.99
    assert roles[INDUCTION].role == "induction"
    assert all(roles[head].role == "broad" for head in IDLE)
    assert figures.tokens == 160
    assert figures.unit == "bits per byte"


def test_scores_of_any_model_equal_plain_loops() -> None:
    """With shared keys, a bias and layer norm, on one short sequence at a time."""
    torch.manual_seed(1)
    model = OneStack(small(shape="decoder", norm="pre", n_kv_heads=2, positions="alibi", max_positions=14)).eval()
    found = repeat(model, [*range(4, 40)], [2], seed=5)
    assert found.length == 6
    chance = np.random.default_rng(5)
    expected = np.zeros((2, 4))
    nll = 0.0
    for _ in range(8):
        once = chance.choice([*range(4, 40)], 6, replace=False).tolist()
        ids = [2, *once, *once]
        weights = observe(model, ids).decoder_LHTT
        with torch.no_grad():
            logits = model(torch.tensor([ids]), model.padded_layout({"target": torch.tensor([13])}))[0].log_softmax(-1)
        for k in range(5):
            first, second = 1 + k, 7 + k
            assert ids[first] == ids[second]
            expected += weights[:, :, second, first + 1] / 40
            nll -= float(logits[second, ids[second + 1]]) / 40
    for head, measures in found.measures.items():
        assert measures["induction"] == pytest.approx(expected[head.layer, head.number], abs=1e-6)
    assert found.second == pytest.approx(nll, abs=1e-5)


def test_losses_leave_out_what_is_not_expected(model: OneStack) -> None:
    text = (2, 50, 60, 70)
    whole = TextExample(text, text[:-1], text[1:], 3.0)
    parts = [
        TextExample(text, text[:-1], tuple(t if at == n else IGNORED for at, t in enumerate(text[1:])), 1.0)
        for n in range(3)
    ]
    assert losses(model, [whole])[0] == pytest.approx(losses(model, parts).sum(), rel=1e-5)
