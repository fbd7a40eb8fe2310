"""Fine-tuning of imported models that differ from hark's own: tags before targets, no EOS after sources, other ids on
each side. The oracles are the libraries that the models come from."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ctranslate2  # type: ignore[import-untyped]
import pytest
import torch
from typer.testing import CliRunner

from hark.bundle import Bundle
from hark.cli import app
from hark.config import BatchConfig, Batching, DecodeConfig, ModelConfig
from hark.data.batches import Batch, PackedStream, PaddedStream
from hark.data.dataset import Dataset
from hark.engine.conversion import convert
from hark.engine.torch import TorchEngine
from hark.evaluate.dev_translations import DevTranslations
from hark.exchange.importer import ImportRequest, import_model
from hark.exchange.transformers_side import LazyModel
from hark.model.weights import load_model
from hark.rundir import RunDir
from hark.text.opening import open_vocabularies
from hark.text.piece_vocabulary import PieceVocabulary
from hark.text.vocabulary import SpecialIds
from hark.train.loss import Objective, to_tensors
from hark.translate.load import Loaded
from tests.engine.oracle import random_model, weights_of
from tests.exchange.marian_models import SENTENCES, TARGETS, pieces_of, sentencepiece_model, write_marian
from tests.exchange.multilingual_models import write_m2m100, write_mbart50, write_nllb
from tests.exchange.test_verbs import hark
from tests.runs import losses
from tests.translate.bundles import make_bundle

pytest.importorskip("transformers")
PAIRS = [(f"{SENTENCES[i]} {n}", f"{TARGETS[i]} {n}") for n in (1, 2, 7, 12, 21, 27) for i in (0, 4)]
"""Short enough for models of 40 positions; the vocabularies have these digits."""
LONGEST = 40
CLEANING = ("data.clean.language=1", "data.clean.max_ratio=99", "data.clean.held_out=false", "--processes", "1")
TRAINING = (
    "train.steps=4", "train.warmup_steps=2", "train.rate_scale=0.3", "train.eval_steps=2", "train.save_steps=2",
    "train.log_steps=1", "batches.batch_tokens=120", "batches.max_length=40", "decode.max_extra=5",
)  # fmt: skip


def write_text(folder: Path) -> tuple[object, ...]:
    """Write the pairs as text.en and text.fr; return options that name them as training text and dev set."""
    files = folder / "text.en", folder / "text.fr"
    for file, lines in zip(files, zip(*PAIRS, strict=True), strict=True):
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return ("--train", *files, "--dev", *files)


def refusal(*words: object) -> str:
    """The message of a command that fails."""
    run = CliRunner().invoke(app, [str(word) for word in words])
    assert run.exit_code != 0
    assert "\n" not in str(run.exception)
    return str(run.exception)


def dev_loss(bundle: Bundle, dataset: Dataset, kind: Batching) -> float:
    """The negative log-likelihood of the first dev set, in hark's batches and by hark's model."""
    (shard, *_) = dataset.shards("dev")
    batches = dataset.batches_of(shard, BatchConfig(kind=kind, batch_tokens=10_000, max_length=LONGEST))
    assert (batches.batches_per_epoch, batches.n_excluded) == (1, 0)
    objective = Objective(load_model(bundle), 0.0, LONGEST, dataset.special.pad)
    with torch.inference_mode():
        nll, _ = objective(to_tensors(batches[0], torch.device("cpu")))
    return float(nll)


def sentences_of(batch: Batch[Any], side: str) -> Iterator[tuple[list[int], list[int]]]:
    """The inputs and labels of each sentence of a batch, without padding; a source has no labels."""
    match batch.streams[side]:
        case PackedStream() as stream:
            cuts = [slice(*stream.cu[i : i + 2]) for i in range(batch.n_pairs)]
        case PaddedStream() as stream:
            cuts = [(i, slice(stream.lengths[i])) for i in range(batch.n_pairs)]
    for cut in cuts:
        yield stream.tokens[cut].tolist(), [] if stream.labels is None else stream.labels[cut].tolist()


def scores(folder: Path, source: str = "en", target: str = "fr") -> float:
    """The total log-probability of the pairs."""
    pairs = PAIRS if source == "en" else [(other, one) for one, other in PAIRS]
    return sum(Loaded(folder, "torch", "cpu").score(pairs, source=source, target=target))


# Tags before sources and targets.


@pytest.mark.parametrize("write", [write_m2m100, write_mbart50, write_nllb])
def test_the_loss_of_a_model_with_target_tags_is_that_of_transformers(
    tmp_path: Path, write: Callable[[Path], Path]
) -> None:
    """The dataset has the ids of transformers' tokenizer, on both sides."""
    theirs = write(tmp_path / "theirs")
    import_model(ImportRequest(str(theirs), None, "en", "fr", check=False), tmp_path / "m")
    hark("prepare", f"train.from={tmp_path / 'm'}", *write_text(tmp_path), *CLEANING, "-o", tmp_path / "dataset")
    dataset, original = Dataset.open(tmp_path / "dataset"), LazyModel(theirs)
    vocabulary, tokenizer = dataset.tokenizer("target"), original.tokenizer
    assert isinstance(vocabulary, PieceVocabulary)
    tokenizer.src_lang, tokenizer.tgt_lang = (vocabulary.table.tags[code].strip("_") for code in ("en", "fr"))

    (shard,) = dataset.shards("dev")
    store, texts = dataset.store(shard), [dataset.text(shard, side) for side in ("source", "target")]
    assert list(zip(*texts, strict=True)) == PAIRS
    inputs = tokenizer(texts[0], text_target=texts[1])
    end = dataset.special.end
    assert [[*store[i][0].tolist(), end] for i in range(len(store))] == inputs.input_ids
    assert [[*store[i][1].tolist(), end] for i in range(len(store))] == inputs.labels

    padded = tokenizer(texts[0], text_target=texts[1], padding=True, return_tensors="pt")
    labels = padded.labels.masked_fill(padded.labels == tokenizer.pad_token_id, -100)
    with torch.inference_mode():
        mean = original.model(input_ids=padded.input_ids, attention_mask=padded.attention_mask, labels=labels).loss
    expected = float(mean * (labels >= 0).sum())
    for kind in ("packed", "padded"):
        assert dev_loss(Bundle.open(tmp_path / "m"), dataset, kind) == pytest.approx(expected, rel=1e-4)


