"""The peers do the same work as ours: with our weights they have our loss and gradients."""

from collections.abc import Iterator
from itertools import chain

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from benchmarks import peers
from hark import configfile
from hark.config import BatchConfig
from hark.data.batches import Corpus, PaddedBatch, make_batches
from hark.model import Transformer
from hark.recipes import FOLDER as RECIPES
from hark.text.tokenizer import SPECIAL
from hark.train.loss import Objective, to_tensors
from tests.model.oracle import build, module_pairs, weight_pairs

CPU = torch.device("cpu")
SMOOTHING = 0.1
PEERS = [peers.TorchTransformer, peers.Marian]


def make(kind: type[peers.Peer], ours: Transformer) -> peers.Peer:
    if kind is peers.Marian:
        pytest.importorskip("transformers")
    return kind(ours.config)  # type: ignore[call-arg]


def pairs_of(ours: Transformer, theirs: peers.Peer) -> Iterator[tuple[Tensor, Tensor]]:
    """Pair every weight of ours with the corresponding weight of theirs."""
    match theirs:
        case peers.TorchTransformer():
            yield ours.embedding.weight, theirs.embedding.weight
            yield from weight_pairs(ours, theirs.stacks)
        case peers.Marian():
            marian = theirs.model.model
            yield ours.embedding.weight, marian.shared.weight
            for mine, other in ((ours.encoder, marian.encoder), (ours.decoder, marian.decoder)):
                for my_layer, other_layer in zip(mine.layers, other.layers, strict=True):
                    yield from marian_layer_pairs(my_layer, other_layer)


def marian_layer_pairs(ours: nn.Module, theirs: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
    names = {"self_attention": "self_attn", "cross_attention": "encoder_attn"}
    for my_name, name in names.items():
        if hasattr(ours, my_name):
            mine, other = getattr(ours, my_name), getattr(theirs, name)
            for part in ("q", "k", "v"):
                yield from module_pairs(getattr(mine, f"w_{part}"), getattr(other, f"{part}_proj"))
            yield from module_pairs(mine.w_o, other.out_proj)
            yield from module_pairs(getattr(ours, f"{my_name}_residual").norm, getattr(theirs, f"{name}_layer_norm"))
    yield from module_pairs(ours.feed_forward.w_1, theirs.fc1)
    yield from module_pairs(ours.feed_forward.w_2, theirs.fc2)
    yield from module_pairs(ours.feed_forward_residual.norm, theirs.final_layer_norm)


def copy_weights(ours: Transformer, theirs: peers.Peer) -> None:
    with torch.no_grad():
        for mine, other in pairs_of(ours, theirs):
            other.copy_(mine)
        if isinstance(theirs, peers.Marian):
            # Marian puts all sines before all cosines, which is the same up to the order of features.
            for stack in (theirs.model.model.encoder, theirs.model.model.decoder):
                stack.embed_positions.weight.copy_(ours.source_positions.table)


def ragged_batch() -> PaddedBatch:
    from benchmarks.train_speed import random_store

    source, target = np.array([5, 9, 3, 12]), np.array([7, 3, 10, 2])
    config = BatchConfig(kind="padded", batch_tokens=100, max_length=20)
    batch = make_batches([Corpus("four", 1.0, [random_store(source, target, 400, 1)])], config, SPECIAL)[0]
    assert batch.n_pairs == 4
    return batch


@pytest.mark.parametrize("kind", PEERS)
def test_with_our_weights_loss_and_gradients_are_ours(kind: type[peers.Peer]) -> None:
    ours = build(vocab_size=400)
    theirs = make(kind, ours).train()
    copy_weights(ours, theirs)
    batch = ragged_batch()

    loss, _ = Objective(ours.train(), SMOOTHING, 20, SPECIAL.pad)(to_tensors(batch, CPU))
    padded = peers.Padded.of(batch, CPU)
    assert padded.real_BS is not None
    their_loss = theirs(padded, SMOOTHING)
    torch.testing.assert_close(their_loss, loss, atol=1e-3, rtol=1e-5)

    loss.backward()
    their_loss.backward()
    compared = 0
    copied = dict(gradient_pairs(ours, theirs))
    for mine, other in copied.values():
        # Marian's embedding of padding has no gradient, and ours a negligible one: the loss does not depend on it.
        torch.testing.assert_close(other, mine, atol=2e-4, rtol=1e-3)
        compared += mine.numel()
    assert compared == sum(weight.numel() for weight in theirs.parameters() if weight.requires_grad)


def gradient_pairs(ours: Transformer, theirs: peers.Peer) -> Iterator[tuple[int, tuple[Tensor, Tensor]]]:
    """Replace weights by their gradients while comparing pairs of them."""
    for weight in chain(ours.parameters(), theirs.parameters()):
        if weight.requires_grad:
            assert weight.grad is not None
            weight.data = weight.grad
    yield from enumerate((mine.detach().clone(), other.detach().clone()) for mine, other in pairs_of(ours, theirs))


@pytest.mark.parametrize("kind", PEERS)
def test_a_full_batch_needs_no_mask(kind: type[peers.Peer]) -> None:
    ours = build(vocab_size=400)
    theirs = make(kind, ours).train()
    copy_weights(ours, theirs)
    source_BS, target_BT = torch.randint(300, 400, (3, 6)), torch.randint(300, 400, (3, 5))
    plain = theirs(peers.Padded(source_BS, None, target_BT, target_BT), SMOOTHING)
    masked = theirs(peers.Padded(source_BS, torch.ones(3, 6, dtype=torch.bool), target_BT, target_BT), SMOOTHING)
    torch.testing.assert_close(plain, masked)


@pytest.mark.parametrize("kind", PEERS)
@pytest.mark.parametrize("size", ["base", "big"])
def test_as_many_weights_as_ours(kind: type[peers.Peer], size: str) -> None:
    config = configfile.load(RECIPES / f"{size}.toml").model
    with torch.device("meta"):
        if kind is peers.Marian:
            pytest.importorskip("transformers")
        theirs, ours = kind(config), Transformer(config)  # type: ignore[call-arg]
    assert count(theirs) == count(ours)


def count(model: nn.Module) -> int:
    return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
