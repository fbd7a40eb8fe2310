"""Export of models of one decoder: transformers computes the same, and importing gives the model back."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hark.bundle import Bundle, write_bundle
from hark.config import BatchConfig, Config
from hark.errors import UserError
from hark.exchange.export import export_bundle
from hark.facts import Facts, VocabularyFacts
from hark.model import new_model
from hark.text.byte_pair_training import learn_byte_pairs
from hark.text.opening import open_vocabularies
from hark.text.piece_vocabulary import piece_files
from hark.text.tokenizer import train_tokenizer
from hark.weights import read_weights, write_weights
from tests.exchange.decoder_models import write_gpt2, write_llama
from tests.exchange.marian_models import SENTENCES, TARGETS
from tests.exchange.test_import_decoder import GPT2, LLAMA, imported, same_tokens
from tests.model.oracle import small, stir
from tests.text.test_byte_pairs import TEXTS

transformers = pytest.importorskip("transformers")
OWN: Mapping[str, Mapping[str, Any]] = {
    "gpt": {"positions": "learned", "activation": "gelu_tanh"},
    "with the paper's embeddings and few biases": {
        "positions": "sinusoidal", "scale_embedding": True, "attention_bias": False, "activation": "relu",
    },
    "llama": {
        "norm_kind": "rms", "positions": "rotary", "activation": "swiglu", "n_kv_heads": 2, "attention_bias": False,
        "feed_forward_bias": False, "scale_embedding": True, "rotary_base": 500.0,
    },
    "gated gelu": {"norm_kind": "rms", "positions": "rotary", "activation": "geglu", "tie": "none"},
}  # fmt: skip


def own_bundle(folder: Path, byte_pairs: bool = False, **changes: Any) -> Bundle:
    """A small untrained decoder with a vocabulary that hark learnt: of sentencepiece, or of byte pairs."""
    text = [*SENTENCES, *TARGETS] * 3
    if byte_pairs:
        learnt = learn_byte_pairs(text, 420)
        files, kind = piece_files(learnt.table, learnt.model, learnt.model), VocabularyFacts("pieces")
    else:
        files, kind = {"tokenizer.model": train_tokenizer(text, 420, ())}, VocabularyFacts()
    settings = {"shape": "decoder", "norm": "pre", "vocab_size": 420, "max_positions": 250, "scale_embedding": False}
    config = small(**settings | changes)
    model = new_model(config)
    stir(model)
    weights = {name: weight.detach().numpy() for name, weight in model.named_parameters()}
    write_bundle(
        folder,
        Config(model=config, batches=BatchConfig(max_length=250)),
        lambda path: write_weights(path, weights),
        files,
        Facts((), languages=("en",), vocabulary=kind),
    )
    return Bundle.open(folder)


@pytest.mark.parametrize("case", OWN)
def test_own_models(tmp_path: Path, case: str) -> None:
    """Every option that GPT-2 or Llama have, with a sentencepiece model."""
    done = export_bundle(own_bundle(tmp_path / "own", **OWN[case]), "huggingface", tmp_path / "exported")
    assert done.proof.equal == done.proof.sentences == 20
    assert done.proof.largest_difference is not None
    assert done.proof.largest_difference < 1e-4
    assert "AutoTokenizer" in (tmp_path / "exported" / "README.md").read_text()


@pytest.mark.parametrize(
    ("write", "case"), [*((write_gpt2, each) for each in GPT2), *((write_llama, each) for each in LLAMA)]
)
def test_there_and_back(tmp_path: Path, write: Any, case: str) -> None:
    folder = write(tmp_path / "first", **(GPT2 if write is write_gpt2 else LLAMA)[case])
    bundle = imported(folder, tmp_path / "bundle", language="de")
    done = export_bundle(bundle, "huggingface", tmp_path / "exported")
    assert done.proof.equal == done.proof.sentences >= 19
    one, two = (read_weights(each / "model.safetensors") for each in (folder, tmp_path / "exported"))
    assert one.keys() == two.keys()
    assert all(np.array_equal(one[name], two[name]) for name in one)
    again = imported(tmp_path / "exported", tmp_path / "again")
    assert again.config.model == replace(bundle.config.model, dropout=again.config.model.dropout)
    if case != "only old files":  # which do not say which tokens are special
        assert again.vocabulary_files == bundle.vocabulary_files
    assert again.facts.languages == ("de",)
    if case != "Llama 2":
        same_tokens(tmp_path / "exported", bundle)


def test_a_vocabulary_that_hark_learnt(tmp_path: Path) -> None:
    """Text begins with its start token, there as here."""
    bundle = own_bundle(tmp_path / "own", byte_pairs=True, **OWN["gpt"])
    assert export_bundle(bundle, "huggingface", tmp_path / "exported").proof.equal == 20
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "exported")
    vocabulary = open_vocabularies(bundle)[1]
    for text in TEXTS:
        assert theirs(text).input_ids == [vocabulary.special.start, *vocabulary.encode_one(text)]
        assert theirs.decode(vocabulary.encode_one(text)) == text
    again = imported(tmp_path / "exported", tmp_path / "again")
    assert open_vocabularies(again)[1].text_start == vocabulary.special.start


def test_half_precision(tmp_path: Path) -> None:
    bundle = own_bundle(tmp_path / "own", **OWN["llama"])
    done = export_bundle(bundle, "huggingface", tmp_path / "exported", "float16")
    assert done.proof.bound == 0.05
    assert done.storage == "float16"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"norm": "post"}, "has post-norm, which GPT2LMHeadModel has not"),
        ({"activation": "swiglu", "positions": "learned"}, "has the activation swiglu"),
        ({"positions": "rotary"}, "has rotary positions"),
        ({"positions": "learned", "output_bias": True}, "has an output bias"),
        ({"positions": "learned", "n_kv_heads": 2}, "has fewer heads of keys and values"),
        ({"norm_kind": "rms", "activation": "gelu"}, "has the activation gelu, which LlamaForCausalLM has not"),
        ({"norm_kind": "rms", "activation": "swiglu", "positions": "alibi"}, "has alibi positions"),
    ],
)
def test_what_no_layout_has_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        export_bundle(own_bundle(tmp_path / "own", **changes), "huggingface", tmp_path / "exported")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "exported").exists()


def test_other_programs_take_models_that_translate(tmp_path: Path) -> None:
    bundle = own_bundle(tmp_path / "own", positions="learned", activation="gelu")
    for kind in ("ctranslate2", "onnx", "argos"):
        with pytest.raises(UserError, match=f"is a decoder alone, which hark does not export to {kind}"):
            export_bundle(bundle, kind, tmp_path / "exported")