@pytest.fixture(scope="module")
def nllb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the imported model `nllb` of five languages, text, and `dataset`, in both directions of a pair."""
    folder = tmp_path_factory.mktemp("nllb")
    import_model(ImportRequest(str(write_nllb(folder / "theirs")), check=False), folder / "nllb")
    text = write_text(folder)
    back = [word for role in ("--train", "--dev") for word in (role, folder / "text.fr", folder / "text.en")]
    start = f"train.from={folder / 'nllb'}"
    hark("prepare", start, "data.many=true", *text, *back, *CLEANING, "-o", folder / "dataset")
    return folder


def test_fine_tuning_with_target_tags(nllb: Path, tmp_path: Path) -> None:
    """Both directions are learnt; the result is a model of the same kind; resuming is exact."""
    dataset, original = Dataset.open(nllb / "dataset"), Bundle.open(nllb / "nllb")
    assert dataset.manifest.directions == (("en", "fr"), ("fr", "en"))
    start = f"train.from={original.folder}", f"data.dataset={dataset.folder}"
    hark("train", *start, *TRAINING, "-o", tmp_path / "run", "--bleu", "2", "--samples", "1")
    best = Bundle.open(tmp_path / "run" / "best")
    assert best.config.model == original.config.model
    assert best.vocabulary_files == original.vocabulary_files
    assert (best.facts.vocabulary.kind, best.facts.vocabulary.language_tags) == ("pieces", "target")
    assert best.facts.pairs == (("en", "fr"), ("fr", "en"))
    for pair in best.facts.pairs:
        assert scores(best.folder, *pair) > scores(original.folder, *pair)

    hark("train", *start, *TRAINING, "train.steps=2", "-o", tmp_path / "part")
    hark("train", "--resume", tmp_path / "part", "train.steps=4", "--allow", "train.steps")
    whole = losses(RunDir(tmp_path / "run"))
    assert losses(RunDir(tmp_path / "part")) == whole
    assert list(whole) == [1, 2, 3, 4]
    assert Bundle.open(tmp_path / "part" / "best").weights.read_bytes() == best.weights.read_bytes()

    words = ("translate", "-m", best.folder, "-s", "en", "-t", "fr", "--precision", "float32", PAIRS[1][0])
    assert hark(*words, "--engine", "torch") == hark(*words, "--engine", "ctranslate2") != ""
    for kind in ("ctranslate2", "huggingface"):
        files = []
        for bundle in (original, best):
            folder = tmp_path / f"{bundle.folder.name} {kind}"
            hark("export", bundle.folder, "--to", kind, "--no-check", "-o", folder)
            files.append({each.name for each in folder.iterdir()})
        assert files[0] == files[1]


def test_a_fine_tuned_model_becomes_what_it_was(nllb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The export is checked with transformers, which finds the same loss; it can be imported again."""
    dataset = Dataset.open(nllb / "dataset")
    words = f"train.from={nllb / 'nllb'}", f"data.dataset={dataset.folder}"
    hark("train", *words, *TRAINING, "-o", tmp_path / "run")
    best = Bundle.open(tmp_path / "run" / "best")
    monkeypatch.setattr("hark.exchange.export.check_sentences", lambda *_: [PAIRS[0][0], PAIRS[1][0]])
    assert "2 of 2 translations are identical" in hark(
        "export", best.folder, "--to", "huggingface", "-o", tmp_path / "hf"
    )

    model, tokenizer = LazyModel(tmp_path / "hf").model, LazyModel(tmp_path / "hf").tokenizer
    tokenizer.src_lang, tokenizer.tgt_lang = "eng_Latn", "fra_Latn"
    total = 0.0
    for source, target in PAIRS:
        inputs = tokenizer(source, text_target=target, return_tensors="pt")
        with torch.inference_mode():
            total += float(model(**inputs).loss) * inputs.labels.numel()
    assert total == pytest.approx(dev_loss(best, dataset, "packed"), rel=1e-4)
    assert total < 0.99 * dev_loss(Bundle.open(nllb / "nllb"), dataset, "packed")

    import_model(ImportRequest(str(tmp_path / "hf"), check=False), tmp_path / "again")
    again = Bundle.open(tmp_path / "again")
    assert again.weights.read_bytes() == best.weights.read_bytes()
    assert (again.facts.pairs, again.config.model) == (best.facts.pairs, best.config.model)


