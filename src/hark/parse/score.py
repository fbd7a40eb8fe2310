"""Labelled bracketing scores by the conventions of evalb with its parameter file COLLINS.prm.

The root, punctuation and constituents that consist of punctuation alone do not count, and neither do part-of-speech
tags; ADVP and PRT are the same label. Which words are punctuation is decided by the tags of the gold tree, so that a
parser need not predict tags. If it does, their accuracy is that of all words but punctuation.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hark.pages.charts import GAP, HEIGHT, WIDTH, Line, line_chart
from hark.pages.document import group, picture, swatches
from hark.text.trees import ROOTS, UNTAGGED, Tree, events

PUNCTUATION = frozenset({",", ":", "``", "''", "."})
SAME = {"PRT": "ADVP"}

Bracket = tuple[str, int, int]
"""Label, first word and the word after the last one, without punctuation."""
TreePair = tuple[Tree, Tree]
"""The gold tree and the predicted one."""
LINE = 20


@dataclass(frozen=True)
class BracketScore:
    """Counts of a set of sentences, and the scores that follow from them, in percent."""

    matched: int = 0
    gold: int = 0
    predicted: int = 0
    sentences: int = 0
    complete: int = 0
    """Sentences with exactly the gold brackets."""
    words: int = 0
    """Words that count, in sentences with predicted tags."""
    tagged: int = 0
    """Those of them with the gold tag."""

    def __add__(self, other: "BracketScore") -> "BracketScore":
        return BracketScore(*(one + two for one, two in zip(self.counts, other.counts, strict=True)))

    @property
    def counts(self) -> tuple[int, ...]:
        return self.matched, self.gold, self.predicted, self.sentences, self.complete, self.words, self.tagged

    @property
    def precision(self) -> float:
        return percentage(self.matched, self.predicted)

    @property
    def recall(self) -> float:
        return percentage(self.matched, self.gold)

    @property
    def f1(self) -> float:
        return percentage(2 * self.matched, self.gold + self.predicted)

    @property
    def complete_match(self) -> float:
        return percentage(self.complete, self.sentences)

    @property
    def tag_accuracy(self) -> float | None:
        """None if no tags were predicted."""
        return percentage(self.tagged, self.words) if self.words else None

    def to_tree(self) -> dict[str, float]:
        """The figures for JSON."""
        tags = {} if self.tag_accuracy is None else {"tag_accuracy": round(self.tag_accuracy, 2)}
        return {
            "sentences": self.sentences,
            "precision": round(self.precision, 2),
            "recall": round(self.recall, 2),
            "f1": round(self.f1, 2),
            "complete_match": round(self.complete_match, 2),
            **tags,
        }


@dataclass(frozen=True)
class LengthScore:
    """The score of the sentences with `first` to `last` words, punctuation included."""

    first: int
    last: int
    score: BracketScore


def percentage(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def brackets(tree: Tree, counts: Sequence[bool], labelled: bool = True) -> Counter[Bracket]:
    """The brackets of a tree; `counts` tells for each word whether it counts."""
    found: Counter[Bracket] = Counter()
    starts: list[int] = []
    word = position = 0
    for node, opens in events(tree):
        if node.word is not None:
            if opens:
                position += counts[word]
                word += 1
        elif opens:
            starts.append(position)
        else:
            start = starts.pop()
            if start < position and node.label not in ROOTS:
                found[(SAME.get(node.label, node.label) if labelled else "", start, position)] += 1
    return found


def score_pair(gold: Tree, predicted: Tree, labelled: bool = True) -> BracketScore:
    """Score one sentence; raise ValueError if the trees have different numbers of words."""
    tags = [leaf.label for leaf in gold.leaves()]
    found_tags = [leaf.label for leaf in predicted.leaves()]
    if len(tags) != len(found_tags):
        raise ValueError(f"{len(tags)} words in the gold tree, but {len(found_tags)} in the predicted one")
    counts = [tag not in PUNCTUATION for tag in tags]
    words = sum(counts) if set(found_tags) != {UNTAGGED} else 0
    tagged = sum(tag == other for tag, other, counted in zip(tags, found_tags, counts, strict=True) if counted)
    expected, found = brackets(gold, counts, labelled), brackets(predicted, counts, labelled)
    matched = (expected & found).total()
    return BracketScore(matched, expected.total(), found.total(), 1, int(expected == found), words, tagged)


def score_trees(pairs: Iterable[TreePair], labelled: bool = True) -> BracketScore:
    """Score a corpus: counts are summed over sentences."""
    return sum((score_pair(*pair, labelled) for pair in pairs), start=BracketScore())


def score_by_length(pairs: Iterable[TreePair], step: int = 10) -> list[LengthScore]:
    """Score the sentences of 1 to `step` words, of `step` + 1 to twice as many, and so on."""
    groups: dict[int, BracketScore] = {}
    for pair in pairs:
        group = max(len(pair[0].leaves()) - 1, 0) // step
        groups[group] = groups.get(group, BracketScore()) + score_pair(*pair)
    return [LengthScore(group * step + 1, (group + 1) * step, groups[group]) for group in sorted(groups)]


def draw_curve(curves: Mapping[str, Sequence[LengthScore]], title: str = "F1 by sentence length") -> str:
    """Draw the scores of one or several parsers, each at the middle of its range of lengths."""
    lines = [
        Line([((each.first + each.last) / 2, each.score.f1) for each in scores], colour=number)
        for number, scores in enumerate(curves.values())
    ]
    reach = max(each.last for scores in curves.values() for each in scores)
    above = GAP + len(curves) * LINE
    chart = line_chart(
        title, lines, reach, below="words", from_zero=True, width=WIDTH, dots=lambda _, value: f"{value:.1f}"
    )
    content = swatches(list(curves), GAP, GAP, LINE) + group(0, above, chart)
    return picture(title, WIDTH, above + HEIGHT + GAP, content)


def length_table(scores: Sequence[LengthScore]) -> list[str]:
    """The scores as lines of text."""
    rows = [("words", "sentences", "F1", "complete")]
    for each in scores:
        score = each.score
        lengths = f"{each.first}-{each.last}"
        rows.append((lengths, f"{score.sentences:,}", f"{score.f1:.2f}", f"{score.complete_match:.2f}"))
    return ["".join(cell.rjust(11) for cell in row) for row in rows]
