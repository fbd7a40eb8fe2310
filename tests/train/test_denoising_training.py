"""Training on corrupted text, and then on pairs, end to end."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hark.bundle import Bundle
from hark.cli.recipe import load_recipe
from hark.config import BatchConfig, Config, CorpusConfig, DataConfig
from hark.data import prepare
from hark.data.dataset import Dataset
from hark.errors import UserError
from hark.model.weights import read_tensors
from hark.rundir import RunDir
from hark.tasks.generate import Generator
from hark.train import checkpoint
from hark.train.metrics import read_metrics
from hark.translate.load import Loaded
from tests.runs import losses

Trained = Callable[..., RunDir]
SPANS = ("batches.corrupted=spans", "batches.masked=0.15")
INFILLING = ("batches.corrupted=infilling", "batches.masked=0.3", "batches.permuted=1")
KINDS = pytest.mark.parametrize("corrupted", [SPANS, INFILLING], ids=["spans", "infilling"])
SENTENCES = [f"The cat {i % 7} sees the dog. It runs to the old tree {i % 5}!" for i in range(150)]


@pytest.fixture(scope="session")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of lines, with sentinels."""
    folder = tmp_path_factory.mktemp("lines")
    (folder / "text.txt").write_text("\n".join(f"{line} ({number})" for number, line in enumerate(SENTENCES)))
    data = DataConfig(source="", target="en", documents="line", dev_share=0.2, vocab_size=300, sentinels=10)
    prepare(Config(data=replace(data, train=(CorpusConfig(str(folder / "text.txt")),))), folder / "data", 1)
    return folder / "data"


@pytest.fixture
def pretrained(trained: Trained, lines: Path) -> Path:
    return trained("pretrained", f"data.dataset={lines}", *SPANS, "train.steps=3", "train.eval_steps=3").best


@KINDS
def test_a_model_learns_to_restore_text(trained: Trained, lines: Path, corrupted: tuple[str, ...]) -> None:
    run = trained(
        "run", f"data.dataset={lines}", *corrupted, "train.steps=80", "train.eval_steps=80", "train.rate_scale=0.5",
        "model.dropout=0", "train.label_smoothing=0",
    )  # fmt: skip
    assert losses(run)[80][0] < 0.7 * losses(run)[1][0]
    (record,) = read_metrics(run.metrics).dev
    assert not record.scores  # bits per byte are those of whole texts
    facts = Bundle.open(run.best).facts
    assert facts.making.step == 80
    assert facts.making.dev == {record.set: {"nll": record.nll, "perplexity": record.perplexity}}
    assert (facts.pairs, facts.languages) == ((), ("en",))


@KINDS
def test_a_resumed_run_equals_an_uninterrupted_one(trained: Trained, lines: Path, corrupted: tuple[str, ...]) -> None:
    overrides = (f"data.dataset={lines}", *corrupted)
    whole = trained("whole", *overrides, "train.steps=8")
    trained("parts", *overrides, "train.steps=3")
    parts = trained("parts", "train.steps=8", resumed=True)
    assert losses(parts) == losses(whole)
    last = [checkpoint.load(checkpoint.latest(run.checkpoints))[0]["model"] for run in (whole, parts)]
    assert all(torch.equal(weight, last[1][name]) for name, weight in last[0].items())
    with pytest.raises(UserError, match="the data or the batch settings"):
        trained("parts", "train.steps=9", "batches.span=2", resumed=True)


def test_a_dev_set_is_corrupted_alike_each_time(trained: Trained, lines: Path) -> None:
    run = trained(
        "run", f"data.dataset={lines}", *SPANS, "train.steps=3", "train.eval_steps=1", "train.rate_scale=1e-9"
    )
    first, *others = [record.nll for record in read_metrics(run.metrics).dev]
    assert others == pytest.approx([first] * 2, abs=1e-5)
    dataset = Dataset.open(lines)
    (shard,) = dataset.shards("dev")
    batches = dataset.batches_of(shard, BatchConfig(batch_tokens=200, max_length=40, corrupted="spans", masked=0.15))
    tokens = [batches[index].streams["source"].tokens.tolist() for index in (0, batches.batches_per_epoch)]
    assert tokens[0] != tokens[1]  # unlike another pass


