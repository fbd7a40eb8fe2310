"""Presets after the paper's figures 3 to 5, with new sentences. The head to show is found by measurement.

A preset names pairs of words: the one that looks, and the one that it should look at if the head does what the figure
shows. A head's score is the weight that it gives to those pairs, minus its weight at the same distances elsewhere in
the sentence: a head that always looks two words back scores nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hark.errors import UserError
from hark.inspect.attention import Head
from hark.inspect.recording import Recording
from hark.inspect.words import merge_tokens

PresetName = Literal["long-distance", "anaphora", "structure"]


@dataclass(frozen=True)
class Arcs:
    """Pairs of word indices in the sentence, the one that looks first, with a description."""

    about: str
    pairs: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Preset:
    """A sentence and the pairs to look for in it; one head is found for each kind of pair."""

    figure: int
    """The figure in the paper."""
    title: str
    sentence: str
    arcs: tuple[Arcs, ...]
    whole_layer: bool = False
    """Whether to show all heads of the layer, as figure 3 does."""
    looking: int | None = None
    """The word that is selected at first, so that only its lines are shown."""


PRESETS: dict[PresetName, Preset] = {
    "long-distance": Preset(
        figure=3,
        title="A verb and the word that completes it, far apart",
        #         0          1      2   3        4  5   6        7          8
        sentence="Parliament turned the proposal of the European Commission down .",
        arcs=(Arcs("from “turned” to “down”", ((1, 8),)),),
        whole_layer=True,
        looking=1,
    ),
    "anaphora": Preset(
        figure=4,
        title="What a pronoun refers to",
        #         0   1   2    3      4   5    6       7  8   9      10 11  12
        sentence="The dog slept under the tree because it was tired .",
        arcs=(Arcs("from “it” to “dog”", ((7, 1),)),),
        looking=7,
    ),
    "structure": Preset(
        figure=5,
        title="Heads that follow the structure of a sentence",
        #         0   1    2       3   4       5    6   7     8       9      10  11   12  13      14
        sentence="The last workers had already left the small factory before the fire was finally discovered .",
        arcs=(
            Arcs("from articles and adjectives to their noun", ((0, 2), (1, 2), (6, 8), (7, 8), (10, 11))),
            Arcs("from an auxiliary to its verb", ((3, 5), (12, 14))),
        ),
    ),
}
LANGUAGE = "en"
"""The language of the sentences."""
TARGET = "de"
"""The language to translate them to if neither it nor the model is named."""


@dataclass(frozen=True)
class PresetHead:
    """The head found for one kind of pair."""

    head: Head
    arcs: Arcs
    weight: float
    """Its mean weight on the pairs."""
    usual: float
    """Its mean weight at the same distances elsewhere."""

    @property
    def score(self) -> float:
        return self.weight - self.usual


def sentence_of(name: PresetName, language: str) -> str:
    if language.split("-")[0] != LANGUAGE:
        raise UserError(f"--preset {name} requires a model that translates from {LANGUAGE}, not from {language}")
    words = PRESETS[name].sentence
    return words.replace(" .", ".")


def find_heads(recording: Recording, preset: Preset) -> list[PresetHead]:
    """Return the encoder head with the best score for each kind of pair; no head is used twice."""
    numbers = check(recording, preset)
    weights_LHSS = merge_tokens(recording.attention.encoder_LHSS, recording.source, recording.source)
    found: list[PresetHead] = []
    for arcs in preset.arcs:
        pairs = [(numbers[one], numbers[other]) for one, other in arcs.pairs]
        candidates = [
            PresetHead(Head("encoder", layer, number), arcs, *score(weights_SS, pairs))
            for layer, weights_HSS in enumerate(weights_LHSS)
            for number, weights_SS in enumerate(weights_HSS)
        ]
        taken = {each.head for each in found}
        found.append(max((each for each in candidates if each.head not in taken), key=lambda each: each.score))
    return found


def check(recording: Recording, preset: Preset) -> tuple[int, ...]:
    """Return the indices of the sentence's words in the recording; the tokenizer must split it as the preset does."""
    words = recording.source.text_words
    if [recording.source.words[number] for number in words] != preset.sentence.split():
        raise UserError("the model's tokenizer splits the preset's sentence differently; give your own sentence")
    return words


def score(weights_SS: NDArray[np.float64], pairs: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """Return the mean weight of the pairs, and that of all other pairs at the same distances."""
    weight, usual = 0.0, 0.0
    for one, other in pairs:
        diagonal = np.diagonal(weights_SS, other - one)
        weight += weights_SS[one, other]
        usual += (diagonal.sum() - weights_SS[one, other]) / max(1, len(diagonal) - 1)
    return float(weight / len(pairs)), float(usual / len(pairs))
