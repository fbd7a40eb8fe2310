"""Translation throughput of the base model, against Hugging Face's `generate`.

PYTHONPATH=src python -m benchmarks.decode_speed              on a GPU: ours and Hugging Face's; then on a CPU
PYTHONPATH=src python -m benchmarks.decode_speed --breakdown  our time by part: encoder, steps by rows, host, kernels
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
length of the source (decode_stream.py), which the host learns only when it checks. Combine with `--norm`,
`--steps-at-once`, and `--breakdown` for the host's time by part.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import torch

from benchmarks.decode_sources import Source, draw_sources, read_sources
from benchmarks.decode_stream import EndingEngine, break_down_stream, measure_stream
from benchmarks.decode_timing import Row, best_time, header, search_name, wait
from benchmarks.marian_config import marian_config
from hark.config import DecodeConfig, ModelConfig
from hark.engine.forced import PackedText, TokenTranslation
from hark.engine.request import Hypotheses, Request
from hark.engine.torch import TorchEngine
from hark.model import Transformer
from hark.text.tokenizer import PAD, SPECIAL

SENTENCES, VOCABULARY = 3003, 37_000
HF_BATCH = 256


def forced(source: Source, beam: int) -> Request:
    """A request for a translation exactly as long as its source."""
    return Request(source, DecodeConfig(beam=beam, max_extra=0, min_length=len(source)))


def run_ours(engine: TorchEngine, requests: Sequence[Request]) -> dict[int, Hypotheses]:
    results = dict(engine.run(requests))
    for number, request in enumerate(requests):
        assert len(results[number][0].tokens) == len(request.source)  # every system does the same work
    return results


def measure_ours(engine: TorchEngine, sources: list[Source], beam: int, rounds: int) -> Row:
    requests = [forced(source, beam) for source in sources]
    run_ours(engine, requests)
    seconds = best_time(lambda: run_ours(engine, requests), rounds)
    tokens = sum(map(len, sources))
    return Row(f"hark, {engine.name}, {search_name(beam)}", seconds, len(sources), tokens)


def measure_hugging_face(config: ModelConfig, sources: list[Source], beam: int, device: str, rounds: int) -> Row:
    """Measure a MarianMTModel of the same size, in bfloat16 with PyTorch's fused attention."""
    from transformers import MarianMTModel  # type: ignore[import-not-found]

    model = MarianMTModel(marian_config(config, forced_eos_token_id=None)).to(device, torch.bfloat16).eval()
    ordered = sorted(sources, key=len)
    batches = [ordered[i : i + HF_BATCH] for i in range(0, len(ordered), HF_BATCH)]

    @torch.inference_mode()
    def translate() -> None:
        for batch in batches:
            longest = len(batch[-1])
            tokens = torch.tensor([[*source, *[PAD] * (longest - len(source))] for source in batch], device=device)
            out = model.generate(
                input_ids=tokens,
                attention_mask=tokens != PAD,
                num_beams=beam,
                do_sample=False,
                length_penalty=0.6,
                min_new_tokens=longest,
                max_new_tokens=longest,
            )
            assert out.tolist()[0]

    translate()
    name = f"Hugging Face generate, bfloat16, {search_name(beam)}"
    return Row(name, best_time(translate, rounds), len(sources), sum(map(len, sources)))


def break_down(engine: TorchEngine, sources: list[Source], beam: int) -> None:
    """Print our time by part. Steps are the CUDA graphs of the run just timed, replayed with empty slots (at the same
    cost, except for shorter attention)."""
    print(f"\n{search_name(beam)}: time by part")
    text = PackedText.of(sources, engine.device)

    @torch.no_grad()
    def encode() -> None:
        text.encode(engine.model)

    encode()
    print(f"  encoder, all {len(text.tokens_N):,} tokens at once: {1000 * best_time(encode, 3):.2f} ms")
    for shape, lane in engine.lanes.items():
        if shape.width == beam:
            for size, recorded in sorted(lane.recorded.items()):
                recorded.which_B.fill_(lane.slots)
                recorded.graph.replay()
                seconds = best_time(lambda graph=recorded.graph: [graph.replay() for _ in range(20)], 3) / 20  # type: ignore[misc]
                print(f"  step of {size:>5} sentences ({size * beam:>6} rows): {1000 * seconds:.3f} ms")
    requests = [forced(source, beam) for source in sources]
    wall = best_time(lambda: run_ours(engine, requests), 3)
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as seen:
        run_ours(engine, requests)
        wait()
    kernels = sorted(seen.key_averages(), key=lambda row: -row.self_device_time_total)
    busy = sum(row.self_device_time_total for row in kernels) / 1e6
    print(f"  wall {1000 * wall:.1f} ms, kernels {1000 * busy:.1f} ms, GPU idle {1000 * (wall - busy):.1f} ms")
    for row in kernels[:25]:
        print(f"  {row.self_device_time_total / 1000:>8.2f} ms {row.count:>6}  {row.key[:100]}")


