"""Collect English and German lines that have no translation in the training text, for teachers to translate.

    python -m tools.collect_lines DATA DOMAINS

DATA holds the corpora of other language pairs (`tatoeba-seven`, `tatoeba-en-fr`, and the French and Spanish parts of
`debian` and `github`); DOMAINS is the folder of `tools.cut_domains`, which gets everyday.en and everyday.de. A line is
left out if it stands in the training text, or in any dev or test set but for case, digits, punctuation and spaces. The
same text and seed give the same files.
"""

import argparse
import random
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from hark.data.filters import is_garbled
from hark.data.held_out import essence
from tools.corpus_files import read_lines, read_table
from tools.held_out_text import HeldOutText, read_everyday, read_held_out

LANGUAGES = ("en", "de")
SENTENCES = "tatoeba-seven"
MORE_SENTENCES = ("tatoeba-en-fr/train.en.xz",)
TABLES = ("github/prose", "github/docs", "github/medical", "github/strings", "debian/descriptions", "debian/manuals")
"""Tables `NAME.en-L.tsv.xz`, English first."""
OTHERS = ("fr", "es")
SHORTEST, LONGEST = 3, 600
"""Characters of a line."""


def read_column(data: Path, language: str, held_out: bool) -> Iterator[str]:
    """Sentences of one language of Tatoeba, from all pairs that have it: test sets, or the rest."""
    for file in sorted((data / SENTENCES).glob("*.tsv.xz")):
        languages = file.name.partition(".")[0].split("-")
        if language in languages and (".test." in file.name) == held_out:
            for row in read_table(file):
                yield row[languages.index(language)]


def read_candidates(data: Path, language: str) -> Iterator[str]:
    yield from read_column(data, language, held_out=False)
    if language == "en":
        for name in MORE_SENTENCES:
            yield from read_lines(data / name)
        for name in TABLES:
            for other in OTHERS:
                for row in read_table(data / f"{name}.en-{other}.tsv.xz"):
                    yield row[0]


def choose(candidates: Iterable[str], known: set[bytes], held_out: HeldOutText) -> list[str]:
    """The lines that are worth translating, each once. `known` grows by them."""
    chosen = []
    for line in map(str.strip, candidates):
        key = essence(line)
        if SHORTEST <= len(line) <= LONGEST and key not in known and not held_out.has(line) and not is_garbled(line):
            known.add(key)
            chosen.append(line)
    return chosen


def collect_lines(data: Path, domains: Path, seed: int) -> dict[str, int]:
    """Write the lines of both languages; return how many there are."""
    counts = {}
    for language, held_out in zip(LANGUAGES, read_held_out(data, "de"), strict=True):
        cut = (
            line
            for use in ("dev", "test")
            for file in sorted(domains.glob(f"*.{use}.{language}"))
            for line in open_lines(file)
        )
        for line in (*read_everyday(language), *read_column(data, language, held_out=True), *cut):
            held_out.add(line)
        known = {essence(line) for file in sorted(domains.glob(f"*.train.{language}")) for line in open_lines(file)}
        chosen = choose(read_candidates(data, language), known, held_out)
        random.Random(seed).shuffle(chosen)
        (domains / f"everyday.{language}").write_text(
            "".join(line + "\n" for line in chosen), encoding="utf-8", newline="\n"
        )
        counts[language] = len(chosen)
    return counts


def open_lines(file: Path) -> Iterator[str]:
    with file.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield line.rstrip("\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("domains", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for language, count in collect_lines(arguments.data, arguments.domains, arguments.seed).items():
        sys.stdout.write(f"{arguments.domains / f'everyday.{language}'}: {count:,} lines\n")


if __name__ == "__main__":
    main()
