"""Scores of labels: accuracy, F1 of labels and of spans, and which label is taken for which."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray

from hark.config import Config
from hark.data.dataset import Dataset
from hark.data.labelled import UNLABELLED
from hark.facts import LabelFacts
from hark.model import Model
from hark.train.job import DevScores
from hark.train.loss import Objective, to_tensors
from hark.train.passes import autocast

SPAN_TAG = re.compile("O|[BIES]-.+")
Span = tuple[int, int, str]
"""Where a span begins, where the next word is, and its type."""


def find_spans(tags: Sequence[str]) -> set[Span]:
    """The spans that tags such as B-PER, I-PER, O mark (BIO, and also BIOES). As the scorer of CoNLL does, an I- that
    continues nothing begins a span."""
    spans: set[Span] = set()
    begin = 0
    for place, (before, tag) in enumerate(pairwise(["O", *tags, "O"])):
        goes_on = tag[0] in "IE" and before[0] in "BI" and tag[1:] == before[1:]
        if not goes_on:
            if before != "O":
                spans.add((begin, place, before[2:]))
            begin = place
    return spans


class LabelTally:
    """Counts which labels were predicted for which."""

    def __init__(self, labels: LabelFacts) -> None:
        self.names = labels.names
        self.counts_VV = np.zeros((len(labels.names),) * 2, np.int64)
        """Rows: the right label; columns: the predicted one."""
        self.has_spans = labels.of == "words" and all(map(SPAN_TAG.fullmatch, labels.names))
        self.right_spans = self.spans = self.predicted_spans = 0

    def add(self, right: Sequence[int], predicted: Sequence[int]) -> None:
        """Add a text, or the words of a sentence."""
        np.add.at(self.counts_VV, (list(right), list(predicted)), 1)
        if self.has_spans:
            ours, theirs = (find_spans([self.names[each] for each in labels]) for labels in (predicted, right))
            self.right_spans += len(ours & theirs)
            self.spans += len(theirs)
            self.predicted_spans += len(ours)

    @property
    def total(self) -> int:
        return int(self.counts_VV.sum())

    @property
    def accuracy(self) -> float:
        return 100 * float(np.trace(self.counts_VV)) / max(1, self.total)

    @property
    def f1_V(self) -> NDArray[np.float64]:
        """The F1 of each label; NaN for one that neither occurs nor is predicted."""
        both_V = self.counts_VV.sum(0) + self.counts_VV.sum(1)  # how often it is right, and how often predicted
        with np.errstate(invalid="ignore"):
            scores: NDArray[np.float64] = 200 * np.diag(self.counts_VV) / both_V
        return scores

    @property
    def macro_f1(self) -> float:
        """The mean F1 of the labels, each of equal weight."""
        scores_V = self.f1_V
        return float(scores_V[~np.isnan(scores_V)].mean()) if self.total else 0.0

    @property
    def span_f1(self) -> float:
        return 200 * self.right_spans / max(1, self.spans + self.predicted_spans)

    @property
    def scores(self) -> dict[str, float]:
        """In per cent, by name."""
        f1 = {"span F1": self.span_f1} if self.has_spans else {"macro F1": self.macro_f1}
        return {"accuracy": self.accuracy, **f1}


class DevLabels:
    """Scores a model during training on the dev sets."""

    def __init__(self, dataset: Dataset, config: Config) -> None:
        assert dataset.manifest.labels is not None
        self.labels, self.config = dataset.manifest.labels, config
        self.sets = [(shard.name, dataset.batches_of(shard, config.batches)) for shard in dataset.shards("dev")]

    @torch.no_grad()
    def __call__(self, model: Model) -> DevScores:
        objective = Objective(model, 0.0, self.config.batches.max_length, UNLABELLED)
        device = model.output_weight.device
        scores = {}
        for name, batches in self.sets:
            tally = LabelTally(self.labels)
            for index in range(batches.batches_per_epoch):
                batch = batches[index]
                with autocast(self.config, device):
                    logits_NV = model.logits(objective.hidden(to_tensors(batch, device)))
                stream = batch.streams["target"]
                for right, predicted in by_text(stream.labels, logits_NV.argmax(-1).cpu().numpy(), stream.cu):
                    tally.add(right.tolist(), predicted.tolist())
            scores[name] = tally.scores
        return DevScores(scores)


def by_text(
    labels_N: NDArray[np.integer], predicted_N: NDArray[np.integer], cu: NDArray[np.integer]
) -> Iterable[tuple[NDArray[np.integer], NDArray[np.integer]]]:
    """The right and the predicted labels of each text of a batch."""
    places = np.flatnonzero(labels_N != UNLABELLED)
    cuts = np.flatnonzero(np.diff(np.searchsorted(cu, places, side="right"))) + 1
    return zip(np.split(labels_N[places], cuts), np.split(predicted_N[places], cuts), strict=True)
