"""Translation speed on a CPU, from text to text: our engine, CTranslate2 called directly, Hugging Face; and cold start.

    python -m benchmarks.decode_cpu [--sentences 600] [--repeats 3] [--marian] [--tiny]

The model is the paper's base model with random weights, which never stops by itself: each output is forced to the
length of its input, so that every system does the same work. Sentences have only a few lengths, because CTranslate2 can
force one length per call. Systems take turns, and the best of the repeats counts. Each batch size by hand is a system.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path

import ctranslate2  # type: ignore[import-untyped]
import torch

from benchmarks.exchange import alike, best_rates, generate
from benchmarks.peers import marian_config
from hark.bundle import TOKENIZER, Bundle, write_bundle
from hark.config import Config, CorpusConfig, DecodeConfig, ModelConfig
from hark.data.corpus import read_pairs
from hark.data.sample import paths
from hark.engine.conversion import convert
from hark.engine.ctranslate2 import CTranslate2Engine
from hark.engine.request import Request
from hark.facts import Facts
from hark.machine import available_cores
from hark.model import Transformer
from hark.text.tokenizer import EOS, SPECIAL, Tokenizer, train_tokenizer
from hark.train.checkpoint import write_tensors
from hark.weights import read_weights

LENGTHS = (12, 24, 36)
"""Tokens per sentence, including EOS."""
BATCH_SIZES = (16, 32)
COLD_STARTS = 5
COLD_START = """
import sys, time
start = time.perf_counter()
from hark.bundle import Bundle
from hark.config import DecodeConfig
from hark.engine.ctranslate2 import CTranslate2Engine
from hark.engine.request import Request
from hark.text.tokenizer import Tokenizer
imported = time.perf_counter()
bundle = Bundle.open(sys.argv[1])
verified = time.perf_counter()
tokenizer = Tokenizer.load(bundle.target_tokenizer)
engine = CTranslate2Engine.open(bundle, tokenizer.special)
loaded = time.perf_counter()
source = [*tokenizer.encode_one("Where is the station?"), tokenizer.special.end]
((_, (best, *_)),) = engine.run([Request(source, DecodeConfig(max_extra=4))])  # random weights do not stop
tokenizer.decode([[token % tokenizer.vocab_size for token in best.tokens]])
end = time.perf_counter()
from pathlib import Path
kilobytes = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line]
print(imported - start, verified - imported, loaded - verified, end - loaded, *kilobytes)
"""


@dataclass(frozen=True)
class Material:
    """The texts, and the model to translate them with."""

    bundle: Bundle
    tokenizer: Tokenizer
    texts: list[str]

    def requests(self, beam: int) -> Iterator[Request]:
        for ids in self.tokenizer.encode(self.texts):
            yield Request([*ids, EOS], DecodeConfig(beam=beam, max_extra=0, min_length=len(ids) + 1))

    def detokenise(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """Decode tokens. The model has more tokens than the tokenizer, which is trained on a small text."""
        size = self.tokenizer.vocab_size
        return self.tokenizer.decode([[token % size for token in sentence] for sentence in sentences])


def prepare(folder: Path, sentences: int, model: ModelConfig, vocab_size: int = 8000) -> Material:
    corpus = CorpusConfig(*paths()["train"])
    pairs = list(read_pairs(corpus, "en", "de"))
    tokenizer = Tokenizer(train_tokenizer((text for pair in pairs for text in pair), vocab_size, []))
    torch.manual_seed(1)
    weights = Transformer(model).state_dict()
    config, facts = replace(Config(), model=model), Facts(pairs=(("en", "de"),), summary="Random weights.")
    write_bundle(
        folder / "model", config, lambda path: write_tensors(path, weights), {TOKENIZER: tokenizer.model}, facts
    )
    texts = exact_texts(tokenizer, [pair[0] for pair in pairs], sentences)
    return Material(Bundle.open(folder / "model"), tokenizer, texts)


def exact_texts(tokenizer: Tokenizer, pieces: Sequence[str], number: int) -> list[str]:
    """Concatenate sentences to texts of exactly the lengths in LENGTHS, in turn."""
    rng = random.Random(1)
    texts: list[str] = []
    while len(texts) < number:
        length, text = LENGTHS[len(texts) % len(LENGTHS)] - 1, ""
        while len(tokenizer.encode_one(text)) < length:
            text = f"{text} {rng.choice(pieces)}".strip()
        while len(tokenizer.encode_one(text)) > length:
            text = text.rpartition(" ")[0]
        if len(tokenizer.encode_one(text)) == length:
            texts.append(text)
    return texts


def by_hark(material: Material, engine: CTranslate2Engine, beam: int) -> int:
    """Translate with our engine, and return the number of output tokens."""
    answers = dict(engine.run(material.requests(beam)))
    results = [answers[i][0].tokens for i in range(len(answers))]
    assert len(material.detokenise(results)) == len(material.texts)
    return sum(map(len, results))


def by_hand(material: Material, translator: ctranslate2.Translator, beam: int, batch_size: int, scores: bool) -> int:
    """Call CTranslate2 directly, once per length; it sorts and splits the batch to keep all workers busy. With scores
    it does the same as hark; greedy search without them saves the softmax."""
    sources = [[*map(str, ids), str(EOS)] for ids in material.tokenizer.encode(material.texts)]
    tokens = 0
    for batch in alike(sources, len(sources)):
        results = translator.translate_batch(
            batch, beam_size=beam, max_batch_size=batch_size, max_decoding_length=len(batch[0]),
            min_decoding_length=len(batch[0]), return_scores=scores,
        )  # fmt: skip
        results = [list(map(int, result.hypotheses[0])) for result in results]
        material.detokenise(results)
        tokens += sum(map(len, results))
    return tokens


def by_marian(material: Material, beam: int, batch_size: int) -> Callable[[], int]:
    """Hugging Face's `generate` with a model of the same size in float32."""
    from transformers import MarianMTModel

    torch.set_num_threads(available_cores())
    marian = MarianMTModel(marian_config(material.bundle.config.model, forced_eos_token_id=None)).eval()

    def run() -> int:
        tokens = 0
        for batch in alike([[*ids, EOS] for ids in material.tokenizer.encode(material.texts)], batch_size):
            results = generate(marian, batch, beam)
            material.detokenise(results)
            tokens += sum(map(len, results))
        return tokens

    return run


