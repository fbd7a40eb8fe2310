"""T5 and BART as text-to-text models: import, export and both after another, against transformers itself."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hark.bundle import Bundle, link_or_copy, write_bundle
from hark.errors import UserError
from hark.exchange import export, importer
from hark.exchange.export import export_bundle
from hark.exchange.import_t5 import from_t5
from hark.exchange.parity import ParityError
from hark.model.weights import load_model
from hark.text.opening import open_vocabularies
from hark.weights import read_weights
from tests.exchange.bart_models import write_bart
from tests.exchange.marian_models import SENTENCES
from tests.exchange.t5_models import FLAN, write_t5
from tests.exchange.test_export_decoder import own_bundle

transformers = pytest.importorskip("transformers")
T5: dict[str, dict[str, Any]] = {
    "as published": {},
    "FLAN": FLAN,
    "only tokenizer.json": {"files": "tokenizer.json", "feed_forward_proj": "gated-silu"},
    "another width": {"d_kv": 12, "d_model": 40, "feed_forward_proj": "gelu_new"},
}
MORE = ["", "  two\n\n lines \t", "x<extra_id_0>y <extra_id_12>", "<extra_id_3>", "½ naïve ﬁne № 你好", "</s><pad>"]
OWN_T5: dict[str, Any] = {
    "shape": "encoder-decoder", "positions": "relative", "norm_kind": "rms", "norm": "pre", "attention_bias": False,
    "feed_forward_bias": False,
}  # fmt: skip
OWN_BART: dict[str, Any] = {
    "shape": "encoder-decoder", "positions": "learned", "norm": "post", "embedding_norm": True, "activation": "gelu",
}  # fmt: skip
OWN = {
    "T5 with the paper's embeddings": {**OWN_T5, "scale_embedding": True},
    "T5 with an output of its own": {**OWN_T5, "scale_embedding": True, "tie": "inputs", "activation": "geglu"},
    "BART": OWN_BART,
    "BART with few biases": {**OWN_BART, "attention_bias": False, "output_bias": True, "scale_embedding": True},
}


@pytest.fixture(autouse=True)
def few_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the twenty: random models seldom end their texts, and searches take long."""
    for module in (importer, export):
        monkeypatch.setattr(module, "check_sentences", lambda *_: SENTENCES[:2])


def imported(folder: Path, to: Path, **settings: Any) -> Bundle:
    proof = importer.import_model(replace(importer.ImportRequest(str(folder)), **settings), to)
    if not proof.skipped:
        assert proof.equal == proof.sentences == 2
        assert proof.largest_difference is not None
        assert proof.largest_difference < 1e-4
    return Bundle.open(to)


@pytest.mark.parametrize("case", T5)
def test_t5(tmp_path: Path, case: str) -> None:
    """Tokens, logits, greedy search and beams of 20 texts, and the gradients of all weights."""
    folder = write_t5(tmp_path / "t5", **T5[case])
    bundle = imported(folder, tmp_path / "bundle", language="en,fr")
    config = bundle.config.model
    assert (config.shape, config.positions, config.norm_kind) == ("encoder-decoder", "relative", "rms")
    assert config.tie == ("inputs" if case == "FLAN" else "all")
    assert (config.n_decoder_layers, config.k_width) == (1 if case == "FLAN" else 2, 12 if "width" in case else 16)
    assert (bundle.facts.pairs, bundle.facts.languages) == ((), ("en", "fr"))
    same_gradients(folder, bundle)
    same_tokens(folder, bundle)


def same_gradients(folder: Path, bundle: Bundle) -> None:
    """Of one number that depends on every logit. Gradients are mapped as weights are, but factors become their inverse;
    d_k is a power of four or compared by direction only."""
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    ours = load_model(bundle)
    generator = torch.Generator().manual_seed(1)
    source, target = (torch.randint(ours.config.vocab_size, (3, length), generator=generator) for length in (17, 9))
    lengths = {"source": torch.full((3,), 17), "target": torch.full((3,), 9)}
    found = ours(source, target, ours.padded_layout(lengths))
    expected = theirs(input_ids=source, decoder_input_ids=target).logits
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    for logits in (found, expected):
        logits.log_softmax(-1)[..., 3:7].square().mean().backward()
    gradients = {name: weight.grad.numpy() for name, weight in theirs.named_parameters() if weight.grad is not None}
    mapped = from_t5(gradients, ours.config, False, "gradients")
    for name, weight in ours.named_parameters():
        assert weight.grad is not None
        mine, other = weight.grad.numpy(), mapped[name]
        factor = 1.0
        if name.endswith(".w_q.weight"):
            factor = 1 / ours.config.k_width  # `from_t5` multiplies by its root what must be divided by it
        elif name == "decoder.norm.weight" and ours.config.tie == "all":
            factor = ours.config.d_model**0.5
        scale = np.abs(other).max() * factor
        np.testing.assert_allclose(mine / scale, other * factor / scale, atol=2e-3, err_msg=name)


