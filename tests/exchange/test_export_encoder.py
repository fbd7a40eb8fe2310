"""Export of encoders, checked by transformers, and back again."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import save_file

from hark import configfile
from hark.bundle import Bundle, write_bundle
from hark.errors import UserError
from hark.exchange.export import export_bundle
from hark.exchange.importer import ImportRequest, import_model
from hark.facts import Facts, VocabularyFacts
from hark.model import new_model
from hark.text.byte_pair_training import learn_byte_pairs
from hark.text.opening import open_vocabularies, vocabulary_files
from hark.weights import read_weights, write_weights
from tests.exchange.marian_models import SENTENCES
from tests.tasks.encoders import Kind, folders

transformers = pytest.importorskip("transformers")


@pytest.mark.parametrize("kind", ["bert", "roberta", "headless"])
def test_there_and_back(tmp_path: Path, kind: Kind) -> None:
    bundle = Bundle.open(folders(kind)[1])
    export = export_bundle(bundle, "huggingface", tmp_path / "theirs")
    assert export.proof.equal == export.proof.sentences >= 18
    assert export.proof.quantity == ("hidden states" if kind == "headless" else "logits")
    assert "# Text in English" in (tmp_path / "theirs" / "README.md").read_text()
    import_model(ImportRequest(str(tmp_path / "theirs")), tmp_path / "again")
    again = Bundle.open(tmp_path / "again")
    one, two = read_weights(bundle.weights), read_weights(again.weights)
    assert one.keys() == two.keys()
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert again.config.model == bundle.config.model
    first, second = (open_vocabularies(each)[1] for each in (bundle, again))
    assert first.encode(SENTENCES) == second.encode(SENTENCES)
    assert (first.mask, first.special) == (second.mask, second.special)


def test_half_precision(tmp_path: Path) -> None:
    export = export_bundle(Bundle.open(folders("bert")[1]), "huggingface", tmp_path / "half", "float16")
    assert export.proof.bound == 0.05
    assert json.loads((tmp_path / "half" / "config.json").read_text())["dtype"] == "float16"


def test_what_the_layouts_do_not_have(tmp_path: Path) -> None:
    bundle = Bundle.open(folders("bert")[1])
    weights = read_weights(bundle.weights)
    for change, message in (
        ({"norm": "pre"}, "is pre-norm, which neither BERT nor RoBERTa has"),
        ({"positions": "rotary"}, "has rotary positions"),
        ({"embedding_norm": False}, "has no norm of the embeddings"),
        ({"activation": "swiglu"}, "has the activation swiglu"),
    ):
        config = replace(bundle.config, model=replace(bundle.config.model, **change))
        folder = tmp_path / message
        files = bundle.vocabulary_files
        write_bundle(folder, config, lambda path: write_weights(path, weights), files, bundle.facts)
        with pytest.raises(UserError, match=message):
            export_bundle(Bundle.open(folder), "huggingface", tmp_path / "x")
    with pytest.raises(UserError, match="is an encoder alone, which hark does not export to ctranslate2"):
        export_bundle(bundle, "ctranslate2", tmp_path / "x")


def test_an_encoder_with_a_vocabulary_that_hark_learnt(tmp_path: Path) -> None:
    """Its merges have hark's sign for a space, which RoBERTa's file does not."""
    words = learn_byte_pairs(SENTENCES, 300)
    overrides = [
        "shape=encoder", "n_encoder_layers=1", "d_model=8", "d_ff=16", "n_heads=2", "activation=gelu",
        "positions=learned", "max_positions=256", "scale_embedding=false", "embedding_norm=true",
        "prediction_layer=true", f"vocab_size={words.vocab_size}",
    ]  # fmt: skip
    config = configfile.load(None, [f"model.{each}" for each in overrides])
    weights = {name: each.detach().clone() for name, each in new_model(config.model).named_parameters()}
    facts = Facts((), languages=("en",), vocabulary=VocabularyFacts("pieces"))
    write_bundle(
        tmp_path / "ours", config, lambda path: save_file(weights, path), vocabulary_files(words, words), facts
    )
    export = export_bundle(Bundle.open(tmp_path / "ours"), "huggingface", tmp_path / "theirs")
    assert export.proof.equal == export.proof.sentences >= 18
