"""Generation by a decoder alone: equal to a naive loop without a cache, and independent of batch and order."""

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from hark.config import DecodeConfig
from hark.engine.interface import Engine, Hypothesis, Request
from hark.engine.torch import TorchEngine, kernels_cover
from hark.engine.watch import Watch
from hark.errors import HarkError, UserError
from hark.model import OneStack, new_model
from hark.model.patterns import packed_positions
from hark.model.positions import Relative
from hark.text.tokenizer import BOS, EOS, SPECIAL
from tests.engine.test_torch import answers
from tests.model.oracle import small, stir

Tokens = tuple[int, ...]
SAMPLING = DecodeConfig(sample=True, temperature=0.8, top_k=12, top_p=0.9, min_p=0.05, max_extra=12, seed=3)
GREEDY = DecodeConfig(beam=1, max_extra=12)
KINDS = [
    {"positions": positions, "norm_kind": norm_kind, "norm": "pre", "n_kv_heads": heads}
    for positions in ("learned", "rotary", "alibi", "relative")
    for norm_kind, heads in (("layer", None), ("rms", 2))
] + [{"prediction_layer": True, "output_bias": True, "embedding_norm": True, "n_kv_heads": 1}]


def decoder(**changes: object) -> OneStack:
    """A decoder whose choices depend on the text, and which sometimes produces EOS."""
    torch.manual_seed(4)
    model = new_model(small(shape="decoder", **changes)).eval()
    assert isinstance(model, OneStack)
    stir(model)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 2 and "embedding" not in name:
                weight.mul_(2)
        if isinstance(model.target_positions, Relative):
            model.target_positions.weight.normal_()
        model.embedding.weight.mul_(3)
        model.embedding.weight[EOS].mul_(1.6)
    return model


def inputs_of(request: Request) -> Tokens:
    return (BOS if request.start is None else request.start, *request.prefix)


@torch.no_grad()
def next_logits(model: OneStack, tokens: Sequence[int]) -> Tensor:
    """The logits after each token, without a cache."""
    cu = torch.tensor([0, len(tokens)], dtype=torch.int32)
    layout = model.packed_layout({"target": cu}, {"target": packed_positions(cu, len(tokens))}, len(tokens))
    logits_NV: Tensor = model(torch.tensor(tokens), layout)
    return logits_NV


def allowed(logits_V: Tensor, request: Request, length: int) -> Tensor:
    logits_V = logits_V.clone()
    logits_V[[*SPECIAL.forbidden, *request.banned]] = -torch.inf
    if length < request.search.min_length:
        logits_V[EOS] = -torch.inf
    return logits_V


def choose(logits_V: Tensor, search: DecodeConfig, chance: float) -> int:
    """The likeliest token, or one that a random number chooses among the likeliest."""
    if not search.sample:
        return int(logits_V.argmax())
    p, tokens = (logits_V.double() / search.temperature).softmax(-1).sort(descending=True, stable=True)
    kept = p[: search.top_k or None] / p[: search.top_k or None].sum()
    kept = kept[kept.cumsum(0) - kept < search.top_p]
    kept = kept[kept >= search.min_p * kept[0]]
    return int(tokens[min(int((kept.cumsum(0) <= chance * kept.sum()).sum()), len(kept) - 1)])


def naive(model: OneStack, request: Request) -> Hypothesis:
    """Generation by its definition: the whole text for every token."""
    search, output, log_prob, inputs = request.search, list(request.prefix), 0.0, list(inputs_of(request))
    drawn = np.random.Generator(np.random.PCG64(np.random.SeedSequence([search.seed, 0, *request.prefix])))
    chances = drawn.random(request.limit)
    while len(output) < min(request.limit, model.config.max_positions):
        logits_V = allowed(next_logits(model, inputs)[-1], request, len(output))
        token = choose(logits_V, search, chances[len(output)])
        log_prob += float(logits_V.log_softmax(-1)[token])
        if token == EOS:
            return Hypothesis(tuple(output), log_prob, log_prob, complete=True)
        output.append(token)
        inputs.append(token)
    return Hypothesis(tuple(output), log_prob, log_prob, complete=False)


