"""Import of GPT-2 and Llama folders, against transformers itself."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hark.bundle import Bundle
from hark.errors import UserError
from hark.exchange.decoder_layouts import from_gpt2, from_llama
from hark.exchange.importer import ImportRequest, import_model
from hark.exchange.parity import ParityError
from hark.model.weights import load_one_stack
from hark.text.opening import open_vocabularies
from hark.weights import read_weights, write_weights
from tests.exchange.decoder_models import write_gpt2, write_llama
from tests.exchange.marian_models import SENTENCES
from tests.text.test_byte_pairs import TEXTS, random_texts

transformers = pytest.importorskip("transformers")
GPT2 = {
    "as published": {},
    "only old files": {"files": "old"},
    "only new files": {"files": "new"},
    "untied": {"tie_word_embeddings": False, "n_inner": 40, "activation_function": "relu"},
}
LLAMA = {
    "SmolLM2": {"tie_word_embeddings": True, "rope_theta": 500.0},
    "Llama 3": {"splitting": "llama3"},
    "Llama 2": {"splitting": None, "num_key_value_heads": 4},
    "biases": {"attention_bias": True, "mlp_bias": True, "head_dim": 16, "num_key_value_heads": 1},
}


def imported(folder: Path, to: Path, **settings: Any) -> Bundle:
    proof = import_model(replace(ImportRequest(str(folder)), **settings), to)
    if not proof.skipped:
        assert proof.equal == proof.sentences >= 19  # a long one may have too many tokens
        assert proof.largest_difference is not None
        assert proof.largest_difference < 1e-4
        assert proof.what == "import from huggingface"
    return Bundle.open(to)


@pytest.mark.parametrize("case", GPT2)
def test_gpt2(tmp_path: Path, case: str) -> None:
    folder = write_gpt2(tmp_path / "gpt2", **GPT2[case])
    bundle = imported(folder, tmp_path / "bundle")
    config = bundle.config.model
    assert (config.shape, config.norm, config.norm_kind, config.positions) == ("decoder", "pre", "layer", "learned")
    assert (config.scale_embedding, config.max_positions) == (False, 128)
    assert (config.tie, config.activation) == (("none", "relu") if case == "untied" else ("all", "gelu_tanh"))
    assert (bundle.facts.pairs, bundle.facts.languages) == ((), ("en",))
    same_logits_and_gradients(folder, bundle)
    same_tokens(folder, bundle)


@pytest.mark.parametrize("case", LLAMA)
def test_llama(tmp_path: Path, case: str) -> None:
    folder = write_llama(tmp_path / "llama", **LLAMA[case])
    bundle = imported(folder, tmp_path / "bundle", language="en,fr")
    config = bundle.config.model
    assert (config.norm_kind, config.activation, config.positions) == ("rms", "swiglu", "rotary")
    assert (config.tie, config.rotary_base) == (("all", 500.0) if case == "SmolLM2" else ("none", 10_000.0))
    assert config.attention_bias == config.feed_forward_bias == (case == "biases")
    assert bundle.facts.languages == ("en", "fr")
    same_logits_and_gradients(folder, bundle)
    if case != "Llama 2":
        same_tokens(folder, bundle)
    vocabulary = open_vocabularies(bundle)[1]
    assert (vocabulary.text_start is None) == (case in ("SmolLM2", "biases"))


def same_logits_and_gradients(folder: Path, bundle: Bundle) -> None:
    """Of one number that depends on every logit. Gradients are mapped as weights are."""
    theirs = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    ours = load_one_stack(bundle)
    tokens = torch.randint(ours.config.vocab_size, (3, 17), generator=torch.Generator().manual_seed(1))
    found = ours(tokens, ours.padded_layout({"target": torch.full((3,), 17)}))
    expected = theirs(input_ids=tokens).logits
    torch.testing.assert_close(found, expected, atol=2e-5, rtol=1e-4)
    for logits in (found, expected):
        logits.log_softmax(-1)[..., 3:7].square().mean().backward()
    gradients = {name: weight.grad.numpy() for name, weight in theirs.named_parameters() if weight.grad is not None}
    convert = from_gpt2 if theirs.config.model_type == "gpt2" else from_llama
    mapped = convert(gradients, ours.config, "gradients")
    largest = max(np.abs(each).max() for each in mapped.values())
    for name, weight in ours.named_parameters():
        assert weight.grad is not None
        # A bias of the keys has no gradient but rounding: it changes all scores of a query alike.
        scale = max(np.abs(mapped[name]).max(), largest / 1000)
        np.testing.assert_allclose(weight.grad.numpy() / scale, mapped[name] / scale, atol=1e-3, err_msg=name)


def same_tokens(folder: Path, bundle: Bundle) -> None:
    """Line ends and spaces survive, and the names of special tokens are text."""
    vocabulary = open_vocabularies(bundle)[1]
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    for text in (*TEXTS, *SENTENCES, *random_texts()[:300]):
        ids = vocabulary.encode_one(text)
        assert ids == theirs(text, add_special_tokens=False).input_ids, repr(text)
        assert vocabulary.decode_one(ids) == text
    for name in ("<|endoftext|>", "<|end|>"):
        assert vocabulary.decode_one(vocabulary.encode_one(name)) == name
        assert vocabulary.special.end not in vocabulary.encode_one(name)
    assert vocabulary.special.end not in vocabulary.special.forbidden


def test_a_sentencepiece_model_keeps_line_ends(tmp_path: Path) -> None:
    bundle = imported(write_llama(tmp_path / "llama", None), tmp_path / "bundle")
    vocabulary = open_vocabularies(bundle)[1]
    for text in ("Two lines\n\n of text  ", " leading", "你好\t🙂"):
        assert vocabulary.decode_one(vocabulary.encode_one(text)) == text


def test_a_wrong_conversion_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hark.exchange.decoder_layouts.neighbours", lambda array, _: array)
    with pytest.raises(ParityError, match=r"first difference: decoder layer 1"):
        imported(write_llama(tmp_path / "llama"), tmp_path / "bundle")
    assert not (tmp_path / "bundle").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rope_parameters": {"rope_type": "llama3", "factor": 8.0}}, "rotary positions of the kind llama3"),
        ({"model_type": "mistral", "sliding_window": 64}, "attends to the last 64 tokens only"),
        ({"hidden_act": "tanh"}, "activation 'tanh' is not supported"),
        ({"num_key_value_heads": 3}, "3 does not divide n_heads 4"),
        ({"tie_word_embeddings": False, "num_hidden_layers": 3}, r"model\.layers\.2\.self_attn.* is missing"),
        ({"num_hidden_layers": 1}, r"model\.layers\.1\.\S+ has no place in hark's model"),
    ],
)
def test_settings_that_hark_does_not_have(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    folder = write_llama(tmp_path / "llama")
    change_json(folder / "config.json", changes)
    with pytest.raises(UserError, match=message) as error:
        imported(folder, tmp_path / "bundle", check=False)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("pre_tokenizer", {"type": "Whitespace"}, "is not of bytes; copy tokenizer.model there"),
        ("pre_tokenizer", {"type": "ByteLevel", "use_regex": False}, r"splits text as hark does not \(ByteLevel\)"),
        ("pre_tokenizer", {"type": "ByteLevel", "add_prefix_space": True}, r"changes text .* \(its settings\)"),
        ("normalizer", {"type": "NFC"}, r"changes text before it is split \(NFC\)"),
    ],
)
def test_ways_to_split_text_that_hark_does_not_have(tmp_path: Path, part: str, value: Any, message: str) -> None:
    folder = write_llama(tmp_path / "llama")
    change_json(folder / "tokenizer.json", {part: value})
    with pytest.raises(UserError, match=message):
        imported(folder, tmp_path / "bundle", check=False)


def test_old_buffers_and_a_missing_prefix_are_no_weights(tmp_path: Path) -> None:
    """The first GPT-2 checkpoints have causal masks, and no name of the class before each weight."""
    folder = write_gpt2(tmp_path / "gpt2")
    weights = read_weights(folder / "model.safetensors")
    bare = {name.removeprefix("transformer."): np.array(each) for name, each in weights.items()}
    mask = {"h.0.attn.bias": np.ones((1, 1, 4, 4), np.float32)}
    expected = imported(folder, tmp_path / "one", check=False).weights.read_bytes()
    write_weights(folder / "model.safetensors", bare | mask, {"format": "pt"})
    assert imported(folder, tmp_path / "two", check=False).weights.read_bytes() == expected


def change_json(path: Path, changes: dict[str, Any]) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