def test_dev_translations_begin_with_the_target_tag(nllb: Path) -> None:
    dataset = Dataset.open(nllb / "dataset")
    source, target = open_vocabularies(Bundle.open(nllb / "nllb"))
    english, french = DevTranslations(dataset, DecodeConfig(), 2, 0).sets
    assert english.requests[0].source == source.source_ids(PAIRS[0][0], "fr", "en")
    assert english.requests[0].prefix == target.prefix("fr")
    assert french.requests[0].source == source.source_ids(PAIRS[0][1], "en", "fr")
    assert french.requests[0].prefix == target.prefix("en")


def test_distilling_text_with_target_tags(nllb: Path, tmp_path: Path) -> None:
    """The text has no tags, neither that of the teacher nor where the teacher's translation is replaced."""
    words = ("distil", nllb / "nllb", nllb / "dataset", "--beam", "1", "--search", "max_extra=5", "--processes", "1")
    hark(*words, "-o", tmp_path / "student")
    assert (tmp_path / "student" / "text.en-fr.en").read_text(encoding="utf-8").splitlines() == [en for en, _ in PAIRS]
    written = (tmp_path / "student" / "text.en-fr.fr").read_text(encoding="utf-8").splitlines()
    assert len(written) == len(PAIRS)
    assert not re.search(r"[a-z]{3}_[A-Z][a-z]{3}", " ".join(written))


