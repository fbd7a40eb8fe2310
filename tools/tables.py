"""Text compressed with xz: lines, tables of columns, and pairs of lines in two files."""

import lzma
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

Pair = tuple[str, str]
Row = Sequence[str]
PRESET = 1
"""Of xz: five times as fast as the default, for files an eighth larger."""


def read_lines(path: Path) -> Iterator[str]:
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield line.rstrip("\n")


def read_table(path: Path) -> Iterator[list[str]]:
    return (line.split("\t") for line in read_lines(path))


def read_pairs(stem: Path, language: str) -> Iterator[Pair]:
    return zip(read_lines(Path(f"{stem}.en.xz")), read_lines(Path(f"{stem}.{language}.xz")), strict=True)


def write_table(path: Path, rows: Iterable[Row]) -> None:
    with lzma.open(path, "wt", preset=PRESET, encoding="utf-8", newline="\n") as file:
        file.writelines("\t".join(row) + "\n" for row in rows if not any("\t" in cell for cell in row))
