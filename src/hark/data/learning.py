"""What is learnt from a sample of the kept pairs: the vocabulary, frequent names, words with their translations."""

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

import numpy as np

from hark.data.lexicon import find_words, short_pairs
from hark.data.plan import PreparePlan, Tokenizers
from hark.data.progress import Progress
from hark.data.stages import CleanChunk
from hark.data.store import SIDES, Side
from hark.data.swaps import find_names
from hark.data.workers import run_jobs
from hark.facts import LanguagePair
from hark.text.tokenizer import Tokenizer, train_symbols, train_tokenizer
from hark.text.trees import TREES
from hark.text.vocabulary import normalise

SAMPLE = 250_000
"""Pairs from which the vocabulary and the names are learnt. Twice as many do not shorten the encoded text (37,000
pieces, Europarl)."""
LEXICON_SAMPLE = 2_000_000
"""Pairs sampled for the lexicon, which is learnt from the short ones among them."""
MAX_NAMES = 20_000
"""Names used as replacements for others."""
DISTINCT_CHARACTERS = 6_000_000
"""Maximum total length of the distinct words that a vocabulary is learnt from. Half a million sentences of Europarl
have 3.3 million characters; in a script without spaces, where each clause is a word, this keeps learning under 700 MB
and 15 seconds."""
Found = TypeVar("Found")


def learn_tokenizers(plan: PreparePlan, chunks: Sequence[CleanChunk], processes: int, progress: Progress) -> Tokenizers:
    """Learn one vocabulary for both sides, or one for each.

    Every pair of languages contributes equally, as far as it has text, so that none is cut into small pieces.
    """
    data, n_pairs = plan.data, Counter[LanguagePair]()
    for chunk in chunks:
        n_pairs[chunk.languages] += chunk.n_unique
    shares = {pair: SAMPLE / len(n_pairs) / count for pair, count in n_pairs.items() if count}
    build = partial(LearnVocabulary, chunks, shares, data.vocab_size, plan.languages, data.seed)
    sides: list[tuple[Side, ...]] = [SIDES] if data.shared_vocab else [("source",), ("target",)]
    progress("learning vocabulary", 0, None)
    # In a worker process unless there is only one: learning takes memory and does not respond to Ctrl-C.
    with closing(run_jobs(min(processes, 2), build, sides)) as results:
        learnt = [Tokenizer(model) for model in results]
    return {"source": learnt[0], "target": learnt[-1]}


@dataclass(frozen=True)
class LearnVocabulary:
    """Learns a vocabulary from a seeded sample of the pairs of all chunks."""

    chunks: Sequence[CleanChunk]
    shares: Mapping[LanguagePair, float]  # of the pairs, by their languages
    vocab_size: int
    languages: tuple[str, ...]
    seed: int

    def __call__(self, sides: Sequence[Side]) -> bytes:
        sentences = list(self.sample(sides))
        if sides == ("target",) and self.languages[1] == TREES:
            return train_symbols(sentences, self.languages)
        order = np.random.default_rng(self.seed).permutation(len(sentences))
        return train_tokenizer(
            until_full((sentences[i] for i in order), DISTINCT_CHARACTERS), self.vocab_size, self.languages
        )

    def sample(self, sides: Sequence[Side]) -> Iterator[str]:
        for chunk in self.chunks:
            for source, target in chunk.sample(self.shares[chunk.languages], self.seed):
                if "source" in sides:
                    yield normalise(source)
                if "target" in sides:
                    yield normalise(target)


def until_full(sentences: Iterable[str], room: int) -> Iterator[str]:
    """Yield sentences until their distinct words add up to `room` characters."""
    words: set[str] = set()
    for sentence in sentences:
        new = set(sentence.split()) - words
        room -= sum(map(len, new))
        if room < 0 and words:
            return
        words |= new
        yield sentence


@dataclass(frozen=True)
class FindInSample(Generic[Found]):
    """Looks for something in a sample of the pairs of a chunk."""

    find: Callable[[Iterable[tuple[str, str]]], Found]
    share: float
    seed: int

    def __call__(self, chunk: CleanChunk) -> Found:
        return self.find(chunk.sample(self.share, self.seed))


def find_in_chunks(
    find: Callable[[Iterable[tuple[str, str]]], Found],
    sample: int,
    chunks: Sequence[CleanChunk],
    seed: int,
    processes: int,
) -> Generator[Found, None, None]:
    """Yield what `find` returns for each chunk, from a sample of about `sample` pairs of all chunks."""
    share = sample / sum(chunk.n_unique for chunk in chunks)
    return run_jobs(processes, partial(FindInSample, find, share, seed), chunks)


def learn_words(
    chunks: Sequence[CleanChunk], seed: int, processes: int, progress: Progress
) -> dict[LanguagePair, dict[str, str]]:
    """Return words and their translations in each direction, learnt from the short kept pairs."""
    progress("finding words", 0, None)
    short: dict[LanguagePair, list[tuple[str, str]]] = {}
    with closing(find_in_chunks(short_pairs, LEXICON_SAMPLE, chunks, seed, processes)) as results:
        for chunk, pairs in zip(chunks, results, strict=True):
            source, target = chunk.languages
            short.setdefault((source, target), []).extend(pairs)
            if len(chunk.directions) > 1:
                short.setdefault((target, source), []).extend((other, one) for one, other in pairs)
    return {languages: find_words(pairs) for languages, pairs in short.items()}


def learn_names(chunks: Sequence[CleanChunk], seed: int, processes: int, progress: Progress) -> list[str]:
    """Return the most frequent names in all corpora."""
    progress("finding names", 0, None)
    counts: Counter[str] = Counter()
    with closing(find_in_chunks(find_names, SAMPLE, chunks, seed, processes)) as results:
        for names in results:
            counts.update(names)
    return sorted(counts, key=lambda name: (-counts[name], name))[:MAX_NAMES]
