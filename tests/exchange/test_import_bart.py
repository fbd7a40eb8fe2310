"""Import of BART and Pegasus folders, against transformers itself."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hark.bundle import Bundle
from hark.errors import UserError
from hark.exchange.export import export_bundle
from hark.exchange.importer import ImportRequest, import_model
from hark.text.opening import open_vocabularies
from hark.text.piece_vocabulary import PieceVocabulary
from hark.weights import read_weights, write_weights
from tests.exchange.bart_models import write_bart, write_pegasus
from tests.exchange.conftest import FEW
from tests.exchange.marian_models import SENTENCES

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.usefixtures("few_sentences")
MORE = ["", "don't we'll  see", " a\tb\n\nc ", "3,5 km² ½ naïve Größe", "你好 🙂 и_x", "'twas I'D", "\u00a0x\u3000y "]
"""Text that shows how words are split."""


def imported(folder: Path, to: Path, **settings: Any) -> Bundle:
    request = ImportRequest(str(folder), source_languages="en", target_languages="fr")
    proof = import_model(replace(request, **settings), to)
    assert proof.skipped or (proof.equal == proof.sentences == FEW and proof.largest_difference is not None)
    return Bundle.open(to)


@pytest.mark.parametrize(
    "changes",
    [{}, {"scale_embedding": True, "activation_function": "relu", "decoder_layers": 1}],
    ids=["as published", "another shape"],
)
def test_bart(tmp_path: Path, changes: dict[str, Any]) -> None:
    """Logits and translations equal those of transformers."""
    bundle = imported(write_bart(tmp_path / "bart", **changes), tmp_path / "en-fr")
    config = bundle.config.model
    assert (config.norm, config.positions, config.embedding_norm) == ("post", "learned", True)
    assert (config.max_positions, config.tie, config.output_bias) == (128, "all", True)
    assert bundle.facts.pairs == (("en", "fr"),)


@pytest.mark.parametrize(
    ("offset", "changes"),
    [(103, {}), (103, {"scale_embedding": False, "activation_function": "gelu"}), (50, {})],
    ids=["as published", "another shape", "another offset"],
)
def test_pegasus(tmp_path: Path, offset: int, changes: dict[str, Any]) -> None:
    bundle = imported(write_pegasus(tmp_path / "pegasus", offset, **changes), tmp_path / "en-fr")
    config = bundle.config.model
    assert (config.norm, config.positions, config.embedding_norm) == ("pre", "sinusoidal_halves", False)


def test_the_tokens_of_bart_are_those_of_its_own_tokenizer(tmp_path: Path) -> None:
    folder = write_bart(tmp_path / "bart")
    source, target = open_vocabularies(imported(folder, tmp_path / "en-fr", check=False))
    assert isinstance(target, PieceVocabulary)
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    for text in (*SENTENCES, *MORE):
        assert source.source_ids(text) == theirs(text).input_ids
        assert target.decode_one(target.encode_one(text)) == text.strip()
    assert target.prefix("fr") == (0,)
    assert {"A", "e"} <= target.alphabet
    assert target.decode_one(target.encode_one("</s><s><mask>")) == "</s><s><mask>"  # text, not special tokens


def test_bart_as_transformers_5_saves_it(tmp_path: Path) -> None:
    """Its tokenizer.json has all, vocab.json and merges.txt are gone."""
    folder = write_bart(tmp_path / "bart")
    first = imported(folder, tmp_path / "one", check=False)
    transformers.AutoTokenizer.from_pretrained(folder).save_pretrained(folder)
    assert (folder / "tokenizer.json").is_file()
    (folder / "vocab.json").unlink()
    (folder / "merges.txt").unlink()
    second = imported(folder, tmp_path / "two", check=False)
    one, two = (open_vocabularies(each)[1] for each in (first, second))
    assert one.encode([*SENTENCES, *MORE]) == two.encode([*SENTENCES, *MORE])
    whole = json.loads((folder / "tokenizer.json").read_text())
    whole["model"].pop("merges")
    (folder / "tokenizer.json").write_text(json.dumps(whole))
    with pytest.raises(UserError, match=r"has no byte-level BPE vocabulary"):
        imported(folder, tmp_path / "three", check=False)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(UserError, match=r"no tokenizer; vocab.json and merges.txt are needed, or tokenizer.json"):
        imported(folder, tmp_path / "three", check=False)


def test_what_is_refused(tmp_path: Path) -> None:
    folder = write_bart(tmp_path / "bart")
    with pytest.raises(UserError, match="one pair of languages; name two different ones with -s and -t"):
        imported(folder, tmp_path / "x", check=False, target_languages="")
    with pytest.raises(UserError, match="one pair of languages; name two different ones with -s and -t"):
        imported(folder, tmp_path / "x", check=False, target_languages="en")
    bundle = imported(folder, tmp_path / "en-fr", check=False)
    for kind in ("huggingface", "ctranslate2", "argos"):
        with pytest.raises(UserError):
            export_bundle(bundle, kind, tmp_path / "x")
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(settings | {"forced_bos_token_id": None}))
    generation = json.loads((folder / "generation_config.json").read_text())
    (folder / "generation_config.json").write_text(json.dumps(generation | {"forced_bos_token_id": None}))
    with pytest.raises(UserError, match="does not force translations to begin with a token"):
        imported(folder, tmp_path / "x", check=False)
    assert not (tmp_path / "x").exists()


def test_pegasus_without_its_sentencepiece_model_or_with_other_positions(tmp_path: Path) -> None:
    folder = write_pegasus(tmp_path / "pegasus")
    weights = {name: np.array(each) for name, each in read_weights(folder / "model.safetensors").items()}
    weights["model.encoder.embed_positions.weight"] = np.ones((128, 32), np.float32)
    write_weights(folder / "model.safetensors", weights, {"format": "pt"})
    with pytest.raises(UserError, match=r"embed_positions.weight is not Pegasus's table of sines and cosines"):
        imported(folder, tmp_path / "x")
    folder = write_pegasus(tmp_path / "other")
    (folder / "spiece.model").unlink()
    with pytest.raises(UserError, match=r"there is no spiece.model; copy it there"):
        imported(folder, tmp_path / "x")
