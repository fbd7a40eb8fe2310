"""A bundle in memory."""

from dataclasses import dataclass
from pathlib import Path

import torch

from hark.bundle import Bundle
from hark.config import Config
from hark.model import Transformer
from hark.text.tokenizer import Tokenizer
from hark.train.checkpoint import read_tensors
from hark.train.spread import fill_weights


@dataclass(frozen=True)
class Loaded:
    """What `hark.load` gives: everything that a model needs."""

    config: Config
    card: str
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    model: Transformer


def load_bundle(path: Path | str, device: torch.device | str = "cpu") -> Loaded:
    bundle = Bundle.open(path)
    target = Tokenizer.load(bundle.target_tokenizer)
    own = bundle.source_tokenizer != bundle.target_tokenizer
    source = Tokenizer.load(bundle.source_tokenizer) if own else target
    model = Transformer(bundle.config.model)
    fill_weights(model, read_tensors(bundle.weights), path)
    return Loaded(bundle.config, bundle.card, source, target, model.to(device).eval())
