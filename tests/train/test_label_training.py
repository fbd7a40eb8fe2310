"""Training encoders on text with labels, end to end, and against a plain torch model with the same weights."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from hark import configfile
from hark.bundle import Bundle
from hark.config import Config, CorpusConfig, DataConfig, ModelConfig
from hark.data import prepare
from hark.data.labelled import UNLABELLED
from hark.data.stream import PackedStream
from hark.errors import UserError
from hark.evaluate.labels import DevLabels
from hark.facts import LabelsOf
from hark.model import OneStack
from hark.model.interface import HEAD
from hark.model.weights import read_tensors
from hark.rundir import RunDir
from hark.tasks.classify import Classifier, score_labelled
from hark.train import checkpoint
from hark.train.loss import Objective
from hark.train.metrics import read_metrics
from hark.train.session import run_training
from hark.train.start import open_dataset, resolve
from tests.runs import losses

Settings = Callable[..., Config]
ENCODER = ("model.shape=encoder", "batches.batch_tokens=240", "train.label_smoothing=0", "model.dropout=0")
COLOURS, ANIMALS = ("red", "green", "blue", "grey"), ("cat", "dog", "horse", "cow")


def texts(first: int, count: int) -> list[str]:
    """The label is the animal, which is somewhere in the text."""
    lines = []
    for number in range(first, first + count):
        colour, animal = COLOURS[number % 4], ANIMALS[(number // 4) % 4]
        words = ["I", "saw", "a", colour, animal, "today"] if number % 3 else [colour, "is", "the", animal]
        lines.append(f"{' '.join(words)} {number}\t{animal}")
    return lines


def sentences(first: int, count: int) -> list[str]:
    """A noun after `the` is OBJ, any other is SUBJ: the tag of a word depends on its neighbour."""
    lines = []
    for number in range(first, first + count):
        one, other = ANIMALS[number % 4], ANIMALS[(number // 4) % 4]
        lines += [f"{one}\tB-SUBJ", "sees\tO", "the\tO", f"{other}\tB-OBJ", f"{number}\tI-OBJ", ""]
    return lines


@pytest.fixture(scope="session")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> dict[LabelsOf, Path]:
    folders: dict[LabelsOf, Path] = {}
    for of, write in (("text", texts), ("words", sentences)):
        folder = tmp_path_factory.mktemp(of)
        (folder / "train.tsv").write_text("\n".join(write(0, 300)) + "\n")
        (folder / "dev.tsv").write_text("\n".join(write(1000, 40)) + "\n")
        corpora = {role: (CorpusConfig(str(folder / f"{role}.tsv")),) for role in ("train", "dev")}
        kind = "line" if of == "text" else "paragraph"
        data = DataConfig(source="", target="en", documents=kind, labels=of, vocab_size=300, **corpora)  # type: ignore[arg-type]
        prepare(Config(data=data), folder / "data", 1)
        folders[of] = folder  # type: ignore[index]
    return folders


@pytest.fixture
def train(settings: Settings, tmp_path: Path) -> Callable[..., RunDir]:
    """Train as `hark train` does, with the scores of the dev set."""

    def run(name: str, *overrides: str, resumed: bool = False) -> RunDir:
        where = RunDir(tmp_path / name)
        config = configfile.load(where.config, overrides) if resumed else settings(*ENCODER, *overrides)
        dataset = open_dataset(config.data)
        config = config if resumed else resolve(config, dataset)
        scorers = [DevLabels(dataset, config)] if dataset.manifest.labels else []
        run_training(config, where, dataset, resumed, scorers)
        return where

    return run


def test_a_classifier_learns(train: Callable[..., RunDir], labelled: dict[LabelsOf, Path]) -> None:
    folder = labelled["text"]
    run = train(
        "run", f"data.dataset={folder / 'data'}", "train.steps=90", "train.rate_scale=0.1", "train.eval_steps=30",
        "train.best=score",
    )  # fmt: skip
    history = read_metrics(run.metrics)
    assert history.dev[-1].scores["accuracy"] > 95  # chance: 25
    assert history.dev[-1].scores["macro F1"] > 95
    bundle = Bundle.open(run.best)
    assert bundle.facts.labels is not None
    assert bundle.facts.labels.names == tuple(sorted(ANIMALS))
    assert bundle.config.model.n_labels == 4
    (kept,) = (each for each in history.dev if each.step == bundle.facts.making.step)
    assert kept.best
    assert bundle.facts.making.dev[kept.set] == {"nll": kept.nll, "perplexity": kept.perplexity, **kept.scores}
    assert "| dev set | nll (nats per label) | perplexity | accuracy (%) | macro F1 |" in bundle.card
    classifier = Classifier.load(run.best, "cpu")
    tally = score_labelled(classifier, folder / "dev.tsv")
    assert tally.total == 40
    best = max(each.scores["accuracy"] for each in history.dev)
    assert tally.accuracy == pytest.approx(best)  # the same as in training, on the kept model
    (found,) = classifier.classify(["I saw a grey horse today 5"], top=9)
    assert (found[0].label, len(found)) == ("horse", 4)
    assert sum(each.probability for each in found) == pytest.approx(1, abs=1e-5)


def test_a_tagger_learns(train: Callable[..., RunDir], labelled: dict[LabelsOf, Path]) -> None:
    folder = labelled["words"]
    run = train("run", f"data.dataset={folder / 'data'}", "train.steps=150", "train.rate_scale=0.5")
    classifier = Classifier.load(run.best, "cpu")
    tags = next(classifier.tag([["cow", "sees", "the", "dog", "1017"]]))
    assert [each[0].label for each in tags] == ["B-SUBJ", "O", "O", "B-OBJ", "I-OBJ"]
    tally = score_labelled(classifier, folder / "dev.tsv")
    assert (tally.total, tally.spans) == (200, 80)
    assert tally.span_f1 > 95
    assert read_metrics(run.metrics).dev[-1].scores.keys() == {"accuracy", "span F1"}
    with pytest.raises(UserError, match="has labels of words, so it does not classify"):
        classifier.classify(["x"])


def test_the_best_by_score_is_kept(train: Callable[..., RunDir], labelled: dict[LabelsOf, Path]) -> None:
    run = train(
        "run", f"data.dataset={labelled['text'] / 'data'}", "train.steps=60", "train.rate_scale=0.5",
        "train.eval_steps=10", "train.best=score",
    )  # fmt: skip
    records = read_metrics(run.metrics).dev
    best = -math.inf
    for each in records:
        assert each.best == (each.scores["accuracy"] > best)
        best = max(best, each.scores["accuracy"])
    config, other = configfile.load(run.config), RunDir(run.path.with_name("none"))
    dataset = open_dataset(config.data)
    with pytest.raises(UserError, match="no score is measured"):
        run_training(config, other, dataset, False)


@pytest.mark.parametrize("of", ["text", "words"])
def test_a_resumed_run_equals_an_uninterrupted_one(
    train: Callable[..., RunDir], labelled: dict[LabelsOf, Path], of: LabelsOf
) -> None:
    dataset = f"data.dataset={labelled[of] / 'data'}"
    whole = train("whole", dataset, "model.dropout=0.1", "train.steps=8", "train.eval_steps=3")
    train("parts", dataset, "model.dropout=0.1", "train.steps=4", "train.eval_steps=3")
    parts = train("parts", "train.steps=8", resumed=True)
    assert losses(parts) == losses(whole)
    last = [checkpoint.load(checkpoint.latest(run.checkpoints))[0]["model"] for run in (whole, parts)]
    assert all(torch.equal(weight, last[1][name]) for name, weight in last[0].items())


def test_fine_tuning_keeps_all_but_the_head(
    train: Callable[..., RunDir], labelled: dict[LabelsOf, Path], tmp_path: Path
) -> None:
    """From a masked language model to a classifier, and from that to the same labels, with its head."""
    tokenizer = labelled["text"] / "data" / "pieces.json"
    (tmp_path / "text.txt").write_text("\n".join(texts(0, 300)))
    data = DataConfig(source="", target="en", documents="line", tokenizer=str(tokenizer))
    corpora = {"train": (CorpusConfig(str(tmp_path / "text.txt")),), "dev_share": 0.1}
    prepare(Config(data=replace(data, **corpora)), tmp_path / "plain", 1)  # type: ignore[arg-type]
    shape = ("model.embedding_norm=true", "model.prediction_layer=true", "model.output_bias=true")
    first = train("first", f"data.dataset={tmp_path / 'plain'}", *shape, "batches.masked=0.15", "train.steps=3")
    dataset = f"data.dataset={labelled['text'] / 'data'}"
    # A rate of almost 0: the weights stay what they were at the start.
    still = ("train.rate_scale=1e-12", "train.steps=1", *shape)
    second = train("second", dataset, f"train.from={first.best}", *still)
    before, after = (read_tensors(run.best / "model.safetensors") for run in (first, second))
    body = {name for name in before if not name.startswith(HEAD)}
    assert body == {name for name in after if not name.startswith(HEAD)}
    for name in body:
        torch.testing.assert_close(after[name], before[name], atol=1e-6, rtol=0)
    assert after["projection.weight"].shape == (4, 16)
    assert not configfile.load(second.config).model.prediction_layer
    third = train("third", dataset, f"train.from={second.best}", *still, "train.seed=5")
    again = read_tensors(third.best / "model.safetensors")
    torch.testing.assert_close(again["projection.weight"], after["projection.weight"], atol=1e-6, rtol=0)


def test_labels_need_an_encoder(train: Callable[..., RunDir], labelled: dict[LabelsOf, Path]) -> None:
    for wrong in ("model.shape=decoder", "batches.masked=0.15"):
        with pytest.raises(UserError, match="has labels; use the recipe classify"):
            train("run", f"data.dataset={labelled['text'] / 'data'}", wrong)


class PlainClassifier(nn.Module):
    """The same model of PyTorch's own layers, on one sentence per row."""

    def __init__(self, ours: OneStack) -> None:
        super().__init__()
        config = ours.config
        self.embedding, self.positions = ours.embedding, ours.target_positions
        layer = nn.TransformerEncoderLayer(
            config.d_model, config.n_heads, config.d_ff, 0.0, config.activation, config.norm_eps, batch_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, config.n_encoder_layers, enable_nested_tensor=False)
        for theirs, each in zip(self.encoder.layers, ours.stack.layers, strict=True):
            attention = each.self_attention
            parts = (attention.w_q, attention.w_k, attention.w_v)
            with torch.no_grad():
                theirs.self_attn.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
                theirs.self_attn.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
            pairs = (
                (theirs.self_attn.out_proj, attention.w_o), (theirs.linear1, each.feed_forward.w_1),
                (theirs.linear2, each.feed_forward.w_2), (theirs.norm1, each.self_attention_residual.norm),
                (theirs.norm2, each.feed_forward_residual.norm),
            )  # fmt: skip
            for one, other in pairs:
                one.load_state_dict(other.state_dict())
        self.dense = getattr(ours.prediction, "dense", None)
        self.output = nn.Linear(config.d_model, config.n_outputs)
        self.output.load_state_dict({"weight": ours.projection.weight, "bias": ours.output_bias})  # type: ignore[union-attr]

    def forward(self, tokens_BT: Tensor) -> Tensor:
        states = self.encoder(self.positions.add(self.embedding(tokens_BT), torch.arange(tokens_BT.shape[1])))
        return self.output(states if self.dense is None else self.dense(states).tanh())


