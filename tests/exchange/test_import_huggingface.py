"""Import of MarianMTModel folders, against transformers itself."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hark.bundle import Bundle
from hark.config import DecodeConfig, ModelConfig
from hark.engine.ctranslate2 import CTranslate2Engine
from hark.engine.interface import Engine, Request
from hark.engine.torch import TorchEngine
from hark.errors import UserError
from hark.exchange.foreign import weight_shapes
from hark.exchange.huggingface_settings import default_languages
from hark.exchange.import_huggingface import read_marian
from hark.model import Transformer, padded_layout
from hark.model.weights import load_model
from hark.text.opening import open_vocabularies
from hark.text.vocabulary import Vocabulary
from tests.exchange.marian_models import SENTENCES, TARGETS, write_marian

transformers = pytest.importorskip("transformers")
NONE: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
BOUND = 1e-4
"""Largest difference allowed between the logits of tiny models in float32."""


def imported(folder: Path, bundle: Path) -> Bundle:
    read_marian(folder, NONE, "a test").write(bundle)
    return Bundle.open(bundle)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_marian(tmp_path_factory.mktemp("marian") / "opus-mt-en-fr")


@pytest.fixture(scope="module")
def bundle(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return imported(folder, tmp_path_factory.mktemp("bundles") / "en-fr")


def logits_of(model: Transformer, source: list[int], target: list[int]) -> torch.Tensor:
    layout = padded_layout(torch.tensor([len(source)]), torch.tensor([len(target)]))
    with torch.no_grad():
        return model(torch.tensor([source]), torch.tensor([target]), layout)[0]


def largest_difference(folder: Path, bundle: Bundle) -> float:
    theirs = transformers.MarianMTModel.from_pretrained(folder).eval()
    ours, (vocabulary, target) = load_model(bundle), open_vocabularies(bundle)
    largest = 0.0
    for text, translation in zip(SENTENCES, TARGETS, strict=True):
        source = vocabulary.source_ids(text)
        read = [target.special.start, *target.encode_one(translation)]
        with torch.no_grad():
            expected = theirs(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([read])).logits[0]
        largest = max(largest, float((logits_of(ours, source, read) - expected).abs().max()))
    return largest


def generate(folder: Path, ids: list[list[int]], beam: int, unknown: int) -> list[list[int]]:
    """Transformers' own search with hark's rules: no length penalty, an end at `beam` hypotheses, never <unk>, and
    probabilities without the forbidden tokens."""
    model = transformers.MarianMTModel.from_pretrained(folder).eval()
    found = []
    for source in ids:
        with torch.no_grad():
            (output,) = model.generate(
                input_ids=torch.tensor([source]),
                num_beams=beam,
                length_penalty=0.0,
                early_stopping=True,
                do_sample=False,
                max_new_tokens=len(source) + 5,
                bad_words_ids=[[model.config.pad_token_id], [unknown]],
                renormalize_logits=True,
                forced_eos_token_id=None,
            )
        tokens = output.tolist()[1:]
        found.append(tokens[: tokens.index(0)] if 0 in tokens else tokens)
    return found


def search(engine: Engine, ids: list[list[int]], beam: int) -> list[list[int]]:
    options = DecodeConfig(beam=beam, alpha=0.0, max_extra=5)
    answers = dict(engine.run(Request(source, options) for source in ids))
    return [list(answers[place][0].tokens) for place in range(len(ids))]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tie_word_embeddings": False},
        {"scale_embedding": False, "activation_function": "gelu", "encoder_layers": 3, "decoder_layers": 1},
        {"share_encoder_decoder_embeddings": False},
    ],
    ids=["opus-mt", "untied", "another shape", "separate embeddings"],
)
def test_logits_equal_those_of_transformers(tmp_path: Path, changes: dict[str, Any]) -> None:
    folder = write_marian(tmp_path / "opus-mt-en-fr", **changes)
    assert largest_difference(folder, imported(folder, tmp_path / "bundle")) < BOUND


def test_pytorch_model_bin_gives_the_same_weights(tmp_path: Path, folder: Path) -> None:
    other = write_marian(tmp_path / "opus-mt-en-fr", safe=False)
    one, two = (read_marian(each, NONE, "a test").weights for each in (folder, other))
    assert one.keys() == two.keys()
    assert all(np.array_equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize("beam", [1, 4])
def test_searches_equal_those_of_transformers(folder: Path, bundle: Bundle, beam: int) -> None:
    source, target = open_vocabularies(bundle)
    ids = [source.source_ids(text) for text in sorted(SENTENCES, key=len)[:3]]
    expected = generate(folder, ids, beam, target.special.unknown)
    assert len({tuple(each) for each in expected}) == len(ids)  # the model does not always say the same
    assert search(TorchEngine(load_model(bundle), target.special), ids, beam) == expected
    engine = CTranslate2Engine.open(bundle, target.special, "float32", 1)
    assert search(engine, ids, beam) == expected


def test_int8_is_close(bundle: Bundle) -> None:
    source, target = open_vocabularies(bundle)
    pairs = [(source.source_ids(one), target.encode_one(two)) for one, two in zip(SENTENCES, TARGETS, strict=True)]
    engines = [CTranslate2Engine.open(bundle, target.special, kind, 1) for kind in ("int8", "float32")]
    found = [[sum(each) / len(each) for each in engine.score(pairs)] for engine in engines]
    assert np.abs(np.subtract(*found)).max() < 0.5
    assert found[0] != found[1]


def test_text_equals_that_of_the_tokenizer(folder: Path, bundle: Bundle) -> None:
    tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
    source, target = open_vocabularies(bundle)
    for text in [*SENTENCES, "", "  two  spaces ", "naïve ﬁne Ⅳ", "日本 xyz"]:
        assert source.source_ids(text) == tokenizer(text).input_ids
    for text in TARGETS:
        ids = tokenizer(text_target=text).input_ids
        assert [*target.encode_one(text), target.special.end] == ids
        assert target.decode_one(ids) == tokenizer.decode(ids, skip_special_tokens=True)


def test_tags_of_a_multilingual_model(tmp_path: Path) -> None:
    tags = ("fra", "por_BR", "por", "cmn_Hans")
    folder = write_marian(tmp_path / "opus-mt-en-ROMANCE", tags=tags)
    model = read_marian(folder, NONE, "a test")
    assert (model.language_tags, model.pairs[0]) == ("source", ("en", "fr"))
    assert [target for _, target in model.pairs] == ["fr", "pt-BR", "pt", "zh"]
    bundle = imported(folder, tmp_path / "bundle")
    source, _ = open_vocabularies(bundle)
    tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
    for language, tag in (("fr", "fra"), ("pt-BR", "por_BR"), ("zh", "cmn_Hans")):
        expected = tokenizer(f">>{tag}<<{SENTENCES[0]}").input_ids
        assert source.source_ids(SENTENCES[0], language) == expected
    assert source.decode_one(source.source_ids("The cat", "fr")) == "The cat"


def test_logits_of_a_tagged_model_equal_those_of_transformers(tmp_path: Path) -> None:
    """Transformers' own tokenizer and model, with a tag before the text; another tag gives other logits."""
    folder = write_marian(tmp_path / "opus-mt-en-ROMANCE", tags=("fra", "spa"))
    bundle = imported(folder, tmp_path / "bundle")
    theirs = transformers.MarianMTModel.from_pretrained(folder).eval()
    tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
    ours, (vocabulary, target) = load_model(bundle), open_vocabularies(bundle)
    found = {}
    for language, tag in (("fr", "fra"), ("es", "spa")):
        for text, translation in zip(SENTENCES, TARGETS, strict=True):
            ids = tokenizer(f">>{tag}<< {text}").input_ids
            read = [target.special.start, *target.encode_one(translation)]
            with torch.no_grad():
                expected = theirs(input_ids=torch.tensor([ids]), decoder_input_ids=torch.tensor([read])).logits[0]
            logits = logits_of(ours, vocabulary.source_ids(text, language), read)
            assert float((logits - expected).abs().max()) < BOUND
            found[language] = logits
    assert float((found["fr"] - found["es"]).abs().max()) > 100 * BOUND


