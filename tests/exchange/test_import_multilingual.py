"""Import of M2M100, NLLB and mBART-50, against transformers itself."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from hark.bundle import Bundle
from hark.config import DecodeConfig
from hark.engine.interface import Request
from hark.engine.torch import TorchEngine
from hark.errors import UserError
from hark.exchange.hark_side import hark_side
from hark.exchange.import_huggingface import read_huggingface
from hark.exchange.parity import compare
from hark.exchange.transformers_side import transformers_side
from hark.model.weights import load_model
from hark.text.opening import open_vocabularies
from tests.exchange.marian_models import SENTENCES, TARGETS
from tests.exchange.multilingual_models import write_m2m100, write_mbart50, write_nllb

transformers = pytest.importorskip("transformers")
EN_FR = ("en",), ("fr",)


@pytest.mark.parametrize("write", [write_m2m100, write_mbart50, write_nllb])
def test_equal_to_transformers(tmp_path: Path, write: object) -> None:
    """Tokens, logits, greedy and beam search, by transformers' own tokenizer and search."""
    folder = write(tmp_path / "model")  # type: ignore[operator]
    model = read_huggingface(folder, EN_FR, "a test")
    assert (model.language_tags, model.pairs) == ("target", (("en", "fr"),))
    model.write(tmp_path / "bundle")
    bundle = Bundle.open(tmp_path / "bundle")
    theirs = transformers_side(folder, model.table, model.language_tags, model.pairs[0])
    search_once = cache(theirs.translate)  # the slowest part, needed for both of our engines
    theirs = replace(theirs, translate=lambda texts, beam: search_once(tuple(texts), beam))
    texts = sorted(SENTENCES, key=len)[:2]
    proof = compare(hark_side(bundle), theirs, texts, bound=1e-4)
    assert (proof.sentences, proof.equal) == (len(texts), len(texts))
    assert proof.largest_difference is not None
    assert proof.quantity == "logits"

    source, target = open_vocabularies(bundle)
    engine = TorchEngine(load_model(bundle), target.special)
    search = DecodeConfig(beam=4, alpha=0.0)
    answers = dict(
        engine.run(Request(source.source_ids(text, "fr", "en"), search, target.prefix("fr")) for text in texts)
    )
    assert [target.decode_one(answers[i][0].tokens) for i in range(len(texts))] == theirs.translate(texts, 4)


def test_nllb_has_fairseqs_ids(tmp_path: Path) -> None:
    folder = write_nllb(tmp_path / "model")
    model = read_huggingface(folder, ((), ()), "a test")
    assert list(model.table.tags) == ["ace", "en", "fr", "zh-Hans", "zh-Hant"]
    assert len(model.pairs) == 5 * 4
    model.write(tmp_path / "bundle")
    source, target = open_vocabularies(Bundle.open(tmp_path / "bundle"))
    assert source is target
    ids = source.source_ids(SENTENCES[0], "fr", "en")
    assert source.pieces([ids[0], ids[-1]]) == ["eng_Latn", "</s>"]
    assert source.pieces(target.prefix("fr")) == ["fra_Latn"]
    # The ids of sentencepiece plus one: fairseq has <pad> in addition.
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_proto=model.source_model)
    assert ids[1:-1] == [each + 1 for each in processor.encode(SENTENCES[0])]
    for text in TARGETS:
        assert target.decode_one(target.encode_one(text)) == text


def test_an_unknown_language_is_an_error(tmp_path: Path) -> None:
    folder = write_nllb(tmp_path / "model")
    with pytest.raises(UserError, match="no language xx; it has ace, en, fr"):
        read_huggingface(folder, (("xx",), ()), "a test")
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        (folder / name).unlink()
    with pytest.raises(UserError, match="no list of languages"):
        read_huggingface(folder, ((), ()), "a test")


@pytest.mark.parametrize(("write", "whole"), [(write_m2m100, True), (write_nllb, False)])
def test_a_tokenizer_saved_by_transformers(tmp_path: Path, write: Callable[[Path], Path], whole: bool) -> None:
    """Version 5 saves no list of languages with M2M100, and no sentencepiece model with NLLB."""
    original, saved, model = write(tmp_path / "original"), tmp_path / "saved", "sentencepiece.bpe.model"
    shutil.copytree(original, saved, ignore=shutil.ignore_patterns("*token*", "vocab.json", model))
    transformers.AutoTokenizer.from_pretrained(original).save_pretrained(saved)
    assert (saved / model).exists() == whole
    if not whole:
        with pytest.raises(UserError, match=r"there is no sentencepiece\.bpe\.model; copy it there from the model"):
            read_huggingface(saved, EN_FR, "a test")
        shutil.copyfile(original / model, saved / model)
    tables = [read_huggingface(folder, EN_FR, "a test").table for folder in (saved, original)]
    assert tables[0] == tables[1]
