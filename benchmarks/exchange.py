"""Translation speed of an imported model in the shape of OPUS-MT (6+6 layers, 512, vocabulary 58,101), beam 6.

    python -m benchmarks.exchange                        on the CPU, int8: hark, CTranslate2 by hand, transformers
    python -m benchmarks.exchange --device cuda          on a GPU: hark bfloat16, transformers bfloat16 and float16
    python -m benchmarks.exchange --device cpu --tiny    tiny sizes, which checks only that it runs; with
                                                         --engine torch the way it runs on a GPU, without CTranslate2

Needs torch, transformers, sentencepiece and safetensors; CTranslate2 only on the CPU. Options: --sentences, --beam,
--rounds, and --batches for the batch sizes of the others (the best counts).

The model has random weights, and such a model never ends a sentence: every output is forced to the length of its source
(12, 24 or 36 tokens) on all sides, so that all generate the same number of tokens. Batches of the others have one
length each, so they compute no padding. Timed from token ids to token ids, after one warm-up; systems take turns, and
the best of the rounds counts.
"""

import argparse
import platform
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.opus_mt import TINY, OpusShape, write_opus_mt
from hark.bundle import Bundle
from hark.config import DecodeConfig
from hark.engine.interface import Engine
from hark.engine.opening import open_engine
from hark.engine.request import Request
from hark.exchange.importer import ImportRequest, import_model
from hark.machine import available_cores
from hark.text.opening import open_vocabularies

LENGTHS, TINY_LENGTHS = (12, 24, 36), (4, 8, 12)
"""Tokens per sentence, EOS included."""
Sources = list[list[int]]
System = Callable[[], int]
"""Translates all sources; returns the number of generated tokens."""


def draw_sources(count: int, lengths: Sequence[int], end: int, vocabulary: int) -> Sources:
    """Draw sources of these lengths in turn, of random tokens and EOS. Specials are first and last."""
    rng = np.random.default_rng(0)
    each = islice(cycle(lengths), count)
    return [[*rng.integers(2, vocabulary - 1, length - 1).tolist(), end] for length in each]


def alike(sources: Sources, size: int) -> Iterator[Sources]:
    """Batches of equally long sources."""
    for length in sorted({len(source) for source in sources}):
        rows = [source for source in sources if len(source) == length]
        yield from (rows[first : first + size] for first in range(0, len(rows), size))


def by_hark(engine: Engine, sources: Sources, beam: int) -> System:
    def run() -> int:
        requests = [Request(each, DecodeConfig(beam=beam, max_extra=0, min_length=len(each))) for each in sources]
        answers = dict(engine.run(requests))
        return checked(sources, [answers[i][0].tokens for i in range(len(sources))])

    return run


def by_transformers(model: Any, sources: Sources, beam: int, size: int) -> System:
    """Hugging Face's `generate`."""
    batches = list(alike(sources, size))

    @torch.inference_mode()
    def run() -> int:
        found: Sources = []
        for batch in batches:
            tokens, length = torch.tensor(batch, device=model.device), len(batch[0])
            output = model.generate(
                input_ids=tokens,
                attention_mask=torch.ones_like(tokens),
                num_beams=beam,
                do_sample=False,
                min_new_tokens=length,
                max_new_tokens=length,
            )
            found += output[:, 1:].tolist()
        return checked([source for batch in batches for source in batch], found)

    return run


def by_hand(translator: Any, pieces: Sequence[str], sources: Sources, beam: int, size: int) -> System:
    """CTranslate2 called directly, once per length: it has one length limit per call."""

    def run() -> int:
        tokens = 0
        for batch in alike(sources, len(sources)):
            length = len(batch[0])
            results = translator.translate_batch(
                [[pieces[token] for token in source] for source in batch],
                beam_size=beam,
                max_batch_size=size,
                max_decoding_length=length,
                min_decoding_length=length,
            )
            tokens += checked(batch, [result.hypotheses[0] for result in results])
        return tokens

    return run


def checked(sources: Sources, outputs: Sequence[Sequence[Any]]) -> int:
    """Return the number of tokens; every output must be as long as its source, so that all systems work equally."""
    lengths = [len(output) for output in outputs]
    assert lengths == [len(source) for source in sources], "an output is not as long as its source"
    return sum(lengths)


def load_transformers(folder: Path, device: str, dtype: torch.dtype) -> Any:
    from transformers import MarianMTModel  # type: ignore[import-not-found]

    model = MarianMTModel.from_pretrained(folder).to(device, dtype).eval()
    model.generation_config.forced_eos_token_id = None
    return model


