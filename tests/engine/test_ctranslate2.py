"""The CTranslate2 engine against the oracle and against the torch engine."""

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import count, islice
from typing import Any

import ctranslate2  # type: ignore[import-untyped]
import numpy as np
import pytest
import torch
import torch.nn.functional as F

from hark.config import DecodeConfig, ModelConfig
from hark.engine import ctranslate2 as engine_module
from hark.engine.conversion import saturates
from hark.engine.ctranslate2 import FEW, CTranslate2Engine
from hark.engine.interface import AlignmentHeads, Hypothesis, Request
from hark.engine.torch import TorchEngine
from hark.errors import UserError
from hark.facts import AlignmentStep as Step
from hark.model.layout import padded_layout
from hark.model.transformer import Transformer
from hark.shortlist import Shortlist
from hark.text.tokenizer import BOS, EOS, PAD, SPECIAL
from tests.engine.naive import beam_search, ended_with, next_log_probs, ranked
from tests.engine.oracle import arrival_of, log_probs, random_model, search_without_cache, uncached, weights_of
from tests.engine.test_conversion import VARIANTS

VOCABULARY = 48
CONFIG = ModelConfig(
    d_model=32, d_ff=48, n_heads=4, n_encoder_layers=2, n_decoder_layers=3, vocab_size=VOCABULARY, max_positions=80,
    tie="none",
)  # fmt: skip


@pytest.fixture(scope="module")
def model() -> Transformer:
    return random_model(CONFIG)


@pytest.fixture(scope="module")
def engine(model: Transformer) -> CTranslate2Engine:
    return CTranslate2Engine(weights_of(model), CONFIG, SPECIAL, "float32", threads=2)


@pytest.fixture(scope="module")
def learnt() -> Transformer:
    """A model that has learnt something: to say a sentence backwards, each token one higher, and to stop."""
    torch.manual_seed(0)
    config = ModelConfig(
        d_model=32, d_ff=64, n_heads=2, n_encoder_layers=1, n_decoder_layers=1, vocab_size=24, max_positions=80,
        dropout=0.0,
    )  # fmt: skip
    model = Transformer(config)
    optimiser = torch.optim.Adam(model.parameters(), lr=6e-3, fused=True)
    chance = random.Random(0)
    for _ in range(120):
        sentences = [[chance.randrange(4, 23) for _ in range(chance.randrange(1, 9))] for _ in range(48)]
        sources = [[*sentence, EOS] for sentence in sentences]
        targets = [[BOS, *(token + 1 for token in reversed(sentence)), EOS] for sentence in sentences]
        source_BS, target_BT = (
            torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)
            for rows in (sources, targets)
        )
        lengths = torch.tensor([len(row) for row in sources])
        logits = model(source_BS, target_BT[:, :-1], padded_layout(lengths, lengths))
        loss = F.cross_entropy(logits.flatten(0, 1), target_BT[:, 1:].flatten(), ignore_index=PAD, label_smoothing=0.1)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert loss < 2
    return model.eval().requires_grad_(False)


def sentences(number: int, seed: int = 1, longest: int = 20, vocabulary: int = VOCABULARY) -> list[list[int]]:
    chance = random.Random(seed)
    return [
        [*(chance.randrange(4, vocabulary) for _ in range(chance.randrange(1, longest))), EOS] for _ in range(number)
    ]


def assert_same(found: Any, expected: list[Hypothesis]) -> None:
    assert [each.tokens for each in found] == [each.tokens for each in expected]
    assert [each.complete for each in found] == [each.complete for each in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-4)
        assert one.score == pytest.approx(other.score, abs=1e-4)


SEARCHES: dict[str, dict[str, Any]] = {
    "beam": {},
    "greedy": {"beam": 1},
    "n best": {"nbest": 4},
    "a wide beam": {"beam": 12, "nbest": 5},
    "patience": {"patience": 2.0, "nbest": 8},
    "patience that is no whole number": {"beam": 5, "patience": 1.3, "nbest": 6},
    "no length penalty": {"alpha": 0.0, "nbest": 4},
    "a large length penalty": {"alpha": 2.0, "nbest": 2},
    "a minimum": {"min_length": 8, "nbest": 2},
    "a minimum beyond the limit": {"min_length": 40, "beam": 2},
    "little room": {"max_extra": 0, "nbest": 3},
}


@pytest.mark.parametrize("changes", SEARCHES.values(), ids=SEARCHES)
def test_search_equals_the_oracle(changes: dict[str, Any], model: Transformer, engine: CTranslate2Engine) -> None:
    search = DecodeConfig(**{"max_extra": 5} | changes)
    requests = [Request(source, search) for source in sentences(8, longest=10)]
    answers = dict(engine.run(requests))
    assert len(answers) == len(requests)
    for number, request in enumerate(requests):
        assert_same(answers[number], search_without_cache(model, request))