@pytest.mark.parametrize("of", ["text", "words"])
def test_the_loss_and_its_gradients_are_those_of_a_plain_model(of: LabelsOf) -> None:
    torch.manual_seed(3)
    config = ModelConfig(
        shape="encoder", n_encoder_layers=2, d_model=16, d_ff=24, n_heads=2, vocab_size=30, labels=of, n_labels=3,
        dropout=0.0,
    )  # fmt: skip
    model = OneStack(config)
    rows = [[5, 6, 7, 8], [9, 10], [11, 12, 13]]
    labels = [[1, -1, 2, -1], [0, -1], [2, 1, -1]] if of == "words" else [[1, -1, -1, -1], [0, -1], [2, -1, -1]]
    flat, targets = ([each for row in some for each in row] for some in (rows, labels))
    cu = np.cumsum([0, *map(len, rows), 2, 0])  # with two slots of padding
    positions = [*range(4), *range(2), *range(3), 0, 1]
    tensors = [torch.tensor(each) for each in ([*flat, 0, 0], positions, cu.astype(np.int32), [*targets, -1, -1])]
    loss, nll = Objective(model, 0.1, 8, UNLABELLED)({"target": PackedStream(*tensors)})
    plain = PlainClassifier(model)
    logits = torch.cat([plain(torch.tensor([row]))[0] for row in rows])
    expected = nn.functional.cross_entropy(
        logits, torch.tensor(targets), ignore_index=-1, reduction="sum", label_smoothing=0.1
    )
    torch.testing.assert_close(loss, expected)
    assert nll.item() == pytest.approx(
        nn.functional.cross_entropy(logits, torch.tensor(targets), ignore_index=-1, reduction="sum").item(), rel=1e-5
    )
    ours = torch.autograd.grad(loss, [model.projection.weight, model.output_bias])  # type: ignore[union-attr, list-item]
    theirs = torch.autograd.grad(expected, [plain.output.weight, plain.output.bias])
    torch.testing.assert_close(ours, theirs)


