"""Bundles of untrained models: their output is nonsense, but everything else is real."""

from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import save_file

from hark import configfile
from hark.bundle import TOKENIZER, write_bundle
from hark.facts import Facts
from hark.model import Transformer
from hark.text.tokenizer import Tokenizer
from tests.translate.stub import tokenizer

SETTINGS = [
    "model.d_model=16", "model.d_ff=32", "model.n_heads=2", "model.n_encoder_layers=1", "model.n_decoder_layers=1",
    "model.vocab_size=700", "batches.max_length=40", "batches.batch_tokens=200", "decode.max_extra=5",
]  # fmt: skip


def make_bundle(
    folder: Path, source: str = "en", target: str = "de", *overrides: str, vocabulary: Tokenizer | None = None
) -> Path:
    config = configfile.load(None, [*SETTINGS, *overrides])
    config = replace(config, data=replace(config.data, source=source, target=target))
    torch.manual_seed(5)
    model = Transformer(config.model)
    weights = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    folder.parent.mkdir(parents=True, exist_ok=True)
    write_bundle(
        folder,
        config,
        lambda path: save_file(weights, path),
        {TOKENIZER: (vocabulary or tokenizer()).model},
        Facts(pairs=((source, target),), summary="For tests."),
    )
    return folder
