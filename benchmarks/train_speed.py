"""Training throughput of the base and big models, against peers on the same GPU.

python -m benchmarks.train_speed                                 ours, Hugging Face Marian, nn.Transformer; base and big
python -m benchmarks.train_speed --sizes base --systems ours     ours only
python -m benchmarks.train_speed --tiny                          on any machine, in seconds; checks correctness only

The tokens are random, with the lengths of real text, the same pairs packed and padded; only real target tokens count.
peers.py defines the peers and how they are run. Tensors are named as in `hark.model`.
"""

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.peers import VARIANTS, Marian, Step, TorchTransformer, Variant, peer_step
from hark import configfile
from hark.config import BatchConfig, Config, ModelConfig
from hark.data.batches import Batch, Corpus, PackedBatch, PackedStream, PaddedBatch, TokenStream, make_batches
from hark.data.store import TokenStore
from hark.model import new_model
from hark.recipes import FOLDER as RECIPES
from hark.text.tokenizer import SPECIAL
from hark.train.loss import Objective, to_tensors
from hark.train.optimiser import build_optimiser
from hark.train.passes import build_passes, fallback_reason
from hark.train.processes import Processes

VOCABULARY = 37_000
CORPUS = 4_500_000
"""Pairs in the corpus, as in the paper (5.1): the larger the corpus, the less padding length buckets need."""
PASSES = 4
"""Repetitions of the pairs in the packed batches: a half-empty last batch weighs less, as in training."""
FIRST_TOKEN = 300
"""Smaller ids are special tokens and bytes."""

Lengths = NDArray[np.int64]


@dataclass(frozen=True)
class Workload:
    """The same sentence pairs, packed and in length buckets."""

    packed: Sequence[PackedBatch]
    padded: Sequence[PaddedBatch]


def make_workload(config: BatchConfig, vocab_size: int, steps: int, corpus: int = CORPUS) -> Workload:
    """Take `steps` buckets of a corpus, evenly spaced by length, and pack the same pairs.

    Buckets of a small corpus would be wide, with padding that is unfair to the peers. So all pairs of a corpus of
    realistic size get a length and are sorted into buckets, and only those used in a step get tokens.
    """
    source, target = draw_lengths(corpus, config.max_length)
    padded = replace(config, kind="padded")
    store = make_store(source, target, lambda count: np.broadcast_to(np.uint16(FIRST_TOKEN), count))  # takes no memory
    buckets = make_batches([Corpus("lengths", 1.0, [store])], padded, SPECIAL).buckets[0]  # type: ignore[union-attr]
    chosen = np.unique(((np.arange(steps) + 0.5) * len(buckets) / steps).astype(np.int64))
    rows = [buckets.rows[buckets.cuts[bucket] : buckets.cuts[bucket + 1]] for bucket in chosen]
    stores = [random_store(source[each], target[each], vocab_size, seed) for seed, each in enumerate(rows)]
    packed = make_batches([Corpus("synthetic", 1.0, [join(stores * PASSES)])], replace(config, kind="packed"), SPECIAL)
    return Workload(
        [packed[i] for i in range(steps)],  # type: ignore[misc]
        [make_batches([Corpus("bucket", 1.0, [store])], padded, SPECIAL)[0] for store in stores],  # type: ignore[misc]
    )


def draw_lengths(pairs: int, longest: int) -> tuple[Lengths, Lengths]:
    """Draw the tokens per side, including EOS: log-normal, 28 on average, with a long tail."""
    rng = np.random.default_rng(0)
    source = np.clip(rng.lognormal(3.15, 0.62, pairs), 2, longest).astype(np.int64)
    target = np.clip(source * rng.lognormal(0.03, 0.18, pairs), 2, longest).astype(np.int64)
    return source, target


def make_store(source: Lengths, target: Lengths, draw: Callable[[int], NDArray[np.uint16]]) -> TokenStore:
    """A store of pairs of given lengths; `draw` makes the tokens of a side."""
    lengths = {"source": source - 1, "target": target - 1}  # the store has no special tokens
    offsets = {side: np.concatenate([[0], np.cumsum(each)]) for side, each in lengths.items()}
    tokens = {side: draw(int(each[-1])) for side, each in offsets.items()}
    return TokenStore(Path("synthetic"), tokens, offsets)  # type: ignore[arg-type]


def random_store(source: Lengths, target: Lengths, vocab_size: int, seed: int) -> TokenStore:
    rng = np.random.default_rng(seed)
    return make_store(source, target, lambda number: rng.integers(FIRST_TOKEN, vocab_size, number, np.uint16))


def join(stores: Sequence[TokenStore]) -> TokenStore:
    """Concatenate the pairs of several stores."""
    pairs = [store[i] for store in stores for i in range(len(store))]
    sources, targets = zip(*pairs, strict=True)
    tokens = iter([np.concatenate(sources), np.concatenate(targets)])
    source, target = (np.array([len(ids) + 1 for ids in side]) for side in (sources, targets))
    return make_store(source, target, lambda _: next(tokens))


