"""What corpora are called in reports and folders."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from hark.config import CorpusConfig
from hark.data.compression import plain_name
from hark.errors import UserError

FORMATS = ("tsv", "jsonl", "ndjson", "tmx", "txt")


def name_corpora(corpora: Sequence[CorpusConfig], languages: Sequence[str]) -> list[str]:
    """The name that each was given, or else that of its file; with the folder before it where files are namesakes."""
    stems = [corpus.name or stem(Path(corpus.source), languages) for corpus in corpora]
    namesakes = {name for name, count in Counter(stems).items() if count > 1}
    names = [
        f"{tidy(Path(corpus.source).absolute().parent.name)}-{name}" if name in namesakes and not corpus.name else name
        for corpus, name in zip(corpora, stems, strict=True)
    ]
    for corpus, name in zip(corpora, names, strict=True):
        if tidy(name) != name:
            raise UserError(f"corpus name {name!r}: only letters, digits, dots, dashes and low lines, a letter first")
        if names.count(name) > 1:
            raise UserError(f"{corpus.source}: another corpus is called {name} too; give it a name of its own")
    return names


def stem(path: Path, languages: Sequence[str]) -> str:
    """`train` for train.en.xz."""
    name = plain_name(path)
    while "." in name and name.rpartition(".")[2].lower() in (*FORMATS, *(each.lower() for each in languages)):
        name = name.rpartition(".")[0]
    return tidy(name) or "corpus"


def tidy(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).lstrip(".-")
