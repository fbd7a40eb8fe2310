"""Make a larger model that computes the same as a given one: a better start than random weights.

    python -m tools.grow_model MODEL [--encoder-layers 16] [--decoder-layers 4] [--d-ff 3072]
                               [--symbols formal informal] -o BUNDLE

New layers are copies of their neighbours whose output projections are zero, so each adds nothing to the
residual stream until it is trained (pre-norm models only). New columns of a feed-forward layer start as small random
weights, and what follows them as zeros. `--symbols` turns the least frequent pieces of the vocabulary into words of
their own, `<formal>` and so on, which training text can put before a source.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from sentencepiece import sentencepiece_model_pb2

from hark.bundle import TOKENIZER, Bundle, write_bundle
from hark.config import ModelConfig
from hark.errors import HarkError, UserError
from hark.facts import ParentModel
from hark.models import named_folder
from hark.text.vocabulary import SPACE
from hark.weights import Weights, read_floats, write_weights

OUTPUTS = ("self_attention.w_o.", "cross_attention.w_o.", "feed_forward.w_2.")
"""What a layer adds to the residual stream is the output of these projections."""
SIZES = ("n_encoder_layers", "n_decoder_layers", "d_ff")


def deepen(weights: Weights, stack: str, layers: int, wanted: int) -> dict[str, np.ndarray]:
    """Return weights with more layers in a stack, "encoder" or "decoder", spread evenly; the new ones add nothing."""
    if wanted < layers:
        raise UserError(f"--{stack}-layers {wanted}: the model has {layers} already")
    origin = [place * layers // wanted for place in range(wanted)]
    prefix = f"{stack}.layers."
    grown = {name: array for name, array in weights.items() if not name.startswith(prefix)}
    for place, old in enumerate(origin):
        new = place > 0 and origin[place - 1] == old
        for name, array in weights.items():
            if (rest := name.removeprefix(f"{prefix}{old}.")) != name:
                silent = new and rest.startswith(OUTPUTS)
                grown[f"{prefix}{place}.{rest}"] = np.zeros_like(array) if silent else array
    return grown


def widen(weights: Weights, wanted: int, seed: int = 1) -> dict[str, np.ndarray]:
    """Return weights with a larger d_ff; what is new adds nothing to the output of a layer."""
    draw = np.random.default_rng(seed)
    grown = dict(weights)
    for name, array in weights.items():
        if ".feed_forward.w_1." not in name and not name.endswith(".feed_forward.w_2.weight"):
            continue
        d_ff = array.shape[1 if ".w_2." in name else 0]
        if wanted < d_ff:
            raise UserError(f"--d-ff {wanted}: the model has {d_ff} already")
        shape = (array.shape[0], wanted - d_ff) if ".w_2." in name else (wanted - d_ff, *array.shape[1:])
        new = np.zeros(shape, array.dtype)
        if name.endswith(".w_1.weight"):
            new = (draw.standard_normal(shape) * array.std()).astype(array.dtype)
        grown[name] = np.concatenate([array, new], axis=1 if ".w_2." in name else 0)
    return grown


def add_symbols(model: bytes, symbols: Sequence[str]) -> bytes:
    """Replace the last pieces of a vocabulary, the least frequent ones, by symbols."""
    proto = sentencepiece_model_pb2.ModelProto.FromString(model)  # type: ignore[attr-defined]  # made at import
    for piece, symbol in zip(reversed(proto.pieces), symbols, strict=False):
        piece.piece = f"{SPACE}<{symbol}>"
        piece.type = sentencepiece_model_pb2.ModelProto.SentencePiece.USER_DEFINED  # type: ignore[attr-defined]
    return bytes(proto.SerializeToString())


def grow(bundle: Bundle, larger: ModelConfig, symbols: Sequence[str], folder: Path) -> None:
    """Write a bundle whose model has the sizes of `larger`."""
    model = bundle.config.model
    if model.norm != "pre":
        raise UserError(f"{bundle.folder}: new layers would change what a model with post-norm computes")
    weights = deepen(read_floats(bundle), "encoder", model.n_encoder_layers, larger.n_encoder_layers)
    weights = widen(deepen(weights, "decoder", model.n_decoder_layers, larger.n_decoder_layers), larger.d_ff)
    files = bundle.vocabulary_files
    if symbols:
        files[TOKENIZER] = add_symbols(files[TOKENIZER], symbols)
    parameters, parents = sum(array.size for array in weights.values()), (ParentModel("start", bundle.folder.name),)
    making = replace(bundle.facts.making, parameters=parameters, storage="float32", parents=parents)
    facts, config = replace(bundle.facts.unmeasured, making=making), replace(bundle.config, model=larger)
    write_bundle(folder, config, lambda path: write_weights(path, weights), files, facts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="folder, run or name")
    for size in SIZES:
        parser.add_argument(f"--{size.removeprefix('n_').replace('_', '-')}", dest=size, type=int, metavar="N")
    parser.add_argument("--symbols", nargs="*", default=[], metavar="NAME")
    parser.add_argument("-o", "--output", type=Path, required=True)
    said = parser.parse_args()
    sizes = {size: getattr(said, size) for size in SIZES if getattr(said, size)}
    try:
        bundle = Bundle.open(named_folder(said.model))
        grow(bundle, replace(bundle.config.model, **sizes), said.symbols, said.output)
    except HarkError as error:
        sys.exit(f"grow_model: {error}")


if __name__ == "__main__":
    main()