def lengths_of(batch: Batch[Any]) -> tuple[Lengths, Lengths]:
    """The number of source and target tokens of each real pair of a batch."""

    def of_stream(stream: TokenStream[Any]) -> Lengths:
        found = np.diff(stream.cu)[: batch.n_pairs] if isinstance(stream, PackedStream) else stream.arrays()["lengths"]
        lengths: Lengths = found.astype(np.int64)
        return lengths

    return of_stream(batch.streams["source"]), of_stream(batch.streams["target"])


def operations(model: ModelConfig, source: Lengths, target: Lengths) -> float:
    """Count the floating-point operations that one step over pairs of these lengths requires, in matrix products only.

    Each weight of a matrix takes 2 per real token forward and 4 backward (gradients of input and weight): source tokens
    pass the encoder and the keys and values of cross-attention, target tokens the rest of the decoder and the output
    matrix. Each query takes 2 (K + V) per visible key and head forward (scores, sum of values) and twice as many
    backward; a causal query sees itself and earlier positions. Not counted: padding, masked scores, and recomputation.
    """
    d, h, k, v = model.d_model, model.n_heads, model.k_width, model.v_width
    keys_values, queries_out = d * h * (k + v), d * h * (k + v)
    feed_forward = (3 if model.activation == "swiglu" else 2) * d * model.d_ff
    layer = keys_values + queries_out + feed_forward
    per_source = model.n_encoder_layers * layer + model.n_decoder_layers * keys_values
    per_target = model.n_decoder_layers * (layer + queries_out) + model.vocab_size * d
    seen_by_encoder = (source * source).sum()
    seen_by_decoder = (target * (target + 1) // 2).sum() + (source * target).sum()
    seen = model.n_encoder_layers * seen_by_encoder + model.n_decoder_layers * seen_by_decoder
    return 6.0 * float(per_source * source.sum() + per_target * target.sum() + h * (k + v) * seen)


PEAK = 990e12
"""Dense bfloat16 operations per second of an H100 or H200, according to the vendor."""
BATCH_TOKENS = {"ours": (25_600,), "hf": (25_600, 102_400), "torch": (25_600,)}
"""Defaults. Marian is faster with batches larger than the paper's, so it is measured with such a one too."""
PEERS = {"hf": Marian, "torch": TorchTransformer}
NAMES = {"ours": "hark", "hf": "Hugging Face Marian", "torch": "nn.Transformer"}
REPEATS = 2


@dataclass(frozen=True)
class Result:
    """The measurements of one system, as means per step."""

    size: str
    system: str
    variant: str
    batch_tokens: int
    steps: int
    tokens_per_second: float
    ms_per_step: float
    tflops: float
    share_of_peak: float
    gib: float | None  # None on a CPU
    spread: float  # largest over smallest time of a pass, minus 1
    fill: float  # share of slots with real target tokens

    def row(self) -> str:
        name = ", ".join(filter(None, (self.size, NAMES[self.system], self.variant, f"{self.batch_tokens:,}")))
        gib = "-" if self.gib is None else f"{self.gib:.1f}"
        return (
            f"{name:<66} {self.tokens_per_second:>12,.0f} {self.ms_per_step:>8.1f} {self.tflops:>8.1f} "
            f"{self.share_of_peak:>7.1%} {gib:>7} {self.fill:>6.1%} {self.spread:>6.1%}"
        )


HEADER = (
    f"{'what, batch tokens':<66} {'target tok/s':>12} {'ms/step':>8} {'TFLOP/s':>8} "
    f"{'of peak':>7} {'GiB':>7} {'fill':>6} {'spread':>6}"
)


def our_step(config: Config, device: torch.device, batches: Sequence[PackedBatch]) -> Step:
    """A training step as in `hark train`."""
    processes = Processes(0, 1, device)
    fused = fallback_reason(config, processes) is None
    model = new_model(config.model).to(device).train()
    objective = Objective.of(config, model, SPECIAL.pad, fused)
    passes = build_passes(objective, processes, config)
    optimiser = build_optimiser(model, config.train)
    ready = [(to_tensors(batch, device), batch.n_target_tokens) for batch in batches]

    def step(number: int) -> int:
        tensors, tokens = ready[number % len(ready)]
        torch.manual_seed(number)
        passes(tensors, 1 / tokens, last=True)
        optimiser.step(1e-4)
        return tokens

    return step


def measure(
    build: Callable[[], Step], batches: Sequence[Batch[Any]], device: torch.device, repeats: int
) -> tuple[list[float], float | None]:
    """The seconds of each pass over the batches after a warm-up, and the peak memory in GiB."""
    torch._dynamo.reset()  # the compiler caches of the previous system
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    torch.manual_seed(1)
    step = build()
    seconds = []
    for _ in range(1 + repeats):
        start = time.perf_counter()
        for number in range(len(batches)):
            step(number)
        if device.type == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    memory = torch.cuda.max_memory_allocated() / 2**30 if device.type == "cuda" else None
    return seconds[1:], memory


class Bench:
    """Measures all cases of a command, prints each result at once and saves it."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments, self.tiny = arguments, arguments.tiny
        self.device = torch.device("cuda" if torch.cuda.is_available() and not self.tiny else "cpu")
        self.machine = torch.cuda.get_device_name() if self.device.type == "cuda" else "CPU, for correctness only"
        self.sizes = ["tiny"] if self.tiny else arguments.sizes.split(",")
        self.lines: list[str] = []
        self.results: list[Result] = []
        self.failures = 0
        # Synthetic tokens depend on few settings, so sizes share them.
        self.workload = cache(self.make_workload)

    def make_workload(self, batch_tokens: int) -> Workload:
        config, steps = self.config(self.sizes[0], batch_tokens), self.arguments.steps
        if self.tiny:
            return make_workload(config.batches, config.model.vocab_size, steps, corpus=4_000)
        return make_workload(config.batches, VOCABULARY, max(1, steps * 25_600 // batch_tokens))

    def config(self, size: str, batch_tokens: int) -> Config:
        config = configfile.load(RECIPES / f"{size}.toml")
        return replace(config, batches=replace(config.batches, batch_tokens=batch_tokens))

    def run(self) -> None:
        self.print(f"{self.machine}; torch {torch.__version__}")
        self.print(HEADER)
        for size, system in product(self.sizes, self.arguments.systems.split(",")):
            if system == "hf" and find_spec("transformers") is None:
                self.print(f"{size}, {NAMES[system]}: not measured; requires transformers")
                continue
            names = self.arguments.variants.split(",")
            variants: list[Variant | None] = [None] if system == "ours" else [VARIANTS[name] for name in names]
            for batch_tokens in self.arguments.batch_tokens or ((128,) if self.tiny else BATCH_TOKENS[system]):
                config = self.config(size, batch_tokens)
                done = {each: self.run_case(size, system, config, each) for each in variants}
                rates = {each: result.tokens_per_second for each, result in done.items() if result}
                if rates:  # only the fastest variant runs with the other batch sizes
                    variants = [max(rates, key=lambda variant: rates[variant])]

    def run_case(self, size: str, system: str, config: Config, variant: Variant | None) -> Result | None:
        try:
            workload = self.workload(config.batches.batch_tokens)
            batches: Sequence[Batch[Any]] = workload.packed if variant is None else workload.padded

            def build() -> Step:
                if variant is None:
                    return our_step(config, self.device, workload.packed)
                return peer_step(PEERS[system](config.model), config, self.device, workload.padded, variant)

            seconds, gib = measure(build, batches, self.device, 1 if self.tiny else REPEATS)
            mean, tokens = sum(seconds) / len(seconds), sum(batch.n_target_tokens for batch in batches)
            flops = sum(operations(config.model, *lengths_of(batch)) for batch in batches) / mean
            result = Result(
                size, system, str(variant or ""), config.batches.batch_tokens, len(batches), tokens / mean,
                1000 * mean / len(batches), flops / 1e12, flops / PEAK, gib, max(seconds) / min(seconds) - 1,
                tokens / sum(batch.n_target_slots for batch in batches),
            )  # fmt: skip
            self.print(result.row())
            self.results.append(result)
        except Exception as error:  # a failure of one system must not lose the results of the others
            self.failures += 1
            self.print(f"{size}, {NAMES[system]}, {variant or ''}: failed: {' '.join(str(error).split())[:300]}")
            return None
        finally:
            self.save()
        return result

    def print(self, line: str) -> None:
        print(line, flush=True)
        self.lines.append(line)

    def save(self) -> None:
        """Save all results so far to the output folder."""
        if self.arguments.out:
            self.arguments.out.mkdir(parents=True, exist_ok=True)
            (self.arguments.out / "train_speed.txt").write_text("\n".join(self.lines) + "\n")
            results = [asdict(result) for result in self.results]
            report = {"machine": self.machine, "torch": torch.__version__, "results": results}
            (self.arguments.out / "train_speed.json").write_text(json.dumps(report, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="base,big", help="recipes, comma-separated")
    parser.add_argument("--systems", default="ours,hf,torch")
    parser.add_argument("--variants", default="eager,compiled,bf16", help=f"of the peers: {', '.join(VARIANTS)}")
    parser.add_argument("--batch-tokens", type=int, nargs="+", help="default: 25,600, and for Marian also 102,400")
    parser.add_argument("--steps", type=int, help="steps per pass, of three passes (default: 32)")
    parser.add_argument("--tiny", action="store_true", help="use a tiny model on the CPU")
    parser.add_argument("--out", type=Path, help="folder for the table, as text and as JSON")
    arguments = parser.parse_args()
    for names, known in ((arguments.systems, NAMES), (arguments.variants, VARIANTS)):
        if unknown := set(names.split(",")) - set(known):
            parser.error(f"unknown: {', '.join(sorted(unknown))}; choose from {', '.join(known)}")
    arguments.steps = arguments.steps or (2 if arguments.tiny else 32)
    arguments.variants = "eager" if arguments.tiny else arguments.variants
    bench = Bench(arguments)
    bench.run()
    sys.exit(1 if bench.failures else 0)


if __name__ == "__main__":
    main()
