"""Models of one stack on one GPU: training and generation, against Hugging Face and a plain loop, in the same run.

python -m benchmarks.shapes                            all cases of `CASES`, and generation
python -m benchmarks.shapes --cases gpt --systems hark only these
python -m benchmarks.shapes --tiny                     on any machine, in seconds; checks correctness only

The tokens are random, and every slot is full and counts. Ours is a step of `hark train`: weights in float32, clipping,
weight decay. Peers compute in pure bfloat16, without clipping, which favours them (such updates are mostly lost in
rounding), with fused AdamW, PyTorch's fused attention, no dropout of attention, and a vocabulary that is a multiple of
64; compiled whole with the loss, and Hugging Face also by layers. "hark-plain" is ours without our kernels, compiled.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.peers import Step
from benchmarks.train_speed import measure, our_step
from hark import configfile
from hark.config import Config, DecodeConfig, ModelConfig
from hark.data.batches import Corpus
from hark.data.masking import Masking
from hark.data.store import ONE_SIDED, StoreWriter, TokenStore
from hark.data.windows import TextBatches
from hark.engine.interface import Request
from hark.engine.torch import TorchEngine
from hark.model import kernels, new_model
from hark.recipes import FOLDER as RECIPES
from hark.text.byte_pair_training import SPECIAL

Case = tuple[str, int, int]
"""A recipe (`gpt-rms`: gpt with RMSNorm), tokens of a window, tokens of a batch."""
CASES: tuple[Case, ...] = (
    ("gpt", 1024, 32_768), ("gpt", 1024, 65_536), ("gpt-rms", 512, 32_768),
    ("bert", 128, 32_768), ("bert", 512, 32_768),
)  # fmt: skip
STEPS, PROMPT, NEW = 10, 32, 128
SYSTEMS = ("hark", "hark-plain", "hf", "hf-layers", "plain")


def config_of(recipe: str, length: int, tokens: int, tiny: bool) -> Config:
    name, _, rms = recipe.partition("-")
    config = configfile.load(RECIPES / f"{name}.toml", ["model.norm_kind=rms"] if rms else [])
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


class Block(nn.Module):
    """A layer of a plain loop: one product for queries, keys and values, and PyTorch's fused attention."""

    def __init__(self, c: ModelConfig, attention_dropout: float) -> None:
        super().__init__()
        self.heads, self.causal, self.dropout = c.n_heads, c.shape == "decoder", c.dropout
        self.attention_dropout = attention_dropout
        self.qkv, self.out = nn.Linear(c.d_model, 3 * c.d_model), nn.Linear(c.d_model, c.d_model)
        self.wide, self.narrow = nn.Linear(c.d_model, c.d_ff), nn.Linear(c.d_ff, c.d_model)
        self.norms = nn.ModuleList(nn.LayerNorm(c.d_model) for _ in range(2))

    def attend(self, x_BTD: Tensor) -> Tensor:
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in self.qkv(x_BTD).chunk(3, -1))
        dropout = self.attention_dropout if self.training else 0.0
        y_BHTK = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=self.causal)
        return F.dropout(self.out(y_BHTK.transpose(1, 2).flatten(2)), self.dropout, self.training)

    def feed(self, x_BTD: Tensor) -> Tensor:
        return F.dropout(self.narrow(F.gelu(self.wide(x_BTD))), self.dropout, self.training)

    def forward(self, x_BTD: Tensor) -> Tensor:
        for norm, sublayer in zip(self.norms, (self.attend, self.feed), strict=True):
            x_BTD = x_BTD + sublayer(norm(x_BTD)) if self.causal else norm(x_BTD + sublayer(x_BTD))
        return x_BTD


def loss_of(logits: Tensor, labels: Tensor, reduction: str = "mean") -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=SPECIAL.pad, reduction=reduction)


class PlainModel(nn.Module):
    """A plain loop's model, like nanoGPT's: learned positions, one matrix in and out, matrices drawn with 0.02."""

    def __init__(self, config: Config, attention_dropout: float = 0.0) -> None:
        super().__init__()
        c, self.dropout = config.model, config.model.dropout
        causal = c.shape == "decoder"
        depth = c.n_decoder_layers if causal else c.n_encoder_layers
        self.layers = nn.ModuleList(Block(c, attention_dropout) for _ in range(depth))
        self.norm = nn.LayerNorm(c.d_model) if causal else nn.Identity()
        self.tokens, self.places = nn.Embedding(padded(c), c.d_model), nn.Embedding(c.max_positions, c.d_model)
        for weight in self.parameters():
            if weight.ndim > 1:
                nn.init.normal_(weight, 0.0, 0.02)

    def forward(self, ids: Tensor, labels: Tensor, reduction: str = "mean") -> Tensor:
        x_BTD = self.tokens(ids) + self.places.weight[: ids.shape[1]]
        x_BTD = F.dropout(x_BTD, self.dropout, self.training)
        for layer in self.layers:
            x_BTD = layer(x_BTD)
        return loss_of(F.linear(self.norm(x_BTD), self.tokens.weight), labels, reduction)


