"""Every verb that takes a model takes an imported one: one model, imported once, for all."""

import shutil
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from hark.bundle import Bundle
from hark.cli import app
from hark.config import BatchConfig
from hark.data.batches import Corpus, make_batches
from hark.data.dataset import Dataset
from hark.errors import UserError
from hark.exchange.importer import ImportRequest, import_model
from hark.model import Transformer
from hark.model.weights import read_tensors
from hark.text.opening import open_vocabularies
from hark.train.loss import Objective, to_tensors
from hark.train.sharding import fill_weights
from hark.translate.load import Loaded
from hark.weights import read_weights
from tests.exchange.marian_models import SENTENCES, TARGETS, write_marian

pytest.importorskip("transformers")
COUNT = 30
TRAINING = (
    "train.steps=4", "train.warmup_steps=1", "train.schedule=linear", "train.rate_scale=0.5",
    "batches.batch_tokens=400", "batches.max_length=60", "train.eval_steps=4", "train.log_steps=1",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the imported model `en-fr`, and the files text.en and text.fr."""
    folder = tmp_path_factory.mktemp("imported")
    write_marian(folder / "opus-mt-en-fr")
    import_model(ImportRequest(str(folder / "opus-mt-en-fr"), check=False), folder / "en-fr")
    for name, lines in (("text.en", SENTENCES[:2]), ("text.fr", TARGETS[:2])):
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def hark(*words: object) -> str:
    run = CliRunner().invoke(app, [str(word) for word in words])
    assert run.exit_code == 0, run.output
    return run.output


def test_shrink(folder: Path, tmp_path: Path) -> None:
    assert "int8" in hark("shrink", folder / "en-fr", "-o", tmp_path / "small")
    small, large = Bundle.open(tmp_path / "small"), Bundle.open(folder / "en-fr")
    assert str(read_weights(small.weights)["embedding.weight"].dtype) == "int8"
    assert small.vocabulary_files == large.vocabulary_files
    one, two = (Loaded(each.folder, "ctranslate2", precision="int8") for each in (small, large))
    assert one.translate(SENTENCES[0], beam=2).text == two.translate(SENTENCES[0], beam=2).text


def test_translate_in_both_engines(folder: Path) -> None:
    words = ("translate", "-m", folder / "en-fr", "--search", "max_extra=5", SENTENCES[0], "--precision", "float32")
    assert hark(*words, "--engine", "torch") == hark(*words, "--engine", "ctranslate2") != ""


def test_look(tmp_path: Path) -> None:
    """With few positions, because a model with random weights uses all of them."""
    theirs = write_marian(tmp_path / "opus-mt-en-fr", max_position_embeddings=24)
    import_model(ImportRequest(str(theirs), check=False), tmp_path / "en-fr")
    hark("look", "-m", tmp_path / "en-fr", SENTENCES[0], "-o", tmp_path / "look.html", "--quick", "--no-open")
    page = (tmp_path / "look.html").read_text(encoding="utf-8")
    source, _ = open_vocabularies(Bundle.open(tmp_path / "en-fr"))
    assert source.pieces(source.source_ids(SENTENCES[0]))[0].strip("▁") in page


def test_heads(folder: Path, tmp_path: Path) -> None:
    words = ("heads", folder / "en-fr", "--on", folder / "text.en", folder / "text.fr")
    hark(*words, "-o", tmp_path / "heads.svg")
    assert (tmp_path / "heads.svg").read_text(encoding="utf-8").startswith("<svg")


def test_evaluate(folder: Path) -> None:
    words = ("evaluate", folder / "en-fr", "--source", folder / "text.en", "--reference", folder / "text.fr")
    found = hark(*words, "--search", "max_extra=5")
    assert "BLEU" in found
    assert "chrF" in found


def write_text(folder: Path) -> tuple[object, ...]:
    """Write 30 sentence pairs; return the options that prepare them."""
    for name, lines in (("train.en", SENTENCES), ("train.fr", TARGETS)):
        text = "".join(f"{lines[i % len(lines)]} {i}\n" for i in range(COUNT))
        (folder / name).write_text(text, encoding="utf-8")
    text = ("--train", folder / "train.en", folder / "train.fr", "--dev", folder / "train.en", folder / "train.fr")
    cleaning = ("data.clean.language=1", "data.clean.max_ratio=99", "data.clean.held_out=false")
    return (*cleaning, *text, "--processes", "1")


def test_distil_as_a_teacher(folder: Path, tmp_path: Path) -> None:
    """The student's text is the imported model's; what it cannot translate keeps the original."""
    options = write_text(tmp_path)
    hark("prepare", *options, "--pair", "en", "fr", "--vocab", "320", "-o", tmp_path / "dataset")
    words = ("distil", folder / "en-fr", tmp_path / "dataset", "-o", tmp_path / "student", "--beam", "1")
    found = hark(*words, "--processes", "1")
    assert "by the teacher" in found
    sources = (tmp_path / "student" / "train.en").read_text(encoding="utf-8").splitlines()
    targets = (tmp_path / "student" / "train.fr").read_text(encoding="utf-8").splitlines()
    assert len(sources) == len(targets) == COUNT


def test_fine_tune(folder: Path, tmp_path: Path) -> None:
    """The dataset has the ids of transformers' own tokenizer; the result has the vocabulary of the imported model, and
    learns."""
    from transformers import MarianTokenizer

    start = f"train.from={folder / 'en-fr'}"
    hark("prepare", start, *write_text(tmp_path), "-o", tmp_path / "dataset")
    dataset = Dataset.open(tmp_path / "dataset")
    tokenizer = MarianTokenizer.from_pretrained(folder / "opus-mt-en-fr")
    (shard,) = dataset.shards("dev")
    store, end = dataset.store(shard), dataset.special.end
    texts = zip(dataset.text(shard, "source"), dataset.text(shard, "target"), strict=True)
    for i, (source, target) in enumerate(texts):
        assert [*store[i][0].tolist(), end] == tokenizer(source).input_ids
        assert [*store[i][1].tolist(), end] == tokenizer(text_target=target).input_ids
    found = hark("train", start, f"data.dataset={tmp_path / 'dataset'}", *TRAINING, "-o", tmp_path / "run")
    best, original = Bundle.open(tmp_path / "run" / "best"), Bundle.open(folder / "en-fr")
    assert best.config.model == original.config.model
    assert best.vocabulary_files == original.vocabulary_files
    assert best.facts.vocabulary.kind == "pieces"
    assert best.facts.pairs == (("en", "fr"),)
    before, after = (
        sum(Loaded(each.folder, "torch", "cpu").score(zip(SENTENCES, TARGETS, strict=True)))
        for each in (original, best)
    )
    assert after > before, found


def test_fine_tune_with_language_tags(tmp_path: Path) -> None:
    """A tag such as >>fra<< leads the source, in the dataset as in transformers; the loss of all dev sentences is
    transformers' own, and training lowers it. A corpus is not used in reverse: there is no tag for English."""
    from transformers import MarianMTModel, MarianTokenizer

    theirs = write_marian(tmp_path / "opus-mt-en-ROMANCE", tags=("fra", "spa"))
    import_model(ImportRequest(str(theirs), check=False), tmp_path / "m")
    options = write_text(tmp_path)
    shutil.copy(tmp_path / "train.fr", tmp_path / "train.es")
    spanish = [word for role in ("--train", "--dev") for word in (role, tmp_path / "train.en", tmp_path / "train.es")]
    start = f"train.from={tmp_path / 'm'}"
    hark("prepare", start, "data.many=true", *options, *spanish, "-o", tmp_path / "dataset")
    dataset = Dataset.open(tmp_path / "dataset")
    assert dataset.manifest.directions == (("en", "fr"), ("en", "es"))

    tokenizer = MarianTokenizer.from_pretrained(theirs)
    pairs = [
        (f">>{tag}<< {source}", target)
        for shard, tag in zip(dataset.shards("dev"), ("fra", "spa"), strict=True)
        for source, target in zip(dataset.text(shard, "source"), dataset.text(shard, "target"), strict=True)
    ]
    stores = [dataset.store(shard) for shard in dataset.shards("dev")]
    stored = [store[i] for store in stores for i in range(len(store))]
    for (source, _), (ids, _) in zip(pairs, stored, strict=True):
        assert [*ids.tolist(), dataset.special.end] == tokenizer(source).input_ids

    bundle = Bundle.open(tmp_path / "m")
    ours = Transformer(bundle.config.model).eval()
    fill_weights(ours, read_tensors(bundle.weights), bundle.folder)
    corpora = [Corpus(str(i), 1.0, [store]) for i, store in enumerate(stores)]
    batches = make_batches(corpora, BatchConfig(batch_tokens=10_000, max_length=60), dataset.special)
    assert batches.batches_per_epoch == 1
    inputs = tokenizer(
        [source for source, _ in pairs],
        text_target=[target for _, target in pairs],
        padding=True,
        return_tensors="pt",
    )
    labels = inputs.labels.masked_fill(inputs.labels == tokenizer.pad_token_id, -100)
    with torch.inference_mode():
        nll, _ = Objective(ours, 0.0, 60, dataset.special.pad)(to_tensors(batches[0], torch.device("cpu")))
        model = MarianMTModel.from_pretrained(theirs).eval()
        mean = model(input_ids=inputs.input_ids, attention_mask=inputs.attention_mask, labels=labels).loss
    torch.testing.assert_close(nll, mean * (labels >= 0).sum(), rtol=1e-4, atol=0)

    hark("train", start, f"data.dataset={tmp_path / 'dataset'}", *TRAINING, "-o", tmp_path / "run")
    best = Bundle.open(tmp_path / "run" / "best")
    assert (best.facts.vocabulary.kind, best.facts.vocabulary.language_tags) == ("pieces", "source")
    assert best.facts.pairs == (("en", "fr"), ("en", "es"))
    assert best.vocabulary_files == bundle.vocabulary_files
    texts = list(zip(SENTENCES, TARGETS, strict=True))
    before, after = (sum(Loaded(each.folder, "torch", "cpu").score(texts, target="es")) for each in (bundle, best))
    assert after > before


def test_bpe_dropout_and_reversal_are_refused(folder: Path, tmp_path: Path) -> None:
    words = ["prepare", f"train.from={folder / 'en-fr'}", *map(str, write_text(tmp_path)), "-o", str(tmp_path / "d")]
    run = CliRunner().invoke(app, [*words, "data.bpe_dropout=0.1"])
    assert "data.bpe_dropout is not possible with the vocabulary of an imported model" in str(run.exception)
    assert CliRunner().invoke(app, words).exit_code == 0
    with pytest.raises(UserError, match=r"is for an imported model of one direction; leave out data\.reverse"):
        Dataset.open(tmp_path / "d", reverse=True)
