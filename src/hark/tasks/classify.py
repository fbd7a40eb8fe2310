"""Labels of texts, and of the words of sentences, as an encoder predicts them."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import tee
from pathlib import Path

import numpy as np
from torch import Tensor

from hark.data.labels import encode_parts, read_labelled
from hark.errors import UserError
from hark.evaluate.labels import LabelTally
from hark.tasks.encoder import LoadedEncoder, find_encoder
from hark.weights import Array

Ranked = tuple[Array, Array]
"""For each token, the numbers of the likeliest labels and their probabilities, best first."""


@dataclass(frozen=True)
class PredictedLabel:
    """A label, and how likely the model finds it among all labels."""

    label: str
    probability: float


class Classifier:
    """Predicts labels: `classify` of texts, `tag` of words. Each model does one of the two, as it was trained."""

    def __init__(self, encoder: LoadedEncoder) -> None:
        bundle = encoder.bundle
        if bundle.facts.labels is None:
            raise UserError(
                f"{bundle.folder}: predicts no labels; train a model that does with hark train classify (this one "
                f"{bundle.purpose})"
            )
        self.encoder, self.labels = encoder, bundle.facts.labels

    @classmethod
    def load(cls, name: str | Path | None = None, device: str = "auto", threads: int | None = None) -> "Classifier":
        """Load a model by its name or folder, or the first one installed."""
        folder = name if isinstance(name, Path) else find_encoder(name, "classify")
        return cls(LoadedEncoder(folder, device, threads))

    def classify(
        self, texts: Iterable[str | tuple[str, str]], top: int = 1, truncate: bool | None = False
    ) -> Iterator[list[PredictedLabel]]:
        """Yield the likeliest labels of each text, or pair of texts, best first. `truncate` cuts long texts."""
        self.require("text", "classify")
        pairs = (each if isinstance(each, tuple) else (each,) for each in texts)
        return (ranked[0] for ranked in self.predict(pairs, top, truncate))

    def tag(self, sentences: Iterable[Sequence[str]], top: int = 1) -> Iterator[list[list[PredictedLabel]]]:
        """Yield the likeliest tags of each word of each sentence, best first."""
        self.require("words", "tag")
        return self.predict(sentences, top)

    def require(self, of: str, method: str) -> None:
        if self.labels.of != of:
            raise UserError(f"{self.encoder.bundle.folder}: has labels of {self.labels.of}, so it does not {method}")

    def predict(
        self, texts: Iterable[Sequence[str]], top: int = 1, truncate: bool | None = None
    ) -> Iterator[list[list[PredictedLabel]]]:
        """Yield the likeliest labels of each token that decides on one: of the first of a text or of each word."""
        chosen: deque[list[int]] = deque()

        def inputs() -> Iterator[list[int]]:
            for number, parts in enumerate(texts, 1):
                if self.labels.of == "text" and len(parts) != 1 + self.labels.pairs:
                    wanted = "two texts" if self.labels.pairs else "one text"
                    raise UserError(f"text {number}: the model reads {wanted}, but there are {len(parts)}")
                ids, places = encode_parts(self.encoder.vocabulary, parts, self.labels.of)
                chosen.append(places)
                yield self.encoder.enclose(ids, number, truncate)

        count = min(top, len(self.labels.names))
        for numbers_TL, probabilities_TL in self.encoder.run(inputs(), partial(self.rank, count)):
            yield [
                [
                    PredictedLabel(self.labels.names[label], float(probability))
                    for label, probability in zip(numbers_TL[place], probabilities_TL[place], strict=True)
                ]
                for place in chosen.popleft()
            ]

    def rank(self, count: int, states_ND: Tensor, tokens_N: Tensor, lengths_B: Tensor) -> list[Ranked]:  # noqa: ARG002
        """The likeliest labels of every token of each text; of whole texts, only of the first token."""
        model, lengths = self.encoder.model, lengths_B.tolist()
        if self.labels.of == "text":
            states_ND, lengths = states_ND[lengths_B.cumsum(0) - lengths_B], [1] * len(lengths)
        best = model.logits(model.predicting(states_ND)).float().softmax(-1).topk(count)
        cuts = np.cumsum(lengths)[:-1]
        parts = (np.split(each.cpu().numpy(), cuts) for each in (best.indices, best.values))
        return list(zip(*parts, strict=True))


def score_labelled(classifier: Classifier, path: Path, truncate: bool | None = None) -> LabelTally:
    """Compare the labels of a file, in the form that `hark prepare` reads, with those that the model predicts.

    A label of a text that the model does not know is an error; an unknown tag counts as a wrong prediction."""
    labels = classifier.labels
    truncate = truncate if labels.of == "text" else None  # every word needs its tag
    names = list(labels.names)
    for each in read_labelled(path, labels.of):
        for name in sorted(set(each.labels).difference(names)):
            if labels.of == "text":
                raise UserError(f"{each.where}: the model does not know the label {name}")
            names.append(name)
    numbers = {name: number for number, name in enumerate(names)}
    tally = LabelTally(replace(labels, names=tuple(names)))
    ours, theirs = tee(read_labelled(path, labels.of))
    for text, predicted in zip(theirs, classifier.predict((each.parts for each in ours), 1, truncate), strict=True):
        tally.add([numbers[name] for name in text.labels], [numbers[each[0].label] for each in predicted])
    if not tally.total:
        raise UserError(f"{path}: no text with labels")
    return tally
