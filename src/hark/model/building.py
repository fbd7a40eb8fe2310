"""Building a model from its settings."""

from hark.config import ModelConfig
from hark.model.interface import Model
from hark.model.one_stack import OneStack
from hark.model.transformer import Transformer


def new_model(config: ModelConfig) -> Model:
    """Build a model of any shape, with initial weights."""
    match config.shape:
        case "encoder-decoder":
            return Transformer(config)
        case "decoder" | "encoder":
            return OneStack(config)
