"""Initial weights, all in one place. The paper does not give them; these are the ones of its published code."""

from torch import nn

from hark.model.embedding import Embedding
from hark.model.positions import Learned


def initialise(model: nn.Module) -> None:
    """Draw every weight anew from torch's generator: seed that first."""
    for module in model.modules():
        match module:
            case nn.Linear():
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            case nn.LayerNorm():
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
            case Embedding():
                # Of unit variance after the multiplication by sqrt(d_model), and small enough as output projection.
                nn.init.normal_(module.weight, std=module.weight.shape[1] ** -0.5)
            case Learned():
                nn.init.normal_(module.weight, std=module.weight.shape[1] ** -0.5)
