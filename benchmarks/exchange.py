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
import json
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle, groupby, islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import sentencepiece
import torch

from benchmarks.peers import marian_config
from hark.bundle import Bundle
from hark.config import CorpusConfig, DecodeConfig, ModelConfig
from hark.data.corpus import read_pairs
from hark.data.sample import paths
from hark.engine.interface import Engine, Request
from hark.engine.opening import open_engine
from hark.exchange.importer import ImportRequest, import_model
from hark.machine import available_cores
from hark.text.opening import open_vocabularies

LENGTHS, TINY_LENGTHS = (12, 24, 36), (4, 8, 12)
"""Tokens per sentence, EOS included."""
SHAPE = ModelConfig(vocab_size=58_101, max_positions=512)
TINY = ModelConfig(
    vocab_size=1200, d_model=32, d_ff=64, n_heads=2, n_encoder_layers=1, n_decoder_layers=1, max_positions=16
)
"""Few positions, because a model with random weights never ends a translation."""
LEARNED = 8000
"""Pieces of each side; more than the sample corpus needs, and fewer than OPUS-MT's 32,000."""
TINY_PAIRS = 300
"""Pairs of the sample corpus that the tiny model's pieces are learned from."""
Sources = list[list[int]]
Source = TypeVar("Source", bound=Sequence[Any])
Outputs = Sequence[Sequence[Any]]
Read = Callable[[], Sources]
Finish = Callable[[Outputs], object]
System = Callable[[], int]
"""Translates all sources; returns the number of generated tokens."""


def write_opus_mt(folder: Path, shape: ModelConfig) -> Path:
    """Write a folder as OPUS-MT's are: safetensors, two sentencepiece models, and one vocabulary for both sides.

    The vocabulary is filled up with pieces that occur in no text, because the sample corpus is too small for so many.
    """
    from transformers import MarianMTModel

    folder.mkdir(parents=True)
    pairs = list(islice(read_pairs(CorpusConfig(*paths()["train"]), "en", "de"), TINY_PAIRS if shape is TINY else None))
    size = min(LEARNED, shape.vocab_size // 3)
    learned: dict[str, None] = {}
    for name, texts in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
        with (folder / f"{name}.spm").open("wb") as file:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(texts), model_writer=file, vocab_size=size, model_type="unigram",
                hard_vocab_limit=False, minloglevel=2,
            )  # fmt: skip
        processor = sentencepiece.SentencePieceProcessor(model_file=file.name)
        ordinary = (i for i in range(len(processor)) if not processor.is_control(i) and not processor.is_unknown(i))
        learned |= dict.fromkeys(map(processor.id_to_piece, ordinary))
    pieces = ["</s>", "<unk>", *learned]
    pad = shape.vocab_size - 1
    pieces += [*(f"▁unused{i}" for i in range(pad - len(pieces))), "<pad>"]
    languages = {"source_lang": "en", "target_lang": "de", "tokenizer_class": "MarianTokenizer"}
    (folder / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(pieces)}), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(languages), encoding="utf-8")
    ids = {"eos_token_id": 0, "bos_token_id": 0, "forced_eos_token_id": 0}
    ids |= {"pad_token_id": pad, "decoder_start_token_id": pad}
    torch.manual_seed(1)
    marian = MarianMTModel(marian_config(shape, activation_function="swish", **ids))
    marian.generation_config.num_beams = 6
    marian.generation_config.bad_words_ids = [[pad]]
    marian.save_pretrained(folder)
    return folder


def draw_sources(count: int, lengths: Sequence[int], end: int, vocabulary: int) -> Sources:
    """Draw sources of these lengths in turn, of random tokens and EOS. Specials are first and last."""
    rng = np.random.default_rng(0)
    each = islice(cycle(lengths), count)
    return [[*rng.integers(2, vocabulary - 1, length - 1).tolist(), end] for length in each]


def alike(sources: Sequence[Source], size: int) -> Iterator[list[Source]]:
    """Batches of equally long sources."""
    for _, equal in groupby(sorted(sources, key=len), len):
        rows = list(equal)
        yield from (rows[first : first + size] for first in range(0, len(rows), size))


@torch.inference_mode()
def generate(model: Any, batch: Sequence[Sequence[int]], beam: int) -> Sources:
    """Hugging Face's `generate`, with outputs as long as the sources."""
    tokens, length = torch.tensor(batch, device=model.device), len(batch[0])
    output = model.generate(
        input_ids=tokens, attention_mask=torch.ones_like(tokens), num_beams=beam, do_sample=False,
        min_new_tokens=length, max_new_tokens=length,
    )  # fmt: skip
    return output[:, 1:].tolist()  # type: ignore[no-any-return]


def best_rates(systems: Mapping[str, System], rounds: int) -> dict[str, float]:
    """Generated tokens per second of each system: the best of the rounds, with systems taking turns."""
    best = dict.fromkeys(systems, 0.0)
    for _ in range(rounds):
        for name, system in systems.items():
            start = time.perf_counter()
            tokens = system()  # as lists, so a device has finished
            best[name] = max(best[name], tokens / (time.perf_counter() - start))
    return best


