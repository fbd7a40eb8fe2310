"""Size and speed of students of several shapes on a CPU, in int8, compared with the base model.

    python -m benchmarks.student_sizes [--sentences 240] [--repeats 4]

Weights are random, and each output is forced to the length of its input. A smaller vocabulary needs more tokens for the
same text; sentences are longer by the ratio measured on 4,000 sentences of Europarl and Tatoeba, so that sentences per
second are comparable. Models take turns, and the best of the repeats counts.
"""

import argparse
import random
import time
from collections.abc import Iterator

import torch

from hark.config import DecodeConfig, ModelConfig
from hark.engine.ctranslate2 import CTranslate2Engine
from hark.engine.request import Request
from hark.machine import available_cores
from hark.model import Transformer
from hark.text.tokenizer import EOS, SPECIAL
from hark.weights import store

LENGTHS = (10, 16, 22, 28, 36, 50)
"""Tokens per sentence in a vocabulary of 37,000, including EOS."""
TOKENS = {8000: 1.216, 12000: 1.134, 16000: 1.088, 37000: 1.0}
"""Tokens of a text relative to a vocabulary of 37,000: 93,812, 87,461, 83,940 and 77,141 were counted."""
BEAMS = (4, 2, 1)
BASE = "6+6 512/2048 37000"
SHAPES = (
    BASE,
    "12+1 384/1024 16000",
    "12+2 320/1280 16000",
    "12+1 320/1536 16000",
    "12+1 256/1536 16000",
    "12+2 320/1280 12000",
    "10+2 384/1024 12000",
    "8+2 384/1536 12000",
    "6+2 384/1536 16000",
    "12+2 320/1280 8000",
)


def config_of(shape: str) -> ModelConfig:
    layers, widths, vocabulary = shape.split()
    (encoder, decoder), (d_model, d_ff) = map(int, layers.split("+")), map(int, widths.split("/"))
    return ModelConfig(
        n_encoder_layers=encoder, n_decoder_layers=decoder, d_model=d_model, d_ff=d_ff, n_heads=d_model // 64,
        vocab_size=int(vocabulary),
    )  # fmt: skip


def requests(config: ModelConfig, sentences: int, beam: int) -> Iterator[Request]:
    rng = random.Random(3)
    for i in range(sentences):
        length = round(LENGTHS[i % len(LENGTHS)] * TOKENS[config.vocab_size])
        source = [rng.randrange(300, config.vocab_size) for _ in range(length - 1)]
        yield Request([*source, EOS], DecodeConfig(beam=beam, max_extra=0, min_length=length))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=240)
    parser.add_argument("--repeats", type=int, default=4)
    arguments = parser.parse_args()
    configs = {shape: config_of(shape) for shape in SHAPES}
    engines, sizes = {}, {}
    for shape, config in configs.items():
        torch.manual_seed(1)
        model = Transformer(config)
        stored = store({name: weight.detach().numpy() for name, weight in model.named_parameters()}, "int8")
        sizes[shape] = sum(each.nbytes for each in stored.values()) / 1e6
        engines[shape] = CTranslate2Engine(stored, config, SPECIAL, "int8", available_cores())
    best = dict.fromkeys(((shape, beam) for shape in SHAPES for beam in BEAMS), 0.0)
    for _ in range(arguments.repeats):
        for shape, beam in best:
            start = time.perf_counter()
            sentences = sum(1 for _ in engines[shape].run(requests(configs[shape], arguments.sentences, beam)))
            best[shape, beam] = max(best[shape, beam], sentences / (time.perf_counter() - start))
    print(f"{available_cores()} cores; sentences per second, and relative to base with the same beam")
    for shape in SHAPES:
        speeds = (
            f"beam {beam} {best[shape, beam]:6.1f} {best[shape, beam] / best[BASE, beam]:5.2f}x" for beam in BEAMS
        )
        print(f"{shape:22} {sizes[shape]:6.2f} MB   {'   '.join(speeds)}", flush=True)


if __name__ == "__main__":
    main()