def test_gradients_come_only_from_labels() -> None:
    """The states of tokens without a label get none; a text without any label adds nothing."""
    torch.manual_seed(3)
    config = ModelConfig(
        shape="encoder", n_encoder_layers=1, d_model=16, d_ff=24, n_heads=2, vocab_size=30, labels="words", n_labels=3,
        dropout=0.0,
    )  # fmt: skip
    objective = Objective(OneStack(config), 0.0, 8, UNLABELLED)
    tokens, cu = torch.tensor([5, 6, 7, 8, 9, 10]), torch.tensor([0, 3, 6], dtype=torch.int32)
    labels = torch.tensor([-1, 2, -1, -1, -1, -1])
    held: list[Tensor] = []
    projected = objective.model.predicting  # type: ignore[operator]

    def watched(states: Tensor) -> Tensor:
        states.retain_grad()
        held.append(states)
        return projected(states)  # type: ignore[no-any-return]

    objective.model.predicting = watched  # type: ignore[method-assign, assignment]
    loss, _ = objective({"target": PackedStream(tokens, torch.arange(6) % 3, cu, labels)})
    loss.backward()
    assert held[0].grad is not None
    assert held[0].grad.abs().sum(-1).nonzero().flatten().tolist() == [1]
    embedding = objective.model.embedding.weight.grad
    assert embedding is not None
    assert embedding.abs().sum(-1).nonzero().flatten().tolist() == [5, 6, 7]
