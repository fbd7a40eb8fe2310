"""Translation throughput of the base model, against Hugging Face's `generate`.

PYTHONPATH=src python -m benchmarks.decode_speed              on a GPU: ours and Hugging Face's
PYTHONPATH=src python -m benchmarks.decode_speed --crowd      how often bfloat16 depends on the batch
PYTHONPATH=src python -m benchmarks.decode_speed --stream N   ours, a stream of N sentences as in `hark distil`
PYTHONPATH=src python -m benchmarks.decode_speed --align      the cost of word alignment, compared with scoring
PYTHONPATH=src python -m benchmarks.decode_speed --tiny       a tiny model on any machine; checks correctness only

The workload: 3,003 sentences with the lengths of news (log-normal, 27 tokens on average; or those of the test set of a
prepared dataset), random weights, a vocabulary of 37,000. Every output is exactly as long as its source, so all systems
decode the same tokens. Hugging Face has one length per batch: batches of 256 are sorted by length, each decodes to its
longest, and only the tokens of the workload count. Each system is timed from token lists to token lists, after a
warm-up on the same workload; the best of a few rounds counts.

In a stream, every sentence may be 50 tokens longer than its source, as in real use, and ends by itself at about the
length of the source, which the host learns only when it checks. Combine with `--norm` and `--steps-at-once`.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec

import numpy as np
import torch
from torch import Tensor

from benchmarks.peers import marian_config
from hark.bundle import Bundle
from hark.config import DecodeConfig, ModelConfig
from hark.data.dataset import Dataset
from hark.engine.forced import TokenTranslation
from hark.engine.interface import Hypotheses, Request
from hark.engine.lane import Lane
from hark.engine.lane_tables import LaneShape
from hark.engine.search import Candidates
from hark.engine.torch import TorchEngine
from hark.model import Model, Transformer
from hark.model.weights import load_model
from hark.text.tokenizer import EOS, PAD, SPECIAL

SENTENCES, VOCABULARY = 3003, 37_000
FIRST_TOKEN = 300
"""Smaller ids are special tokens and bytes."""
HF_BATCH = 256
SPREAD, SURE = 9, 30.0
"""The number of different lengths of translations of equally long sources; and the logit of EOS when it is due, far
above those of random weights."""

Source = list[int]


def draw_sources(count: int, vocabulary: int) -> list[Source]:
    """Draw sources with the lengths of news: most of 10 to 50 tokens, few of more than 100. Each ends with EOS."""
    rng = np.random.default_rng(0)
    lengths = np.clip(rng.lognormal(3.17, 0.5, count), 3, 200).astype(int)
    return [[*rng.integers(min(FIRST_TOKEN, vocabulary // 2), vocabulary, n - 1).tolist(), EOS] for n in lengths]


def search_name(beam: int) -> str:
    return "greedy" if beam == 1 else f"beam {beam}"


def measure(name: str, work: Callable[[], object], rounds: int, sentences: int, tokens: int) -> None:
    """Print a line of the table: the best time of a few rounds, after a warm-up."""
    seconds = []
    for _ in range(1 + rounds):
        start = time.perf_counter()
        work()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    best = min(seconds[1:])
    print(f"{name:<44} {best:>9.3f} {sentences / best:>12,.0f} {tokens / best:>14,.0f}", flush=True)


def forced(source: Source, beam: int) -> Request:
    """A request for a translation exactly as long as its source."""
    return Request(source, DecodeConfig(beam=beam, max_extra=0, min_length=len(source)))


def run_ours(engine: TorchEngine, requests: Sequence[Request]) -> dict[int, Hypotheses]:
    results = dict(engine.run(requests))
    for number, request in enumerate(requests):
        assert len(results[number][0].tokens) == len(request.source)  # every system does the same work
    return results


def hugging_face(config: ModelConfig, sources: list[Source], beam: int, device: str) -> Callable[[], None]:
    """A MarianMTModel of the same size, in bfloat16 with PyTorch's fused attention."""
    from transformers import MarianMTModel

    model = MarianMTModel(marian_config(config, forced_eos_token_id=None)).to(device, torch.bfloat16).eval()
    ordered = sorted(sources, key=len)
    batches = [ordered[i : i + HF_BATCH] for i in range(0, len(ordered), HF_BATCH)]

    @torch.inference_mode()
    def translate() -> None:
        for batch in batches:
            longest = len(batch[-1])
            tokens = torch.tensor([[*source, *[PAD] * (longest - len(source))] for source in batch], device=device)
            out = model.generate(
                input_ids=tokens, attention_mask=tokens != PAD, num_beams=beam, do_sample=False, length_penalty=0.6,
                min_new_tokens=longest, max_new_tokens=longest,
            )  # fmt: skip
            assert out.tolist()[0]

    return translate


