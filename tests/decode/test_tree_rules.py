"""Whatever the model predicts, the output is a tree over exactly the given words, within the length limit."""

from itertools import groupby

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hark.config import DecodeConfig, ModelConfig
from hark.decode.engine import Engine
from hark.decode.engines.torch import TorchEngine
from hark.decode.request import Request, TreeConstraint, TreeSymbols
from hark.decode.search import Ended, advance, best, candidates, finished, init
from hark.decode.tree_rules import TreeRules
from hark.errors import UserError
from hark.model import Transformer
from hark.text.tokenizer import Tokenizer, train_symbols
from hark.text.trees import build_tree, events
from tests.decode.naive import FORBIDDEN, ask, params_of, stub

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
