"""What is learnt from a sample of the kept pairs: the vocabulary, frequent names, words with their translations.

Counts of symbols such as `#` in a dataset's source text: a model can neither translate nor copy rare ones.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from functools import partial

import numpy as np

from hark.data.dataset import Dataset
from hark.data.lexicon import find_words
from hark.data.plan import PreparePlan, Tokenizers
from hark.data.progress import Progress
from hark.data.stages import FindNames, FindShort, Learn, UniqueChunk
from hark.data.store import SIDES, Side
from hark.data.workers import run_jobs
from hark.facts import SIGNS, LanguagePair
from hark.text.tokenizer import Tokenizer
from hark.text.vocabulary import SPACE

SAMPLE = 250_000
"""Pairs from which the vocabulary and the names are learnt. Twice as many do not shorten the encoded text (37,000
pieces, Europarl)."""
SHORT = 2_000_000
"""Pairs sampled for the lexicon, which is learnt from the short ones among them."""
NAMES = 20_000
"""Maximum number of names used as replacements for others."""


def learn_tokenizers(
    plan: PreparePlan, chunks: Sequence[UniqueChunk], processes: int, progress: Progress
) -> Tokenizers:
    """Learn one vocabulary for both sides, or one for each.

    Every pair of languages contributes equally, as far as it has text, so that none is cut into small pieces.
    """
    data, left = plan.data, Counter[LanguagePair]()
    for each in chunks:
        left[each.chunk.languages] += each.left
    shares = {pair: SAMPLE / len(left) / count for pair, count in left.items() if count}
    build = partial(Learn, chunks, shares, data.vocab_size, plan.languages, data.seed)
    sides: list[tuple[Side, ...]] = [SIDES] if data.shared_vocab else [("source",), ("target",)]
    progress("learning vocabulary", 0, None)
    # In a worker process unless there is only one: learning takes memory and does not respond to Ctrl-C.
    with closing(run_jobs(min(processes, 2), build, sides)) as results:
        learnt = [Tokenizer(model) for model in results]
    return {"source": learnt[0], "target": learnt[-1]}


def learn_words(
    chunks: Sequence[UniqueChunk], seed: int, processes: int, progress: Progress
) -> dict[LanguagePair, dict[str, str]]:
    """Return words and their translations in each direction, learnt from the short kept pairs."""
    progress("finding words", 0, None)
    build = partial(FindShort, SHORT / sum(each.left for each in chunks), seed)
    short: dict[LanguagePair, list[tuple[str, str]]] = {}
    with closing(run_jobs(processes, build, chunks)) as results:
        for unique, pairs in zip(chunks, results, strict=True):
            source, target = unique.chunk.languages
            short.setdefault((source, target), []).extend(pairs)
            if len(unique.chunk.directions) > 1:
                short.setdefault((target, source), []).extend((other, one) for one, other in pairs)
    return {languages: find_words(pairs) for languages, pairs in short.items()}


def learn_names(chunks: Sequence[UniqueChunk], seed: int, processes: int, progress: Progress) -> list[str]:
    """Return the most frequent names in all corpora."""
    progress("finding names", 0, None)
    counts: Counter[str] = Counter()
    build = partial(FindNames, SAMPLE / sum(each.left for each in chunks), seed)
    with closing(run_jobs(processes, build, chunks)) as results:
        for names in results:
            counts.update(names)
    return sorted(counts, key=lambda name: (-counts[name], name))[:NAMES]


def count_signs(dataset: Dataset) -> tuple[int, dict[str, int]]:
    """Return the number of source characters in the training text, and the count of each symbol in `SIGNS`.

    Computed from token counts, without reading the text.
    """
    vocabulary = dataset.tokenizer("source")
    tokens_V = np.zeros(vocabulary.vocab_size, np.int64)
    for shard in dataset.shards("train"):
        tokens_V += dataset.store(shard).count("source", vocabulary.vocab_size)
    characters, counts = 0, Counter[str]()
    used = [int(token) for token in np.flatnonzero(tokens_V) if not vocabulary.is_special(int(token))]
    for token, piece in zip(used, vocabulary.pieces(used), strict=True):
        byte = vocabulary.byte_of(token)
        text = piece.replace(SPACE, " ") if byte is None else chr(byte)
        characters += len(text) * int(tokens_V[token])
        for sign in set(text) & set(SIGNS):
            counts[sign] += text.count(sign) * int(tokens_V[token])
    return characters, {sign: counts[sign] for sign in SIGNS}