def same_tokens(folder: Path, bundle: Bundle) -> None:
    """Sentinels in a text are themselves; the names of other special tokens are text."""
    source, target = open_vocabularies(bundle)
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    for text in (*SENTENCES, *MORE[:-1]):
        assert source.as_source(source.encode_marked(text)) == theirs(text).input_ids, text
        ids = target.encode_one(text)
        assert target.decode_one(ids) == theirs.decode([each for each in ids if each != target.special.unknown])
    assert not {target.special.end, target.special.pad} & {*source.encode_marked(MORE[-1])}
    assert len(target.sentinels) == 100
    assert target.pieces(target.sentinels[:2]) == ["<extra_id_0>", "<extra_id_1>"]
    assert theirs.convert_tokens_to_ids(["<extra_id_0>", "<extra_id_99>"]) == [
        target.sentinels[0], target.sentinels[99],
    ]  # fmt: skip


def test_bart_without_languages(tmp_path: Path) -> None:
    folder = write_bart(tmp_path / "bart")
    bundle = imported(folder, tmp_path / "bundle", language="de")
    assert (bundle.facts.pairs, bundle.facts.languages) == ((), ("de",))
    vocabulary = open_vocabularies(bundle)[0]
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    for text in (*SENTENCES, "We<mask> 12 apples", "<mask>"):
        assert vocabulary.as_source(vocabulary.encode_marked(text)) == theirs(text).input_ids
    # The hidden words begin with the space before them.
    assert vocabulary.encode_marked("We <mask> 12") == vocabulary.encode_marked("We<mask> 12")
    assert vocabulary.prefix() == (0,)
    # As transformers 5 saves it, and of one that forces nothing.
    theirs.save_pretrained(folder)
    for name in ("vocab.json", "merges.txt"):
        (folder / name).unlink()
    for name in ("config.json", "generation_config.json"):
        tree = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(tree | {"forced_bos_token_id": None}))
    again = open_vocabularies(imported(folder, tmp_path / "again"))[0]
    assert (again.source_lead, again.prefix()) == ((0,), ())
    assert again.encode([*SENTENCES]) == vocabulary.encode([*SENTENCES])


@pytest.mark.parametrize("case", ["bart", "as published", "FLAN", "only tokenizer.json"])
def test_there_and_back(tmp_path: Path, case: str) -> None:
    folder = write_bart(tmp_path / "first") if case == "bart" else write_t5(tmp_path / "first", **T5[case])
    bundle = imported(folder, tmp_path / "bundle", language="de", check=False)
    done = export_bundle(bundle, "huggingface", tmp_path / "exported")
    assert done.proof.equal == done.proof.sentences == 2
    one, two = (read_weights(each / "model.safetensors") for each in (folder, tmp_path / "exported"))
    assert one.keys() == two.keys()
    for name in one:
        if name.endswith("embed_positions.weight"):  # whose first rows are never used
            one[name], two[name] = one[name][2:], two[name][2:]
        np.testing.assert_allclose(one[name], two[name], rtol=1e-6, err_msg=name)
    again = imported(tmp_path / "exported", tmp_path / "again", check=False)
    assert again.config.model == bundle.config.model
    first, second = (open_vocabularies(each)[0] for each in (bundle, again))
    for text in (*SENTENCES, *MORE, "We <mask> 12"):
        assert first.as_source(first.encode_marked(text)) == second.as_source(second.encode_marked(text))
    assert (first.special, first.prefix()) == (second.special, second.prefix())
    assert again.facts.languages == ("de",)