def compare(material: Material, beam: int, repeats: int, marian: bool = False) -> dict[str, float]:
    """Output tokens per second of each system: the best of the repeats, with systems taking turns."""
    engine = CTranslate2Engine.open(material.bundle, SPECIAL, "int8")
    files = convert(read_weights(material.bundle.weights), material.bundle.config.model, SPECIAL, "int8")
    translator = ctranslate2.Translator(
        "by hand", compute_type="int8", inter_threads=available_cores(), intra_threads=1, files=files
    )
    systems: dict[str, Callable[[], int]] = {"hark": lambda: by_hark(material, engine, beam)}
    for size, scores in product(BATCH_SIZES, (True, False)):
        name = f"by hand, batches of {size}{'' if scores else ', no scores'}"
        systems[name] = partial(by_hand, material, translator, beam, size, scores)
    if marian:
        systems["Hugging Face, float32, batches of 16"] = by_marian(material, beam, 16)
    return best_rates(systems, repeats)


def latency(material: Material, beam: int, repeats: int) -> dict[int, float]:
    """Milliseconds for a single sentence of each length, text to text."""
    engine = CTranslate2Engine.open(material.bundle, SPECIAL, "int8")
    best = {}
    for length, text in zip(LENGTHS, material.texts, strict=False):
        work = partial(by_hark, replace(material, texts=[text]), engine, beam)
        best[length] = 1000 * min(timeit.repeat(work, number=1, repeat=repeats + 1))
    return best


def cold_start(folder: Path, starts: int = COLD_STARTS) -> str:
    """Time and peak memory of a new process to its first translation, by part: the best of several."""
    best: tuple[float, list[float]] = (float("inf"), [])
    for _ in range(starts):
        start = time.perf_counter()
        run = subprocess.run(
            [sys.executable, "-c", COLD_START, str(folder)], check=True, capture_output=True, text=True
        )
        best = min(best, (time.perf_counter() - start, [float(part) for part in run.stdout.split()]))
    seconds, (imports, hashes, loading, translating, kilobytes) = best
    parts = f"imports {imports:.2f}, hashes {hashes:.2f}, loading {loading:.2f}, translating {translating:.2f}"
    return f"cold start {seconds:.2f} s ({parts}), {kilobytes / 1024:.0f} MB"


def measure(tiny: bool = False, sentences: int = 600, repeats: int = 3, marian: bool = False) -> None:
    """Print all measurements. `tiny` uses a tiny model, to check that the benchmark runs."""
    model = ModelConfig()
    if tiny:
        model = ModelConfig(d_model=32, d_ff=64, n_heads=2, n_encoder_layers=1, n_decoder_layers=1, vocab_size=1000)
        sentences, repeats = 6, 1
    with tempfile.TemporaryDirectory() as folder:
        material = prepare(Path(folder), sentences, model, 1000 if tiny else 8000)
        print(cold_start(material.bundle.folder, 1 if tiny else COLD_STARTS), flush=True)
        for beam in (4, 1):
            results = compare(material, beam, repeats, marian)
            hand = max(rate for name, rate in results.items() if name.startswith("by hand") and "no scores" not in name)
            for name, rate in results.items():
                print(f"beam {beam}  {name:<40} {rate:>8.0f} tokens/s  {rate / hand:>6.2f} of the best with scores")
            times = latency(material, beam, repeats)
            words = ", ".join(f"{length} tokens {milliseconds:.0f} ms" for length, milliseconds in times.items())
            print(f"beam {beam}  one sentence: {words}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=600)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--marian", action="store_true", help="measure Hugging Face too (requires transformers)")
    parser.add_argument("--tiny", action="store_true", help="use a tiny model, to check that the benchmark runs")
    measure(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
