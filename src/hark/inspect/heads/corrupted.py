"""Parts of a text for a model that restores what is corrupted: hidden spans behind sentinels (T5), or infilling (BART).

The encoder reads a corrupted part, and the decoder what it should write. Each part is corrupted alike whenever it is
read, so that models and heads can be compared.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hark import configfile
from hark.bundle import Bundle
from hark.config import BatchConfig
from hark.data.corruption import Corruption
from hark.errors import UserError
from hark.inspect.heads.corpus import WINDOW, HeadCorpus, HeadExample, text_parts
from hark.recipes import find_recipe
from hark.text.vocabulary import Vocabulary


def read_corrupted(path: Path, bundle: Bundle, vocabulary: Vocabulary, limit: int) -> HeadCorpus:
    """Read at most `limit` parts of a text file, or of the objects of a .jsonl file with a `text`."""
    corruption, longest = corruption_of(bundle, vocabulary)
    parts = text_parts(path, vocabulary, longest, limit, bundle.config.data.documents)
    start = vocabulary.special.start
    return HeadCorpus(tuple(corrupt(part, corruption, start, at) for at, part in enumerate(parts)), len(parts))


def corruption_of(bundle: Bundle, vocabulary: Vocabulary) -> tuple[Corruption, int]:
    """How the model learnt to restore text, and the tokens of the longest part. Of a model that did not learn it here,
    that is what T5 does if there are sentinels, and what BART does if there is a mask."""
    trained = bundle.config.batches
    length = min(WINDOW, bundle.config.model.max_positions)
    if trained.corrupted:
        length = min(length, trained.max_length)
    else:
        recipe = "t5" if vocabulary.sentinels else "bart" if vocabulary.mask is not None else None
        if recipe is None:
            raise UserError(
                f"{bundle.folder}: its vocabulary has no sentinels and no mask, so it restores no text; "
                "give --on two files, inputs and outputs"
            )
        trained = configfile.load(find_recipe(recipe)).batches
    settings = BatchConfig(
        corrupted=trained.corrupted, masked=trained.masked, span=trained.span, permuted=trained.permuted,
        max_length=length,
    )  # fmt: skip
    corruption = Corruption.of(vocabulary, settings)
    return corruption, length - 1 - max(map(len, corruption.leads))


def corrupt(part: Sequence[int], corruption: Corruption, start: int, seed: int) -> HeadExample:
    done = corruption.corrupt(np.array(part, np.int32), np.array([len(part)]), np.random.default_rng(seed))
    source, expected = (tuple(each.tolist()) for each in (done.source, done.target))
    return HeadExample(seed, "", "", source, (start, *expected[:-1]), expected)
