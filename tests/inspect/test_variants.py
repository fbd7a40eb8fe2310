"""Changed models in one batch equal separate ones: by the formulas in numpy, and by masking."""

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pytest
import torch

from hark.errors import UserError
from hark.inspect import variants as module
from hark.inspect.attention import Head
from hark.inspect.recording import Recording
from hark.inspect.variants import Change, Variants
from hark.model import Layout, Transformer
from hark.model.patterns import Padded
from hark.text.tokenizer import BOS, EOS
from tests.inspect.reference import Reference
from tests.model.oracle import build

SOURCE, WRITTEN = (5, 9, 30, 14, 7, EOS), (8, 8, 21, EOS)
READ = (BOS, *WRITTEN[:-1])
HIDDEN = {0: (0, 1), 1: (2,), 2: (3, 4), 3: (5,)}
"""Tokens of each word."""
CHANGES: list[Change | None] = [
    None, Head("encoder", 0, 3), 0, Head("decoder", 1, 0), 1, Head("cross", 1, 2), Head("encoder", 1, 1), 2, 3,
]  # fmt: skip


@dataclass
class Words:
    tokens: dict[int, tuple[int, ...]]

    def tokens_of(self, word: int) -> tuple[int, ...]:
        return self.tokens[word]


@dataclass
class Sentence:
    """The parts of a recording that variants need."""

    source: Words
    source_ids: tuple[int, ...] = SOURCE
    written_ids: tuple[int, ...] = WRITTEN
    read_ids: tuple[int, ...] = READ


def make_variants(model: Transformer, hidden: dict[int, tuple[int, ...]] = HIDDEN) -> Variants:
    return Variants(model, cast(Recording, Sentence(Words(hidden))))


def expected_log_probs(model: Transformer, change: Change | None) -> list[float]:
    silenced = [change] if isinstance(change, Head) else []
    hidden = HIDDEN[change] if isinstance(change, int) else ()
    log_probs_TV = Reference(model, silenced, hidden).run(SOURCE, READ)
    return [float(log_probs_TV[t, token]) for t, token in enumerate(WRITTEN)]


@pytest.mark.parametrize("changes", [{}, {"norm": "pre", "d_v": 6}])
@pytest.mark.parametrize("tokens", [6, 16, 512])
def test_each_row_is_the_formula_with_its_own_change(
    changes: dict[str, Any], tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one batch, in several, and one by one."""
    monkeypatch.setattr(module, "BATCH_TOKENS", tokens)
    model = build(**changes)
    told: list[int] = []
    found = make_variants(model).log_probs(CHANGES, lambda: told.append(1))
    assert len(told) == len(CHANGES)
    for change, log_probs in zip(CHANGES, found, strict=True):
        np.testing.assert_allclose(log_probs, expected_log_probs(model, change), atol=1e-4, err_msg=str(change))
    assert len({round(sum(each), 5) for each in found}) == len(CHANGES)  # they do differ


@pytest.mark.parametrize("positions", ["learned", "rotary", "none", "sinusoidal", "alibi"])
def test_omitting_tokens_equals_masking_for_all_position_kinds(positions: str) -> None:
    model = build(positions=positions)
    layout = model.padded_layout({"source": torch.tensor([len(SOURCE)]), "target": torch.tensor([len(READ)])})
    for word, hidden in HIDDEN.items():
        keys = Padded(torch.tensor([[position not in hidden for position in range(len(SOURCE))]]))
        own = replace(keys, bias_BHTS=model.source_positions.bias(len(SOURCE)))
        masked = Layout(layout.positions, {**layout.patterns, "encoder": own, "cross": keys})
        with torch.no_grad():
            logits_TV = model(torch.tensor([SOURCE]), torch.tensor([READ]), masked)[0]
        expected = logits_TV.log_softmax(-1)[torch.arange(len(WRITTEN)), torch.tensor(WRITTEN)]
        (found,) = make_variants(model).log_probs([word])
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_memories_are_cached_and_shared_by_decoder_changes() -> None:
    model = build()
    encoded: list[int] = []
    encode = model.encode
    model.encode = lambda source_BS, *rest: encoded.append(len(source_BS)) or encode(source_BS, *rest)  # type: ignore
    variants = make_variants(model)
    whole, cross, decoder, head, word = variants.memories(
        [None, Head("cross", 1, 2), Head("decoder", 0, 1), Head("encoder", 0, 3), 1]
    )
    assert whole is cross is decoder
    assert [len(whole), len(head), len(word)] == [6, 6, 5]
    assert not torch.allclose(whole, head)
    variants.memories([1, None])
    variants.log_probs([None, 1, Head("cross", 0, 0)])
    assert encoded == [3]


def test_the_source_omits_the_hidden_word() -> None:
    variants = make_variants(build())
    assert variants.source(2) == (5, 9, 30, EOS)
    assert variants.source(Head("encoder", 0, 0)) == variants.source(None) == SOURCE


def test_hiding_every_word_is_refused() -> None:
    with pytest.raises(UserError, match="every word of the source is hidden"):
        make_variants(build(), {0: tuple(range(6))}).memories([0])
