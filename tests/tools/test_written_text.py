"""The check of the written sentences, and the sentences in the repository themselves."""

from pathlib import Path

import pytest
from tools.written_text import find_problems, read_digits, read_rows

WRITTEN = Path(__file__).parents[2] / "data" / "written"
ROW = [
    "The bus leaves in 12 minutes, so we must hurry.", "Der Bus fährt in 12 Minuten, wir müssen uns also beeilen.",
    "Le bus part dans 12 minutes, il faut donc nous dépêcher.", "El autobús sale en 12 minutos, así que démonos prisa.",
    "L'autobus parte tra 12 minuti, quindi dobbiamo sbrigarci.",
    "De bus vertrekt over 12 minuten, we moeten opschieten.",
    "O autocarro parte daqui a 12 minutos, temos de nos despachar.",
]  # fmt: skip


def test_the_sentences_in_the_repository_have_no_problem() -> None:
    files = sorted(WRITTEN.glob("*.tsv"))
    assert files
    assert list(find_problems(read_rows(files))) == []


def test_a_good_row_has_no_problem() -> None:
    assert list(find_problems([("here", ROW)])) == []


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
    assert any(problem in each for each in find_problems([("here", row)]))


def test_a_line_that_stands_twice_is_found() -> None:
    found = list(find_problems([("a:1", ROW), ("b:2", ["THE BUS leaves in 12 minutes - so we must hurry!", *ROW[1:]])]))
    assert found == ["b:2: the same English as a:1"]


def test_groups_of_thousands_are_one_number() -> None:
    assert read_digits("1.236,50 €, 12 000 and 1,500") == read_digits("€1,236.50, 12,000 and 1500")