def test_facts(bundle: Bundle) -> None:
    facts = bundle.facts
    assert facts.pairs == (("en", "fr"),)
    assert facts.origin is not None
    assert (facts.origin.kind, facts.origin.source) == ("huggingface marian", "a test")
    assert facts.licence == facts.origin.licence == "apache-2.0"
    assert facts.making.parameters == sum(each.numel() for each in load_model(bundle).parameters())
    assert (bundle.config.decode.beam, bundle.config.decode.alpha) == (6, 1.0)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tie": "none", "source_vocab_size": 9, "norm": "pre", "activation": "swiglu", "attention_bias": False},
        {"tie": "target", "source_vocab_size": 9, "positions": "learned", "embedding_norm": True, "output_bias": True},
        {"d_k": 6, "d_v": 10, "n_encoder_layers": 1},
    ],
)
def test_weight_shapes_are_those_of_the_model(changes: dict[str, Any]) -> None:
    config = replace(ModelConfig(d_model=16, d_ff=24, n_heads=2, n_decoder_layers=2, vocab_size=30), **changes)
    model = Transformer(config)
    assert weight_shapes(config) == {name: tuple(each.shape) for name, each in model.named_parameters()}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Helsinki-NLP/opus-mt-en-fr", (("en",), ("fr",))),
        ("opus-mt-tc-big-eng-deu", (("en",), ("de",))),
        ("opus-mt-fr+es-en", (("fr", "es"), ("en",))),
        ("some-model", ((), ())),
    ],
)
def test_languages_in_names(tmp_path: Path, name: str, expected: object) -> None:
    assert default_languages(tmp_path, {"_name_or_path": name}) == expected


