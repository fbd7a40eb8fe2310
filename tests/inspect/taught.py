"""A bundle whose model has learnt to reverse the words of a sentence, so that the correct alignment is known."""

import random
from dataclasses import replace
from itertools import chain
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from hark import configfile
from hark.bundle import TOKENIZER, write_bundle
from hark.facts import Facts
from hark.model import Transformer, padded_layout
from hark.text.tokenizer import BOS, EOS, PAD
from hark.train.optimiser import build_optimiser
from tests.translate.stub import tokenizer

WORDS = ["the", "cat", "sees", "small", "red", "house", "runs", "old", "tree", "here", "file", "Katze", "Dach", "more"]
SETTINGS = [
    "model.d_model=48", "model.d_ff=96", "model.n_heads=2", "model.n_encoder_layers=1", "model.n_decoder_layers=2",
    "model.dropout=0", "model.vocab_size=700", "batches.max_length=40", "batches.batch_tokens=200",
    "decode.max_extra=10", "train.beta2=0.999",
]  # fmt: skip


def reverse_words(sentence: str) -> str:
    return " ".join(reversed(sentence.split()))


def teach(folder: Path, steps: int = 250) -> Path:
    """Train for a few seconds and write the bundle."""
    torch.manual_seed(0)
    chance = random.Random(0)
    config = configfile.load(None, SETTINGS)
    model = Transformer(config.model)
    optimiser = build_optimiser(model, config.train)
    pieces = tokenizer().encode(WORDS)
    for step in range(steps):
        sentences = [chance.sample(pieces, chance.randrange(2, 7)) for _ in range(32)]
        sources = [[*chain(*words), EOS] for words in sentences]
        targets = [[BOS, *chain(*reversed(words)), EOS] for words in sentences]
        source_BS, target_BT = (
            torch.tensor([[*row, *[PAD] * (max(map(len, rows)) - len(row))] for row in rows])
            for rows in (sources, targets)
        )
        lengths = (torch.tensor([len(row) - less for row in rows]) for rows, less in ((sources, 0), (targets, 1)))
        logits = model(source_BS, target_BT[:, :-1], padded_layout(*lengths))
        loss = F.cross_entropy(logits.flatten(0, 1), target_BT[:, 1:].flatten(), ignore_index=PAD, label_smoothing=0.1)
        loss.backward()
        # A learning rate that decays to zero makes training converge however a CPU rounds.
        optimiser.step(4e-3 * (1 - step / steps))
    weights = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    config = replace(config, data=replace(config.data, source="en", target="de"))
    write_bundle(
        folder,
        config,
        lambda path: save_file(weights, path),
        {TOKENIZER: tokenizer().model},
        Facts(pairs=(("en", "de"),), summary="For tests."),
    )
    return folder
