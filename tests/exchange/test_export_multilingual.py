"""Export of M2M100, NLLB and mBART-50 to the folders that they were imported from, against transformers itself."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hark.bundle import Bundle, write_facts
from hark.config import DecodeConfig
from hark.engine.interface import Request
from hark.engine.torch import TorchEngine
from hark.errors import MissingExtraError, UserError
from hark.exchange import export as exporting
from hark.exchange.export import export_bundle, open_exporter
from hark.exchange.export_multilingual import MultilingualExporter
from hark.exchange.huggingface_settings import LEARNED_OFFSET
from hark.exchange.importer import ImportRequest, import_model
from hark.exchange.language_codes import M2M100_TAGS, MBART50_TAGS
from hark.exchange.parity import ParityError, compare_numbers
from hark.facts import load_facts
from hark.model.weights import load_model
from hark.text.opening import open_vocabularies
from hark.text.piece_vocabulary import PieceVocabulary
from hark.weights import read_weights
from tests.exchange.marian_models import SENTENCES, TARGETS
from tests.exchange.multilingual_models import write_m2m100, write_mbart50, write_nllb
from tests.translate.bundles import make_bundle

transformers = pytest.importorskip("transformers")
TEXTS = sorted(SENTENCES, key=len)[:2]


@dataclass(frozen=True)
class Kind:
    """A kind of model, with its classes in transformers."""

    write: Callable[[Path], Path]
    model: str
    tokenizer: str


KINDS = {
    "M2M100": Kind(write_m2m100, "M2M100ForConditionalGeneration", "M2M100Tokenizer"),
    "NLLB": Kind(write_nllb, "M2M100ForConditionalGeneration", "NllbTokenizer"),
    "mBART-50": Kind(write_mbart50, "MBartForConditionalGeneration", "MBart50Tokenizer"),
}


@dataclass(frozen=True)
class Trip:
    """A model, the bundle that was imported from it, and the export of that."""

    kind: Kind
    original: Path
    imported: Bundle
    exported: Path

    @property
    def vocabulary(self) -> PieceVocabulary:
        _, target = open_vocabularies(self.imported)
        assert isinstance(target, PieceVocabulary)
        return target

    @cached_property
    def models(self) -> list[Any]:
        """The original and the export, in transformers."""
        return [load("AutoModelForSeq2SeqLM", each) for each in (self.original, self.exported)]


@pytest.fixture(scope="module", params=KINDS)
def trip(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trip:
    kind, folder = KINDS[request.param], tmp_path_factory.mktemp("trip")
    original = kind.write(folder / "original")
    (original / "README.md").write_text("---\nlicense: mit\n---\n")
    import_model(ImportRequest(str(original), None, "en", "fr", check=False), folder / "imported")
    imported = Bundle.open(folder / "imported")
    export_bundle(imported, "huggingface", folder / "exported", check=False)
    return Trip(kind, original, imported, folder / "exported")


def load(kind: str, folder: Path, **settings: Any) -> Any:
    """A tokenizer or model by the name of its class."""
    return getattr(transformers, kind).from_pretrained(folder, local_files_only=True, **settings)


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_weights_are_those_of_the_original(trip: Trip) -> None:
    one, two = (read_weights(each / "model.safetensors") for each in (trip.original, trip.exported))
    assert one.keys() == two.keys()
    for name in one:
        unused = LEARNED_OFFSET if name.endswith("embed_positions.weight") else 0  # rows that hark does not keep
        assert np.array_equal(one[name][unused:], two[name][unused:]), name
        assert one[name].shape == two[name].shape
        assert not two[name][:unused].any()


def test_the_settings_are_those_of_the_original(trip: Trip) -> None:
    before, after = (read_json(each / "config.json") for each in (trip.original, trip.exported))
    of_training = {"init_std", "attention_dropout", "encoder_layerdrop", "decoder_layerdrop"}
    same = before.keys() & after.keys() - of_training - {"forced_eos_token_id"}
    assert {name: before[name] for name in same} == {name: after[name] for name in same}
    assert before.keys() - after.keys() <= {"transformers_version", "use_cache", "classifier_dropout", "is_decoder"}
    assert after["architectures"] == [trip.kind.model]
    generation = read_json(trip.exported / "generation_config.json")
    assert generation["forced_bos_token_id"] == trip.vocabulary.tag("fr")


def test_the_tokenizer_is_that_of_the_original(trip: Trip) -> None:
    """By its own class and by AutoTokenizer: the same ids for text and languages, which are those of hark."""
    original, vocabulary = load("AutoTokenizer", trip.original), trip.vocabulary
    codes = read_json(trip.original / "special_tokens_map.json")["additional_special_tokens"]
    for kind in ("AutoTokenizer", trip.kind.tokenizer):
        tokenizer = load(kind, trip.exported)
        assert type(tokenizer).__name__ == trip.kind.tokenizer
        assert (tokenizer.src_lang, tokenizer.tgt_lang) == tuple(
            vocabulary.table.tags[code].strip("_") for code in ("en", "fr")
        )
        ids = tokenizer.convert_tokens_to_ids(codes)
        assert ids == original.convert_tokens_to_ids(codes) == [vocabulary.table.target.index(each) for each in codes]
        for token in range(vocabulary.table.target.index(codes[0])):
            assert tokenizer.convert_ids_to_tokens(token) == vocabulary.table.target[token]
        for text in (*SENTENCES, *TARGETS, "other café"):
            assert tokenizer(text).input_ids == original(text).input_ids == vocabulary.source_ids(text)
        tagged = [*vocabulary.prefix("fr"), *vocabulary.encode_one(TARGETS[0]), vocabulary.special.end]
        assert tokenizer(text_target=TARGETS[0]).input_ids == tagged
        assert tokenizer.decode([vocabulary.special.start, *tagged], skip_special_tokens=True).strip() == TARGETS[0]
    for name in ("sentencepiece.bpe.model", "vocab.json"):
        if (trip.original / name).exists():
            files = [each / name for each in (trip.original, trip.exported)]
            assert files[0].read_bytes() == files[1].read_bytes() or read_json(files[0]) == read_json(files[1])


@pytest.mark.parametrize("beam", [1, 4])
def test_generate_gives_the_tokens_of_hark(trip: Trip, beam: int) -> None:
    """Those of the original, too. The forced tag and the tokens that hark never produces are in the exported files."""
    vocabulary, models = trip.vocabulary, trip.models
    assert type(models[1]).__name__ == trip.kind.model
    search = DecodeConfig(beam=beam, alpha=0.0, max_extra=5)
    requests = [Request(vocabulary.source_ids(text), search, vocabulary.prefix()) for text in TEXTS]
    answers = dict(TorchEngine(load_model(trip.imported), vocabulary.special).run(requests))
    own = {"suppress_tokens": list(vocabulary.special.forbidden), "forced_bos_token_id": vocabulary.tag("fr")}
    for place, request in enumerate(requests):
        found = []
        for model, settings in zip(models, (own, {}), strict=True):
            output = model.generate(
                torch.tensor([request.source]), num_beams=beam, length_penalty=0.0, early_stopping=beam > 1,
                renormalize_logits=True, max_length=None, max_new_tokens=request.limit, forced_eos_token_id=None,
                **settings,
            )  # fmt: skip
            found.append([each for each in output[0].tolist() if each != vocabulary.special.end])
        assert found[0] == found[1] == [*answers[place][0].tokens]


def test_the_export_can_be_imported_again(trip: Trip, tmp_path: Path) -> None:
    """The same bundle: weights, settings, vocabulary, languages and licence."""
    import_model(ImportRequest(str(trip.exported), check=False), tmp_path / "again")
    again = Bundle.open(tmp_path / "again")
    assert again.weights.read_bytes() == trip.imported.weights.read_bytes()
    assert again.config == trip.imported.config
    assert again.vocabulary_files == trip.imported.vocabulary_files
    assert (again.facts.pairs, again.facts.licence) == ((("en", "fr"),), "mit")
    assert again.facts.vocabulary == trip.imported.facts.vocabulary
    import_model(ImportRequest(str(trip.exported), None, "fr", "en", check=False), tmp_path / "other")
    assert Bundle.open(tmp_path / "other").facts.pairs == (("fr", "en"),)


def test_every_export_is_checked(trip: Trip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the languages of the model; sentences that are too long for it are left out; a difference is an error."""
    monkeypatch.setattr(exporting, "check_sentences", lambda *_: [*TEXTS, "long " * 40])
    done = export_bundle(trip.imported, "huggingface", tmp_path / "checked")
    assert (done.proof.sentences, done.proof.equal, done.proof.quantity) == (2, 2, "logits")
    assert done.proof.against == f"transformers {transformers.__version__}, {trip.kind.model}"
    assert done.proof.largest_difference is not None
    assert done.proof.largest_difference < 1e-4
    assert load_facts(tmp_path / "checked" / "facts.json").parity[-1] == done.proof
    assert "2 of 2 translations are identical" in (tmp_path / "checked" / "README.md").read_text(encoding="utf-8")

    right = MultilingualExporter.tensors
    wrong = "model.decoder.layers.1.fc2.weight"
    monkeypatch.setattr(
        MultilingualExporter, "tensors", lambda self: ((k, 2 * v if k == wrong else v) for k, v in right(self))
    )
    with pytest.raises(ParityError, match="first difference: decoder layer 2"):
        export_bundle(trip.imported, "huggingface", tmp_path / "wrong")
    assert not (tmp_path / "wrong").exists()


