"""The decoding kernels against their plain counterparts, in Triton's interpreter."""

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hark.config import DecodeConfig
from hark.engine.interface import Request
from hark.engine.search import candidates
from hark.engine.torch import TorchEngine
from hark.errors import HarkError
from hark.model.cache import SPARE, Cache, CachedDecoder, LayerCache, Rows, add_norm, attend_history, attend_memory
from hark.text.tokenizer import EOS, SPECIAL
from tests.engine.oracle import random_model
from tests.engine.test_torch import answers
from tests.model.oracle import build, small
from tests.model.test_cache import Sentence, rows_of

fast = pytest.importorskip("hark.engine.decode_kernels", reason="Triton is not installed", exc_type=ImportError)

PLACES = 90
HEADS = st.sampled_from([1, 2, 6])
WIDTHS = st.sampled_from([(16, 16), (8, 12), (24, 16)])
SEEDS = st.integers(0, 2**31)


def kept(heads: int, k_width: int, v_width: int) -> LayerCache:
    return LayerCache(torch.randn(PLACES + SPARE, heads, k_width), torch.randn(PLACES + SPARE, heads, v_width), layer=0)


@given(st.lists(st.integers(0, 39), min_size=1, max_size=4), HEADS, WIDTHS, SEEDS)
@settings(max_examples=10)
def test_attention_over_history(positions: list[int], heads: int, widths: tuple[int, int], seed: int) -> None:
    torch.manual_seed(seed)
    ours = kept(heads, *widths)
    plain = LayerCache(ours.keys_PHK.clone(), ours.values_PHK.clone(), layer=0)
    # Slices of a wider product, as in a step.
    q, k, v = (
        torch.randn(len(positions), 3, heads * width)[:, 1].unflatten(-1, (heads, -1))
        for width in (widths[0], widths[0], widths[1])
    )
    places = torch.randint(PLACES - 5, (len(positions), 40), dtype=torch.int32)
    for row, position in enumerate(positions):
        places[row, position] = PLACES - 5 + row
    nothing = torch.zeros(0)
    rows = Rows(nothing, torch.tensor(positions), places, nothing, nothing, 0)
    out = fast.attend_history(q, k, v, ours, rows)
    torch.testing.assert_close(out, attend_history(q, k, v, plain, rows), atol=1e-5, rtol=1e-5)
    assert torch.equal(ours.keys_PHK, plain.keys_PHK)
    assert torch.equal(ours.values_PHK, plain.values_PHK)


def test_a_bias_is_refused() -> None:
    nothing, heads = torch.zeros(0), torch.zeros(1, 2, 8)
    places, bias_HTS = torch.zeros(1, 4, dtype=torch.int32), torch.zeros(2, 4, 4)
    rows = Rows(nothing, torch.tensor([0]), places, nothing, nothing, 0, bias_HTS)
    with pytest.raises(HarkError, match="bias"):
        fast.attend_history(heads, heads, heads, kept(2, 8, 8), rows)


