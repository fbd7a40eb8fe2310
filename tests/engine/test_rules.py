"""Constraints on tokens, and sampling."""

from functools import cache
from itertools import groupby

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hark.config import DecodeConfig, ModelConfig
from hark.engine.interface import Engine, Request, TreeConstraint, TreeSymbols
from hark.engine.rules import TreeRules, draw, forbid, force
from hark.engine.search import Beams, Ended, Sampling, advance, best, candidates, finished, init
from hark.engine.torch import TorchEngine
from hark.errors import UserError
from hark.model import Transformer
from hark.text.tokenizer import BOS, EOS, Tokenizer, train_symbols
from hark.text.trees import build_tree, events
from tests.engine.naive import FORBIDDEN, ask, params_of, stub

DRAWS = 4000


@cache
def at_start() -> Beams:
    """As many searches at their start; `draw` does not change them."""
    return init(params_of([ask()] * DRAWS), 1, 1, BOS)


def shares(
    logits_V: Tensor, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0, min_p: float = 0.0
) -> Tensor:
    """The frequency of each token, for random numbers evenly spaced between 0 and 1."""
    drawn_BT = (torch.arange(DRAWS, dtype=torch.float64)[:, None] + 0.5) / DRAWS
    settings = (torch.full((DRAWS,), value) for value in (temperature, top_k, top_p, min_p))
    found = draw(logits_V.expand(DRAWS, -1), at_start(), Sampling(drawn_BT, *settings))
    log_prob = logits_V.log_softmax(-1)[found.tokens_BC[:, 0]]
    torch.testing.assert_close(found.log_prob_BC[:, 0], log_prob)  # the model's, whatever the settings
    assert bool((found.log_prob_BC[:, 1] == -torch.inf).all())
    return torch.bincount(found.tokens_BC[:, 0], minlength=len(logits_V)) / DRAWS


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.0])
def test_samples_follow_the_probabilities(temperature: float) -> None:
    logits = torch.randn(12)
    expected = (logits / temperature).softmax(-1)
    torch.testing.assert_close(shares(logits, temperature), expected, atol=1.5 / DRAWS, rtol=0)


@given(st.floats(0.0, 0.99), st.sampled_from([0.5, 1.0, 2.0]), st.integers(0, 999))
@settings(max_examples=30)
def test_only_tokens_with_a_share_of_the_likeliest_are_sampled(min_p: float, temperature: float, seed: int) -> None:
    logits = torch.randn(12, generator=torch.Generator().manual_seed(seed))
    p = (logits / temperature).softmax(-1)
    expected = p.where(p >= min_p * p.max(), 0.0)
    found = shares(logits, temperature, min_p=min_p)
    torch.testing.assert_close(found, expected / expected.sum(), atol=1.5 / DRAWS, rtol=0)


@given(st.integers(1, 12), st.floats(0.05, 1.0), st.integers(0, 999))
@settings(max_examples=30)
def test_only_the_likeliest_tokens_are_sampled(top_k: int, top_p: float, seed: int) -> None:
    logits = torch.randn(12, generator=torch.Generator().manual_seed(seed))
    p, order = logits.softmax(-1).sort(descending=True)
    p = p[:top_k] / p[:top_k].sum()
    count = next(n for n in range(1, top_k + 1) if p[:n].sum() >= top_p - 1e-6 or n == top_k)
    expected = torch.zeros(12)
    expected[order[:count]] = p[:count] / p[:count].sum()
    torch.testing.assert_close(shares(logits, 1.0, top_k, top_p), expected, atol=1.5 / DRAWS, rtol=0)


def test_forbidden_tokens_are_never_candidates() -> None:
    params = params_of([ask(banned=(5, 7)), ask(min_length=1)])
    beams = init(params, 2, 2, BOS)
    logits = forbid(torch.randn(2, 2, 9), beams, params, FORBIDDEN, EOS)
    assert logits[0].isinf().nonzero()[:, 1].tolist() == [0, 1, 2, 5, 7] * 2
    assert logits[1].isinf().nonzero()[:, 1].tolist() == [0, 1, 2, EOS] * 2
    found = candidates(logits, beams.log_prob_BW)
    torch.testing.assert_close(found.log_prob_BC[0].exp().sum(), torch.tensor(1.0))  # all four remaining tokens


def test_a_forced_token_is_the_only_candidate() -> None:
    params = params_of([ask(forced=(6,), start=-1.5), ask()])
    beams = init(params, 2, 2, BOS)
    free = candidates(torch.randn(2, 2, 9), beams.log_prob_BW)
    found = force(free, beams, params)
    assert found.tokens_BC[0, 0] == 6
    assert found.log_prob_BC[0].tolist() == [-1.5, *[-torch.inf] * 3]
    assert torch.equal(found.tokens_BC[1], free.tokens_BC[1])
    assert torch.equal(found.log_prob_BC[1], free.log_prob_BC[1])


WORDS = Tokenizer(train_symbols(["(S (NP DT NN ) (VP VBD ) )"], ["en", "trees"]))
IDS, END, START = WORDS.symbols, WORDS.special.end, WORDS.special.start
LONGEST_RUN = 3
TAGS = ("DT", "NN", "VBD")
SYMBOLS = TreeSymbols(tuple(IDS[tag] for tag in TAGS), IDS[")"], (IDS["(S"], IDS["(NP"], IDS["(VP"]), LONGEST_RUN)
UNTAGGED = SYMBOLS._replace(word=(IDS["NN"],))
"""With a single symbol for all words."""
SMALL = max(IDS.values()) + 1
"""The size of a vocabulary with all symbols and without the bytes after them."""


