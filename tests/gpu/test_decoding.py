"""Our engine on a GPU: CUDA graphs, compiled kernels, a host that is a round ahead."""

import gc
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from threading import Thread

import numpy as np
import pytest
import torch

from hark.config import DecodeConfig, ModelConfig
from hark.engine.interface import AlignmentHeads, Answer, Hypotheses, Request, TreeConstraint, TreeSymbols
from hark.engine.torch import LANES, TorchEngine
from hark.engine.watch import Watch
from hark.errors import HarkError, UserError
from hark.model import Transformer
from hark.text.tokenizer import EOS, SPECIAL
from hark.text.trees import build_tree
from tests.engine.oracle import random_model
from tests.gpu import NEEDS_GPU

pytestmark = NEEDS_GPU

VOCABULARY = 500
CONFIG = ModelConfig(
    d_model=64, d_ff=128, n_heads=4, n_encoder_layers=2, n_decoder_layers=3, vocab_size=VOCABULARY, max_positions=200,
    tie="none",
)  # fmt: skip


@pytest.fixture(scope="module")
def model() -> Transformer:
    return random_model(CONFIG)


@pytest.fixture(scope="module")
def engine(model: Transformer) -> Iterator[TorchEngine]:
    made = TorchEngine(model, SPECIAL, "cuda", "float32")
    yield made
    made.close()


@pytest.fixture(scope="module")
def exact(model: Transformer) -> TorchEngine:
    return TorchEngine(model, SPECIAL)


def ask(count: int, seed: int = 1, **changes: object) -> list[Request]:
    """Beams of several widths, samples, diverse translations, prefixes and banned tokens, in any order."""
    rng = random.Random(seed)
    kinds = [
        DecodeConfig(max_extra=8),
        DecodeConfig(beam=1, max_extra=8),
        DecodeConfig(beam=5, nbest=3, max_extra=4, alpha=1.0),
        DecodeConfig(beam=20, max_extra=3),
        DecodeConfig(beam=2, diverse=True, nbest=3, max_extra=4),
        DecodeConfig(sample=True, nbest=2, top_k=9, max_extra=4),
    ]
    return [
        Request(
            [*(rng.randrange(4, VOCABULARY) for _ in range(rng.randint(1, 30))), EOS],
            rng.choice(kinds),
            prefix=(7,) if rng.random() < 0.2 else (),
            banned=(9, 10) if rng.random() < 0.2 else (),
            **changes,  # type: ignore[arg-type]
        )
        for _ in range(count)
    ]


def facts(found: Sequence[Hypotheses]) -> list[list[tuple[object, ...]]]:
    return [[(each.tokens, each.log_prob, each.score, each.complete) for each in one] for one in found]


def run(engine: TorchEngine, requests: Sequence[Request]) -> list[Hypotheses]:
    found = dict(engine.run(requests))
    return [found[place] for place in range(len(requests))]


def assert_alike(found: Sequence[Hypotheses], expected: Sequence[Hypotheses], requests: Sequence[Request]) -> None:
    """Other kernels sum in another order, which may resolve a tie differently, but scores must agree."""
    same = 0
    for ours, theirs, request in zip(found, expected, requests, strict=True):
        same += [each.tokens for each in ours] == [each.tokens for each in theirs]
        if not request.search.sample:
            assert [each.score for each in ours] == pytest.approx([each.score for each in theirs], abs=2e-3)
    assert same >= 0.97 * len(requests)


def test_the_same_translations_as_on_a_cpu(engine: TorchEngine, exact: TorchEngine) -> None:
    requests = ask(120)
    assert_alike(run(engine, requests), run(exact, requests), requests)


def test_cuda_graphs_equal_eager_steps(model: Transformer, engine: TorchEngine) -> None:
    """Bit for bit, for all search shapes: a graph replays the same kernels."""
    live = TorchEngine(model, SPECIAL, "cuda", "float32", graphs=False)
    requests = ask(300, seed=2)
    assert facts(run(engine, requests)) == facts(run(live, requests))
    assert any(lane.recorded for lane in engine.lanes.values())


