"""Sentence pairs to look at a model with: what its encoder and decoder see of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from hark.config import CorpusConfig
from hark.data.corpus import read_pairs
from hark.errors import UserError
from hark.inspect.attention import Pair
from hark.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class HeadExample:
    """A sentence and its translation by people."""

    line: int
    """Where it stands in its files, from 0."""
    source_text: str
    target_text: str
    source: tuple[int, ...]
    """As the encoder sees it, EOS last."""
    target: tuple[int, ...]
    """As the decoder reads it, the start token first. Step t reads token t and predicts the one after it."""
    expected: tuple[int, ...]
    """What the decoder is to predict, EOS last."""

    @property
    def pair(self) -> Pair:
        return self.source, self.target


@dataclass(frozen=True)
class HeadCorpus:
    """Pairs that a model can read, and how many it cannot."""

    examples: tuple[HeadExample, ...]
    lines: int
    """Pairs that were read."""

    @property
    def left_out(self) -> int:
        """Pairs of which a side is empty or has more tokens than the model has positions."""
        return self.lines - len(self.examples)


def read_texts(files: tuple[str, str], languages: tuple[str, str], limit: int | None) -> list[tuple[str, str]]:
    """The first `limit` pairs of two line-aligned files, or of one .tsv, .jsonl or .tmx and `-`."""
    corpus = CorpusConfig(files[0], "" if files[1] == "-" else files[1])
    return list(islice(read_pairs(corpus, *languages), limit))


def encode(pairs: Sequence[tuple[str, str]], source: Vocabulary, target: Vocabulary, positions: int) -> HeadCorpus:
    """Pairs for a model that knows so many positions."""
    examples = []
    sides = zip(source.encode([each for each, _ in pairs]), target.encode([each for _, each in pairs]), strict=True)
    for line, ((text, other), (ids, other_ids)) in enumerate(zip(pairs, sides, strict=True)):
        written = (*target.prefix(), *other_ids)
        read, expected = (target.special.start, *written), (*written, target.special.end)
        seen = tuple(source.as_source(ids))
        if ids and other_ids and max(len(seen), len(read)) <= positions:
            examples.append(HeadExample(line, text, other, seen, read, expected))
    if not examples:
        raise UserError(
            "no pair of sentences that the model can read: the text is empty, or its lines are far too long"
        )
    return HeadCorpus(tuple(examples), len(pairs))
