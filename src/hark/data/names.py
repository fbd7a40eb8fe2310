"""Corpus names, as used in reports and folder names."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from hark.config import CorpusConfig
from hark.data.compression import plain_name
from hark.errors import UserError

FORMATS = ("tsv", "jsonl", "ndjson", "tmx", "txt", "trees", "mrg")


def name_corpora(corpora: Sequence[CorpusConfig], languages: Sequence[str]) -> list[str]:
    """Return the configured name of each corpus, or else its file name, prefixed with the folder if ambiguous."""
    stems = [corpus.name or stem(Path(corpus.source), languages) for corpus in corpora]
    ambiguous = {name for name, count in Counter(stems).items() if count > 1}
    names = [
        f"{tidy(Path(corpus.source).absolute().parent.name)}-{name}" if name in ambiguous and not corpus.name else name
        for corpus, name in zip(corpora, stems, strict=True)
    ]
    for corpus, name in zip(corpora, names, strict=True):
        if tidy(name) != name:
            raise UserError(
                f"corpus name {name!r}: use letters, digits, underscores, dots and dashes; no leading dot or dash"
            )
        if names.count(name) > 1:
            raise UserError(f"{corpus.source}: another corpus is also named {name}; set a different name")
    return names


def stem(path: Path, languages: Sequence[str]) -> str:
    """Return the file name without suffixes: `train` for train.en.xz."""
    name = plain_name(path)
    while "." in name and name.rpartition(".")[2].lower() in (*FORMATS, *(each.lower() for each in languages)):
        name = name.rpartition(".")[0]
    return tidy(name) or "corpus"


def tidy(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).lstrip(".-")
