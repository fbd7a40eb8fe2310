"""Encodes sentence pairs for the analysis of a model's heads."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from hark.config import CorpusConfig
from hark.data.corpus import read_pairs
from hark.errors import UserError
from hark.facts import LanguagePair
from hark.inspect.attention import InputPair
from hark.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class HeadExample:
    """A sentence and its reference translation."""

    line: int
    """Its line in the files, from 0."""
    source_text: str
    target_text: str
    source: tuple[int, ...]
    """The encoder's input, EOS last."""
    target: tuple[int, ...]
    """The decoder's input, the start token first. Step t reads token t and predicts the next one."""
    expected: tuple[int, ...]
    """The tokens that the decoder should predict, EOS last."""

    @property
    def pair(self) -> InputPair:
        return self.source, self.target


@dataclass(frozen=True)
class HeadCorpus:
    """The sentence pairs that a model can process, and the number of all pairs read."""

    examples: tuple[HeadExample, ...]
    lines: int
    """Number of pairs read."""

    @property
    def left_out(self) -> int:
        """Number of pairs with a side that is empty or longer than the model's positions."""
        return self.lines - len(self.examples)


def read_texts(files: tuple[str, str], languages: tuple[str, str], limit: int | None) -> list[tuple[str, str]]:
    """Read the first `limit` pairs of two line-aligned files, or of one .tsv, .jsonl or .tmx file and `-`."""
    corpus = CorpusConfig(files[0], "" if files[1] == "-" else files[1])
    return list(islice(read_pairs(corpus, *languages), limit))


def encode(
    pairs: Sequence[tuple[str, str]],
    source: Vocabulary,
    target: Vocabulary,
    positions: int,
    languages: LanguagePair | None = None,
) -> HeadCorpus:
    """Encode pairs for a model with this many positions; `languages` are needed for models of several pairs."""
    source_language, target_language = languages or (None, None)
    examples = []
    sides = zip(source.encode([each for each, _ in pairs]), target.encode([each for _, each in pairs]), strict=True)
    for line, ((text, other), (ids, other_ids)) in enumerate(zip(pairs, sides, strict=True)):
        written = (*target.prefix(target_language), *other_ids)
        read, expected = (target.special.start, *written), (*written, target.special.end)
        seen = tuple(source.as_source(ids, target_language, source_language))
        if ids and other_ids and max(len(seen), len(read)) <= positions:
            examples.append(HeadExample(line, text, other, seen, read, expected))
    if not examples:
        raise UserError("no usable sentence pairs: all are empty or too long for the model; give other text")
    return HeadCorpus(tuple(examples), len(pairs))
