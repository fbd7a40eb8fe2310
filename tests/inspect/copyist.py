"""A decoder whose weights are made by hand, so that what its heads do is known.

The first head of layer 1 looks at the previous token, and writes it beside the token itself. The second head of layer 2
looks for a token before which stands the one that is being read, and copies it: an induction head. The others are idle.
"""

from functools import cache
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from hark import configfile
from hark.bundle import write_bundle
from hark.config import Config
from hark.facts import Facts, VocabularyFacts
from hark.inspect.attention import Head
from hark.inspect.variants import attention_of
from hark.model import OneStack
from hark.text.byte_pair_training import SMALLEST, learn_byte_pairs
from hark.text.opening import vocabulary_files
from hark.text.piece_vocabulary import PieceVocabulary

V, P = SMALLEST, 128
PREVIOUS, INDUCTION = Head("decoder", 0, 0), Head("decoder", 1, 1)
IDLE = Head("decoder", 0, 1), Head("decoder", 1, 0)
TOKEN, BEFORE, NEXT, PLACE = slice(0, V), slice(V, 2 * V), slice(2 * V, 3 * V), slice(3 * V, 3 * V + P)
"""Parts of the residual stream, each with one number for each token or position."""


@cache
def vocabulary() -> PieceVocabulary:
    return learn_byte_pairs([], V)


def settings(*overrides: str) -> Config:
    return configfile.load(
        None,
        [
            "model.shape=decoder", "model.n_decoder_layers=2", "model.n_heads=2", f"model.vocab_size={V}",
            f"model.d_model={3 * V + P}", f"model.d_k={V}", f"model.d_v={V}", "model.d_ff=1",
            f"model.max_positions={P}",
            "model.norm=pre", "model.norm_kind=rms", "model.positions=learned", "model.tie=none", "model.dropout=0",
            "model.scale_embedding=false", "model.attention_bias=false", f"batches.max_length={P}", *overrides,
        ],
    )  # fmt: skip


def build() -> OneStack:
    model = OneStack(settings().model).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" not in name:
                weight.zero_()
        model.embedding.weight[:, TOKEN] = torch.eye(V)
        model.target_positions.weight[:, PLACE] = torch.eye(P)  # type: ignore[index]
        project(model, PREVIOUS, query=(PLACE, torch.eye(P)), key=(PLACE, torch.eye(P).roll(1, 0)), out=BEFORE)
        project(model, INDUCTION, query=(TOKEN, torch.eye(V)), key=(BEFORE, torch.eye(V)), out=NEXT)
        assert isinstance(model.projection, nn.Linear)
        model.projection.weight[:, NEXT] = torch.eye(V)
    return model


def project(model: OneStack, head: Head, query: tuple[slice, Tensor], key: tuple[slice, Tensor], out: slice) -> None:
    """Set the matrices of a head: queries and keys read parts of the stream; the value is the token."""
    attention = attention_of(model, head)
    rows = slice(head.number * V, (head.number + 1) * V)
    for linear, (part, matrix) in ((attention.w_q, query), (attention.w_k, key)):
        linear.weight[rows, part][: len(matrix)] = matrix
    attention.w_v.weight[rows, TOKEN] = torch.eye(V)
    # The norm before the layer makes each of two or three ones larger by a factor, which is taken back here.
    scale = ((3 * V + P) / (2 + head.layer)) ** 0.5
    attention.w_o.weight[out, rows] = torch.eye(V) / scale


def write_copyist(folder: Path) -> Path:
    model = build()
    weights = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    files = vocabulary_files(vocabulary(), vocabulary())
    facts = Facts((), languages=("en",), vocabulary=VocabularyFacts(kind="pieces"))
    folder.parent.mkdir(parents=True, exist_ok=True)
    write_bundle(folder, settings(), lambda path: save_file(weights, path), files, facts)
    return folder