def compare_batches(engine: TorchEngine, sources: list[Source], search: DecodeConfig) -> None:
    """Count the sentences whose translation depends on the batch, with outputs that end by themselves."""
    requests = [Request(source, search) for source in sources]
    batched = dict(engine.run(requests))
    alone = [dict(engine.run([request]))[0] for request in requests]
    other = sum(batched[i][0].tokens != alone[i][0].tokens for i in range(len(requests)))
    gaps = [abs(batched[i][0].log_prob - alone[i][0].log_prob) for i in range(len(requests))]
    print(
        f"{engine.name}, {search_name(search.beam)}: "
        f"{other} of {len(requests)} translated differently alone and in a batch "
        f"({other / len(requests):.2%}); log-probabilities differ by {np.mean(gaps):.4f} on average"
    )


def measure_align(engine: TorchEngine, sources: list[Source], beam: int, rounds: int) -> None:
    """Measure translating with and without attention, and aligning and scoring existing translations."""
    plain = [forced(source, beam) for source in sources]
    aligned = [replace(each, attention=True) for each in plain]
    results = run_ours(engine, plain)
    pairs = [(source, results[number][0].tokens) for number, source in enumerate(sources)]
    translated = [TokenTranslation(*pair, complete=False) for pair in pairs]
    tokens = sum(map(len, sources))
    for name, work in (
        (f"translated, {search_name(beam)}", lambda: run_ours(engine, plain)),
        (f"translated and aligned, {search_name(beam)}", lambda: run_ours(engine, aligned)),
        ("existing translations scored", lambda: list(engine.score(pairs))),
        ("existing translations aligned", lambda: engine.align(translated)),
    ):
        work()
        Row(name, best_time(work, rounds), len(sources), tokens).show()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", help="prepared dataset; its first test set is translated")
    parser.add_argument("--model", help="bundle (default: random weights; --crowd is meaningful only with real ones)")
    parser.add_argument("--sentences", type=int, default=SENTENCES)
    parser.add_argument("--beams", default="4,1")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, help="maximum number of hypotheses in flight")
    parser.add_argument("--breakdown", action="store_true")
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
        small = {"d_model": 32, "d_ff": 64, "n_heads": 2, "n_encoder_layers": 1, "n_decoder_layers": 2}
        config = replace(config, **small, vocab_size=500)
        arguments.sentences, arguments.rounds = min(arguments.sentences, 12), 1
    elif device == "cpu":
        parser.error("no GPU; use --tiny to run on a CPU")
    model = Transformer(config)
    if arguments.model:
        from hark.bundle import Bundle
        from hark.model.weights import load_model

        model = load_model(Bundle.open(arguments.model))
        config = model.config
    if arguments.dataset:
        sources = read_sources(arguments.dataset, arguments.sentences)
    else:
        sources = draw_sources(arguments.sentences, config.source_vocab_size or config.vocab_size)
    if arguments.tiny:
        sources = [source[-len(source) // 3 :] for source in sources]
    make = EndingEngine if arguments.stream else TorchEngine
    engine = make(model, SPECIAL, device, rows=arguments.rows, steps_at_once=arguments.steps_at_once)
    beams = [int(beam) for beam in arguments.beams.split(",")]
    if arguments.crowd:
        for beam in beams:
            search = DecodeConfig(beam=beam)
            compare_batches(engine, sources, replace(search, max_extra=5) if arguments.tiny else search)
        return
    print(f"{len(sources)} sentences, {np.mean([len(source) for source in sources]):.1f} tokens on average")
    header()
    if arguments.align:
        for beam in beams:
            measure_align(engine, sources, beam, arguments.rounds)
        return
    if arguments.stream:
        for beam in beams:
            measure_stream(engine, sources, beam, arguments.rounds).show()
            if arguments.breakdown:
                break_down_stream(engine, sources, beam)
        return
    for beam in beams:
        measure_ours(engine, sources, beam, arguments.rounds).show()
        if not arguments.ours and find_spec("transformers"):
            measure_hugging_face(config, sources, beam, device, arguments.rounds).show()
    if arguments.breakdown and device == "cuda":
        for beam in beams:
            break_down(engine, sources, beam)
    engine.close()
    if not arguments.ours and find_spec("ctranslate2"):  # not installed on a bare GPU machine
        from benchmarks import decode_cpu

        decode_cpu.measure(tiny=arguments.tiny)


if __name__ == "__main__":
    main()
