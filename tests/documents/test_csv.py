"""CSV and TSV: cells are translated, and the rest of the file stays byte for byte."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.documents.csv import DELIMITERS, read_rows
from hark.documents.formats import DocumentError, ReadingOptions
from tests.documents.translators import constant, is_unchanged, line_ends, texts, translate

TABLE = """\
id,key,Text,Price,Note
1,home.title,"The ""best"" garden, ever",9.99,A note with words
2,home.body,No quotes here,"1,50",
3,"x","Two
lines {name}",,"   spaced out   "
4,a_b,<b>Bold</b> words,7,"مرحبا بالعالم"
5,short
"""


@pytest.mark.parametrize("content", line_ends(TABLE))
def test_round_trip(content: bytes) -> None:
    assert is_unchanged("a.csv", content)


def test_the_last_line_may_have_no_end() -> None:
    assert is_unchanged("a.csv", TABLE.rstrip())


def test_columns_of_text_are_found() -> None:
    assert texts("a.csv", TABLE) == [
        'The "best" garden, ever',
        "A note with words",
        "No quotes here",
        "Two\nlines {name}",
        "spaced out",
        "Bold words",
        "مرحبا بالعالم",
    ]


def test_quotes_are_as_they_were() -> None:
    written = translate("a.csv", TABLE).decode()
    assert '1,home.title,"THE ""BEST"" GARDEN, EVER",9.99,A NOTE WITH WORDS\n' in written
    assert '"   SPACED OUT   "' in written
    assert "4,a_b,<b>BOLD</b> WORDS,7," in written
    assert written.startswith("id,key,Text,Price,Note\n")


def test_a_cell_is_quoted_if_it_must_be() -> None:
    options = ReadingOptions(columns=("1",))
    assert translate("a.csv", "Hello there,1\nThank you,2\n", constant('a, "b"'), options) == (
        b'"a, ""b""",1\n"a, ""b""",2\n'
    )
    assert translate("a.tsv", "Hello there\t1\nThank you\t2\n", constant("a\tb"), options) == b"a b\t1\na b\t2\n"


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (("Text",), 4),
        (("3",), 4),
        (("key",), 5),
        (("Text", "Note"), 7),
    ],
)
def test_chosen_columns(columns: tuple[str, ...], expected: int) -> None:
    assert len(texts("a.csv", TABLE, ReadingOptions(columns=columns))) == expected


@pytest.mark.parametrize("column", ["0", "6", "text", "-1"])
def test_a_column_that_does_not_exist(column: str) -> None:
    with pytest.raises(DocumentError, match=r"there is no column '.*'; the columns are id, key, Text, Price, Note"):
        texts("a.csv", TABLE, ReadingOptions(columns=(column,)))


@pytest.mark.parametrize("delimiter", DELIMITERS)
def test_delimiters(delimiter: str) -> None:
    source = "\n".join(delimiter.join(row) for row in (("no", "text"), ("1", "Hello, you; there"), ("2", "Good bye")))
    if delimiter in ",;":
        source = source.replace("Hello, you; there", '"Hello, you; there"')
    assert texts("a.csv", source) == ["Hello, you; there", "Good bye"]


def test_excel_states_the_delimiter() -> None:
    assert texts("a.csv", "sep=;\r\nHello, you;1\r\nGood, bye;2\r\n") == ["Hello, you", "Good, bye"]


def test_a_list_without_a_header() -> None:
    assert texts("a.csv", "How are you?\nI am fine.\n") == ["How are you?", "I am fine."]
    assert texts("a.csv", "text\nI am fine.\n") == ["I am fine."]


def test_a_lost_placeholder_keeps_the_source() -> None:
    assert translate("a.csv", "text\nHello {name} there\n", constant("Hallo")) == b"text\nHello {name} there\n"


FIELDS = st.text('ab ",;\t\n\ré', max_size=8)


@given(st.lists(st.lists(FIELDS, min_size=1, max_size=4), max_size=5), st.sampled_from(DELIMITERS), st.booleans())
def test_tables_are_read_as_the_standard_library_does(rows: list[list[str]], delimiter: str, all_quoted: bool) -> None:
    output = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if all_quoted else csv.QUOTE_MINIMAL
    csv.writer(output, delimiter=delimiter, quoting=quoting).writerows(rows)
    found = list(read_rows(output.getvalue(), delimiter))
    assert [[cell.value for cell in row] for row in found] == rows
    assert "".join(cell.raw + cell.after for row in found for cell in row) == output.getvalue()


@given(st.text('ab ",;\t\n\r', max_size=60))
def test_anything_comes_back(source: str) -> None:
    assert is_unchanged("a.csv", source)