def by_hark(engine: Engine, read: Read, beam: int, finish: Finish = len) -> System:
    def run() -> int:
        sources = read()
        requests = [Request(each, DecodeConfig(beam=beam, max_extra=0, min_length=len(each))) for each in sources]
        answers = dict(engine.run(requests))
        outputs = [answers[i][0].tokens for i in range(len(sources))]
        finish(outputs)
        return checked(sources, outputs)

    return run


def by_transformers(model: Any, read: Read, beam: int, size: int, finish: Finish = len) -> System:
    def run() -> int:
        tokens = 0
        for batch in alike(read(), size):
            outputs = generate(model, batch, beam)
            finish(outputs)
            tokens += checked(batch, outputs)
        return tokens

    return run


def by_hand(
    translator: Any, pieces: Sequence[str], read: Read, beam: int, size: int, scores: bool = False, finish: Finish = len
) -> System:
    """CTranslate2 called directly, once per length, as it has one length limit per call; it sorts and splits the batch
    to keep all workers busy. With scores it does the same as hark; greedy search without them saves the softmax."""

    def run() -> int:
        tokens = 0
        for batch in alike(sources := read(), len(sources)):
            length = len(batch[0])
            results = translator.translate_batch(
                [[pieces[token] for token in source] for source in batch], beam_size=beam, max_batch_size=size,
                max_decoding_length=length, min_decoding_length=length, return_scores=scores,
            )  # fmt: skip
            outputs = [result.hypotheses[0] for result in results]
            finish(outputs)
            tokens += checked(batch, outputs)
        return tokens

    return run


def checked(sources: Sources, outputs: Sequence[Sequence[Any]]) -> int:
    """Return the number of tokens; every output must be as long as its source, so that all systems work equally."""
    lengths = [len(output) for output in outputs]
    assert lengths == [len(source) for source in sources], "an output is not as long as its source"
    return sum(lengths)


def systems(folder: Path, bundle: Bundle, device: str, arguments: argparse.Namespace) -> Iterator[tuple[str, System]]:
    """The systems to compare, by name. One that does not run here is reported and left out."""
    vocabulary = open_vocabularies(bundle)[1]
    config, beam = bundle.config.model, arguments.beam
    lengths = TINY_LENGTHS if arguments.tiny else LENGTHS
    sources = draw_sources(arguments.sentences, lengths, vocabulary.special.end, config.vocab_size)
    engine, read = open_engine(bundle, vocabulary.special, arguments.engine, device), lambda: sources
    yield f"hark, {engine.name}", by_hark(engine, read, beam)
    if arguments.engine == "auto" and device == "cpu":
        import ctranslate2  # type: ignore[import-untyped]

        out = str(folder.parent / "by-hand")
        ctranslate2.converters.TransformersConverter(str(folder)).convert(out, quantization="int8")
        # One worker per core, as hark does.
        translator = ctranslate2.Translator(out, compute_type="int8", inter_threads=available_cores(), intra_threads=1)
        pieces = vocabulary.pieces(range(config.vocab_size))
        for size in arguments.batches:
            yield f"CTranslate2 by hand, int8, batches of {size}", by_hand(translator, pieces, read, beam, size)
    from transformers import MarianMTModel

    for dtype in (torch.float32,) if device == "cpu" else (torch.bfloat16, torch.float16):
        model = MarianMTModel.from_pretrained(folder).to(device, dtype).eval()
        model.generation_config.forced_eos_token_id = None
        for size in arguments.batches:
            name = f"transformers, {str(dtype).removeprefix('torch.')}, batches of {size}"
            yield name, by_transformers(model, read, beam, size)


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
    from transformers.utils import logging  # no progress bars and advice on the terminal

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as made:
        folder = write_opus_mt(Path(made) / "opus-mt-en-de", TINY if arguments.tiny else SHAPE)
        start = time.perf_counter()
        # The check needs CTranslate2, which a bare GPU machine does not have.
        import_model(ImportRequest(str(folder), check=False), Path(made) / "imported")
        size = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
        seconds = time.perf_counter() - start
        print(f"random weights, {size / 1e6:.0f} MB, imported without check in {seconds:.1f} s")
        print(f"{arguments.sentences} sentences, beam {arguments.beam}, fixed output length (that of the source)")
        found = dict(systems(folder, Bundle.open(Path(made) / "imported"), arguments.device, arguments))
        best_rates(found, 1)  # warms up
        best = best_rates(found, arguments.rounds)
        for name, rate in best.items():
            ratio = rate / next(iter(best.values()))
            print(f"{name:<50} {rate:>10,.0f} tokens/s  {ratio:>6.3f} of hark", flush=True)


if __name__ == "__main__":
    main()
