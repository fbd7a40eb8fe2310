"""Reading of corpora compressed with xz: lines, tables of columns, and pairs of lines in two files."""

import lzma
from collections.abc import Iterator
from pathlib import Path

Pair = tuple[str, str]


def read_table(path: Path) -> Iterator[list[str]]:
    for line in read_lines(path):
        yield line.split("\t")


def read_lines(path: Path) -> Iterator[str]:
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield line.rstrip("\n")


def read_pairs(stem: Path, language: str = "de") -> Iterator[Pair]:
    return zip(read_lines(Path(f"{stem}.en.xz")), read_lines(Path(f"{stem}.{language}.xz")), strict=True)
