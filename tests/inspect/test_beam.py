"""Every step of a recorded search, against separate passes of the model for each hypothesis."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from hark.config import DecodeConfig
from hark.engine.interface import Request, length_penalty
from hark.engine.torch import TorchEngine
from hark.inspect.attention import observe
from hark.inspect.beam import RecordedSearch, SearchRecorder, path
from hark.inspect.expectation import LIKELY
from hark.inspect.recording import record
from hark.model import Transformer, padded_layout
from hark.text.tokenizer import BOS, EOS, SPECIAL
from hark.translate.load import Loaded
from tests.model.oracle import build

SENTENCE = "the small cat sees red house"


def watched(model: Transformer) -> tuple[TorchEngine, SearchRecorder]:
    recorder = SearchRecorder(max(0, model.config.n_decoder_layers - 2), EOS)
    return TorchEngine(model, SPECIAL, "cpu", "float32", watch=recorder), recorder


@torch.no_grad()
def next_log_probs(model: Transformer, source: Sequence[int], begun: Sequence[int]) -> torch.Tensor:
    """Log-probabilities after a prefix, by a full pass; padding, unknown and start are forbidden."""
    source_BS, target_BT = torch.tensor([[*source]]), torch.tensor([[BOS, *begun]])
    layout = padded_layout(torch.tensor([len(source)]), torch.tensor([len(begun) + 1]))
    logits_V = model(source_BS, target_BT, layout)[0, -1]
    logits_V[:EOS] = -torch.inf
    return logits_V.double().log_softmax(-1)


def check_steps(model: Transformer, search: RecordedSearch) -> int:
    """Follow all hypotheses from step to step; return the number of candidates checked."""
    source, width = search.request.source, search.request.search.beam
    alive: list[tuple[int, ...]] = [()]
    checked = 0
    for step in search.steps:
        assert len(step.log_prob_W) == len(step.likely) == len(step.attention_WS) == len(alive)
        nexts = [next_log_probs(model, source, begun) for begun in alive]
        everything = torch.stack([nexts[row] + float(step.log_prob_W[row]) for row in range(len(alive))])
        best = everything.flatten().topk(len(step.candidates)).values
        for each, expected in zip(step.candidates, best.tolist(), strict=True):
            assert each.log_prob == pytest.approx(expected, abs=1e-4)
            assert each.log_prob == pytest.approx(float(everything[each.row, each.token]), abs=1e-4)
        for row, begun in enumerate(alive):
            probabilities = nexts[row].exp()
            assert [p for _, p in step.likely[row]] == pytest.approx(
                probabilities.topk(LIKELY).values.tolist(), abs=1e-4
            )
            assert [p for _, p in step.likely[row]] == pytest.approx(
                [float(probabilities[token]) for token, _ in step.likely[row]], abs=1e-4
            )
            layer = max(0, model.config.n_decoder_layers - 2)
            cross_HS = observe(model, source, (BOS, *begun)).cross_LHTS[layer, :, -1]
            np.testing.assert_allclose(step.attention_WS[row], cross_HS.mean(0), atol=1e-4)
        for rank, each in enumerate(step.candidates):
            if each.fate == "ends":
                assert rank < width
                assert each.token == EOS or len(alive[0]) + 1 == search.request.limit
            if each.fate == "lives":
                assert each.token != EOS
        checked += len(step.candidates)
        alive = [(*alive[each.row], each.token) for each in step.candidates if each.fate == "lives"]
        assert len(alive) <= width
    assert not alive  # the search is over
    return checked


def test_every_step_equals_the_models_output(loaded: Loaded) -> None:
    recording = record(loaded, SENTENCE)
    assert check_steps(loaded.model, recording.search) > 30


@pytest.mark.parametrize("beam", [1, 3])
def test_every_step_of_a_truncated_search(beam: int) -> None:
    model = build(max_positions=40)
    engine, recorder = watched(model)
    list(engine.run([Request([7, 9, 30, EOS], DecodeConfig(beam=beam, max_extra=4))]))
    (search,) = recorder.searches
    check_steps(model, search)
    assert len(search.steps) <= 8


def test_several_searches_in_one_batch() -> None:
    """Each is recorded as if it were alone, and the answers are those of an unwatched engine."""
    model = build()
    requests = [
        Request([5, 9, 30, 14, EOS], DecodeConfig(beam=4, nbest=4, max_extra=6)),
        Request([8, EOS], DecodeConfig(max_extra=20)),
        *(Request([*range(4, 4 + n), EOS], DecodeConfig(beam=4, max_extra=3), attention=True) for n in range(1, 12, 2)),
    ]
    engine, recorder = watched(model)
    expected = dict(TorchEngine(model, SPECIAL).run(requests))
    for number, hypotheses in engine.run(requests):
        for one, other in zip(hypotheses, expected[number], strict=True):
            assert (one.tokens, one.log_prob, one.score) == (other.tokens, other.log_prob, other.score)
            if requests[number].attention:
                np.testing.assert_array_equal(one.attention_TS, other.attention_TS)
    assert [search.request for search in recorder.searches] == requests
    for search in recorder.searches[:4]:
        check_steps(model, search)


def test_the_path_leads_to_the_translation(loaded: Loaded) -> None:
    recording = record(loaded, SENTENCE)
    steps, row, taken = recording.search.steps, 0, []
    for step, at in zip(steps, path(steps, recording.written_ids), strict=False):
        each = step.candidates[at]
        assert each.row == row
        taken.append(each.token)
        row = sum(other.fate == "lives" for other in step.candidates[:at])
    assert tuple(taken) == recording.written_ids
    assert each.fate == "ends"
    assert each.log_prob == pytest.approx(recording.hypothesis.log_prob, abs=1e-6)
    score = each.log_prob / length_penalty(len(taken), recording.search.request.search.alpha)
    assert score == pytest.approx(recording.hypothesis.score, abs=1e-6)


def test_a_forced_token_is_the_only_candidate_of_its_step() -> None:
    """However unlikely it is: the output of some models begins with a tag, or with BART's <s>."""
    model, source = build(), [5, 9, 30, EOS]
    text_V = next_log_probs(model, source, ())[EOS + 1 :]
    unlikely = tuple((text_V.argsort()[:2] + EOS + 1).tolist())
    engine, recorder = watched(model)
    ((_, (best, *_)),) = engine.run([Request(source, DecodeConfig(beam=3, max_extra=4), unlikely)])
    (search,) = recorder.searches
    for step, token in zip(search.steps[:2], unlikely, strict=True):
        assert [(each.row, each.token, each.log_prob, each.fate) for each in step.candidates] == [
            (0, token, 0.0, "lives")
        ]
    taken = [step.candidates[at].token for step, at in zip(search.steps, path(search.steps, best.tokens), strict=False)]
    assert tuple(taken) == best.tokens
