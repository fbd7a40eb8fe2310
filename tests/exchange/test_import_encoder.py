"""Import of BERT and RoBERTa folders, against transformers itself."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from hark.bundle import Bundle
from hark.errors import UserError
from hark.exchange.importer import ImportRequest, import_model
from hark.exchange.parity import ParityError
from hark.model.weights import load_one_stack
from hark.text.opening import open_vocabularies
from hark.weights import read_weights, write_weights
from tests.exchange.encoder_models import write_bert, write_roberta, write_xlm_roberta
from tests.exchange.marian_models import SENTENCES, TARGETS

transformers = pytest.importorskip("transformers")
MORE = ["", "don't we'll  see", " a\tb\n\nc ", "3,5 km² ½ naïve Größe", "你好 🙂 и_x", "'twas I'D", "\u00a0x\u3000y "]


def imported(folder: Path, to: Path, **settings: Any) -> Bundle:
    proof = import_model(replace(ImportRequest(str(folder)), **settings), to)
    assert proof.skipped or (proof.equal == proof.sentences >= 18 and proof.largest_difference is not None)
    return Bundle.open(to)


def packed(bundle: Bundle, texts: list[list[int]]) -> tuple[Any, Tensor, Any]:
    model = load_one_stack(bundle)
    cu = torch.tensor([0, *np.cumsum([len(text) for text in texts])]).int()
    positions = torch.cat([torch.arange(len(text)) for text in texts])
    return (
        model,
        torch.tensor([token for text in texts for token in text]),
        model.packed_layout({"target": cu}, {"target": positions}, 64),
    )


def rows_of(texts: list[list[int]], pad: int) -> tuple[Tensor, Tensor]:
    rows = torch.full((len(texts), max(map(len, texts))), pad)
    for row, text in zip(rows, texts, strict=True):
        row[: len(text)] = torch.tensor(text)
    lengths = torch.tensor([len(text) for text in texts])
    return rows, torch.arange(rows.shape[1]) < lengths[:, None]


LAYOUTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "bert": (write_bert, {}),
    "bert, cased": (write_bert, {"lowercase": False, "hidden_act": "gelu_new", "type_vocab_size": 3}),
    "bert, untied": (write_bert, {"tie_word_embeddings": False, "hidden_act": "relu"}),
    "roberta": (write_roberta, {}),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_logits_and_gradients_equal_those_of_transformers(tmp_path: Path, layout: str) -> None:
    """In batches with padding there and packed here, with the loss of some hidden tokens."""
    write, changes = LAYOUTS[layout]
    folder = write(tmp_path / "theirs", **changes)
    bundle = imported(folder, tmp_path / "ours")
    config, words = bundle.config.model, open_vocabularies(bundle)[1]
    assert (config.shape, config.norm, config.embedding_norm, config.max_positions) == ("encoder", "post", True, 64)
    assert (config.prediction_layer, config.output_bias, config.norm_eps) == (True, True, 1e-12)
    assert (bundle.facts.pairs, bundle.facts.languages, bundle.facts.parity[0].quantity) == ((), ("en",), "logits")
    texts = [words.enclose(words.encode_one(text)) for text in SENTENCES]
    assert words.mask is not None
    for text in texts:
        text[2] = words.mask
    model, tokens_N, layout_N = packed(bundle, texts)
    theirs = transformers.AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float32).eval()
    rows_BT, real_BT = rows_of(texts, words.special.pad)
    ours_NV = model(tokens_N, layout_N)
    theirs_NV = theirs(rows_BT, attention_mask=real_BT.int()).logits[real_BT]
    torch.testing.assert_close(ours_NV, theirs_NV, atol=2e-5, rtol=1e-4)
    targets_N = torch.arange(len(tokens_N)) % 50
    for logits_NV in (ours_NV, theirs_NV):
        torch.nn.functional.cross_entropy(logits_NV, targets_N).backward()
    layer, head = theirs.base_model.encoder.layer[0], model.encoder.layers[0]
    for one, other in (
        (model.embedding.weight.grad, theirs.get_input_embeddings().weight.grad),
        (head.self_attention.w_q.weight.grad, layer.attention.self.query.weight.grad),
        (head.feed_forward.w_1.bias.grad, layer.intermediate.dense.bias.grad),
        (model.target_norm.weight.grad, theirs.base_model.embeddings.LayerNorm.weight.grad),
    ):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-3)


def test_a_model_without_a_head(tmp_path: Path) -> None:
    """As all-MiniLM-L6-v2: hidden states are compared."""
    folder = write_bert(tmp_path / "theirs", head=False)
    bundle = imported(folder, tmp_path / "ours", language="en,fr")
    config = bundle.config.model
    assert (config.prediction_layer, config.output_bias, config.tie) == (False, False, "all")
    assert (bundle.facts.languages, bundle.facts.parity[0].quantity) == (("en", "fr"), "hidden states")
    assert "hidden states differ by at most" in bundle.card
    assert "the embedding of the first segment is part of the table of positions" in bundle.card
    texts = [[5, 6, 7], [8, 9, 10, 11, 12]]
    model, tokens_N, layout_N = packed(bundle, texts)
    theirs = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    rows_BT, real_BT = rows_of(texts, 0)
    with torch.inference_mode():
        expected = theirs(rows_BT, attention_mask=real_BT.int()).last_hidden_state[real_BT]
        torch.testing.assert_close(model.states(tokens_N, layout_N), expected, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("write", [write_bert, write_roberta])
def test_tokens_are_those_of_the_original(tmp_path: Path, write: Any) -> None:
    folder = write(tmp_path / "theirs")
    words = open_vocabularies(imported(folder, tmp_path / "ours", check=False))[1]
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    for text in (*SENTENCES, *TARGETS, *MORE):
        assert words.enclose(words.encode_one(text)) == theirs(text).input_ids
    assert (words.mask, words.special.pad) == (theirs.mask_token_id, theirs.pad_token_id)


def test_tokenizer_json_says_the_same_as_vocab_txt(tmp_path: Path) -> None:
    folder = write_bert(tmp_path / "theirs", lowercase=False)
    first = open_vocabularies(imported(folder, tmp_path / "one", check=False))[1]
    transformers.AutoTokenizer.from_pretrained(folder).save_pretrained(folder)
    (folder / "vocab.txt").unlink(missing_ok=True)
    second = open_vocabularies(imported(folder, tmp_path / "two", check=False))[1]
    assert (first.sha256, first.special, first.mask) == (second.sha256, second.special, second.mask)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(UserError, match=r"no tokenizer; vocab.txt is needed, or tokenizer.json"):
        imported(folder, tmp_path / "three", check=False)


def test_xlm_roberta(tmp_path: Path) -> None:
    bundle = imported(write_xlm_roberta(tmp_path / "theirs"), tmp_path / "ours")
    words = open_vocabularies(bundle)[1]
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "theirs")
    for text in (*SENTENCES, *TARGETS):
        assert words.enclose(words.encode_one(text)) == theirs(text).input_ids
    assert words.decode_one(words.encode_one(SENTENCES[0])) == SENTENCES[0]
    assert words.pieces([words.mask or 0]) == ["<mask>"]


def test_old_names_and_buffers_of_published_files(tmp_path: Path) -> None:
    """bert-base-uncased says gamma and beta, and some files contain position_ids."""
    folder = write_bert(tmp_path / "theirs")
    one = imported(folder, tmp_path / "one")
    weights = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): np.array(each)
        for name, each in read_weights(folder / "model.safetensors").items()
    }
    weights["bert.embeddings.position_ids"] = np.arange(64, dtype=np.float32)[None]
    write_weights(folder / "model.safetensors", weights, {"format": "pt"})
    two = imported(folder, tmp_path / "two")
    assert (tmp_path / "one/model.safetensors").read_bytes() == two.weights.read_bytes() == one.weights.read_bytes()


def test_what_is_refused(tmp_path: Path) -> None:
    folder = write_bert(tmp_path / "theirs")
    settings = json.loads((folder / "config.json").read_text())
    for change, message in (
        ({"position_embedding_type": "relative_key"}, "relative positions"),
        ({"is_decoder": True}, "is a decoder in BERT's layout"),
        ({"hidden_act": "tanh"}, "activation 'tanh' is not supported"),
        ({"hidden_size": 33}, "33 is not divisible by n_heads 4"),
        ({"vocab_size": 9}, "is not in the vocabulary of 9"),
    ):
        (folder / "config.json").write_text(json.dumps(settings | change))
        with pytest.raises(UserError, match=message):
            imported(folder, tmp_path / "x", check=False)
    (folder / "config.json").write_text(json.dumps(settings))
    weights = {name: np.array(each) for name, each in read_weights(folder / "model.safetensors").items()}
    write_weights(folder / "model.safetensors", weights | {"classifier.weight": np.ones((2, 32), np.float32)})
    with pytest.raises(UserError, match=r"has classifier.weight, which is of a task that hark does not have"):
        imported(folder, tmp_path / "x", check=False)
    weights.pop("bert.embeddings.LayerNorm.weight")
    write_weights(folder / "model.safetensors", weights)
    with pytest.raises(UserError, match=r"the weight embeddings.LayerNorm.weight is missing"):
        imported(folder, tmp_path / "x", check=False)
    assert not (tmp_path / "x").exists()


def test_a_difference_is_an_error_that_names_the_layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hark.exchange import import_encoder

    monkeypatch.setitem(import_encoder.ACTIVATIONS, "gelu", "relu")
    with pytest.raises(ParityError, match="first difference: layer 1"):
        imported(write_bert(tmp_path / "theirs"), tmp_path / "x")
    assert not (tmp_path / "x").exists()
