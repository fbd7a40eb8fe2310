"""The cached decoder against the uncached one, while rows enter, are reordered and leave."""

import random
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hark.config import ModelConfig
from hark.model import Transformer, new_model
from hark.model.backends import few_rows_linear
from hark.model.cache import Cache, CachedDecoder, Rows
from hark.model.patterns import Padded
from hark.model.positions import Relative
from tests.model.oracle import build

KINDS = [
    {},
    {"norm": "pre", "positions": "learned"},
    {"positions": "rotary", "d_k": 6, "d_v": 10},
    {"positions": "none", "d_v": 4, "attention_bias": False, "activation": "swiglu"},
    {"positions": "relative", "norm": "pre", "norm_kind": "rms", "relative_buckets": 4, "relative_distance": 6},
    {"activation": "swish", "positions": "sinusoidal_t2t", "position_offset": 2, "embedding_norm": True},
]
WIDTH, PLACES, COLUMNS = 3, 400, 16


class Sentence:
    """A sentence being decoded: its rows in the cache, and the expected contents."""

    def __init__(self, model: Transformer, decoder: CachedDecoder, cache: Cache, start: int, length: int) -> None:
        source_BS = torch.randint(40, (1, length))
        pattern = Padded(bias_BHTS=model.source_positions.bias(length))
        self.memory_BSD = model.encode(source_BS, torch.arange(length)[None], pattern)
        self.start, self.length = start, length
        decoder.prefill(self.memory_BSD[0], torch.arange(start, start + length), cache)
        self.texts: list[list[int]] = [[] for _ in range(WIDTH)]
        self.places_WT = torch.full((WIDTH, COLUMNS), 12345)  # places that must not be read

    def read(self) -> None:
        """A next token for each hypothesis, and its place."""
        for row, text in enumerate(self.texts):
            self.places_WT[row, len(text)] = self.start + self.length + len(text) * WIDTH + row
            text.append(random.randrange(40))

    def reorder(self) -> None:
        parents = [random.randrange(WIDTH) for _ in range(WIDTH)]
        self.texts = [[*self.texts[parent]] for parent in parents]
        self.places_WT = self.places_WT[parents]

    def expected(self, model: Transformer, bias_HTS: Tensor | None = None) -> Tensor:
        """All of it, without a cache."""
        target_WT = torch.tensor(self.texts)
        positions_WT = torch.arange(target_WT.shape[1]).expand(WIDTH, -1)
        memory_WSD = self.memory_BSD.expand(WIDTH, -1, -1)
        if bias_HTS is None:
            bias_HTS = model.target_positions.bias(target_WT.shape[1])
        return model.decode(target_WT, memory_WSD, positions_WT, Padded(causal=True, bias_BHTS=bias_HTS), Padded())[
            :, -1
        ]


def rows_of(sentences: list[Sentence]) -> Rows:
    return Rows(
        tokens_R=torch.tensor([text[-1] for each in sentences for text in each.texts]),
        positions_R=torch.tensor([len(text) - 1 for each in sentences for text in each.texts]),
        places_RT=torch.cat([each.places_WT for each in sentences]),
        memory_B=torch.tensor([each.start for each in sentences]),
        memory_lengths_B=torch.tensor([each.length for each in sentences]),
        longest_memory=max(each.length for each in sentences),
    )


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(st.integers(0, 2**31))
@settings(max_examples=4)
@torch.no_grad()
def test_cached_equals_uncached_for_any_schedule(kind: dict[str, object], seed: int) -> None:
    torch.manual_seed(seed)
    random.seed(seed)
    model = build(**kind)
    for positions in (model.source_positions, model.target_positions):
        if isinstance(positions, Relative):
            positions.weight.normal_()
    decoder = CachedDecoder(model)
    cache = Cache.empty(model.config, PLACES, "cpu", torch.float32)
    cache.keys_LPHK[:, :PLACES] = cache.values_LPHK[:, :PLACES] = torch.nan  # unwritten places must not be read
    free = list(range(0, PLACES, 60))
    sentences: list[Sentence] = []
    for _ in range(12):
        while free and (not sentences or random.random() < 0.4):
            sentences.append(Sentence(model, decoder, cache, free.pop(), random.randint(1, 9)))
        for each in sentences:
            each.read()
        hidden_RD = decoder.step(rows_of(sentences), cache)
        expected_RD = torch.cat([each.expected(model) for each in sentences])
        torch.testing.assert_close(hidden_RD, expected_RD, atol=1e-5, rtol=1e-5)
        leaving = [each for each in sentences if len(each.texts[0]) == COLUMNS or random.random() < 0.15]
        free += [each.start for each in leaving]
        sentences = [each for each in sentences if each not in leaving]
        random.shuffle(sentences)
        for each in sentences:
            each.reorder()


@torch.no_grad()
def test_a_bias_by_positions_reaches_the_history() -> None:
    model = build()
    decoder, cache = CachedDecoder(model), Cache.empty(model.config, PLACES, "cpu", torch.float32)
    sentence, bias_HTS = Sentence(model, decoder, cache, start=5, length=4), torch.randn(4, COLUMNS, COLUMNS)
    for length in range(1, 5):
        sentence.read()
        hidden_RD = decoder.step(replace(rows_of([sentence]), bias_HTS=bias_HTS), cache)
        expected_RD = sentence.expected(model, bias_HTS[:, :length, :length])
        torch.testing.assert_close(hidden_RD, expected_RD, atol=1e-5, rtol=1e-5)
        assert length == 1 or not torch.allclose(hidden_RD, sentence.expected(model), atol=1e-3)
        sentence.reorder()


def test_layers_of_the_cache_are_numbered() -> None:
    cache = Cache.empty(build().config, 10, "cpu", torch.float32)
    assert [cache.layer(number).layer for number in range(2)] == [0, 1]


def test_a_memory_is_stored_once_for_all_hypotheses() -> None:
    model = build()
    cache = Cache.empty(model.config, 10, "cpu", torch.float32)
    with torch.no_grad():
        CachedDecoder(model).prefill(torch.randn(4, 32), torch.tensor([2, 3, 4, 5]), cache)
    assert cache.padding == 10
    assert cache.keys_LPHK.shape[:2] == (2, 10 + cache.keys_LPHK.shape[1] - cache.padding)


@pytest.mark.parametrize(("inner", "outer"), [(16, 40), (47, 33), (576, 960), (1536, 576)])
def test_the_product_of_few_rows(inner: int, outer: int) -> None:
    x, weight, bias = torch.randn(8, inner), torch.randn(outer, inner), torch.randn(outer)
    for each in (None, bias):
        whole = few_rows_linear(x, weight, each)
        assert whole.is_contiguous()
        torch.testing.assert_close(whole, F.linear(x, weight, each), atol=1e-4, rtol=1e-4)
        for row, place in enumerate((5, 0, 7, 1)):  # a row is the same beside others and in another place
            others = torch.randn(8, inner)
            others[place] = x[row]
            assert torch.equal(few_rows_linear(others, weight, each)[place], whole[row])


def test_a_model_may_share_its_joined_weights() -> None:
    model = new_model(ModelConfig(shape="decoder", d_model=16, d_ff=24, n_heads=2, n_decoder_layers=1, vocab_size=50))
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    (attention, *_) = CachedDecoder(model, share=True).backend.joined.values()
    wide = attention.weight.untyped_storage().data_ptr()
    assert model.stacks["decoder"].layers[0].self_attention.w_k.weight.untyped_storage().data_ptr() == wide
    assert all(torch.equal(weight, before[name]) for name, weight in model.named_parameters())