def compare_batches(engine: TorchEngine, sources: list[Source], search: DecodeConfig) -> None:
    """Count the sentences whose translation depends on the batch, with outputs that end by themselves."""
    requests = [Request(source, search) for source in sources]
    batched = dict(engine.run(requests))
    alone = [dict(engine.run([request]))[0] for request in requests]
    other = sum(batched[i][0].tokens != alone[i][0].tokens for i in range(len(requests)))
    gap = np.mean([abs(batched[i][0].log_prob - alone[i][0].log_prob) for i in range(len(requests))])
    share = f"{other} of {len(requests)} translated differently alone and in a batch ({other / len(requests):.2%})"
    name = f"{engine.name}, {search_name(search.beam)}"
    print(f"{name}: {share}; log-probabilities differ by {gap:.4f} on average")


def measure_align(engine: TorchEngine, sources: list[Source], beam: int, rounds: int) -> None:
    """Measure translating with and without attention, and aligning and scoring existing translations."""
    plain = [forced(source, beam) for source in sources]
    aligned = [replace(request, attention=True) for request in plain]
    results = run_ours(engine, plain)
    pairs = [(source, results[number][0].tokens) for number, source in enumerate(sources)]
    translated = [TokenTranslation(*pair, complete=False) for pair in pairs]
    sizes = (rounds, len(sources), sum(map(len, sources)))
    measure(f"translated, {search_name(beam)}", lambda: run_ours(engine, plain), *sizes)
    measure(f"translated and aligned, {search_name(beam)}", lambda: run_ours(engine, aligned), *sizes)
    measure("existing translations scored", lambda: list(engine.score(pairs)), *sizes)
    measure("existing translations aligned", lambda: engine.align(translated), *sizes)


class EndingLane(Lane):
    """A lane that ends each search at about the length of its source, which random weights would not: EOS is forbidden
    before that, and then nearly certain. Adds a few small kernels to each step; the rest is the engine's own."""

    def __init__(self, lane: Lane) -> None:
        self.best = lane.context.choose
        super().__init__(replace(lane.context, choose=self.choose), lane.shape, lane.slots, lane.quick_step)

    def step(self, which_B: Tensor, positions: int, longest_memory: int) -> None:
        # The place of a memory serves as a random number.
        more_B = self.memory_B[which_B] % SPREAD - SPREAD // 2
        due_B = self.beams.position_B[which_B] + 1 >= self.memory_lengths_B[which_B] + more_B
        self.end_B1 = torch.where(due_B, SURE, -torch.inf)[:, None]
        super().step(which_B, positions, longest_memory)

    def choose(self, logits_BWV: Tensor, log_prob_BW: Tensor) -> Candidates:
        logits_BWV[..., EOS] = self.end_B1
        return self.best(logits_BWV, log_prob_BW)


class EndingEngine(TorchEngine):
    def new_lane(self, shape: LaneShape) -> Lane:
        return EndingLane(super().new_lane(shape))