def test_each_sentence_keeps_its_own_limit(model: Transformer, engine: CTranslate2Engine) -> None:
    chance = random.Random(2)
    requests = [
        Request(each, DecodeConfig(max_extra=chance.randrange(9), nbest=2)) for each in sentences(16, 2, longest=10)
    ]
    answers = dict(engine.run(requests))
    cut = 0
    for number, request in enumerate(requests):
        assert_same(answers[number], search_without_cache(model, request))
        cut += not answers[number][0].complete
    assert 2 < cut < 14  # both kinds occur


@pytest.mark.parametrize("beam", [1, 2, 4])
def test_prefixes_and_banned_tokens(beam: int, model: Transformer, engine: CTranslate2Engine) -> None:
    chance = random.Random(3)
    requests = [
        Request(
            source,
            DecodeConfig(beam=beam, max_extra=chance.choice((0, 6)), nbest=min(beam, 2)),
            prefix=[chance.randrange(4, VOCABULARY) for _ in range(chance.randrange(4))],
            banned=chance.choice(([], [17, 26, 29])),
        )
        for source in sentences(18, 3, longest=9)
    ]
    answers = dict(engine.run(requests))
    ended_at_once = 0
    for number, request in enumerate(requests):
        assert_same(answers[number], search_without_cache(model, request))
        assert all(not set(each.tokens[len(request.prefix) :]) & set(request.banned) for each in answers[number])
        ended_at_once += any(bool(request.prefix) and each.tokens == tuple(request.prefix) for each in answers[number])
    assert ended_at_once  # CTranslate2 alone does not allow it


@pytest.mark.parametrize("prefix", [(), (9, 11)])
def test_diverse(prefix: tuple[int, ...], model: Transformer, engine: CTranslate2Engine) -> None:
    search = DecodeConfig(beam=3, nbest=5, diverse=True, max_extra=5)
    requests = [Request(source, search, prefix) for source in sentences(4, 4, longest=10)]
    answers = dict(engine.run(requests))
    for number, request in enumerate(requests):
        steps, asked = uncached(model, request.source), arrival_of(request)
        likeliest = next_log_probs(steps, asked, [prefix])[0].topk(search.nbest)
        expected = []
        for log_prob, token in zip(*(each.tolist() for each in likeliest), strict=True):
            if token == EOS:
                expected.append(ended_with((*prefix, EOS), log_prob, asked))
            else:  # the same search with that token forced, except that it counts
                branch = asked._replace(forced=(*prefix, token), start=log_prob)
                expected.append(beam_search(steps, branch, search.beam)[0])
        assert_same(answers[number], ranked(expected))


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_every_kind_of_model(changes: dict[str, Any]) -> None:
    """Decoding with a cache uses other code in CTranslate2 than scoring."""
    config = replace(CONFIG, tie="all", **changes) if "tie" not in changes else replace(CONFIG, **changes)
    model = random_model(config)
    engine = CTranslate2Engine(weights_of(model), config, SPECIAL, "float32", threads=1)
    vocabulary = min(VOCABULARY, config.source_vocab_size or VOCABULARY)
    requests = [Request(each, DecodeConfig(max_extra=3, beam=2)) for each in sentences(4, 1, 9, vocabulary)]
    for number, answer in engine.run(requests):
        assert_same(answer, search_without_cache(model, requests[number]))


@pytest.mark.parametrize("beam", [1, 4])
def test_200_sentences_equal_the_torch_engine(beam: int, learnt: Transformer) -> None:
    requests = [Request(each, DecodeConfig(beam=beam)) for each in sentences(200, 5, 10, vocabulary=23)]
    theirs = dict(CTranslate2Engine(weights_of(learnt), learnt.config, SPECIAL, "float32").run(requests))
    ours = dict(TorchEngine(learnt, SPECIAL, precision="float32").run(requests))
    assert [theirs[i][0].tokens for i in range(200)] == [ours[i][0].tokens for i in range(200)]
    for i in range(200):
        assert theirs[i][0].score == pytest.approx(ours[i][0].score, abs=1e-3)
    assert np.mean([len(answer[0].tokens) for answer in ours.values()]) > 2


