"""Check the sentences that were written for Hark in seven languages (data/written).

    python -m tools.written_text FILE...

A line has seven columns: English, German, French, Spanish, Italian, Dutch and European Portuguese. In NAME.text.tsv an
empty line divides texts that belong together. Reports lines with other columns, empty ones, spaces at an edge, very
different lengths, other numbers than in English, a sentence in another language, and lines outside such texts that
stand twice.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from hark.data.language import LanguageCheck
from hark.text.numerals import LANGUAGES

TEXTS = ".text.tsv"
"""How the names of files with connected texts end."""
LONGER, MORE = 2.2, 40
"""How many times as long as the shortest the longest column may be, and how many characters more."""
SURE = 0.9
"""How sure the detector must be that a column is in another language."""
_SPELLED = re.compile(
    r"\d\s?[ap]\.?m\b|\d[:.h]\d\d|\d\s?h\b|o'clock|half past|quarter|noon|midnight|fortnight|dozen", re.IGNORECASE
)
"""Times and amounts that other languages write in other digits, or in digits at all."""
_LANGUAGE = 40
"""Characters from which the language of a column is looked at."""
_GROUP = re.compile(r"(?<=\d)[.,'\u202f\u00a0 ](?=\d{3}(?!\d))")


def read_digits(text: str) -> list[str]:
    """The digits of a text, number by number, in any order: languages put them differently."""
    return sorted(re.findall(r"\d+", _GROUP.sub("", text)))


def find_problems(rows: Iterable[tuple[str, list[str]]]) -> Iterator[str]:
    """Yield what is wrong; `rows` are columns with the place where they stand."""
    checks = [LanguageCheck(code, SURE) for code in LANGUAGES]
    seen: dict[str, str] = {}
    for place, cells in rows:
        if len(cells) != len(LANGUAGES):
            yield f"{place}: {len(cells)} columns, not {len(LANGUAGES)}"
            continue
        if any(not cell or cell != cell.strip() for cell in cells):
            yield f"{place}: an empty column, or a space at the edge of one"
        lengths = [len(cell) for cell in cells]
        if max(lengths) > LONGER * min(lengths) + MORE:
            yield f"{place}: lengths {lengths}"
        if read_digits(cells[0]) and not _SPELLED.search(cells[0]):
            for code, cell in zip(LANGUAGES[1:], cells[1:], strict=True):
                if read_digits(cell) != read_digits(cells[0]):
                    yield f"{place}: {code} has the numbers {read_digits(cell)}, English {read_digits(cells[0])}"
        for check, code, cell in zip(checks, LANGUAGES, cells, strict=True):
            if len(cell) >= _LANGUAGE and check.is_foreign(cell):
                yield f"{place}: {code} is in another language: {cell}"
        key = re.sub(r"\W+", " ", cells[0]).strip().casefold()
        if TEXTS in place:  # many letters begin alike
            continue
        if key in seen:
            yield f"{place}: the same English as {seen[key]}"
        seen.setdefault(key, place)


def read_rows(files: Iterable[Path]) -> Iterator[tuple[str, list[str]]]:
    for file in files:
        for number, line in enumerate(file.read_text(encoding="utf-8").split("\n")[:-1], start=1):
            if line or not file.name.endswith(TEXTS):
                yield f"{file.name}:{number}", line.split("\t")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    rows = list(read_rows(parser.parse_args().files))
    problems = list(find_problems(rows))
    sys.stdout.write("".join(f"{each}\n" for each in problems) + f"{len(rows):,} lines, {len(problems)} problems\n")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
