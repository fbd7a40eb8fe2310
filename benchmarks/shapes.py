"""Models of one stack on one GPU: training and generation, against Hugging Face and a plain loop, in the same run.

python -m benchmarks.shapes                 GPT-2 small (1,024 tokens) and BERT base (128 and 512)
python -m benchmarks.shapes --tiny          on any machine, in seconds; checks correctness only

The tokens are random, and every slot is full. Peers compute in pure bfloat16, compiled, which favours them: such
updates are mostly lost in rounding.
"""

import argparse
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks.peer_training import Step
from benchmarks.train_speed import measure, our_step
from hark import configfile
from hark.config import Config, DecodeConfig
from hark.data.batches import Corpus
from hark.data.masking import Masking
from hark.data.store import ONE_SIDED, StoreWriter, TokenStore
from hark.data.windows import TextBatches
from hark.engine.request import Request
from hark.engine.torch import TorchEngine
from hark.model import new_model
from hark.recipes import FOLDER as RECIPES
from hark.text.byte_pair_training import SPECIAL

CASES = (("gpt", 1024, 65_536), ("bert", 128, 32_768), ("bert", 512, 32_768))
STEPS, PROMPT, NEW = 10, 32, 128
PEERS = ("hf", "plain")


def config_of(recipe: str, length: int, tokens: int, tiny: bool) -> Config:
    config = configfile.load(RECIPES / f"{recipe}.toml")
    sizes: dict[str, Any] = {"n_encoder_layers": 2, "n_decoder_layers": 2, "d_model": 64, "d_ff": 128, "n_heads": 2}
    vocab_size = 500 if tiny else config.data.vocab_size
    model = replace(config.model, max_positions=length, vocab_size=vocab_size, **(sizes if tiny else {}))
    return replace(config, model=model, batches=replace(config.batches, max_length=length, batch_tokens=tokens))


def batches_of(config: Config) -> list[Any]:
    size, batches = config.model.vocab_size, config.batches
    masking = Masking(4, batches.masked, SPECIAL.pad, np.arange(size) < 5) if batches.masked else None
    with TemporaryDirectory() as folder:
        writer = StoreWriter(Path(folder) / "text", size, ONE_SIDED)
        tokens = STEPS * batches.batch_tokens - (2 if masking else 1)  # with EOS, and the start token of an encoder
        writer.append([np.random.default_rng(1).integers(5, size, tokens).tolist()])
        writer.close()
        text = TextBatches([Corpus("text", 1.0, [TokenStore.open(writer.folder)])], batches, SPECIAL, masking)
        return [text[i] for i in range(STEPS)]


class PlainModel(nn.Module):
    """A plain loop's model: PyTorch's own layers and attention, learned positions, one matrix in and out."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        c, self.causal = config.model, config.model.shape == "decoder"
        layer = nn.TransformerEncoderLayer(
            c.d_model, c.n_heads, c.d_ff, c.dropout, "gelu", batch_first=True, norm_first=self.causal
        )
        depth = c.n_decoder_layers if self.causal else c.n_encoder_layers
        self.layers = nn.TransformerEncoder(layer, depth, nn.LayerNorm(c.d_model), enable_nested_tensor=False)
        self.tokens, self.places = nn.Embedding(c.vocab_size, c.d_model), nn.Embedding(c.max_positions, c.d_model)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(c.max_positions))

    def forward(self, ids: torch.Tensor) -> Any:
        x = self.tokens(ids) + self.places.weight[: ids.shape[1]]
        x = self.layers(x, self.mask.to(x.dtype) if self.causal else None, is_causal=self.causal)
        return x @ self.tokens.weight.T


def hugging_face(config: Config) -> Any:
    import transformers

    c = config.model
    if c.shape == "encoder":
        bert = {"num_hidden_layers": c.n_encoder_layers, "intermediate_size": c.d_ff, "num_attention_heads": c.n_heads}
        sizes = {"hidden_size": c.d_model, "vocab_size": c.vocab_size, "max_position_embeddings": c.max_positions}
        return transformers.BertForMaskedLM(transformers.BertConfig(**bert, **sizes))
    gpt = {"n_layer": c.n_decoder_layers, "n_inner": c.d_ff, "n_head": c.n_heads, "n_embd": c.d_model}
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(**gpt, vocab_size=c.vocab_size, n_positions=c.max_positions)
    )


def peer_step(name: str, config: Config, device: torch.device, batches: list[Any]) -> Step:
    model = (hugging_face if name == "hf" else PlainModel)(config).to(device, torch.bfloat16).train()
    optimiser = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    run: Any = torch.compile(model) if device.type == "cuda" else model
    ready = [
        [torch.from_numpy(each).to(device).long().view(-1, config.batches.max_length) for each in (s.tokens, s.labels)]
        for s in (batch.streams["target"] for batch in batches)
    ]

    def step(number: int) -> int:
        ids, labels = ready[number % len(ready)]
        out = run(ids)
        logits = out.logits if name == "hf" else out
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=SPECIAL.pad)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        optimiser.zero_grad()
        return ids.numel()

    return step


def generation(config: Config, device: torch.device, streams: int, new: int) -> dict[str, float]:
    """New tokens per second of greedy generation from random prompts, without an end."""
    prompts = np.random.default_rng(2).integers(5, config.model.vocab_size, (streams, PROMPT))
    engine = TorchEngine(new_model(config.model), SPECIAL, device)
    search = DecodeConfig(beam=1, max_extra=new, min_length=new)
    requests = [Request((), search, tuple(row[1:]), start=int(row[0])) for row in prompts.tolist()]
    theirs, ids = hugging_face(config).to(device, torch.bfloat16).eval(), torch.from_numpy(prompts).to(device)
    settings = {"max_new_tokens": new, "min_new_tokens": new, "do_sample": False, "pad_token_id": 0}
    runs: dict[str, Any] = {"hark": lambda: list(engine.run(requests)), "hf": lambda: theirs.generate(ids, **settings)}
    rates = {}
    for name, run in runs.items():
        for _ in range(2):  # the first warms up
            start = time.perf_counter()
            run()
            if device.type == "cuda":
                torch.cuda.synchronize()
        rates[name] = streams * new / (time.perf_counter() - start)
    return rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true")
    tiny = parser.parse_args().tiny
    device = torch.device("cuda" if torch.cuda.is_available() and not tiny else "cpu")
    for recipe, length, tokens in (("gpt", 32, 128), ("bert", 32, 128)) if tiny else CASES:
        config = config_of(recipe, length, tokens, tiny)
        batches = batches_of(config)
        for name in ("hark", *PEERS):
            build = our_step if name == "hark" else partial(peer_step, name)
            seconds, gib = measure(partial(build, config, device, batches), batches, device, 2)
            rate = len(batches) * tokens / min(seconds)
            print(f"train {recipe} {length:>5} {name:<6} {rate:>12,.0f} tokens/s  {gib or 0:6.1f} GiB", flush=True)
    config = config_of("gpt", 64 if tiny else 1024, 1024, tiny)
    for name, rate in generation(config, device, *((4, 8) if tiny else (256, NEW))).items():
        print(f"generate gpt {name:<6} {rate:>12,.0f} tokens/s", flush=True)


if __name__ == "__main__":
    main()