def test_int8_gives_nearly_the_same(learnt: Transformer) -> None:
    requests = [Request(each) for each in sentences(100, 6, 8, vocabulary=23)]

    def difference(whole: dict[int, list[Hypothesis]]) -> float:
        return float(np.mean([abs(whole[i][0].score - floating[i][0].score) for i in range(100)]))

    settings = weights_of(learnt), learnt.config, SPECIAL
    floating = dict(CTranslate2Engine(*settings, "float32").run(requests))
    whole = dict(CTranslate2Engine(*settings, "int8").run(requests))
    rounding = 2 if saturates() else 1  # one bit less doubles the error
    assert np.mean([whole[i][0].tokens == floating[i][0].tokens for i in range(100)]) >= 1 - 0.1 * rounding
    assert difference(whole) < 0.05 * rounding
    if saturates():
        assert difference(whole) < difference(dict(CTranslate2Engine(*settings, "int8", all_bits=True).run(requests)))


def everything(vocabulary: int) -> Shortlist:
    tokens = np.arange(vocabulary, dtype=np.uint16)
    return Shortlist(tokens, np.zeros(vocabulary, np.uint8), tokens[:0])


def test_a_full_shortlist_changes_nothing(learnt: Transformer) -> None:
    requests = [Request(each) for each in sentences(40, 6, 8, vocabulary=23)]
    plain, listed = (
        dict(CTranslate2Engine(weights_of(learnt), learnt.config, SPECIAL, "int8", shortlist=each).run(requests))
        for each in (None, everything(24))
    )
    for number, (best,) in plain.items():
        assert listed[number][0].tokens == best.tokens
        assert listed[number][0].score == pytest.approx(best.score, abs=1e-4)


@pytest.mark.parametrize("beam", [1, 4])
def test_a_shortlist_equals_banning_all_other_tokens(beam: int, learnt: Transformer) -> None:
    # A token's successor, which is correct, or its predecessor, which is not; and some that any sentence may contain.
    chance = random.Random(4)
    candidates = [token + chance.choice([1, -1]) for token in range(24)]
    common = [EOS, 9, 10]
    shortlist = Shortlist(
        np.array(common, np.uint16), np.ones(24, np.uint8), np.array(candidates, np.int64).clip(0).astype(np.uint16)
    )
    # One worker, which takes few sentences as one batch.
    listed = CTranslate2Engine(weights_of(learnt), learnt.config, SPECIAL, "float32", threads=1, shortlist=shortlist)
    plain = CTranslate2Engine(weights_of(learnt), learnt.config, SPECIAL, "float32")
    restricted = 0
    for source in sentences(15, 6, 8, vocabulary=23):
        request = Request(source, DecodeConfig(beam=beam))
        allowed = {*common, *(candidates[token] for token in source)}
        banned = tuple(sorted(set(range(4, 24)) - allowed))
        (_, (found,)) = next(listed.run([request] * FEW))
        (_, (expected,)) = next(plain.run([replace(request, banned=banned)]))
        assert found.tokens == expected.tokens
        assert found.score == pytest.approx(expected.score, abs=1e-3)
        (_, (free,)) = next(plain.run([request]))
        restricted += free.tokens != found.tokens
        # It applies only to large batches of plain searches: others use the full vocabulary.
        (_, (alone,)) = next(listed.run([request] * (FEW - 1)))
        assert alone.tokens == free.tokens
        for change in ({"search": replace(request.search, shortlist=False)}, {"prefix": (5,)}, {"banned": (6,)}):
            one, other = (next(engine.run([replace(request, **change)] * FEW))[1][0] for engine in (listed, plain))
            assert one.tokens == other.tokens
    assert restricted > 5


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize(
    "alignment", [None, AlignmentHeads(0, (2,)), AlignmentHeads(2, (3, 1)), AlignmentHeads(2, (0, 3), "reads")]
)
def test_attention(beam: int, alignment: AlignmentHeads | None, model: Transformer) -> None:
    engine = CTranslate2Engine(weights_of(model), CONFIG, SPECIAL, "float32", alignment=alignment)
    requests = [Request(each, DecodeConfig(beam=beam, max_extra=3), attention=True) for each in sentences(8, 7, 9)]
    requests += [replace(request, prefix=(8, 9)) for request in requests]
    expected = alignment or AlignmentHeads(1, (0, 1, 2, 3))
    cut_off = 0
    for number, (best,) in engine.run(requests):
        source = requests[number].source
        layers: list[torch.Tensor] = []
        layout = padded_layout(torch.tensor([len(source)]), torch.tensor([len(best.tokens) + 1]))
        model(torch.tensor([source]), torch.tensor([[BOS, *best.tokens]]), layout.observed({"cross": layers.append}))
        steps_TS = layers[expected.layer][0, list(expected.heads)].mean(0).numpy()
        rows = range(len(best.tokens))
        if expected.step == "reads":
            rows = range(1, len(best.tokens) + 1)
            if not best.complete:  # no step read the last token
                rows = [*rows[:-1], len(best.tokens) - 1]
                cut_off += 1
        assert best.attention_TS is not None
        assert best.attention_TS.shape == (len(best.tokens), len(source))
        assert np.abs(best.attention_TS - steps_TS[list(rows)]).max(initial=0) < 1e-5
    assert expected.step == "predicts" or cut_off