def prompts(count: int, seed: int = 0, longest: int = 30) -> list[Tokens]:
    chance = random.Random(seed)
    return [tuple(chance.randrange(4, 40) for _ in range(chance.randint(0, longest))) for _ in range(count)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
def test_the_engine_equals_a_loop_without_a_cache(kind: dict[str, object]) -> None:
    model = decoder(**kind)
    engine = TorchEngine(model, SPECIAL)
    crowd = [Request((), search, prompt) for prompt in prompts(4) for search in (GREEDY, SAMPLING)]
    crowd.append(Request((), replace(GREEDY, max_extra=99), (7, 8), banned=(9, 10, EOS)))  # to the last position
    crowd.append(Request((), GREEDY, (8, 9), start=7))
    for place, (found,) in engine.run(crowd):
        expected = naive(model, crowd[place])
        assert (found.tokens, found.complete) == (expected.tokens, expected.complete)
        assert found.log_prob == pytest.approx(expected.log_prob, abs=1e-3)


def test_text_is_lively(engine: TorchEngine) -> None:
    """A model that always gives the same output, or never ends, would prove nothing."""
    found = [naive(engine.model, Request((), SAMPLING, prompt)) for prompt in prompts(12)]  # type: ignore[arg-type]
    assert len({each.tokens[-3:] for each in found}) > 6
    assert 0 < sum(each.complete for each in found) < 12


@pytest.fixture(scope="module")
def engine() -> TorchEngine:
    return TorchEngine(decoder(positions="rotary", norm="pre", norm_kind="rms", n_kv_heads=2), SPECIAL)


def test_results_are_bitwise_independent_of_the_batch(engine: TorchEngine) -> None:
    searches = (GREEDY, SAMPLING, DecodeConfig(beam=3, nbest=2, max_extra=9), replace(SAMPLING, nbest=2))
    crowd = [Request((), search, prompt) for prompt in prompts(5, 1) for search in searches]
    alone = [answers(engine, [each])[0] for each in crowd]
    assert answers(engine, crowd) == alone
    narrow = TorchEngine(engine.model, SPECIAL, rows=6, places=240)
    narrow.lag = 1
    assert answers(narrow, crowd) == alone
    assert narrow.scheduler.places.free == narrow.places


@pytest.mark.parametrize("positions", ["learned", "alibi", "relative"])
def test_batched_prompts_and_steps_give_the_same_text(positions: str) -> None:
    """As on a GPU, all prompts in one pass and all texts in one step."""
    model = decoder(positions=positions)
    engine, together = (TorchEngine(model, SPECIAL) for _ in range(2))
    together.exact = False
    crowd = [Request((), search, prompt) for prompt in prompts(6, 2) for search in (GREEDY, SAMPLING)]
    for ours, theirs in zip(answers(together, crowd), answers(engine, crowd), strict=True):
        assert [tokens for tokens, *_ in ours] == [tokens for tokens, *_ in theirs]
        assert [score for _, _, score, _ in ours] == pytest.approx([score for _, _, score, _ in theirs], abs=1e-3)


def test_a_prompt_is_read_as_it_would_be_generated(engine: TorchEngine) -> None:
    """Reading the first part of a greedy text gives the rest of it, wherever it is cut."""
    ((whole,),) = (each for _, each in engine.run([Request((), replace(GREEDY, min_length=20, max_extra=20))]))
    cuts = [Request((), replace(GREEDY, min_length=20, max_extra=20 - n), whole.tokens[:n]) for n in range(20)]
    assert {found.tokens for _, (found,) in engine.run(cuts)} == {whole.tokens}


def test_a_seed_repeats_and_others_differ(engine: TorchEngine) -> None:
    asked = [Request((), replace(SAMPLING, seed=seed), (5, 6, 7)) for seed in (1, 1, *range(2, 9))]
    first, again, *others = answers(engine, asked)
    assert first == again
    assert len({each[0][0] for each in others}) > 3


def follow(engine: Engine, requests: Sequence[Request]) -> tuple[dict[int, list[int]], dict[int, Hypothesis]]:
    """The tokens that `news` reports of each request, and the best hypothesis of the answer."""
    numbers = [engine.submit(each) for each in requests]
    reported: dict[int, list[int]] = {place: [] for place in range(len(requests))}
    found: dict[int, Hypothesis] = {}
    while len(found) < len(requests):
        answered = engine.step()
        for number, tokens in engine.news():
            assert numbers.index(number) not in found
            reported[numbers.index(number)] += tokens
        for number, answer in answered:
            assert not isinstance(answer, HarkError), answer
            found[numbers.index(number)] = answer[0]
    return reported, found


@pytest.mark.parametrize(("lag", "times", "places"), [(0, None, 1 << 16), (1, 3, 1 << 16), (1, 2, 120), (0, None, 90)])
def test_tokens_are_reported_as_they_are_chosen(engine: TorchEngine, lag: int, times: int | None, places: int) -> None:
    """Also if searches start again because others need their memory."""
    narrow = TorchEngine(engine.model, SPECIAL, rows=8, places=places, steps_at_once=times)
    narrow.lag = lag
    crowd = [
        Request((), replace(search, min_length=30, max_extra=30), prompt, stream=True)
        for prompt in prompts(4, 5, longest=9)
        for search in (GREEDY, SAMPLING)
    ]
    crowd += [Request((), GREEDY, (5, 6)), Request((), DecodeConfig(beam=2, max_extra=9), (5, 6), stream=True)]
    reported, found = follow(narrow, crowd)
    for place, request in enumerate(crowd[:8]):
        new = list(found[place].tokens[len(request.prefix) :])
        assert reported[place] == new[: len(reported[place])]
        assert len(reported[place]) >= len(new) - 1 - 2 * (times or 1)
    assert reported[8] == reported[9] == []
    assert not narrow.tokens.known
    # Nothing more is said of a request that was cancelled.
    number = narrow.submit(crowd[0])
    narrow.step()
    narrow.cancel(number)
    narrow.step()
    narrow.news()
    narrow.step()
    assert narrow.news() == []
    assert narrow.scheduler.places.free == narrow.places


def test_log_probabilities_are_those_of_the_model(engine: TorchEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hark.engine.forced.LOGIT_ROWS", 5)  # fewer than most texts have
    crowd = [Request((), search, prompt, alternatives=3) for prompt in prompts(3, 7) for search in (GREEDY, SAMPLING)]
    crowd.append(Request((), replace(SAMPLING, nbest=2), (5, 6), start=9, alternatives=0))
    together = TorchEngine(engine.model, SPECIAL)
    together.exact = False
    for each in (engine, together):
        for place, found in each.run(crowd):
            for one in found:
                request, tokens = crowd[place], [*one.tokens, *([EOS] if one.complete else [])]
                n = len(request.prefix)
                log_prob_TV = next_logits(engine.model, [*inputs_of(request), *tokens[n:-1]]).log_softmax(-1)[n:]  # type: ignore[arg-type]
                expected = log_prob_TV[range(len(tokens) - n), tokens[n:]].tolist()
                assert one.log_probs == pytest.approx(expected, abs=1e-3)
                best = log_prob_TV.topk(request.alternatives or 0)
                assert [[token for token, _ in few] for few in one.alternatives] == best.indices.tolist()
                values = [value for few in one.alternatives for _, value in few]
                assert values == pytest.approx(best.values.flatten().tolist(), abs=1e-3)


@pytest.mark.parametrize("start", [None, 9])
def test_a_prefix_is_scored(engine: TorchEngine, start: int | None) -> None:
    for prompt in ((), (5, 6, 7, 8), (9, 9, 9, 4, 4)):
        request = Request((), GREEDY, prompt, alternatives=2, start=start, scores_prefix=True)
        values, best = engine.score_prefix(request)
        log_prob_TV = next_logits(engine.model, inputs_of(request)).log_softmax(-1)[:-1]  # type: ignore[arg-type]
        assert values == pytest.approx(log_prob_TV[range(len(prompt)), [*prompt]].tolist(), abs=1e-4)
        assert [[token for token, _ in few] for few in best] == log_prob_TV.topk(2).indices.tolist()
        ((_, (found,)),) = engine.run([request])
        assert found.log_probs[: len(prompt)] == pytest.approx(values, abs=1e-4)
        assert len(found.log_probs) == len(found.tokens) + found.complete
        assert [[token for token, _ in few] for few in found.alternatives[: len(prompt)]] == [
            [token for token, _ in few] for few in best
        ]


def test_a_text_is_scored(engine: TorchEngine) -> None:
    texts: list[Tokens] = [(5, 6, 7, 8), (), (9, 9, 9, 4, 4)]
    for text, found in zip(texts, engine.score(((), text) for text in texts), strict=True):
        log_prob_TV = next_logits(engine.model, (BOS, *text)).log_softmax(-1)  # type: ignore[arg-type]
        assert found == pytest.approx(log_prob_TV[range(len(text) + 1), [*text, EOS]].tolist(), abs=1e-4)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request((5, EOS)), "source: this model has no encoder to read it; pass the text as prefix"),
        (Request((), prefix=(5,) * 64), "prompt has 65 tokens, but the model has 64 positions; shorten it"),
        (Request((), prefix=(40,)), "token id out of range"),
        (Request((), start=40), "start token id out of range"),
        (Request((), attention=True), "no encoder to attend to"),
        (Request((), alternatives=21), "21 alternatives: choose from 0 to 20"),
    ],
)
def test_invalid_requests_are_refused(engine: TorchEngine, request_: Request, message: str) -> None:
    with pytest.raises(UserError, match=message):
        list(engine.run([request_]))


