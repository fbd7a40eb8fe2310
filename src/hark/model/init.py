"""Weight initialisation. The paper does not specify it; this follows its published code."""

from torch import nn

from hark.model.embedding import Embedding
from hark.model.positions import Learned


def initialise(model: nn.Module) -> None:
    """Initialise every weight from torch's random generator; seed that first."""
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
                # Unit variance after scaling by sqrt(d_model), yet small enough for a tied output projection.
                nn.init.normal_(module.weight, std=module.weight.shape[1] ** -0.5)
            case Learned():
                nn.init.normal_(module.weight, std=module.weight.shape[1] ** -0.5)