def damage(folder: Path, file: str, **changes: Any) -> None:
    tree = json.loads((folder / file).read_text())
    (folder / file).write_text(json.dumps({**tree, **changes}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"activation_function": "tanh"}, "activation 'tanh' is not supported; hark has gelu"),
        ({"decoder_ffn_dim": 50}, r"different ffn_dim \(48 and 50\)"),
        ({"d_model": "wide"}, "d_model is 'wide', which is not of the expected type"),
        ({"d_model": 64}, "has the shape"),
        ({"encoder_layers": 3}, r"encoder.layers.2.self_attn.q_proj.weight is missing; the file is incomplete"),
        ({"pad_token_id": 100_000}, "the id 100000 of pad is not in the vocabulary"),
        ({"normalize_embedding": True}, "normalize_embedding is set"),
    ],
)
def test_wrong_settings_are_one_clear_error(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    folder = write_marian(tmp_path / "opus-mt-en-fr")
    damage(folder, "config.json", **changes)
    (folder / "generation_config.json").unlink()
    with pytest.raises(UserError, match=message) as error:
        read_marian(folder, NONE, "a test")
    assert "\n" not in str(error.value)


def test_vocabularies_are_as_large_as_the_weights(tmp_path: Path) -> None:
    folder = write_marian(tmp_path / "opus-mt-en-fr")
    damage(folder, "vocab.json", more=5000)
    with pytest.raises(UserError, match="the id 5000 of 'more' is not in the vocabulary"):
        read_marian(folder, NONE, "a test")


def special_of(vocabulary: Vocabulary) -> set[int]:
    return {token for token in range(vocabulary.vocab_size) if vocabulary.is_special(token)}


def test_no_text_encodes_to_a_special_id(bundle: Bundle) -> None:
    source, _ = open_vocabularies(bundle)
    special = special_of(source) - {source.special.unknown}
    for text in ("</s>", "<pad>", ">>fra<< the cat", "<unk>"):
        assert not special & set(source.encode_one(text))