def test_kernels_equal_the_plain_functions(model: Transformer, engine: TorchEngine) -> None:
    plain = TorchEngine(model, SPECIAL, "cuda", "float32", kernels=False)
    requests = ask(200, seed=3)
    assert_alike(run(engine, requests), run(plain, requests), requests)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_16_bit_accuracy(norm: str) -> None:
    """With float32 inside, the kernels are at least as close to float32 as plain PyTorch in bfloat16."""
    model = random_model(replace(CONFIG, norm=norm))  # type: ignore[arg-type]
    requests = [Request(each.source, DecodeConfig(max_extra=8)) for each in ask(300, seed=4)]
    fine = run(TorchEngine(model, SPECIAL, "cuda", "float32"), requests)
    gaps = {}
    for kernels in (True, False):
        rough = run(TorchEngine(model, SPECIAL, "cuda", "bfloat16", kernels=kernels), requests)
        gaps[kernels] = np.mean([abs(one[0].score - other[0].score) for one, other in zip(rough, fine, strict=True)])
    assert 0 < gaps[True] < 1.1 * gaps[False]


def step_until(engine: TorchEngine, count: int) -> dict[int, Answer]:
    found: dict[int, Answer] = {}
    while len(found) < count:
        found.update(engine.step())
    return found


def test_one_bad_request_among_a_thousand(engine: TorchEngine) -> None:
    good = ask(1000, seed=5)
    expected = run(engine, good)
    bad = [Request([]), Request([5] * 500), Request([VOCABULARY, EOS]), Request([5, EOS], DecodeConfig(beam=200))]
    numbers = [engine.submit(each) for each in good[:500]]
    refused = [engine.submit(each) for each in bad]
    numbers += [engine.submit(each) for each in good[500:]]
    found = step_until(engine, 1000 + len(bad))
    assert all(isinstance(found[number], UserError) for number in refused)
    answers: list[Hypotheses] = [found[number] for number in numbers]  # type: ignore[misc]
    assert_alike(answers, expected, good)


def test_cancelling_frees_everything(engine: TorchEngine) -> None:
    requests = ask(400, seed=6)
    expected = run(engine, requests)
    for steps in (1, 2, 5):
        numbers = [engine.submit(each) for each in requests]
        early: dict[int, Answer] = {}
        for _ in range(steps):
            early.update(engine.step())
        for number in numbers[::2]:
            engine.cancel(number)
        kept = set(numbers[1::2]) - set(early)
        found = step_until(engine, len(kept))
        assert set(found) == kept
        found.update(early)
        answers: list[Hypotheses] = [found[number] for number in numbers[1::2]]  # type: ignore[misc]
        assert_alike(answers, expected[1::2], requests[1::2])
        engine.step()
        assert engine.scheduler.running == len(engine.open) == len(engine.intake) == 0
        assert engine.scheduler.places.free == engine.places
        assert all(len(lane.free) == lane.slots for lane in engine.lanes.values())


def memory() -> int:
    """Bytes that this process keeps on the GPU, without what it could give back at once."""
    gc.collect()
    torch.cuda.empty_cache()
    return torch.cuda.memory_reserved()


def test_40_widths_of_beam_do_not_fill_the_memory(model: Transformer) -> None:
    before = memory()  # of whatever else lives in this process
    engine = TorchEngine(model, SPECIAL, "cuda")
    source = [5, 9, 14, EOS]

    def ask_for(beam: int) -> Request:
        return Request(source, DecodeConfig(beam=beam, max_extra=4))

    reserved = []
    for beam in (*range(1, 41), *range(1, 41)):
        run(engine, [ask_for(beam)])
        reserved.append(memory())
    assert len(engine.lanes) == LANES
    assert reserved[-1] - reserved[39] < 64 << 20  # a lane gives its memory to the one that replaces it
    run(engine, [ask_for(beam) for beam in range(1, 41)])
    assert len(engine.lanes) == LANES
    # Memory stays close to that of 8 lanes and their CUDA graphs, however many there were.
    assert memory() - reserved[0] < 2.0 * (reserved[LANES + 4] - reserved[0]) + (256 << 20)
    cache = sum(each.nbytes for each in (engine.context.cache.keys_LPHK, engine.context.cache.values_LPHK))
    assert memory() - before > cache > 512 << 20
    engine.close()
    assert memory() - before < 128 << 20  # the weights, and the workspaces of cuBLAS