def test_what_cannot_be_prepared_is_refused_in_one_line(nllb: Path, tmp_path: Path) -> None:
    text, output = write_text(tmp_path), ("-o", tmp_path / "dataset")
    prepare = ("prepare", f"train.from={nllb / 'nllb'}", *text, *CLEANING, *output)
    several = "the model has several language pairs, or none; name one with --pair, or set data.many=true"
    assert refusal(*prepare) == several
    assert "no tag for xx; available: ace, en, fr, zh-Hans, zh-Hant" in refusal(*prepare, "--pair", "en", "xx")
    assert "no tag for xx" in refusal(*prepare, "--pair", "xx", "fr")
    assert "nllb has target; leave it out" in refusal(*prepare, "data.language_tags=source", "--pair", "en", "fr")
    (tmp_path / "other").mkdir()
    write_text(tmp_path / "other")
    back = ("--dev", tmp_path / "other" / "text.fr", tmp_path / "other" / "text.en")
    assert "another corpus is also named text.fr-en" in refusal(*prepare, "data.many=true", *back)
    one = make_bundle(tmp_path / "one")
    own = ("prepare", f"train.from={one}", "data.many=true", *text, *output)
    assert "has no language tags; leave it out" in refusal(*own)


def test_a_dataset_with_other_tags_is_refused(nllb: Path, tmp_path: Path) -> None:
    """Whether it has none, or only those before sources."""
    pieces = f"data.tokenizer={nllb / 'nllb' / 'pieces.json'}"
    for setting, found in (
        ("data.many=true", "the target's language tag before each source"),
        ("", "text without language tags"),
    ):
        dataset = tmp_path / found
        words = [word for word in (setting, pieces, *write_text(tmp_path), *CLEANING, "-o", dataset) if word]
        hark("prepare", *words, *(() if setting else ("--pair", "en", "fr")))
        message = refusal("train", f"train.from={nllb / 'nllb'}", f"data.dataset={dataset}", "-o", tmp_path / "run")
        assert f"has {found}, but {nllb / 'nllb'} needs language tags before sources and targets" in message
        assert message.endswith(f"prepare it again with train.from={nllb / 'nllb'}")


def test_a_model_with_source_tags_can_be_tuned_on_one_pair(tmp_path: Path) -> None:
    """Without data.many: the tag is added all the same."""
    theirs = write_marian(tmp_path / "opus-mt-en-ROMANCE", tags=("fra", "spa"))
    import_model(ImportRequest(str(theirs), check=False), tmp_path / "m")
    options = (*write_text(tmp_path), *CLEANING, "--pair", "en", "fr")
    hark("prepare", f"train.from={tmp_path / 'm'}", *options, "-o", tmp_path / "dataset")
    dataset = Dataset.open(tmp_path / "dataset")
    assert (dataset.manifest.language_tags, dataset.manifest.directions) == ("source", (("en", "fr"),))
    source, _ = open_vocabularies(Bundle.open(tmp_path / "m"))
    store = dataset.store(dataset.shards("train")[0])
    assert [*store[0][0].tolist(), dataset.special.end] == source.source_ids(PAIRS[0][0], "fr")


# Sources without EOS, and other ids on each side.


