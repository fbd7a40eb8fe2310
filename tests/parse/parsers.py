"""An untrained parser: its trees are nonsense, but everything else is real. And a treebank of made-up sentences."""

from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import torch
from safetensors.torch import save_file

from hark import configfile
from hark.bundle import SOURCE_TOKENIZER, TOKENIZER, write_bundle
from hark.facts import Facts
from hark.model import Transformer
from hark.text.tokenizer import Tokenizer, train_symbols
from hark.text.trees import TREES, Tree, linearise, parse_tree
from tests.translate.bundles import SETTINGS
from tests.translate.stub import tokenizer

TREE = "(TOP (S (NP (DT The) (NN {})) (VP (VBD {}) (PP (IN {}) (NP (DT the) (NN mat)))) (. .)))"


def treebank() -> list[Tree]:
    """36 trees of seven words."""
    chosen = product(("cat", "dog", "bird", "fox"), ("sat", "slept", "ran"), ("on", "under", "near"))
    return [parse_tree(TREE.format(*each)) for each in chosen]


@cache
def symbols(tag: str | None) -> bytes:
    return train_symbols([" ".join(linearise(tree, tag)) for tree in treebank()], ["en", TREES])


def make_parser(folder: Path, tag: str | None = None) -> Path:
    """Make a parser that predicts the tags of the treebank, or a single one."""
    sizes = [
        f"model.vocab_size={Tokenizer(symbols(tag)).vocab_size}",
        f"model.source_vocab_size={tokenizer().vocab_size}",
    ]
    config = configfile.load(None, [*SETTINGS, *sizes, "model.tie=target", "model.max_positions=64"])
    config = replace(config, data=replace(config.data, source="en", target=TREES, shared_vocab=False))
    torch.manual_seed(5)
    weights = {name: weight.detach().clone() for name, weight in Transformer(config.model).named_parameters()}
    files = {TOKENIZER: symbols(tag), SOURCE_TOKENIZER: tokenizer().model}
    facts = Facts(pairs=(("en", TREES),), summary="For tests.")
    write_bundle(folder, config, lambda path: save_file(weights, path), files, facts)
    return folder