@given(st.lists(st.integers(0, 70), min_size=1, max_size=4), st.integers(1, 5), HEADS, WIDTHS, SEEDS)
@settings(max_examples=15)
def test_attention_over_memory(lengths: list[int], width: int, heads: int, widths: tuple[int, int], seed: int) -> None:
    torch.manual_seed(seed)
    cache, nothing = kept(heads, *widths), torch.zeros(0)
    q = torch.randn(len(lengths), width, heads, widths[0])
    starts = torch.tensor([random.Random(seed + n).randint(0, PLACES - n) for n in lengths])
    rows = Rows(nothing, nothing, nothing, starts, torch.tensor(lengths), max(1, *lengths))
    out = fast.attend_memory(q, cache, rows)
    torch.testing.assert_close(out, attend_memory(q, cache, rows), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("pre_norm", [False, True], ids=["post", "pre"])
@pytest.mark.parametrize("width", [48, 320, 512, 1024])
@torch.no_grad()
def test_sum_and_norm(width: int, pre_norm: bool) -> None:
    norm = torch.nn.LayerNorm(width)
    norm.weight.normal_()
    norm.bias.normal_()
    x, s = torch.randn(2, 5, width)
    before = x.clone(), s.clone()
    for ours, plain in zip(fast.add_norm(x, s, norm, pre_norm), add_norm(x, s, norm, pre_norm), strict=True):
        torch.testing.assert_close(ours, plain, atol=1e-5, rtol=1e-5)
    assert torch.equal(x, before[0])
    assert torch.equal(s, before[1])


@pytest.mark.parametrize("width", [320, 512])
@torch.no_grad()
def test_sum_and_norm_in_16_bits(width: int) -> None:
    """The sum is exact except for its last bit, and so is the norm, which is not computed from the rounded sum."""
    norm = torch.nn.LayerNorm(width).bfloat16()
    x, s = torch.randn(2, 5, width).bfloat16()
    total, normed = fast.add_norm(x, s, norm, True)
    exact, last_bit = x.float() + s.float(), {"atol": 1e-6, "rtol": 2.0**-7}
    torch.testing.assert_close(total.float(), exact, **last_bit)
    torch.testing.assert_close(normed.float(), norm.float()(exact), **last_bit)


@given(st.integers(1, 3), st.integers(1, 5), st.sampled_from([7, 128, 129, 1000, 5000]), SEEDS)
@settings(max_examples=15)
def test_the_best_continuations(sentences: int, width: int, vocabulary: int, seed: int) -> None:
    """Whole blocks forbidden, rows without a hypothesis, fewer tokens than candidates."""
    torch.manual_seed(seed)
    logits = torch.randn(sentences, width, vocabulary) * 3
    logits[torch.rand(sentences, width, vocabulary) < 0.3] = -torch.inf
    logits[..., 4:200] = -torch.inf
    logits[..., 3] = 0.0
    log_prob = torch.randn(sentences, width)
    log_prob[:, 1:] = log_prob[:, 1:].masked_fill(torch.rand(sentences, width - 1) < 0.4, -torch.inf)
    ours, plain = fast.choose(logits, log_prob), candidates(logits, log_prob)
    torch.testing.assert_close(ours.log_prob_BC, plain.log_prob_BC, atol=1e-5, rtol=1e-5)
    real = plain.log_prob_BC > -torch.inf
    assert torch.equal(ours.tokens_BC[real], plain.tokens_BC[real])
    assert torch.equal(ours.rows_BC[real], plain.rows_BC[real])
    assert bool(((ours.tokens_BC >= 0) & (ours.tokens_BC < vocabulary)).all())
    assert bool(((ours.rows_BC >= 0) & (ours.rows_BC < width)).all())


def test_wide_beams_use_the_plain_implementation() -> None:
    logits, log_prob = torch.randn(1, fast.WIDEST + 1, 50), torch.zeros(1, fast.WIDEST + 1)
    assert torch.equal(fast.choose(logits, log_prob).tokens_BC, candidates(logits, log_prob).tokens_BC)


@pytest.mark.parametrize("norm", ["post", "pre"])
@torch.no_grad()
def test_the_decoder_with_kernels_equals_one_without_a_cache(norm: str) -> None:
    model = build(norm=norm)
    decoder, cache = CachedDecoder(model, fast.OPERATIONS), Cache.empty(model.config, PLACES, "cpu", torch.float32)
    sentence = Sentence(model, decoder, cache, start=5, length=4)
    for _ in range(3):
        sentence.read()
        hidden_RD = decoder.step(rows_of([sentence]), cache)
        torch.testing.assert_close(hidden_RD, sentence.expected(model), atol=1e-5, rtol=1e-5)
        sentence.reorder()


def test_the_engine_with_kernels_gives_the_same_translations() -> None:
    """The model does not amplify rounding errors: BLAS rounds differently on different CPUs."""
    model, chance = random_model(small(tie="none", n_encoder_layers=1, n_decoder_layers=1)), random.Random(5)
    crowd = [
        Request(
            (*(chance.randrange(4, 40) for _ in range(chance.randint(0, 3))), EOS), DecodeConfig(beam=w, max_extra=1)
        )
        for w in (1, 2)
    ]
    plain, quick = TorchEngine(model, SPECIAL), TorchEngine(model, SPECIAL, kernels=True)
    assert not quick.exact
    for ours, theirs in zip(answers(quick, crowd), answers(plain, crowd), strict=True):
        assert [tokens for tokens, *_ in ours] == [tokens for tokens, *_ in theirs]
        assert [score for _, _, score, _ in ours] == pytest.approx([score for _, _, score, _ in theirs], abs=1e-4)


@given(st.lists(st.integers(0, 39), min_size=1, max_size=3), st.sampled_from([(4, 2), (6, 1), (6, 3)]), SEEDS)
@settings(max_examples=6)
def test_attention_with_shared_keys_and_values(positions: list[int], heads: tuple[int, int], seed: int) -> None:
    torch.manual_seed(seed)
    ours = kept(heads[1], 8, 12)
    plain = LayerCache(ours.keys_PHK.clone(), ours.values_PHK.clone(), layer=0)
    q, k, v = (torch.randn(len(positions), n, width) for n, width in ((heads[0], 8), (heads[1], 8), (heads[1], 12)))
    places = torch.randint(PLACES - 5, (len(positions), 40), dtype=torch.int32)
    for row, position in enumerate(positions):
        places[row, position] = PLACES - 5 + row
    nothing = torch.zeros(0)
    rows = Rows(nothing, torch.tensor(positions), places, nothing, nothing, 0)
    out = fast.attend_history(q, k, v, ours, rows)
    torch.testing.assert_close(out, attend_history(q, k, v, plain, rows), atol=1e-5, rtol=1e-5)
    assert torch.equal(ours.keys_PHK, plain.keys_PHK)
    assert torch.equal(ours.values_PHK, plain.values_PHK)


@pytest.mark.parametrize("pre_norm", [False, True], ids=["post", "pre"])
@torch.no_grad()
def test_sum_and_rms_norm(pre_norm: bool) -> None:
    norm = torch.nn.RMSNorm(48, eps=1e-6)
    norm.weight.normal_()
    x, s = torch.randn(2, 5, 48)
    for ours, plain in zip(fast.add_norm(x, s, norm, pre_norm), add_norm(x, s, norm, pre_norm), strict=True):
        torch.testing.assert_close(ours, plain, atol=1e-5, rtol=1e-5)