@dataclass(frozen=True)
class Layout:
    """The vocabularies of a CTranslate2 model: the first pieces of each side, and which of them are special."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    start: str
    source_end: bool

    def write(self, folder: Path) -> Path:
        """Write a folder with random weights."""
        folder.mkdir(parents=True)
        shared = self.source == self.target
        sides = []
        for name, first, texts in (("source", self.source, SENTENCES), ("target", self.target, TARGETS)):
            model = sentencepiece_model((*SENTENCES, *TARGETS) if shared else tuple(texts), 120)
            (folder / f"{name}.spm").write_bytes(model)
            sides.append([*first, *pieces_of(model)[3:]])
        source, target = sides
        sizes = {"vocab_size": len(target)} | ({} if shared else {"source_vocab_size": len(source), "tie": "target"})
        config = ModelConfig(d_model=32, d_ff=48, n_heads=4, n_encoder_layers=2, n_decoder_layers=2, **sizes)  # type: ignore[arg-type]
        unknown, start, end = (target.index(each) for each in ("<unk>", self.start, "</s>"))
        special = SpecialIds(start, unknown, start, end)
        weights = weights_of(random_model(config))
        files = convert(weights, config, special, "float32", names=(source, target), adds_end=self.source_end)
        for file, content in files.items():
            (folder / file).write_bytes(content)
        return folder


OPENNMT = ("<unk>", "<s>", "</s>")
LAYOUTS = {
    "one vocabulary, no EOS": Layout(OPENNMT, OPENNMT, "<s>", False),
    "another EOS": Layout(("</s>", "<blank>", "<unk>"), (*OPENNMT, "<blank>"), "<s>", True),
    "other ids, no EOS": Layout(("<unk>", "x", "<blank>", "y", "</s>"), ("<blank>", *OPENNMT), "<s>", False),
    "starts with EOS, no padding": Layout(("<unk>", "</s>"), ("</s>", "<unk>"), "</s>", True),
}


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Import the model of a layout, once: a folder with the original `ct2`, the imported `m`, text, and `dataset`."""
    base, made = tmp_path_factory.mktemp("layouts"), {}

    def make(name: str) -> Path:
        if name in made:
            return made[name]
        folder = made[name] = base / str(len(made))
        request = ImportRequest(str(LAYOUTS[name].write(folder / "ct2")), None, "en", "fr", check=False)
        import_model(request, folder / "m")
        hark("prepare", f"train.from={folder / 'm'}", *write_text(folder), *CLEANING, "-o", folder / "dataset")
        return folder

    return make


@pytest.mark.parametrize("name", LAYOUTS)
def test_batches_are_as_the_model_was_trained(imported: Callable[[str], Path], name: str) -> None:
    """The encoder input is that of a translation; the loss is what CTranslate2 itself computes from the original."""
    folder = imported(name)
    dataset, bundle = Dataset.open(folder / "dataset"), Bundle.open(folder / "m")
    source, target = open_vocabularies(bundle)
    assert (source.source_end is not None) == LAYOUTS[name].source_end
    inputs = {text: source.source_ids(text) for text, _ in PAIRS}
    outputs = {text: target.encode_one(text) for _, text in PAIRS}
    translator = ctranslate2.Translator(str(folder / "ct2"), compute_type="float32", intra_threads=1)
    adds_end = source.source_end is not None
    original = translator.score_batch(
        [source.pieces(inputs[text][: len(inputs[text]) - adds_end]) for text, _ in PAIRS],
        [target.pieces(outputs[text]) for _, text in PAIRS],
    )
    expected = -sum(sum(each.log_probs) for each in original)
    (shard,) = dataset.shards("dev")
    start, end = target.special.start, target.special.end
    assert dataset.special.pad != end
    for kind in ("packed", "padded"):
        (batch,) = [dataset.batches_of(shard, BatchConfig(kind=kind, batch_tokens=5_000, max_length=LONGEST))[0]]
        rows = batch.pairs[:, 1]
        assert sorted(rows) == list(range(len(PAIRS)))
        sources, targets = (list(sentences_of(batch, side)) for side in ("source", "target"))
        assert [ids for ids, _ in sources] == [inputs[PAIRS[row][0]] for row in rows]
        assert [ids for ids, _ in targets] == [[start, *outputs[PAIRS[row][1]]] for row in rows]
        assert [labels for _, labels in targets] == [[*outputs[PAIRS[row][1]], end] for row in rows]
        assert batch.n_tokens == {
            "source": sum(map(len, inputs.values())),
            "target": sum(map(len, outputs.values())) + 12,
        }
        assert dev_loss(bundle, dataset, kind) == pytest.approx(expected, rel=1e-4)