def search_trees(
    seed: int, words: int, width: int, limit: int, greed: float, symbols: TreeSymbols = SYMBOLS
) -> list[Ended]:
    """Search with random logits, as a lane does; `greed` favours opening brackets."""
    asked = [ask(limit=limit, max_ended=width, nbest=width)]
    params = params_of(asked)
    rules = TreeRules.of(symbols, SMALL, END, "cpu")
    beams, state = init(params, width, width, START), rules.start(torch.tensor([words]), width)
    model, texts = stub(seed, SMALL), [() for _ in range(width)]
    trace = torch.zeros(1, limit + 2, width, dtype=torch.long)
    steps = 0
    while not bool(finished(beams).all()):
        logits = model(texts)[None]
        logits[..., list(SYMBOLS.opening)] += greed
        logits.index_fill_(2, FORBIDDEN, -torch.inf)
        logits = rules.forbid(logits, state, beams, params)
        assert (logits > -torch.inf).any(-1).all()  # also in rows without a hypothesis
        beams = advance(beams, params, candidates(logits, beams.log_prob_BW), END)
        state = rules.follow(state, beams)
        steps += 1
        if not beams.done_B[0]:
            trace[0, steps] = beams.choices_BW[0]
            rows = zip(beams.parents_BW[0].tolist(), beams.tokens_BW[0].tolist(), strict=True)
            texts = [(*texts[parent], token) for parent, token in rows]
    return best(beams.endings, trace, [width], END)[0]


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    words=st.integers(1, 7),
    width=st.integers(1, 4),
    spare=st.integers(0, 40),
    greed=st.sampled_from([-2.0, 0.0, 2.0, 8.0]),
    symbols=st.sampled_from([SYMBOLS, UNTAGGED]),
)
def test_every_output_is_a_tree(
    seed: int, words: int, width: int, spare: int, greed: float, symbols: TreeSymbols
) -> None:
    limit = words + (1 if words == 1 else 3) + spare
    found = search_trees(seed, words, width, limit, greed, symbols)
    assert found
    for each in found:
        assert each.complete
        assert each.length <= min(limit, words * (1 + 2 * LONGEST_RUN) + 1)
        tree = build_tree(WORDS.decode_one(each.tokens).split(), [str(i) for i in range(words)])
        assert tree.words() == [str(i) for i in range(words)]
        assert {IDS[leaf.label] for leaf in tree.leaves()} <= set(symbols.word)
        assert len(tree.children) == 1
        opening = [node.word is None for node, opens in events(tree) if opens][1:]
        runs = [len(list(run)) for opens, run in groupby(opening) if opens]
        assert max(runs, default=0) <= LONGEST_RUN  # so no more constituents than this span the same words


def test_a_tight_limit_leaves_no_room_for_brackets() -> None:
    (flat, *_) = search_trees(1, 4, 2, 7, greed=50.0)
    _, *tags, close = WORDS.decode_one(flat.tokens).split()
    assert len(tags) == 4
    assert set(tags) <= set(TAGS)
    assert close == ")"
    (deeper, *_) = search_trees(1, 4, 2, 9, greed=50.0)
    assert len(deeper.tokens) == 8
    assert {WORDS.decode_one(each.tokens) for each in search_trees(1, 1, 2, 2, greed=50.0)} <= set(TAGS)


def test_every_tag_can_be_chosen() -> None:
    found = [search_trees(seed, 4, 1, 30, greed=0.0)[0] for seed in range(10)]
    assert {token for each in found for token in each.tokens} >= set(SYMBOLS.word)


@pytest.fixture(scope="module")
def engine() -> Engine:
    torch.manual_seed(3)
    config = ModelConfig(
        d_model=16, d_ff=32, n_heads=2, n_encoder_layers=1, n_decoder_layers=1, max_positions=64,
        vocab_size=WORDS.vocab_size, source_vocab_size=40, tie="target",
    )  # fmt: skip
    return TorchEngine(Transformer(config), WORDS.special)


def ask_tree(words: int, **search: object) -> Request:
    source = [*(4 + (7 * i) % 30 for i in range(words)), END]
    return Request(source, DecodeConfig(**search), tree=TreeConstraint(SYMBOLS, words))  # type: ignore[arg-type]


def test_the_engine_decodes_trees_beside_other_requests(engine: Engine) -> None:
    requests = [ask_tree(words, beam=beam) for words in (1, 3, 6) for beam in (1, 4)]
    requests += [ask_tree(5, sample=True, nbest=2), Request([5, 6, END])]
    answers = dict(engine.run(requests))
    for place, request in enumerate(requests[:-1]):
        assert request.tree is not None
        for each in answers[place]:
            assert each.complete
            build_tree(WORDS.decode_one(each.tokens).split(), ["x"] * request.tree.words)
    alone = dict(engine.run(requests[3:4]))
    assert alone[0][0].tokens == answers[3][0].tokens
    assert alone[0][0].score == answers[3][0].score


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (ask_tree(64), "tokens"),
        (ask_tree(3, min_length=2), "cannot be combined"),
        (Request([4, END], tree=TreeConstraint(SYMBOLS, 0)), "does not fit"),
        (Request([4, END], tree=TreeConstraint(SYMBOLS._replace(word=(*SYMBOLS.word, 999)), 1)), "out of range"),
    ],
)
def test_impossible_trees_are_refused(engine: Engine, request_: Request, message: str) -> None:
    with pytest.raises(UserError, match=message):
        engine.check(request_)


def test_an_engine_without_trees_says_so(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "builds_trees", False)
    with pytest.raises(UserError, match="use --engine torch"):
        engine.check(ask_tree(2))
