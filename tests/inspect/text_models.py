"""Models without languages that have an encoder and a decoder: untrained ones with a vocabulary that hark learnt."""

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from hark import configfile
from hark.bundle import write_bundle
from hark.facts import Facts, VocabularyFacts
from hark.model import new_model
from hark.text.byte_pair_training import learn_byte_pairs
from hark.text.opening import vocabulary_files

SENTENCES = ["The cat sees a small red house.", "We have been here before, and it is old."]
T5 = (
    "model.positions=relative", "model.relative_buckets=8", "model.relative_distance=20", "model.norm=pre",
    "model.norm_kind=rms", "model.attention_bias=false", "model.feed_forward_bias=false", "batches.corrupted=spans",
    "batches.masked=0.15",
)  # fmt: skip
BART = (
    "model.positions=learned", "model.embedding_norm=true", "model.activation=gelu", "batches.corrupted=infilling",
    "batches.masked=0.3", "batches.permuted=1",
)  # fmt: skip
SETTINGS = (
    "model.d_model=32", "model.d_ff=48", "model.n_heads=4", "model.n_encoder_layers=2", "model.n_decoder_layers=2",
    "model.max_positions=96", "model.dropout=0", "model.scale_embedding=false", "batches.max_length=64",
    "batches.batch_tokens=200",
)  # fmt: skip


def make_text_to_text(folder: Path, *settings: str, sentinels: int = 8) -> Path:
    """Write a bundle; `settings` are added to those of all."""
    vocabulary = learn_byte_pairs(SENTENCES * 9, 330, sentinels)
    config = configfile.load(None, [*SETTINGS, f"model.vocab_size={vocabulary.vocab_size}", *settings])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        model = new_model(config.model)
        with torch.no_grad():
            for name, weight in model.named_parameters():
                weight.add_(torch.randn_like(weight) * (0.5 if "positions" in name else 0.1))
    weights = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    facts: dict[str, Any] = {"languages": ("en",), "vocabulary": VocabularyFacts(kind="pieces")}
    folder.parent.mkdir(parents=True, exist_ok=True)
    files = vocabulary_files(vocabulary, vocabulary)
    write_bundle(folder, config, lambda path: save_file(weights, path), files, Facts((), **facts))
    return folder