def test_fine_tuning_without_eos_after_sources(imported: Callable[[str], Path], tmp_path: Path) -> None:
    """With other ids on each side; the result translates alike in both engines, and resuming is exact."""
    folder = imported("other ids, no EOS")
    start = f"train.from={folder / 'm'}", f"data.dataset={folder / 'dataset'}"
    hark("train", *start, *TRAINING, "-o", tmp_path / "run", "--bleu", "2")
    best, original = Bundle.open(tmp_path / "run" / "best"), Bundle.open(folder / "m")
    assert best.vocabulary_files == original.vocabulary_files
    assert best.config.model == original.config.model
    assert scores(best.folder) > scores(original.folder)
    words = ("translate", "-m", best.folder, "--precision", "float32", PAIRS[1][0])
    assert hark(*words, "--engine", "torch") == hark(*words, "--engine", "ctranslate2") != ""
    hark("train", *start, *TRAINING, "train.steps=2", "-o", tmp_path / "part")
    hark("train", "--resume", tmp_path / "part", "train.steps=4", "--allow", "train.steps")
    assert losses(RunDir(tmp_path / "part")) == losses(RunDir(tmp_path / "run"))


def test_empty_sources_without_eos(imported: Callable[[str], Path], tmp_path: Path) -> None:
    """A dev set may have empty lines, which then have no tokens at all."""
    folder = imported("one vocabulary, no EOS")
    files = tmp_path / "dev.en", tmp_path / "dev.fr"
    for file, lines in zip(files, zip(("", PAIRS[0][1]), PAIRS[1], strict=True), strict=True):
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    text = ("--train", folder / "text.en", folder / "text.fr", "--dev", *files)
    hark("prepare", f"train.from={folder / 'm'}", *text, *CLEANING, "-o", tmp_path / "dataset")
    dataset, bundle = Dataset.open(tmp_path / "dataset"), Bundle.open(folder / "m")
    (shard,) = dataset.shards("dev")
    assert dataset.store(shard).source_lengths[0] == 0
    packed, padded = (dev_loss(bundle, dataset, kind) for kind in ("packed", "padded"))
    assert packed == pytest.approx(padded, rel=1e-4)
    (dev,) = DevTranslations(dataset, DecodeConfig(), 2, 0).sets
    TorchEngine(load_model(bundle), dataset.special).check(dev.requests[0])


def test_a_dataset_for_sources_with_eos_is_another(imported: Callable[[str], Path], tmp_path: Path) -> None:
    """The pieces are the same, so only the setting tells them apart: in the dataset's key, and before training."""
    folder = imported("one vocabulary, no EOS")
    shutil.copytree(folder / "m", tmp_path / "m")
    pieces = tmp_path / "m" / "pieces.json"
    pieces.write_text(json.dumps(json.loads(pieces.read_text(encoding="utf-8")) | {"source_end": True}), "utf-8")
    options = (f"data.tokenizer={pieces}", *write_text(tmp_path), "--pair", "en", "fr", *CLEANING)
    hark("prepare", *options, "-o", tmp_path / "dataset")
    one, other = Dataset.open(tmp_path / "dataset"), Dataset.open(folder / "dataset")
    assert one.tokenizer("source").sha256 == other.tokenizer("source").sha256
    assert one.manifest.key != other.manifest.key
    message = refusal("train", f"train.from={folder / 'm'}", f"data.dataset={one.folder}", "-o", tmp_path / "run")
    assert f"has other special tokens than {folder / 'm'}; prepare it again" in message