@pytest.mark.parametrize("step", ["predicts", "reads"])
def test_attention_equals_the_torch_engines(step: Step, learnt: Transformer) -> None:
    """For translations that end with EOS, unlike those above."""
    alignment = AlignmentHeads(0, (1, 0), step)
    requests = [Request(each, attention=True) for each in sentences(12, 6, 8, vocabulary=23)]
    theirs = dict(
        CTranslate2Engine(weights_of(learnt), learnt.config, SPECIAL, "float32", alignment=alignment).run(requests)
    )
    ours = dict(TorchEngine(learnt, SPECIAL, alignment=alignment).run(requests))
    assert sum(answer[0].complete for answer in ours.values()) > 6
    for number, (best, *_) in ours.items():
        assert best.tokens == theirs[number][0].tokens
        np.testing.assert_allclose(best.attention_TS, theirs[number][0].attention_TS, atol=1e-4)


def test_score(model: Transformer, engine: CTranslate2Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "SCORE_PAIRS", 7)
    pairs = [(source, target[:-1]) for source, target in zip(sentences(20, 8), sentences(20, 9), strict=True)]
    pairs.append(([4, 5, EOS], []))
    found = list(engine.score(iter(pairs)))
    assert len(found) == len(pairs)
    for (source, target), each in zip(pairs, found, strict=True):
        assert each == pytest.approx(log_probs(model, source, target), abs=1e-4)


def test_scoring_a_found_translation_equals_its_search_score(learnt: Transformer) -> None:
    engine = CTranslate2Engine(weights_of(learnt), learnt.config, SPECIAL, "float32")
    (best,) = next(engine.run([Request([5, 6, 7, EOS])]))[1]
    assert best.complete
    # The model gives padding, unknown and start almost no probability, and the search gives them none.
    assert sum(next(engine.score([([5, 6, 7, EOS], best.tokens)]))) == pytest.approx(best.log_prob, abs=0.1)


class TestSampling:
    SEARCH = DecodeConfig(sample=True, temperature=2.0, nbest=3, seed=5, max_extra=5)

    def drawn(self, engine: CTranslate2Engine, **changes: Any) -> list[tuple[int, ...]]:
        request = Request([5, 6, 7, 8, EOS], replace(self.SEARCH, **changes))
        return [each.tokens for each in next(engine.run([request]))[1]]

    def test_the_seed_decides(self, engine: CTranslate2Engine) -> None:
        assert self.drawn(engine) == self.drawn(engine)
        assert self.drawn(engine) != self.drawn(engine, seed=6)
        assert len(set(self.drawn(engine))) > 1

    def test_samples_are_independent_of_the_batch(self, engine: CTranslate2Engine) -> None:
        requests = [Request(each, replace(self.SEARCH, seed=i)) for i, each in enumerate(sentences(4, 10))]
        together = {number: [each.tokens for each in answer] for number, answer in engine.run(requests)}
        for number, request in enumerate(requests):
            assert [each.tokens for each in next(engine.run([request]))[1]] == together[number]

    def test_log_probabilities_are_the_models_own(self, model: Transformer, engine: CTranslate2Engine) -> None:
        request = Request([5, 6, 7, 8, EOS], self.SEARCH)
        steps, asked = uncached(model, request.source), arrival_of(request)
        for each in next(engine.run([request]))[1]:
            tokens = (*each.tokens, EOS) if each.complete else each.tokens
            expected = 0.0
            for i, token in enumerate(tokens):
                expected += next_log_probs(steps, asked, [tokens[:i]])[0, token].item()
            assert each.log_prob == pytest.approx(expected, abs=1e-3)

    def test_top_k_one_is_greedy(self, model: Transformer, engine: CTranslate2Engine) -> None:
        request = Request([5, 6, 7, 8, EOS], DecodeConfig(beam=1, max_extra=5))
        assert self.drawn(engine, top_k=1, nbest=1) == [search_without_cache(model, request)[0].tokens]
        assert self.drawn(engine, top_p=1e-6, nbest=1) == [search_without_cache(model, request)[0].tokens]


