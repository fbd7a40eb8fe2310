"""Bundles of untrained decoders: their text is nonsense, but everything else is real."""

from pathlib import Path

import torch
from safetensors.torch import save_file

from hark import configfile
from hark.bundle import TOKENIZER, write_bundle
from hark.facts import Facts
from hark.model import new_model
from hark.text.tokenizer import EOS
from tests.translate.stub import tokenizer

SETTINGS = [
    "model.d_model=32", "model.d_ff=64", "model.n_heads=2", "model.n_encoder_layers=1", "model.n_decoder_layers=1",
    "model.vocab_size=700", "model.max_positions=64", "model.norm=pre", "batches.max_length=40",
    "batches.batch_tokens=200",
]  # fmt: skip


def make_one_stack(folder: Path, shape: str = "decoder", *overrides: str) -> Path:
    config = configfile.load(None, [*SETTINGS, f"model.shape={shape}", *overrides])
    torch.manual_seed(5)
    model = new_model(config.model)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim == 2:
                weight.mul_(3)
        model.embedding.weight[EOS].mul_(1.1)  # so that some texts end
    folder.parent.mkdir(parents=True, exist_ok=True)
    weights = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    vocabulary = {TOKENIZER: tokenizer().model}
    write_bundle(folder, config, lambda path: save_file(weights, path), vocabulary, Facts((), languages=("en",)))
    return folder