def test_an_engine_that_nobody_uses_leaves_no_memory(model: Transformer) -> None:
    """Also one that was never closed and is in the middle of its work."""
    for _ in range(2):  # cuBLAS keeps a workspace for each stream
        before = memory()
        engine = TorchEngine(model, SPECIAL, "cuda")
        engine.submit(Request([5, 9, 14, EOS]))
        engine.step()
        gc.disable()
        del engine
        gc.enable()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        assert torch.cuda.memory_reserved() - before < 128 << 20


def test_two_threads_submit_while_a_third_steps(engine: TorchEngine) -> None:
    asked = [ask(300, seed=seed) for seed in (7, 8)]
    expected = [run(engine, each) for each in asked]
    numbers: list[list[int]] = [[], []]

    def client(which: int) -> None:
        for each in asked[which]:
            numbers[which].append(engine.submit(each))

    clients = [Thread(target=client, args=(which,)) for which in range(2)]
    for thread in clients:
        thread.start()
    found = step_until(engine, 600)
    for thread in clients:
        thread.join()
    for which in range(2):
        answers: list[Hypotheses] = [found[number] for number in numbers[which]]  # type: ignore[misc]
        assert_alike(answers, expected[which], asked[which])


@pytest.mark.parametrize("step", ["predicts", "reads"])
def test_alignment_in_batches(model: Transformer, step: str) -> None:
    alignment = AlignmentHeads(1, (0, 2), step)  # type: ignore[arg-type]
    requests = [replace(each, search=DecodeConfig(max_extra=6)) for each in ask(200, seed=9, attention=True)]
    ours = run(TorchEngine(model, SPECIAL, "cuda", "float32", alignment=alignment), requests)
    theirs = run(TorchEngine(model, SPECIAL, alignment=alignment), requests)
    compared = 0
    for one, other in zip(ours, theirs, strict=True):
        assert one[0].attention_TS is not None
        if one[0].tokens == other[0].tokens:
            compared += 1
            np.testing.assert_allclose(one[0].attention_TS, other[0].attention_TS, atol=1e-3)
    assert compared > 190


def test_scores(engine: TorchEngine, exact: TorchEngine) -> None:
    pairs = [(each.source, each.source[:-1][::-1]) for each in ask(300, seed=10)]
    for ours, theirs in zip(engine.score(pairs), exact.score(pairs), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-3)


def test_a_watch_on_a_gpu_is_refused(model: Transformer) -> None:
    with pytest.raises(HarkError, match="watch requires an engine on the CPU in float32"):
        TorchEngine(model, SPECIAL, "cuda", watch=Watch())


def test_trees_are_decoded_in_captured_steps(engine: TorchEngine) -> None:
    names = {9: "DT", 10: "NN", 11: ")", 12: "(S", 13: "(NP"}
    symbols = TreeSymbols(word=(9, 10), close=11, opening=(12, 13), longest_run=3)
    rng = random.Random(2)
    searches = [DecodeConfig(beam=1), DecodeConfig(beam=4), DecodeConfig(beam=21), DecodeConfig(sample=True)]
    requests = [
        Request(
            [*(rng.randrange(4, VOCABULARY) for _ in range(words)), EOS], search, tree=TreeConstraint(symbols, words)
        )
        for words in (1, 2, 7, 30)
        for search in searches
    ]
    for place, (best, *_) in engine.run([*requests, Request([5, EOS])]):
        if place < len(requests):
            tree = requests[place].tree
            assert best.complete
            assert tree is not None
            build_tree([names[token] for token in best.tokens], ["x"] * tree.words)