def measure_stream(engine: TorchEngine, sources: list[Source], beam: int, rounds: int) -> None:
    requests = [Request(source, DecodeConfig(beam=beam)) for source in sources]

    def run() -> int:
        """Decode the stream, and return the number of tokens."""
        tokens = 0
        for number, (best, *_) in engine.run(requests):
            tokens += len(best.tokens) + 1
            assert best.complete
            assert abs(len(best.tokens) + 1 - len(requests[number].source)) <= SPREAD // 2
        return tokens

    steps = f"{engine.steps_at_once or 'default'} steps at once"
    name = f"stream, {engine.config.norm}-norm, {search_name(beam)}, {steps}"
    measure(name, run, rounds, len(sources), run())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", help="prepared dataset; its first test set is translated")
    parser.add_argument("--model", help="bundle (default: random weights; --crowd is meaningful only with real ones)")
    parser.add_argument("--sentences", type=int, default=SENTENCES)
    parser.add_argument("--beams", default="4,1")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--crowd", action="store_true")
    parser.add_argument("--align", action="store_true")
    parser.add_argument("--stream", type=int, metavar="N", help="measure a stream of N sentences instead of the table")
    parser.add_argument("--norm", choices=["post", "pre"], default="post")
    parser.add_argument("--steps-at-once", type=int, help="steps between checks for finished sequences")
    parser.add_argument("--ours", action="store_true", help="skip the peers")
    parser.add_argument("--tiny", action="store_true")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    config = ModelConfig(vocab_size=VOCABULARY, norm=arguments.norm)
    arguments.sentences = arguments.stream or arguments.sentences
    device = "cuda" if torch.cuda.is_available() and not arguments.tiny else "cpu"
    if arguments.tiny:
        config = replace(config, d_model=32, d_ff=64, n_heads=2, n_encoder_layers=1, n_decoder_layers=2, vocab_size=500)
        arguments.sentences, arguments.rounds = min(arguments.sentences, 12), 1
    elif device == "cpu":
        parser.error("no GPU; use --tiny to run on a CPU")
    model: Model = Transformer(config)
    if arguments.model:
        model = load_model(Bundle.open(arguments.model))
        config = model.config
    if arguments.dataset:
        dataset = Dataset.open(arguments.dataset)
        store = dataset.store(dataset.shards("test")[0])
        sources = [[*store[i][0].tolist(), EOS] for i in range(min(arguments.sentences, len(store)))]
    else:
        sources = draw_sources(arguments.sentences, config.source_vocab_size or config.vocab_size)
    if arguments.tiny:
        sources = [source[-len(source) // 3 :] for source in sources]
    make = EndingEngine if arguments.stream else TorchEngine
    engine = make(model, SPECIAL, device, steps_at_once=arguments.steps_at_once)
    beams = [int(beam) for beam in arguments.beams.split(",")]
    if arguments.crowd:
        for beam in beams:
            compare_batches(engine, sources, DecodeConfig(beam=beam, max_extra=5 if arguments.tiny else 50))
        return
    tokens = sum(map(len, sources))
    print(f"{len(sources)} sentences, {tokens / len(sources):.1f} tokens on average")
    print(f"{'what':<44} {'seconds':>9} {'sentences/s':>12} {'tokens/s':>14}")
    if arguments.align or arguments.stream:
        for beam in beams:
            (measure_align if arguments.align else measure_stream)(engine, sources, beam, arguments.rounds)
        return
    for beam in beams:
        name, requests = search_name(beam), [forced(source, beam) for source in sources]
        work = partial(run_ours, engine, requests)
        measure(f"hark, {engine.name}, {name}", work, arguments.rounds, len(sources), tokens)
        if not arguments.ours and find_spec("transformers"):
            theirs, name = hugging_face(config, sources, beam, device), f"Hugging Face generate, bfloat16, {name}"
            measure(name, theirs, arguments.rounds, len(sources), tokens)
    engine.close()


if __name__ == "__main__":
    main()