def test_settings_that_do_not_fit_the_text_or_the_model(trained: Trained, lines: Path) -> None:
    with pytest.raises(UserError, match=r"set model\.shape=decoder or batches\.corrupted, or prepare pairs"):
        trained("run", f"data.dataset={lines}")
    with pytest.raises(UserError, match=r"set batches\.corrupted, too"):
        trained("run", f"data.dataset={lines}", "batches.masked=0.15")
    with pytest.raises(UserError, match=r"model\.shape=decoder has one stack; leave it out"):
        trained("run", f"data.dataset={lines}", "model.shape=decoder", *SPANS)
    with pytest.raises(UserError, match="has pairs; leave it out"):
        trained("run", *SPANS)
    with pytest.raises(UserError, match="10 sentinels, but 199 tokens have up to 33 spans"):
        trained(
            "run", f"data.dataset={lines}", "batches.corrupted=spans", "batches.masked=0.5", "batches.max_length=200"
        )


def fine_tuned(trained: Trained, folder: Path, model: Path, source: str, target: str) -> RunDir:
    """Prepare pairs with the vocabulary of a model, and train it on them."""
    sides = [line.lower() for line in SENTENCES[:60]], SENTENCES[:60]
    for name, texts in zip(("from", "to"), sides, strict=True):
        (folder / f"{name}.txt").write_text("\n".join(f"{text} {number}" for number, text in enumerate(texts)) + "\n")
        (folder / f"dev-{name}.txt").write_text("\n".join(f"{text} again" for text in texts[:5]) + "\n")
    changes = [f"train.from={model}", f"data.source={source}", f"data.target={target}"]
    config = load_recipe(None, [*changes, "data.clean.identical=false", "data.clean.language=1"])
    corpora = {
        role: (CorpusConfig(*(str(folder / f"{start}{name}.txt") for name in ("from", "to")), name=role),)
        for role, start in (("train", ""), ("dev", "dev-"))
    }
    prepare(replace(config, data=replace(config.data, **corpora)), folder / "pairs", 1)
    return trained("tuned", f"data.dataset={folder / 'pairs'}", f"train.from={model}", "train.steps=2",
                   "train.eval_steps=1", "train.rate_scale=1e-9")  # fmt: skip


def test_a_denoising_model_goes_on_with_pairs(trained: Trained, pretrained: Path, tmp_path: Path) -> None:
    run = fine_tuned(trained, tmp_path, pretrained, "en", "de")
    before, after = (read_tensors(folder / "model.safetensors") for folder in (pretrained, run.best))
    assert all(torch.allclose(weight, after[name], atol=1e-5) for name, weight in before.items())
    loaded = Loaded(run.best)
    assert loaded.facts.pairs == (("en", "de"),)
    assert (loaded.facts.making and loaded.facts.making.parents[0].role) == "start"
    dataset = Dataset.open(tmp_path / "pairs")
    (shard,) = dataset.shards("dev")
    [text] = loaded.target_vocabulary.decode([dataset.store(shard)[0][1].tolist()])
    assert text == dataset.text(shard, "target")[0] == f"{SENTENCES[0]} again"
    assert isinstance(loaded.translate("the cat", beam=1).text, str)


def test_pairs_of_one_language_make_a_model_that_is_no_translator(
    trained: Trained, pretrained: Path, tmp_path: Path
) -> None:
    run = fine_tuned(trained, tmp_path, pretrained, "en", "en")
    dataset = Dataset.open(tmp_path / "pairs")
    (shard,) = dataset.shards("dev")
    texts = [dataset.text(shard, side)[0] for side in ("source", "target")]
    assert texts == [f"{SENTENCES[0].lower()} again", f"{SENTENCES[0]} again"]
    assert list(dataset.report.languages) == ["en"]
    facts = Bundle.open(run.best).facts
    assert (facts.pairs, facts.languages) == ((), ("en",))
    with pytest.raises(UserError, match="does not translate"):
        Loaded(run.best)
    [[text]] = Generator(run.best).generate(["the cat"], max_tokens=5, temperature=0.0)
    assert isinstance(text.text, str)