class HuggingFace(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.model = hugging_face(config)
        self.layers = self.model.bert.encoder.layer if hasattr(self.model, "bert") else self.model.transformer.h

    def forward(self, ids: Tensor, labels: Tensor) -> Tensor:
        return loss_of(self.model(ids).logits, labels)


def padded(c: ModelConfig) -> int:
    """Matrix products are faster with a multiple of 64."""
    return -(-c.vocab_size // 64) * 64


def hugging_face(config: Config) -> Any:
    import transformers

    c = config.model
    if c.shape == "encoder":
        bert = {"num_hidden_layers": c.n_encoder_layers, "intermediate_size": c.d_ff, "num_attention_heads": c.n_heads}
        sizes = {"hidden_size": c.d_model, "vocab_size": padded(c), "max_position_embeddings": c.max_positions}
        dropouts = {"hidden_dropout_prob": c.dropout, "attention_probs_dropout_prob": 0.0}
        return transformers.BertForMaskedLM(transformers.BertConfig(**bert, **sizes, **dropouts))
    gpt = {"n_layer": c.n_decoder_layers, "n_inner": c.d_ff, "n_head": c.n_heads, "n_embd": c.d_model}
    sizes = {"vocab_size": padded(c), "n_positions": c.max_positions}
    dropouts = {"resid_pdrop": c.dropout, "embd_pdrop": c.dropout, "attn_pdrop": 0.0}
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**gpt, **sizes, **dropouts))
    model.config.use_cache = False  # a cache would cost time in training; `generate` asks for one
    return model


def build_step(name: str, config: Config, device: torch.device, batches: list[Any]) -> Step:
    if name.startswith("hark"):
        with patch.object(kernels, "available", kernels.available if name == "hark" else lambda: False):
            return our_step(config, device, batches)
    model = (PlainModel if name == "plain" else HuggingFace)(config).to(device, torch.bfloat16).train()
    optimiser = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    if device.type == "cuda":
        for module in model.layers if name == "hf-layers" else [model]:
            module.compile()
    ready = [
        [torch.from_numpy(each).to(device).long().view(-1, config.batches.max_length) for each in (s.tokens, s.labels)]
        for s in (batch.streams["target"] for batch in batches)
    ]

    def step(number: int) -> int:
        ids, labels = ready[number % len(ready)]
        model(ids, labels).backward()
        optimiser.step()
        optimiser.zero_grad()
        return ids.numel()

    return step


def generation(config: Config, device: torch.device, streams: int, new: int) -> Iterator[tuple[str, float]]:
    """New tokens per second of greedy generation from random prompts, without an end."""
    prompts = np.random.default_rng(2).integers(5, config.model.vocab_size, (streams, PROMPT))
    engine = TorchEngine(new_model(config.model), SPECIAL, device)
    search = DecodeConfig(beam=1, max_extra=new, min_length=new)
    requests = [Request((), search, tuple(row[1:]), start=int(row[0])) for row in prompts.tolist()]
    theirs, ids = hugging_face(config).to(device, torch.bfloat16).eval(), torch.from_numpy(prompts).to(device)
    settings = {"max_new_tokens": new, "min_new_tokens": new, "do_sample": False, "pad_token_id": 0, "use_cache": True}
    runs: dict[str, Any] = {
        "hark": lambda: list(engine.run(requests)),
        "hf": lambda: theirs.generate(ids, **settings),
        "hf-static": lambda: theirs.generate(ids, **settings, cache_implementation="static"),  # compiled on a GPU
    }
    for name, run in runs.items():
        for _ in range(2):  # the first warms up
            start = time.perf_counter()
            run()
            if device.type == "cuda":
                torch.cuda.synchronize()
        yield name, streams * new / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", help="recipes, and generate (default: all)")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS)
    parser.add_argument("--tiny", action="store_true")
    said = parser.parse_args()
    tiny = said.tiny
    device = torch.device("cuda" if torch.cuda.is_available() and not tiny else "cpu")
    cases: tuple[Case, ...] = (("gpt", 32, 128), ("bert", 32, 128), ("gpt-rms", 32, 128)) if tiny else CASES
    for recipe, length, tokens in cases:
        if said.cases and recipe not in said.cases:
            continue
        config = config_of(recipe, length, tokens, tiny)
        batches = batches_of(config)
        for name in said.systems:
            if recipe == "gpt-rms" and not name.startswith("hark"):
                continue
            line = f"train {recipe:<7} {length:>5} {tokens:>6} {name:<12}"
            try:
                seconds, gib = measure(partial(build_step, name, config, device, batches), batches, device, 2)
            except Exception as error:  # a failure of one system must not lose the others
                print(f"{line} failed: {' '.join(str(error).split())[:200]}", flush=True)
                continue
            print(f"{line} {len(batches) * tokens / min(seconds):>12,.0f} tokens/s  {gib or 0:6.1f} GiB", flush=True)
    if not said.cases or "generate" in said.cases:
        config = config_of("gpt", 64 if tiny else 1024, 1024, tiny)
        for name, rate in generation(config, device, *((4, 8) if tiny else (256, NEW))):
            print(f"generate gpt {name:<10} {rate:>12,.0f} tokens/s", flush=True)


if __name__ == "__main__":
    main()
