"""Make a deeper model that computes the same as a given one: a better start than random weights for a larger model.

    python -m tools.grow_model MODEL --encoder-layers 20 [--symbols formal informal] -o BUNDLE

New encoder layers are copies of their neighbours whose output projections are zero, so each adds nothing to the
residual stream until it is trained (pre-norm models only). `--symbols` turns the least frequent pieces of the
vocabulary into words of their own, `<formal>` and so on, which training text can put before a source.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from sentencepiece import sentencepiece_model_pb2

from hark.bundle import TOKENIZER, Bundle, write_bundle
from hark.errors import HarkError, UserError
from hark.facts import ParentModel
from hark.models import named_folder
from hark.text.vocabulary import SPACE
from hark.weights import Weights, read_floats, write_weights

ENCODER = "encoder.layers."
OUTPUTS = ("self_attention.w_o.", "feed_forward.w_2.")
"""What a layer adds to the residual stream is the output of these projections."""


def deepen(weights: Weights, layers: int, wanted: int) -> dict[str, np.ndarray]:
    """Return weights with more encoder layers, spread evenly; the new ones add nothing."""
    if wanted < layers:
        raise UserError(f"--encoder-layers {wanted}: the model has {layers} already")
    origin = [place * layers // wanted for place in range(wanted)]
    grown = {name: array for name, array in weights.items() if not name.startswith(ENCODER)}
    for place, old in enumerate(origin):
        new = place > 0 and origin[place - 1] == old
        for name, array in weights.items():
            if (rest := name.removeprefix(f"{ENCODER}{old}.")) != name:
                silent = new and rest.startswith(OUTPUTS)
                grown[f"{ENCODER}{place}.{rest}"] = np.zeros_like(array) if silent else array
    return grown


def add_symbols(model: bytes, symbols: Sequence[str]) -> bytes:
    """Replace the last pieces of a vocabulary, the least frequent ones, by symbols."""
    proto = sentencepiece_model_pb2.ModelProto.FromString(model)
    for piece, symbol in zip(reversed(proto.pieces), symbols, strict=False):
        piece.piece = f"{SPACE}<{symbol}>"
        piece.type = sentencepiece_model_pb2.ModelProto.SentencePiece.USER_DEFINED
    return bytes(proto.SerializeToString())


def grow(bundle: Bundle, layers: int, symbols: Sequence[str], folder: Path) -> None:
    if bundle.config.model.norm != "pre":
        raise UserError(f"{bundle.folder}: new layers would change what a model with post-norm computes")
    weights = deepen(read_floats(bundle), bundle.config.model.n_encoder_layers, layers)
    files = bundle.vocabulary_files
    if symbols:
        files[TOKENIZER] = add_symbols(files[TOKENIZER], symbols)
    config = replace(bundle.config, model=replace(bundle.config.model, n_encoder_layers=layers))
    parameters = sum(array.size for array in weights.values())
    making = replace(
        bundle.facts.making,
        parameters=parameters,
        storage="float32",
        parents=(ParentModel("start", bundle.folder.name),),
    )
    facts = replace(bundle.facts.unmeasured, making=making)
    write_bundle(folder, config, lambda path: write_weights(path, weights), files, facts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="folder, run or name")
    parser.add_argument("--encoder-layers", type=int, required=True, metavar="N")
    parser.add_argument("--symbols", nargs="*", default=[], metavar="NAME")
    parser.add_argument("-o", "--output", type=Path, required=True)
    said = parser.parse_args()
    try:
        grow(Bundle.open(named_folder(said.model)), said.encoder_layers, said.symbols, said.output)
    except HarkError as error:
        sys.exit(f"grow_model: {error}")


if __name__ == "__main__":
    main()
