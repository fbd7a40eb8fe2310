"""The sentences that were written for Hark in seven languages (data/written): a line has a column for each, English
first. In NAME.text.tsv an empty line divides texts that belong together."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from hark.data.language import LanguageCheck
from hark.text.numerals import LANGUAGES

WRITTEN = Path(__file__).parents[1] / "data" / "written"
TEXTS = ".text.tsv"
"""How the names of files with connected texts end."""
LONGER, MORE = 2.2, 40
"""How many times as long as the shortest the longest column may be, and how many characters more."""
SURE, GLANCE = 0.9, 40
"""How sure the detector must be that a column of so many characters is in another language."""
SPELLED = re.compile(
    r"\d\s?[ap]\.?m\b|\d[:.h]\d\d|\d\s?h\b|o'clock|half past|quarter|noon|midnight|fortnight|dozen", re.IGNORECASE
)
"""Times and amounts that other languages write in other digits, or in digits at all."""
GROUP = re.compile(r"(?<=\d)[.,'\u202f\u00a0 ](?=\d{3}(?!\d))")
ROW = [
    "The bus leaves in 12 minutes, so we must hurry.", "Der Bus fährt in 12 Minuten, wir müssen uns also beeilen.",
    "Le bus part dans 12 minutes, il faut donc nous dépêcher.", "El autobús sale en 12 minutos, así que démonos prisa.",
    "L'autobus parte tra 12 minuti, quindi dobbiamo sbrigarci.",
    "De bus vertrekt over 12 minuten, we moeten opschieten.",
    "O autocarro parte daqui a 12 minutos, temos de nos despachar.",
]  # fmt: skip


def digits(text: str) -> list[str]:
    """The digits of a text, number by number, in any order: languages put them differently."""
    return sorted(re.findall(r"\d+", GROUP.sub("", text)))


def problems(rows: Iterable[tuple[str, list[str]]]) -> Iterator[str]:
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
        english = [] if SPELLED.search(cells[0]) else digits(cells[0])
        for check, code, cell in zip(checks, LANGUAGES, cells, strict=True):
            if english and (found := digits(cell)) != english:
                yield f"{place}: {code} has the numbers {found}, English {english}"
            if len(cell) >= GLANCE and check.is_foreign(cell):
                yield f"{place}: {code} is in another language: {cell}"
        key = re.sub(r"\W+", " ", cells[0]).strip().casefold()
        if TEXTS not in place:  # many letters begin alike
            if key in seen:
                yield f"{place}: the same English as {seen[key]}"
            seen.setdefault(key, place)


def test_the_sentences_in_the_repository_have_no_problem() -> None:
    rows = [
        (f"{file.name}:{number}", line.split("\t"))
        for file in sorted(WRITTEN.glob("*.tsv"))
        for number, line in enumerate(file.read_text(encoding="utf-8").split("\n")[:-1], start=1)
        if line or not file.name.endswith(TEXTS)
    ]
    assert len(rows) > 10_000
    assert list(problems(rows)) == []


def test_a_good_row_has_no_problem() -> None:
    assert list(problems([("here", ROW)])) == []


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (ROW[:6], "6 columns, not 7"),
        ([*ROW[:6], ""], "an empty column"),
        ([*ROW[:6], " " + ROW[6]], "a space at the edge"),
        ([*ROW[:6], ROW[6] * 3], "lengths"),
        ([*ROW[:6], ROW[6].replace("12", "21")], "pt has the numbers ['21'], English ['12']"),
        ([*ROW[:6], ROW[0]], "pt is in another language"),
    ],
)
def test_problems_are_found(row: list[str], problem: str) -> None:
    assert any(problem in each for each in problems([("here", row)]))


def test_a_line_that_stands_twice_is_found() -> None:
    found = list(problems([("a:1", ROW), ("b:2", ["THE BUS leaves in 12 minutes - so we must hurry!", *ROW[1:]])]))
    assert found == ["b:2: the same English as a:1"]


def test_groups_of_thousands_are_one_number() -> None:
    assert digits("1.236,50 €, 12 000 and 1,500") == digits("€1,236.50, 12,000 and 1500")
