"""Changed models searched in one batch give the same translations as separately."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from hark.config import DecodeConfig
from hark.engine.interface import Hypothesis, Request
from hark.engine.torch import TorchEngine
from hark.errors import UserError
from hark.inspect.attention import Head, observe
from hark.inspect.effects import importance
from hark.inspect.recording import Recording, record
from hark.inspect.variants import Change, Variants, translations, without_heads
from hark.model import Transformer, padded_layout
from hark.text.tokenizer import BOS, EOS, SPECIAL
from hark.translate.load import Loaded
from tests.inspect.hidden import without_words
from tests.inspect.reference import Reference
from tests.model.oracle import build


@pytest.fixture(scope="module")
def recording(loaded: Loaded) -> Recording:
    return record(loaded, "the small cat sees red house")


def alone(loaded: Loaded, recording: Recording, change: Change) -> Any:
    if isinstance(change, Head):
        model, source = without_heads(loaded.model, [change]), recording.source_ids
    else:
        model, source = without_words(loaded.model, recording.source_ids, recording.source.tokens_of(change))
    ((_, hypotheses),) = TorchEngine(model, SPECIAL).run([Request(source, recording.search.request.search)])
    return hypotheses[0]


def test_translations_equal_those_of_each_changed_model(loaded: Loaded, recording: Recording) -> None:
    """Every head of the model and every word: more than fit in a block."""
    changes: list[Change] = [*importance(loaded.model, recording), *recording.source.text_words]
    found = translations(Variants(loaded.model, recording), changes)
    assert len(found) == len(changes) == 10 + 6
    for change, hypothesis in zip(changes, found, strict=True):
        expected = alone(loaded, recording, change)
        assert hypothesis.tokens == expected.tokens, change
        assert hypothesis.score == pytest.approx(expected.score, abs=1e-5)
    assert len({hypothesis.score for hypothesis in found}) == len(changes)  # they do differ
    assert len({hypothesis.tokens for hypothesis in found}) > 6


def test_the_model_is_unchanged(loaded: Loaded, recording: Recording) -> None:
    before = {name: each.clone() for name, each in loaded.model.state_dict().items()}
    translations(Variants(loaded.model, recording), [Head("cross", 1, 0), 2])
    assert all(bool((each == before[name]).all()) for name, each in loaded.model.state_dict().items())


def test_no_changes(loaded: Loaded, recording: Recording) -> None:
    assert translations(Variants(loaded.model, recording), []) == []


SOURCE, TARGET = [5, 9, 30, 14, 7, EOS], [BOS, 8, 8, 21]
HEADS = [
    [Head("encoder", 0, 3)],
    [Head("decoder", 1, 0)],
    [Head("cross", 1, 2)],
    [Head("encoder", 1, 0), Head("encoder", 1, 1), Head("decoder", 0, 2), Head("cross", 0, 1), Head("cross", 0, 0)],
]


def log_probs(model: Transformer, source: list[int], target: list[int]) -> np.ndarray:
    layout = padded_layout(torch.tensor([len(source)]), torch.tensor([len(target)]))
    with torch.no_grad():
        logits = model(torch.tensor([source]), torch.tensor([target]), layout)
    found: np.ndarray = logits[0].log_softmax(-1).numpy()
    return found


@pytest.mark.parametrize("heads", HEADS, ids=lambda heads: f"{len(heads)} {heads[0].kind}")
@pytest.mark.parametrize("changes", [{}, {"norm": "pre", "d_v": 6}])
def test_zero_columns_remove_a_heads_output(heads: list[Head], changes: dict[str, Any]) -> None:
    model = build(**changes)
    found = log_probs(without_heads(model, heads), SOURCE, TARGET)
    np.testing.assert_allclose(found, Reference(model, heads).run(SOURCE, TARGET), atol=1e-4)
    assert np.abs(found - log_probs(model, SOURCE, TARGET)).max() > 1e-3


def test_only_changed_matrices_are_copied_and_the_model_is_unchanged() -> None:
    model = build()
    before = {name: each.clone() for name, each in model.state_dict().items()}
    found = without_heads(model, [Head("cross", 1, 2)])
    addresses = dict(model.named_parameters())
    copied = [name for name, each in found.named_parameters() if each.data_ptr() != addresses[name].data_ptr()]
    assert copied == ["decoder.layers.1.cross_attention.w_o.weight"]
    assert all(torch.equal(each, before[name]) for name, each in model.state_dict().items())


def test_a_removed_head_is_still_observed() -> None:
    model = build()
    whole, found = (
        observe(model, SOURCE, TARGET),
        observe(without_heads(model, [Head("encoder", 1, 2)]), SOURCE, TARGET),
    )
    np.testing.assert_allclose(found.encoder_LHSS, whole.encoder_LHSS, atol=1e-6)  # nothing before it changed
    assert np.abs(found.cross_LHTS - whole.cross_LHTS).max() > 1e-3


def searched(model: Transformer, source: Sequence[int]) -> Hypothesis:
    ((_, (best,)),) = TorchEngine(model, SPECIAL).run(
        [Request(source, DecodeConfig(beam=3, max_extra=2, min_length=4))]
    )
    return best


def expected_log_prob(reference: Reference, found: Hypothesis) -> float:
    """The log-probability as a search computes it: padding, unknown and start are forbidden, and so is an early EOS."""
    log_probs_TV = reference.run(SOURCE, [BOS, *found.tokens])
    log_probs_TV[:, :EOS] = log_probs_TV[:4, EOS] = -np.inf
    log_probs_TV -= np.log(np.exp(log_probs_TV).sum(-1, keepdims=True))
    tokens = [*found.tokens, EOS] if found.complete else found.tokens
    return float(sum(log_probs_TV[t, token] for t, token in enumerate(tokens)))


def test_the_search_runs_without_the_heads() -> None:
    model, heads = build(), HEADS[3]
    found = searched(without_heads(model, heads), SOURCE)
    assert found.log_prob == pytest.approx(expected_log_prob(Reference(model, heads), found), abs=1e-4)
    assert found.score != pytest.approx(searched(model, SOURCE).score, abs=1e-3)


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (Head("encoder", 2, 0), "encoder 3:1"),
        (Head("cross", 0, 4), "cross 1:5"),
        (Head("decoder", -1, 0), "decoder 0:1"),
    ],
)
def test_a_missing_head_is_refused(head: Head, words: str) -> None:
    with pytest.raises(UserError, match=f"{words}.*: no such head; {head.kind} attention has 2 layers of 4 heads"):
        without_heads(build(), [head])
