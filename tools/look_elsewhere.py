"""Check whether the heads of a `hark look` preset behave the same in other sentences.

    python -m tools.look_elsewhere [MODEL]

The head of a preset is the best one for a single sentence. This tool uses other sentences of the same kinds. For each
kind it prints the mean weight of the preset's head and of the best head over all sentences, and for each sentence the
weight of the preset's head, the best head for this sentence with its weight, the sentence and its translation. The
sentences of the presets were chosen from such lists; all others of the lists are here.
"""

import argparse
import sys
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from hark.inspect.presets import PRESETS, Arcs, PresetName, by_word, find_heads, score, sentence_of
from hark.inspect.recording import Recording, record
from hark.translate.load import Loaded


class Other(NamedTuple):
    """A tokenised sentence, and pairs of words, `query>key`."""

    sentence: str
    pairs: str
    expected: str = ""
    """A word of a correct translation."""


COMPLETED = (
    Other("The woman kept the front door of the old house wide open .", "kept>open"),
    Other("The farmer left the heavy gate of the field wide open .", "left>open"),
    Other("She found the last chapter of the book very boring .", "found>boring"),
    Other("The new law makes the work of small companies more difficult .", "makes>difficult"),
    Other("They painted the walls of the old kitchen bright yellow .", "painted>yellow"),
    Other("The teacher called the answer of the second pupil wrong .", "called>wrong"),
    Other("The noise kept all the people in the house awake .", "kept>awake"),
    Other("The government considers the plan of the three ministers dangerous .", "considers>dangerous"),
    Other("He turned the radio in the living room off .", "turned>off"),
    Other("The boy took his wet shoes and socks off .", "took>off"),
    Other("The strong wind blew the door of the garage shut .", "blew>shut"),
    Other("The rain made the road to the village very dangerous .", "made>dangerous"),
    Other("Our neighbour keeps the windows of his car clean .", "keeps>clean"),
    Other("She put the old coat of her grandmother on .", "put>on"),
    Other("He switched the light in the kitchen off .", "switched>off"),
    Other("They called the meeting with the new director off .", "called>off"),
    Other("We brought the matter of the missing money up .", "brought>up"),
    Other("She wrote the address of the small hotel down .", "wrote>down"),
    Other("He gave the keys of his new flat back .", "gave>back"),
    Other("The wind blew the roof of the old barn off .", "blew>off"),
    Other("The government put the vote on the new law off .", "put>off"),
    Other("She threw the letters from her former husband away .", "threw>away"),
    Other("He took the heavy picture on the wall down .", "took>down"),
    Other("They shut the power station near the river down .", "shut>down"),
    Other("The guard left the small door behind the stage unlocked .", "left>unlocked"),
    Other("The long journey made the children in the car impatient .", "made>impatient"),
    Other("The judges declared the decision of the minister illegal .", "declared>illegal"),
    Other("I find the second part of your answer strange .", "find>strange"),
    Other("The sun turned the leaves of the tree yellow .", "turned>yellow"),
    Other("She always keeps the tools in her garage tidy .", "keeps>tidy"),
    Other("The news made the parents of the boy very happy .", "made>happy"),
    Other("They want to keep the price of the ticket low .", "keep>low"),
    Other("The critics called the new film of the young director boring .", "called>boring"),
    Other("The cold wind made the work on the roof impossible .", "made>impossible"),
    Other("The man held the heavy door of the lift open .", "held>open"),
    Other("We consider the proposals of the Commission too weak .", "consider>weak"),
)
PRONOUNS = (
    Other("The cat sat on the sofa because it was tired .", "it>cat", "sie"),
    Other("The horse stopped at the river because it was thirsty .", "it>horse", "es"),
    Other("The ship left the harbour although it was damaged .", "it>ship", "es"),
    Other("The bird flew to the window because it was hungry .", "it>bird", "er"),
    Other("The car stopped in the tunnel because it was broken .", "it>car", "es"),
    Other("The child took the apple because it was red .", "it>apple", "er"),
    Other("He sold the house because it was too small .", "it>house", "es"),
    Other("We did not buy the table because it was too expensive .", "it>table", "er"),
    Other("The man repaired the machine because it was old .", "it>machine", "sie"),
    Other("The committee rejected the proposal because it was too expensive .", "it>proposal", "er"),
    Other("I lost the key , but my sister found it .", "it>key", "ihn"),
    Other("The train was late , so it did not stop in Berlin .", "it>train", "er"),
)
# Words that occur twice are named by their numbers.
STRUCTURES = (
    (
        "The old man has never seen the sea , but his young daughter will soon live near a large harbour .",
        "0>2 1>2 6>7 10>12 11>12 17>19 18>19",
        "has>seen will>live",
    ),
    (
        "The Commission has not yet published the new report , and the members can only guess its content .",
        "0>1 6>8 7>8 11>12 15>16",
        "has>published can>guess",
    ),
    (
        "My little sister could never sleep when the loud neighbours were still dancing .",
        "0>2 1>2 7>9 8>9",
        "could>sleep were>dancing",
    ),
    (
        "The two friends have often talked about the long journey that they will never make .",
        "0>2 1>2 7>9 8>9",
        "have>talked will>make",
    ),
    (
        "A clever child can easily learn a foreign language if the other pupils are also speaking it .",
        "0>2 1>2 6>8 7>8 10>12 11>12",
        "can>learn are>speaking",
    ),
    (
        "The new bridge was not built because the local people had strongly opposed the plan .",
        "0>2 1>2 7>9 8>9 13>14",
        "was>built had>opposed",
    ),
    (
        "You should always read the whole letter before you have really understood the first page .",
        "4>6 5>6 12>14 13>14",
        "should>read have>understood",
    ),
    (
        "The heavy snow has completely blocked the narrow road , so the bus cannot reach the village .",
        "0>2 1>2 6>8 7>8 11>12 15>16",
        "has>blocked cannot>reach",
    ),
    (
        "Our government must quickly find a good solution which the citizens will then accept .",
        "0>1 5>7 6>7 9>10",
        "must>find will>accept",
    ),
)
OTHERS: dict[PresetName, tuple[tuple[Other, ...], ...]] = {
    "long-distance": (COMPLETED,),
    "anaphora": (PRONOUNS,),
    "structure": (
        tuple(Other(sentence, modifiers) for sentence, modifiers, _ in STRUCTURES),
        tuple(Other(sentence, auxiliaries) for sentence, _, auxiliaries in STRUCTURES),
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="en-de", help="folder, run or name (default: en-de)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    loaded = Loaded.named(arguments.model)
    for name, kinds in OTHERS.items():
        found = find_heads(record(loaded, sentence_of(name, loaded.pairs[0][0])), PRESETS[name])
        for each, others in zip(found, kinds, strict=True):
            compare(loaded, name, each.arcs, (each.head.layer, each.head.number), others)


def compare(loaded: Loaded, name: PresetName, arcs: Arcs, head: tuple[int, int], others: tuple[Other, ...]) -> None:
    recordings = [record(loaded, joined(other.sentence)) for other in others]
    measured_NLH2 = np.stack([measure(*both) for both in zip(recordings, others, strict=True)])
    mean_LH2 = measured_NLH2.mean(0)
    print_line(f"{name}, {arcs.about}: {len(others)} other sentences")
    for title, each in (("the preset's head", head), ("the best over all sentences", best_head(mean_LH2))):
        weight, usual = mean_LH2[each]
        print_line(f"  {title}, {head_name(each)}: {weight:.2f}; at the same distances elsewhere {usual:.2f}")
    with_expected = [other for other in others if other.expected]
    if with_expected:
        translations = [recording.translation.replace(",", "").rstrip(".").split() for recording in recordings]
        right = sum(other.expected in words for other, words in zip(others, translations, strict=True))
        print_line(f"  the German pronoun agrees with the noun in {right} of {len(with_expected)}")
    for recording, measured_LH2 in zip(recordings, measured_NLH2, strict=True):
        own = best_head(measured_LH2)
        weights = f"{measured_LH2[head][0]:.2f}  {head_name(own):>4} {measured_LH2[own][0]:.2f}"
        print_line(f"  {weights}  {recording.sentence}  {recording.translation}")


def best_head(measured_LH2: NDArray[np.float64]) -> tuple[int, int]:
    beyond_LH = measured_LH2[..., 0] - measured_LH2[..., 1]
    layer, number = np.unravel_index(beyond_LH.argmax(), beyond_LH.shape)
    return int(layer), int(number)


def head_name(head: tuple[int, int]) -> str:
    return f"{head[0] + 1}:{head[1] + 1}"


def measure(recording: Recording, other: Other) -> NDArray[np.float64]:
    """The weight of the pairs and the usual weight, for every head: (layers, heads, 2)."""
    words, numbers = other.sentence.split(), recording.source.text_words
    if [recording.source.words[number] for number in numbers] != words:
        raise SystemExit(f"{other.sentence}: the tokenizer of the model splits it into other words")

    def place(word: str) -> int:
        if not word.isdigit() and words.count(word) != 1:
            raise SystemExit(f"{other.sentence}: {word!r} is ambiguous")
        return numbers[int(word) if word.isdigit() else words.index(word)]

    pairs = [(place(one), place(two)) for one, two in (pair.split(">") for pair in other.pairs.split())]
    weights_LHSS = by_word(recording.attention.encoder_LHSS, recording.source)
    return np.array([[score(weights_SS, pairs) for weights_SS in heads_HSS] for heads_HSS in weights_LHSS])


def joined(sentence: str) -> str:
    return sentence.replace(" .", ".").replace(" ,", ",")


def print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
