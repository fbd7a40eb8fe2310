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
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import ctranslate2  # type: ignore[import-untyped]
import torch

from benchmarks.exchange import Outputs, Sources, best_rates, by_hand, by_hark, by_transformers
from benchmarks.peers import marian_config
from hark.bundle import TOKENIZER, Bundle, write_bundle
from hark.config import Config, CorpusConfig, ModelConfig
from hark.data.corpus import read_pairs
from hark.data.sample import paths
from hark.engine.conversion import convert
from hark.engine.ctranslate2 import CTranslate2Engine
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
from hark.engine.interface import Request
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
kilobytes = [line.split()[1] for line in open("/proc/self/status") if "VmHWM" in line]
print(imported - start, verified - imported, loaded - verified, end - loaded, *kilobytes)
"""


@dataclass(frozen=True)
class Material:
    """The texts, and the model to translate them with."""

    bundle: Bundle
    tokenizer: Tokenizer
    texts: list[str]

    @property
    def vocab_size(self) -> int:
        return self.bundle.config.model.vocab_size

    def tokenise(self) -> Sources:
        return [[*ids, EOS] for ids in self.tokenizer.encode(self.texts)]

    def detokenise(self, sentences: Outputs) -> list[str]:
        """Decode tokens. The model has more tokens than the tokenizer, which is trained on a small text."""
        size = self.tokenizer.vocab_size
        texts = self.tokenizer.decode([[int(token) % size for token in sentence] for sentence in sentences])
        assert len(texts) == len(sentences)
        return texts


def prepare(folder: Path, sentences: int, model: ModelConfig, vocab_size: int = 8000) -> Material:
    pairs = list(read_pairs(CorpusConfig(*paths()["train"]), "en", "de"))
    tokenizer = Tokenizer(train_tokenizer((text for pair in pairs for text in pair), vocab_size, []))
    torch.manual_seed(1)
    weights = Transformer(model).state_dict()
    config, facts = replace(Config(), model=model), Facts(pairs=(("en", "de"),), summary="Random weights.")
    vocabulary, folder = {TOKENIZER: tokenizer.model}, folder / "model"
    write_bundle(folder, config, lambda path: write_tensors(path, weights), vocabulary, facts)
    return Material(Bundle.open(folder), tokenizer, exact_texts(tokenizer, [pair[0] for pair in pairs], sentences))


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


def compare(material: Material, beam: int, repeats: int, marian: bool = False) -> dict[str, float]:
    """Output tokens per second of each system: the best of the repeats, with systems taking turns."""
    engine = CTranslate2Engine.open(material.bundle, SPECIAL, "int8")
    files = convert(read_weights(material.bundle.weights), material.bundle.config.model, SPECIAL, "int8")
    threads = {"inter_threads": available_cores(), "intra_threads": 1}
    translator = ctranslate2.Translator("by hand", compute_type="int8", files=files, **threads)
    read, finish, names = material.tokenise, material.detokenise, list(map(str, range(material.vocab_size)))
    systems = {"hark": by_hark(engine, read, beam, finish)}
    for size, scores in product(BATCH_SIZES, (True, False)):
        name = f"by hand, batches of {size}{'' if scores else ', no scores'}"
        systems[name] = by_hand(translator, names, read, beam, size, scores, finish)
    if marian:
        from transformers import MarianMTModel

        torch.set_num_threads(available_cores())
        theirs = MarianMTModel(marian_config(material.bundle.config.model, forced_eos_token_id=None)).eval()
        systems["Hugging Face, float32, batches of 16"] = by_transformers(theirs, read, beam, 16, finish)
    return best_rates(systems, repeats)


def cold_start(folder: Path, starts: int = COLD_STARTS) -> str:
    """Time and peak memory of a new process to its first translation, by part: the best of several."""
    best: tuple[float, list[float]] = (float("inf"), [])
    for _ in range(starts):
        start = time.perf_counter()
        run = subprocess.run([sys.executable, "-c", COLD_START, folder], check=True, capture_output=True, text=True)
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
            engine, words = CTranslate2Engine.open(material.bundle, SPECIAL, "int8"), []
            for length, text in zip(LENGTHS, material.texts, strict=False):
                work = by_hark(engine, replace(material, texts=[text]).tokenise, beam, material.detokenise)
                best = min(timeit.repeat(work, number=1, repeat=repeats + 1))
                words.append(f"{length} tokens {1000 * best:.0f} ms")
            print(f"beam {beam}  one sentence: {', '.join(words)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=600)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--marian", action="store_true", help="measure Hugging Face too (requires transformers)")
    parser.add_argument("--tiny", action="store_true", help="use a tiny model, to check that the benchmark runs")
    measure(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