class TestStream:
    def test_infinite_stream(self, engine: CTranslate2Engine) -> None:
        taken = 0

        def endless() -> Iterator[Request]:
            nonlocal taken
            for i in count():
                taken += 1
                yield Request([4 + i % 40, EOS], DecodeConfig(max_extra=3))

        first = list(islice(engine.run(endless()), 200))
        assert len({number for number, _ in first}) == 200
        assert taken < 2000

    def test_empty_stream(self, engine: CTranslate2Engine) -> None:
        assert engine.step() == []
        assert list(engine.run([])) == []
        assert list(engine.score([])) == []

    def test_cancelled_while_running(self, engine: CTranslate2Engine) -> None:
        requests = [Request(source, DecodeConfig(max_extra=3)) for source in sentences(40)]
        whole = dict(engine.run(requests))
        numbers = [engine.submit(each) for each in requests]
        first = engine.step()
        kept = [place for place in range(40) if place % 3]
        for place in set(range(40)) - set(kept):
            engine.cancel(numbers[place])
        found = dict(first)
        while not {numbers[place] for place in kept} <= set(found):
            found.update(engine.step())
        assert set(found) - {number for number, _ in first} <= {numbers[place] for place in kept}
        for place in kept:
            assert [each.tokens for each in found[numbers[place]]] == [each.tokens for each in whole[place]]

    def test_closed_and_restarted(self, engine: CTranslate2Engine) -> None:
        requests = [Request(source, DecodeConfig(max_extra=3)) for source in sentences(40)]
        whole = dict(engine.run(requests))
        stream = engine.run(requests)
        next(stream)
        stream.close()  # type: ignore[attr-defined]

        def interrupted() -> Iterator[Request]:
            yield from requests[:20]
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            list(engine.run(interrupted()))
        again = dict(engine.run(requests))
        assert [again[i][0].tokens for i in range(40)] == [whole[i][0].tokens for i in range(40)]

    def test_any_order(self, engine: CTranslate2Engine) -> None:
        requests = [Request(source, DecodeConfig(max_extra=3)) for source in sentences(50)]
        forwards, backwards = dict(engine.run(requests)), dict(engine.run(requests[::-1]))
        assert [forwards[i][0].tokens for i in range(50)] == [backwards[49 - i][0].tokens for i in range(50)]


REFUSED: dict[str, Request] = {
    "no tokens": Request([]),
    "split it": Request([5] * 81),
    "contains EOS": Request([5, EOS], prefix=[7, EOS]),
    "token id out of range": Request([VOCABULARY, EOS]),
    "every token is banned": Request([5, EOS], banned=range(VOCABULARY)),
    "banned token id out of range": Request([5, EOS], banned=[VOCABULARY]),
    "raise decode.beam": Request([5, EOS], DecodeConfig(beam=1, patience=2.0, nbest=2)),
}


@pytest.mark.parametrize("message", REFUSED)
def test_invalid_input_is_refused_in_one_line(message: str, engine: CTranslate2Engine) -> None:
    with pytest.raises(UserError, match=message) as refused:
        list(engine.run([REFUSED[message]]))
    assert "\n" not in str(refused.value)


def test_the_limit_is_capped_at_the_last_position(engine: CTranslate2Engine) -> None:
    """A limit beyond the table of positions is reduced to it."""
    request = Request(sentences(1, 11)[0], DecodeConfig(beam=1, max_extra=500, min_length=200))
    (best,) = next(engine.run([request]))[1]
    assert (len(best.tokens), best.complete) == (80, False)


def test_an_unsupported_compute_type_is_refused(model: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctranslate2, "get_supported_compute_types", lambda _: {"float32", "int8"})
    with pytest.raises(UserError, match="this CPU does not support bfloat16; use one of float32, int8"):
        CTranslate2Engine(weights_of(model), CONFIG, SPECIAL, "bfloat16")


@pytest.mark.parametrize("compute_type", ["float32", "int8"])
def test_loading_from_disk_changes_nothing(compute_type: Any, learnt: Transformer) -> None:
    weights, pairs = weights_of(learnt), [([5, 6, 7, EOS], [9, 8]), ([12, EOS], [13])]
    one, two = (
        CTranslate2Engine(weights, learnt.config, SPECIAL, compute_type, 1, frugal=frugal) for frugal in (False, True)
    )
    assert list(one.score(pairs)) == list(two.score(pairs))


def test_close(model: Transformer) -> None:
    engine = CTranslate2Engine(weights_of(model), CONFIG, SPECIAL)
    assert engine.name == "CTranslate2 on cpu, int8"
    engine.close()
