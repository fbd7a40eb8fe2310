"""Changed models searched in one batch give the same translations as separately."""

from typing import Any

import pytest

from hark.engine.request import Request
from hark.engine.torch import TorchEngine
from hark.inspect.ablation import without_heads
from hark.inspect.attention import Head
from hark.inspect.changed import translations
from hark.inspect.effects import importance
from hark.inspect.recording import Recording, record
from hark.inspect.variants import Change, Variants
from hark.text.tokenizer import SPECIAL
from hark.translate.load import Loaded
from tests.inspect.hidden import without_words


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