@pytest.mark.parametrize(("case", "byte_pairs"), list(zip(OWN, (False, True, True, False), strict=True)))
def test_own_models(tmp_path: Path, case: str, byte_pairs: bool) -> None:
    """Models that hark trained, with its own vocabularies."""
    bundle = own_bundle(tmp_path / "own", byte_pairs, **OWN[case])
    done = export_bundle(bundle, "huggingface", tmp_path / "exported")
    assert done.proof.equal == done.proof.sentences == 2
    again = imported(tmp_path / "exported", tmp_path / "again", check=False)
    assert again.config.model.positions == bundle.config.model.positions


def test_an_own_model_that_translates(tmp_path: Path) -> None:
    own = own_bundle(tmp_path / "own", **OWN["T5 with the paper's embeddings"])
    facts = replace(own.facts, pairs=(("en", "fr"),), languages=())
    write_bundle(tmp_path / "en-fr", own.config, lambda to: link_or_copy(own.weights, to), own.vocabulary_files, facts)
    done = export_bundle(Bundle.open(tmp_path / "en-fr"), "huggingface", tmp_path / "exported", "float16")
    assert done.proof.sentences == 2
    again = imported(tmp_path / "exported", tmp_path / "again", check=False)
    assert again.facts.pairs == (("en", "fr"),)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({**OWN_T5, "attention_bias": True}, "has biases, which T5ForConditionalGeneration has not"),
        ({**OWN_T5, "norm_kind": "layer"}, "has layer norm, which T5"),
        ({**OWN_T5, "tie": "none"}, "has embeddings for each side, which T5"),
        ({**OWN_T5, "d_k": 4, "d_v": 8}, "has keys of another width than values, which T5"),
        ({**OWN_BART, "norm": "pre"}, "is pre-norm, which BartForConditionalGeneration has not"),
        ({**OWN_BART, "positions": "alibi"}, "has alibi positions, which Bart"),
        ({**OWN_BART, "embedding_norm": False}, "has no norm of embeddings, which Bart"),
    ],
)
def test_what_no_layout_has_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        export_bundle(own_bundle(tmp_path / "own", **changes), "huggingface", tmp_path / "exported")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "exported").exists()


def test_a_pair_of_languages_is_refused(tmp_path: Path) -> None:
    folder = write_t5(tmp_path / "t5")
    with pytest.raises(UserError, match="has no pairs of languages; name those of its text with --language"):
        imported(folder, tmp_path / "bundle", source_languages="en", target_languages="de")
    assert not (tmp_path / "bundle").exists()


def test_other_formats_are_for_models_that_translate(tmp_path: Path) -> None:
    bundle = own_bundle(tmp_path / "own", **OWN_BART)
    for kind in ("ctranslate2", "onnx", "argos"):
        with pytest.raises(UserError, match=f"has no pairs of languages, which hark does not export to {kind}"):
            export_bundle(bundle, kind, tmp_path / "exported")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"feed_forward_proj": "gated-tanh"}, "feed_forward_proj 'gated-tanh' is not supported"),
        ({"num_layers": 3}, r"the weight encoder\.block\.2\.layer\.0.* is missing"),
        ({"num_decoder_layers": 1}, r"the weight decoder\.block\.1\.layer\S+ has no place in hark's model"),
        ({"vocab_size": 150}, "its vocabulary has 220 entries, but the weights are for 150"),
    ],
)
def test_settings_that_hark_does_not_have(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    folder = write_t5(tmp_path / "t5")
    tree = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(tree | changes))
    with pytest.raises(UserError, match=message) as error:
        imported(folder, tmp_path / "bundle", check=False)
    assert "\n" not in str(error.value)


def test_tokenizers_that_hark_does_not_have(tmp_path: Path) -> None:
    folder = write_t5(tmp_path / "t5", "tokenizer.json")
    tree = json.loads((folder / "tokenizer.json").read_text())
    tree["normalizer"] = {"type": "Lowercase"}
    (folder / "tokenizer.json").write_text(json.dumps(tree))
    with pytest.raises(UserError, match=r"splits text as sentencepiece does not \(Lowercase"):
        imported(folder, tmp_path / "bundle", check=False)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(UserError, match=r"no tokenizer; spiece.model is needed, or tokenizer.json"):
        imported(folder, tmp_path / "bundle", check=False)


def test_a_wrong_conversion_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_t5(tmp_path / "t5")
    monkeypatch.setattr("hark.exchange.import_t5.scales_output", lambda _: False)
    with pytest.raises(ParityError, match="logits of transformers"):
        imported(folder, tmp_path / "bundle")
    assert not (tmp_path / "bundle").exists()