def quantised(model: Any) -> Any:
    """The model with dynamic int8 for its matrix products, by PyTorch."""
    # PyTorch lists engines that do not run on this processor.
    torch.backends.quantized.engine = "onednn" if platform.machine() in ("aarch64", "arm64") else "x86"
    return torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8)


def convert_by_hand(folder: Path, out: Path) -> Any:
    """Convert with CTranslate2's own converter, and load it with one worker per core, as hark does."""
    import ctranslate2  # type: ignore[import-untyped]

    ctranslate2.converters.TransformersConverter(str(folder)).convert(str(out), quantization="int8")
    return ctranslate2.Translator(str(out), compute_type="int8", inter_threads=available_cores(), intra_threads=1)


def systems(folder: Path, bundle: Bundle, device: str, arguments: argparse.Namespace) -> Iterator[tuple[str, System]]:
    """The systems to compare, by name. One that does not run here is reported and left out."""
    vocabulary = open_vocabularies(bundle)[1]
    config, beam = bundle.config.model, arguments.beam
    lengths = TINY_LENGTHS if arguments.tiny else LENGTHS
    sources = draw_sources(arguments.sentences, lengths, vocabulary.special.end, config.vocab_size)
    engine = open_engine(bundle, vocabulary.special, arguments.engine, device)
    yield f"hark, {engine.name}", by_hark(engine, sources, beam)
    if arguments.engine == "auto" and device == "cpu":
        translator = convert_by_hand(folder, folder.parent / "by-hand")
        pieces = vocabulary.pieces(range(config.vocab_size))
        for size in arguments.batches:
            yield f"CTranslate2 by hand, int8, batches of {size}", by_hand(translator, pieces, sources, beam, size)
    types = (torch.float32,) if device == "cpu" else (torch.bfloat16, torch.float16)
    for dtype in types:
        model = load_transformers(folder, device, dtype)
        for size in arguments.batches:
            name = f"transformers, {str(dtype).removeprefix('torch.')}, batches of {size}"
            yield name, by_transformers(model, sources, beam, size)
    if arguments.engine == "auto" and device == "cpu":
        size = arguments.batches[-1]
        try:
            small = by_transformers(quantised(load_transformers(folder, device, torch.float32)), sources, beam, size)
            small()
        except Exception as error:
            print(f"transformers, dynamic int8: does not run ({type(error).__name__}: {str(error).splitlines()[0]})")
        else:
            yield f"transformers, dynamic int8, batches of {size}", small


def quiet() -> None:
    """Keep progress bars and advice off the terminal."""
    from transformers.utils import logging  # type: ignore[import-not-found]

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    warnings.simplefilter("ignore")


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def measure(folder: Path, bundle: Bundle, device: str, arguments: argparse.Namespace) -> None:
    """Print the generated tokens per second of each system."""
    found = dict(systems(folder, bundle, device, arguments))
    for system in found.values():
        system()
    best = dict.fromkeys(found, 0.0)
    for _ in range(arguments.rounds):
        for name, system in found.items():
            wait(device)
            start = time.perf_counter()
            tokens = system()
            wait(device)
            best[name] = max(best[name], tokens / (time.perf_counter() - start))
    ours = next(iter(best.values()))
    for name, rate in best.items():
        print(f"{name:<50} {rate:>10,.0f} tokens/s  {rate / ours:>6.3f} of hark", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--sentences", type=int, help="default: 120 on a CPU, 3,000 on a GPU")
    parser.add_argument("--engine", choices=["auto", "torch"], default="auto", help="torch: without CTranslate2")
    parser.add_argument("--beam", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batches", type=int, nargs="+", help="default: 16 32 on a CPU, 64 256 on a GPU")
    arguments = parser.parse_args()
    on_gpu = arguments.device == "cuda"
    arguments.sentences = arguments.sentences or (6 if arguments.tiny else 3000 if on_gpu else 120)
    arguments.batches = arguments.batches or ([2] if arguments.tiny else [64, 256] if on_gpu else [16, 32])
    torch.set_num_threads(available_cores())
    quiet()
    shape = TINY if arguments.tiny else OpusShape()
    with tempfile.TemporaryDirectory() as made:
        folder = write_opus_mt(Path(made) / "opus-mt-en-de", shape)
        start = time.perf_counter()
        # The check needs CTranslate2, which a bare GPU machine does not have.
        import_model(ImportRequest(str(folder), check=False), Path(made) / "imported")
        size = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
        seconds = time.perf_counter() - start
        print(f"random weights, {size / 1e6:.0f} MB, imported without check in {seconds:.1f} s")
        print(f"{arguments.sentences} sentences, beam {arguments.beam}, fixed output length (that of the source)")
        measure(folder, Bundle.open(Path(made) / "imported"), arguments.device, arguments)


if __name__ == "__main__":
    main()
