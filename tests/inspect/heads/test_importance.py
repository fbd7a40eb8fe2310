"""Importance of heads: losses against the engine's scores, and effects against known ones."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from hark.engine.torch import TorchEngine
from hark.inspect.attention import Head, every_head
from hark.inspect.heads.corpus import HeadExample, encode
from hark.inspect.heads.importance import POINTS, effect, losses, measure_effects, points_of, prune
from hark.inspect.variants import attention_of, without_heads
from hark.model import Transformer
from hark.text.tokenizer import BOS, EOS, SPECIAL
from tests.model.oracle import build


def examples(number: int, seed: int = 0) -> list[HeadExample]:
    chance = np.random.default_rng(seed)
    found = []
    for line in range(number):
        source, target = (tuple(chance.integers(4, 40, chance.integers(1, 9)).tolist()) for _ in range(2))
        found.append(HeadExample(line, "", "", (*source, EOS), (BOS, *target), (*target, EOS)))
    return found


def with_idle_head(head: Head) -> Transformer:
    model = build()
    with torch.no_grad():
        attention = attention_of(model, head)
        attention.w_o.weight[:, head.number * attention.v_width : (head.number + 1) * attention.v_width] = 0
    return model


def test_losses_are_the_log_probabilities_of_the_translations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hark.inspect.heads.importance.BATCH_TOKENS", 24)  # several batches
    model, pairs = build(), examples(9)
    expected = [
        -sum(each) for each in TorchEngine(model, SPECIAL).score((each.source, each.target[1:]) for each in pairs)
    ]
    np.testing.assert_allclose(losses(model, pairs), expected, rtol=1e-5)


def test_effects_are_of_removing_one_head_each() -> None:
    idle = Head("cross", 1, 2)
    model, pairs = with_idle_head(idle), examples(6)
    calls = []
    nll, effects = measure_effects(model, pairs, lambda: calls.append(0))
    tokens = sum(len(each.expected) for each in pairs)
    assert list(effects) == every_head(model.config)
    assert len(calls) == len(effects) == 2 * 4 * 3
    assert nll == pytest.approx(losses(model, pairs).sum() / tokens)
    assert effects[idle].nll == pytest.approx(0, abs=1e-7)
    head = Head("encoder", 0, 1)
    without = losses(without_heads(model, [head]), pairs).sum() / tokens
    assert effects[head].nll == pytest.approx(without - nll)
    assert abs(effects[head].nll) > 1e-4


def test_the_interval_covers_95_percent() -> None:
    """The mean of many samples lies in about 95 of 100 intervals."""
    chance = np.random.default_rng(4)
    inside = 0
    for _ in range(400):
        tokens = chance.integers(5, 40, 60).astype(float)
        added = tokens * chance.normal(0.02, 0.05, 60)
        found = effect(added, tokens)
        inside += abs(found.nll - 0.02) <= found.interval
    assert 0.90 <= inside / 400 <= 0.98


def test_the_curve_starts_with_the_whole_model_and_ends_without_heads() -> None:
    idle = Head("decoder", 0, 1)
    model, pairs = with_idle_head(idle), examples(5)
    nll, effects = measure_effects(model, pairs)
    calls: list[int] = []
    seen: list[Transformer] = []

    def score(pruned: Transformer) -> float:
        seen.append(pruned)
        return float(len(seen))

    points = prune(model, pairs, effects, score, lambda: calls.append(0))
    assert [point.removed for point in points] == points_of(24) == list(range(25))
    assert len(calls) == 25
    assert points[0].nll == pytest.approx(nll)
    assert [point.score for point in points] == [float(each) for each in range(1, 26)]
    order = sorted(effects, key=lambda head: effects[head].nll)
    assert points[3].nll == pytest.approx(
        losses(without_heads(model, order[:3]), pairs).sum() / sum(len(each.expected) for each in pairs)
    )
    for head in every_head(model.config):
        columns = slice(head.number * 8, (head.number + 1) * 8)
        assert not attention_of(seen[-1], head).w_o.weight[:, columns].any()


@pytest.mark.parametrize("heads", [1, 7, 144, 384])
def test_a_curve_has_few_points_and_both_ends(heads: int) -> None:
    found = points_of(heads)
    assert (found[0], found[-1]) == (0, heads)
    assert len(found) == min(heads + 1, POINTS)
    assert found == sorted(set(found))


@pytest.mark.parametrize("lead", [(), (450,)], ids=["free", "led"])
def test_bleu_is_that_of_the_search_output(lead: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if every output begins with the same tokens, as BART's do."""
    from sacrebleu.metrics.bleu import BLEU

    from hark.config import DecodeConfig
    from hark.engine.interface import Request
    from hark.inspect.heads.importance import bleu
    from hark.text.tokenizer import Tokenizer
    from tests.translate.stub import tokenizer

    monkeypatch.setattr(Tokenizer, "target_lead", lead)
    torch.manual_seed(2)
    model = build(vocab_size=700)
    texts = ["the cat sees a small red house", "we have been here before"]
    pairs = encode([(text, text) for text in texts], tokenizer(), tokenizer(), 100).examples
    search = DecodeConfig(beam=2, max_extra=0)
    engine = TorchEngine(model, SPECIAL)
    found = dict(engine.run([Request(each.source, search, lead) for each in pairs]))
    translations = tokenizer().decode([found[number][0].tokens for number in range(2)])
    references = [f"{translations[0]} more", translations[1]]
    pairs = tuple(replace(each, target_text=text) for each, text in zip(pairs, references, strict=True))
    expected = BLEU(force=True).corpus_score(translations, [references]).score
    assert all(found[number][0].tokens[: len(lead)] == lead for number in range(2))
    assert bleu(pairs, tokenizer(), search, "en")(model) == expected
    assert 20 < expected < 100