def test_a_text_may_consist_of_several(engine: TorchEngine) -> None:
    request = Request((), GREEDY, (5, 6, EOS, 7))
    ((found,),) = (each for _, each in engine.run([request]))
    assert found.tokens == naive(engine.model, request).tokens  # type: ignore[arg-type]


def test_an_encoder_alone_generates_nothing() -> None:
    with pytest.raises(UserError, match="no decoder"):
        TorchEngine(new_model(small(shape="encoder")), SPECIAL)
    with pytest.raises(HarkError, match="watch requires a model with an encoder"):
        TorchEngine(decoder(), SPECIAL, watch=Watch())


@pytest.mark.parametrize("kind", [{"norm_kind": "rms", "n_kv_heads": 2, "norm": "pre"}, {}], ids=str)
def test_kernels_give_the_same_text(kind: dict[str, object]) -> None:
    pytest.importorskip("triton")
    model = decoder(positions="rotary", n_decoder_layers=1, **kind)
    plain, quick = TorchEngine(model, SPECIAL), TorchEngine(model, SPECIAL, kernels=True, rows=4)
    crowd = [Request((), search, (5, 6, 7), stream=True) for search in (GREEDY, SAMPLING)]
    crowd = [replace(each, search=replace(each.search, max_extra=3)) for each in crowd]
    for ours, theirs in zip(answers(quick, crowd), answers(plain, crowd), strict=True):
        assert [tokens for tokens, *_ in ours] == [tokens for tokens, *_ in theirs]
        assert [score for _, _, score, _ in ours] == pytest.approx([score for _, _, score, _ in theirs], abs=1e-3)


def test_kernels_do_not_cover_biases() -> None:
    model = decoder(positions="alibi")
    assert not kernels_cover(model.config)
    assert not TorchEngine(model, SPECIAL, kernels=True).kernels