def test_the_check_names_what_is_not_installed(trip: Trip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """transformers needs protobuf for sentencepiece models, except for M2M100's."""
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    exporter = open_exporter(trip.imported, "huggingface", None)
    if trip.kind.tokenizer == "M2M100Tokenizer":
        exporter.open_side(trip.exported)
    else:
        with pytest.raises(MissingExtraError, match=r"requires google.protobuf: pip install 'hark-translate\[hf\]'"):
            export_bundle(trip.imported, "huggingface", tmp_path / "hf")


def test_the_example_in_the_readme_runs(trip: Trip, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(trip.exported)
    program = (trip.exported / "README.md").read_text(encoding="utf-8").split("```")[1].removeprefix("python\n")
    exec(compile(program, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert printed.startswith("[")
    assert not any(tag in printed for tag in trip.vocabulary.table.silent)


def test_float16(trip: Trip, tmp_path: Path) -> None:
    exporter = open_exporter(trip.imported, "huggingface", "float16")
    exporter.refuse()
    exporter.write(tmp_path)
    sizes = [(each / "model.safetensors").stat().st_size for each in (tmp_path, trip.exported)]
    assert sizes[0] < 0.7 * sizes[1]
    assert read_json(tmp_path / "config.json")["dtype"] == "float16"
    sides = exporter.hark_side(), exporter.open_side(tmp_path)
    quantity, difference = compare_numbers(*sides, TEXTS, TARGETS[:2], exporter.bound)
    assert quantity == "logits"
    assert difference is not None
    assert difference > 1e-5


def test_many_languages_leave_the_choice_to_the_user(tmp_path: Path) -> None:
    """And an import again has all of them."""
    import_model(ImportRequest(str(write_nllb(tmp_path / "nllb")), check=False), tmp_path / "m")
    export_bundle(Bundle.open(tmp_path / "m"), "huggingface", tmp_path / "back", check=False)
    assert "forced_bos_token_id" not in read_json(tmp_path / "back" / "generation_config.json")
    assert "src_lang" not in read_json(tmp_path / "back" / "tokenizer_config.json")
    import_model(ImportRequest(str(tmp_path / "back"), check=False), tmp_path / "again")
    one, two = (Bundle.open(tmp_path / each) for each in ("m", "again"))
    assert (one.facts.pairs, one.vocabulary_files) == (two.facts.pairs, two.vocabulary_files)
    assert len(one.facts.pairs) == 20


def test_the_lists_of_languages_are_those_of_transformers(tmp_path: Path) -> None:
    from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES as M2M100
    from transformers.models.mbart50.tokenization_mbart50 import FAIRSEQ_LANGUAGE_CODES as MBART50

    assert {name: [f"__{code}__" for code in codes] for name, codes in M2M100.items()} == M2M100_TAGS
    assert MBART50_TAGS == MBART50
    original = write_m2m100(tmp_path / "wmt21", "wmt21")
    import_model(ImportRequest(str(original), check=False), tmp_path / "m")
    export_bundle(Bundle.open(tmp_path / "m"), "huggingface", tmp_path / "back", check=False)
    one, two = (load("AutoTokenizer", each, src_lang="is") for each in (original, tmp_path / "back"))
    assert one(TEXTS).input_ids == two(TEXTS).input_ids


def changed(trip: Trip, **settings: Any) -> Bundle:
    """The imported bundle with other settings, as far as an exporter reads them before it refuses."""
    config = trip.imported.config
    return replace(trip.imported, config=replace(config, model=replace(config.model, **settings)))


OTHERS = {
    "is post-norm": {"norm": "post"},
    "has separate embeddings": {"tie": "target"},
    "has the activation swiglu": {"activation": "swiglu"},
    "has heads of another width": {"d_k": 3},
    "has rotary positions": {"positions": "rotary"},
    "begins with position 1|has a position offset": {"position_offset": 1},
    "a? norm of embeddings": {},
}


@pytest.mark.parametrize("reason", OTHERS)
def test_what_transformers_cannot_express_is_refused(trip: Trip, reason: str, tmp_path: Path) -> None:
    settings = OTHERS[reason] or {"embedding_norm": not trip.imported.config.model.embedding_norm}
    with pytest.raises(UserError, match=rf"{reason}.*, which \w+ does not have; export to ctranslate2 instead"):
        export_bundle(changed(trip, **settings), "huggingface", tmp_path / "hf")
    assert not (tmp_path / "hf").exists()


def test_an_output_bias_is_only_in_mbart(trip: Trip) -> None:
    exporter = open_exporter(changed(trip, output_bias=True), "huggingface", None)
    if trip.kind.tokenizer == "MBart50Tokenizer":
        exporter.refuse()
    else:
        with pytest.raises(UserError, match="has an output bias, which M2M100ForConditionalGeneration does not have"):
            exporter.refuse()


def test_other_vocabularies_are_refused(trip: Trip, tmp_path: Path) -> None:
    """Languages or pieces in another order, other languages, no EOS after sources, and those of hark's own models."""
    vocabulary = trip.vocabulary
    table, first = vocabulary.table, vocabulary.tag("en")
    tags = (*table.target[:first], table.target[first + 1], table.target[first], *table.target[first + 2 :])
    pieces = (*table.target[:8], table.target[9], table.target[8], *table.target[10:])
    tables = [replace(table, target=tags), replace(table, source_end=False), replace(table, silent=table.silent[:-1])]
    if trip.kind.tokenizer != "M2M100Tokenizer":  # which has its pieces in a file
        tables.append(replace(table, target=pieces))
    for other in tables:
        exporter = MultilingualExporter(trip.imported, "float32")
        changed = PieceVocabulary(vocabulary.model, other.target, other, scheme=vocabulary.scheme)
        exporter.__dict__["vocabularies"] = changed, changed
        with pytest.raises(UserError, match=f"pieces or languages otherwise than {trip.kind.tokenizer}; export to ct"):
            exporter.refuse()
    own = Bundle.open(make_bundle(tmp_path / "own"))
    write_facts(own, replace(own.facts, vocabulary=replace(own.facts.vocabulary, language_tags="target")))
    with pytest.raises(UserError, match="has other vocabularies than M2M100, NLLB and mBART-50"):
        export_bundle(Bundle.open(own.folder), "huggingface", tmp_path / "hf")
